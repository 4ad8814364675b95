//! A search for a huge page by the attempts of a placement.

use order9_frames::{Gfp, NodeUse, Request};
use order9_units::{NodeId, NodeMask, Order};

use super::view::Engine;
use super::{Attempt, HugePlacement, Nodes, View};
use crate::pages::UsedPages;
use crate::phys::PhysMem;

/// Start of a search for a huge page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HugeAsk {
    /// The rule it goes by.
    pub placement: HugePlacement,
    /// Node where the page is wanted: the preferred node of the memory policy, else the node of the CPU.
    pub home: NodeId,
    /// Nodes that may serve, by memory policy and cpuset; `None` is all.
    pub allowed: Option<NodeMask>,
    /// Meaning of the nodes to the allocator.
    pub uses: NodeUse,
    /// The memory policy says in which order nodes are asked: once, whatever the rule is.
    pub in_order: bool,
    /// Flags of an attempt, wherever it looks.
    pub rights: Gfp,
    /// The program said so about where this memory is to lie, in the way that the rule knows.
    pub advised: bool,
    /// A base page would do as well, so that attempts at one are made in their turn.
    pub takes_base: bool,
}

/// A search that has come to an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HugeSearch {
    ask: HugeAsk,
    /// Attempts of the list up to this one.
    made: u8,
    /// Nodes that attempts before this one asked alone.
    tried: u64,
    /// The attempt.
    pub(crate) attempt: Attempt,
}

impl HugeSearch {
    /// The allocation of the attempt.
    pub(crate) const fn request(&self, cpu: usize) -> Request {
        self.attempt.request(&self.ask, cpu)
    }

    /// Whether the attempt is one at a base page.
    pub(crate) const fn is_for_base(&self) -> bool {
        self.attempt.order.get() == 0
    }
}

impl UsedPages {
    /// Begins a search; `None` where nothing is worth an attempt.
    #[must_use]
    pub fn begin_search(&self, ask: HugeAsk, phys: &PhysMem) -> Option<HugeSearch> {
        if ask.in_order {
            return Some(HugeSearch { ask, made: 1, tried: 0, attempt: Attempt::huge(Nodes::Any, ask.rights) });
        }
        self.next_attempt(ask, 0, 0, phys)
    }

    /// Goes on with a search whose attempt failed; `None` after the last.
    pub(crate) fn go_on_searching(&self, search: &HugeSearch, phys: &PhysMem) -> Option<HugeSearch> {
        let HugeSearch { ask, made, tried, attempt } = *search;
        if ask.in_order {
            return None;
        }
        let asked = match attempt.nodes {
            Nodes::One(node) => mask_of(node),
            Nodes::Any | Nodes::Among(_) => 0,
        };
        self.next_attempt(ask, made, tried | asked, phys)
    }

    fn next_attempt(&self, ask: HugeAsk, made: u8, tried: u64, phys: &PhysMem) -> Option<HugeSearch> {
        let rule = ask.placement.rule();
        let mut made = made;
        loop {
            let engine = Engine { phys, pages: self };
            let view = View { ask: &ask, made: usize::from(made), tried, engine: &engine };
            let attempt = (rule.next)(&view)?;
            made = made.checked_add(1)?;
            if attempt.order > Order::ZERO || ask.takes_base {
                return Some(HugeSearch { ask, made, tried, attempt });
            }
        }
    }
}

/// The bit of a node, none past the 64th.
pub(super) const fn mask_of(node: NodeId) -> u64 {
    if node.0 < 64 { 1 << node.0 } else { 0 }
}
