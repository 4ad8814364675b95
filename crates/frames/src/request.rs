//! Requests for frames: what is asked, and why there is none.

use core::fmt;

use order9_units::{Migratetype, NodeId, NodeMask, Order, ZoneKind};

use crate::gfp::Gfp;
use crate::nodes::ZoneRef;

/// A request for a block of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Blocks of this order.
    pub order: Order,
    /// Flags.
    pub gfp: Gfp,
    /// Preferred node.
    pub node: NodeId,
    /// Nodes that may serve; `None` is all.
    pub nodemask: Option<NodeMask>,
    /// Meaning of `node` and `nodemask`.
    pub uses: NodeUse,
    /// The CPU that asks; past the last CPU, per-CPU lists are not used.
    pub cpu: usize,
    /// A note of whoever asks for layers above, which the allocator does not read; 0 unless they set one.
    pub note: u8,
}

/// Meaning of the nodes of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NodeUse {
    /// The preferred node and those near it serve, as far as the nodemask has them.
    #[default]
    Ordinary,
    /// The preferred node comes first because it is its turn; if it serves, that counts as `interleave_hit`.
    Interleaved,
    /// The nodemask is asked first and without direct reclaim, then, with all that is allowed, these nodes:
    /// `MPOL_PREFERRED_MANY`.
    MaskFirst(NodeMask),
    /// The nodemask holds on the fast path only: a cpuset, for the kernel's own memory.
    FastPathMask,
}

impl Request {
    /// A request on node 0 and CPU 0 without a nodemask.
    #[must_use]
    pub const fn new(order: Order, gfp: Gfp) -> Self {
        Self { order, gfp, node: NodeId(0), nodemask: None, uses: NodeUse::Ordinary, cpu: 0, note: 0 }
    }

    /// Whether the entry of a zonelist may serve the request, whose highest zone is `class`.
    #[inline]
    pub(crate) fn admits(&self, zone: ZoneRef, class: ZoneKind) -> bool {
        zone.kind <= class && self.nodemask.is_none_or(|mask| mask.has(zone.node))
    }
}

/// A request with what follows from it, worked out once.
#[derive(Clone, Copy)]
pub struct Search {
    /// The request.
    pub request: Request,
    /// Highest zone that may serve.
    pub class: ZoneKind,
    /// Mobility asked for.
    pub mt: Migratetype,
    /// Position of `preferred` in the zonelist.
    pub first: usize,
    /// First zone of the list that may serve.
    pub preferred: ZoneRef,
    /// Nodes that the walk passes over, as those with more than their share of dirty pages.
    pub passes_over: NodeMask,
    /// Nodes at which the walk stops if a zone fails its mark, to be reclaimed first.
    pub stops_at: NodeMask,
}

/// Why a request got no page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameError {
    /// No zone could serve it above its watermark.
    NoneAboveWatermark,
    /// No zone may serve it at all: class, node or nodemask leave none.
    NoZone,
    /// `MOVABLE` and `RECLAIMABLE` exclude each other.
    BadMobility,
    /// No such node.
    NoSuchNode(NodeId),
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoneAboveWatermark => f.write_str("no zone can serve the request above its low watermark"),
            Self::NoZone => f.write_str("no zone may serve the request"),
            Self::BadMobility => f.write_str("__GFP_MOVABLE and __GFP_RECLAIMABLE exclude each other"),
            Self::NoSuchNode(node) => write!(f, "there is no node {node}"),
        }
    }
}

impl core::error::Error for FrameError {}
