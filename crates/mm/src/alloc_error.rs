//! Why a request got no page: [`AllocError`].

use core::fmt;

use order9_frames::FrameError;
use order9_units::{NodeId, Order};

use crate::compact_result::CompactResult;

/// Why a request got no page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllocError {
    /// No zone could serve it above its low watermark: the slow path's turn.
    NoneAboveWatermark,
    /// No zone may serve it at all: class, node or nodemask leave none.
    NoZone,
    /// `MOVABLE` and `RECLAIMABLE` exclude each other.
    BadMobility,
    /// No such node.
    NoSuchNode(NodeId),
    /// The slow path gave up.
    GaveUp {
        /// Order of the request.
        order: Order,
        /// Why it stopped.
        reason: GaveUp,
    },
}

/// Why the slow path gave up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GaveUp {
    /// The request may not reclaim, and nothing is left above the min watermark.
    NoDirectReclaim,
    /// The task is reclaiming or compacting already.
    Nested,
    /// Compaction ended like this, and the request's flags allow no more effort.
    Compaction(CompactResult),
    /// `__GFP_NORETRY`: one round was all.
    NoRetry,
    /// A costly order without `__GFP_RETRY_MAYFAIL`: one round was all.
    Costly,
    /// Neither reclaim nor compaction can help, and the request is not worth a kill.
    NotWorthAKill,
    /// The task itself is being killed for memory.
    Victim,
    /// Neither reclaim nor compaction can help, and there is nobody to kill.
    NoVictim,
}

impl From<FrameError> for AllocError {
    fn from(error: FrameError) -> Self {
        match error {
            FrameError::NoneAboveWatermark => Self::NoneAboveWatermark,
            FrameError::NoZone => Self::NoZone,
            FrameError::BadMobility => Self::BadMobility,
            FrameError::NoSuchNode(node) => Self::NoSuchNode(node),
        }
    }
}

impl fmt::Display for AllocError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoneAboveWatermark => f.write_str("no zone can serve the request above its low watermark"),
            Self::NoZone => f.write_str("no zone may serve the request"),
            Self::BadMobility => f.write_str("__GFP_MOVABLE and __GFP_RECLAIMABLE exclude each other"),
            Self::NoSuchNode(node) => write!(f, "there is no node {node}"),
            Self::GaveUp { order, reason } => write!(f, "no page of {order:?}: {reason}"),
        }
    }
}

impl fmt::Display for GaveUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoDirectReclaim => "the request may not reclaim",
            Self::Nested => "the task is reclaiming already",
            Self::Compaction(_) => "compaction did not succeed, and the request asks for no more",
            Self::NoRetry => "one round of reclaim and compaction did not help, and the request asks for no more",
            Self::Costly => "one round of reclaim and compaction did not help, and the order is costly",
            Self::NotWorthAKill => "nothing more can be reclaimed, and the request is not worth a kill",
            Self::Victim => "the task is being killed for memory",
            Self::NoVictim => "nothing more can be reclaimed, and there is nobody to kill",
        })
    }
}

impl core::error::Error for AllocError {}
