//! One attempt of a placement: nodes, size, rights, and when it is given up.

use order9_frames::{Gfp, Request};
use order9_units::{NodeId, NodeMask, Order};

use super::HugeAsk;
use crate::policy::EarlyFail;

/// Nodes of an attempt, of those that may serve at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nodes {
    /// All, from the one where the page is wanted outward.
    Any,
    /// This one alone.
    One(NodeId),
    /// These, a bit each, from the one where the page is wanted outward.
    Among(u64),
}

/// One allocation on the way to a huge page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Nodes that the attempt looks at.
    pub nodes: Nodes,
    /// For a huge page; or, with order 0, for the base page of the access that caused the fault.
    pub order: Order,
    /// Flags of the attempt.
    pub gfp: Gfp,
    /// When it fails right after its first compaction, beside the rule that the kernel has for every request.
    pub gate: Option<EarlyFail>,
}

impl Attempt {
    /// An attempt at a huge page.
    #[must_use]
    pub const fn huge(nodes: Nodes, gfp: Gfp) -> Self {
        Self { nodes, order: Order::PAGEBLOCK, gfp, gate: None }
    }

    /// An attempt at a base page that is free above the low watermark: it disturbs nobody.
    #[must_use]
    pub const fn free_base(nodes: Nodes) -> Self {
        let gfp = Gfp::GFP_HIGHUSER_MOVABLE.without(Gfp::RECLAIM).with(Gfp::NOMEMALLOC).with(Gfp::NOWARN);
        Self { nodes, order: Order::ZERO, gfp, gate: None }
    }

    /// An attempt at a base page for which one round of reclaim is worth it.
    #[must_use]
    pub const fn reclaimed_base(nodes: Nodes) -> Self {
        let gfp = Gfp::GFP_HIGHUSER_MOVABLE.with(Gfp::NORETRY).with(Gfp::NOWARN);
        Self { nodes, order: Order::ZERO, gfp, gate: None }
    }

    /// The attempt, given up by this rule, too.
    #[must_use]
    pub const fn gated(self, gate: EarlyFail) -> Self {
        Self { gate: Some(gate), ..self }
    }

    /// The attempt with one round of reclaim and compaction at most.
    #[must_use]
    pub const fn noretry(self) -> Self {
        Self { gfp: self.gfp.with(Gfp::NORETRY), ..self }
    }

    /// The attempt with compaction in one round, and never with reclaim.
    #[must_use]
    pub const fn compact_only(self) -> Self {
        Self { gfp: self.gfp.with(Gfp::NORETRY).with(Gfp::COMPACT_ONLY), ..self }
    }

    /// The attempt with nothing but free memory.
    #[must_use]
    pub const fn light(self) -> Self {
        Self { gfp: self.gfp.without(Gfp::RECLAIM), ..self }
    }

    /// Whether only the free lists are looked at, above the low watermark.
    pub(crate) const fn is_fleeting(&self) -> bool {
        self.order.get() == 0 && !self.gfp.has(Gfp::DIRECT_RECLAIM)
    }

    /// The allocation to make, on behalf of `cpu`.
    pub(crate) const fn request(&self, ask: &HugeAsk, cpu: usize) -> Request {
        let (node, nodemask, gfp) = match self.nodes {
            Nodes::Any => (ask.home, ask.allowed, self.gfp),
            Nodes::One(node) => (node, ask.allowed, self.gfp.with(Gfp::THISNODE)),
            Nodes::Among(mask) => (ask.home, Some(NodeMask::from_bits(mask)), self.gfp),
        };
        Request { order: self.order, gfp, node, nodemask, uses: ask.uses, cpu, note: EarlyFail::note(self.gate) }
    }
}
