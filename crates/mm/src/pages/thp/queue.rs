//! The deferred split queue: huge pages some of whose base pages nobody maps, and by policy new ones, which may turn out to be
//! mostly zeros. They are split when memory is short.
//!
//! First come, first split; where reclaim begins with pages that are mapped in part, these stand before all others.

use core::num::NonZeroU64;

use order9_frames::Idx;
use order9_units::{NodeId, Pfn};

use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::thp::HugeMemory;

/// Set in tickets of pages that are only to be looked at, where those that are mapped in part go first.
const LOOKED_AT: u64 = 1 << 63;

impl HugeMemory {
    /// Nobody maps some base pages of a page any more: it is put at the end of its node's queue, unless it is there already.
    pub(super) fn queue_deferred(&mut self, head: Idx, phys: &mut PhysMem) {
        if self.page(head).partial {
            return;
        }
        match self.small_events_of(head, phys) {
            Some(events) => events.split_deferred += 1,
            None => phys.counters.thp_deferred_split_page += 1,
        }
        let queued = self.page(head).queued.is_some();
        if queued && !phys.policy.reclaim.partial_first {
            self.page_mut(head).partial = true;
            return;
        }
        self.leave_queue(head, phys);
        self.enqueue(head, true, phys);
    }

    /// Puts a page that is not queued at the end of its node's queue, `partial` if nobody maps some of its base pages.
    pub(super) fn enqueue(&mut self, head: Idx, partial: bool, phys: &PhysMem) {
        let node = phys.node_of(head);
        let place = if phys.policy.reclaim.partial_first && !partial { LOOKED_AT } else { 0 };
        let huge = &mut *self;
        huge.tickets += 1;
        let ticket = NonZeroU64::new(huge.tickets | place).expect("tickets start at 1");
        huge.page_mut(head).partial = partial;
        huge.page_mut(head).queued = Some(ticket);
        if huge.queues.len() <= node.index() {
            huge.queues.resize_with(node.index() + 1, Default::default);
        }
        huge.queues[node.index()].insert(ticket.get(), head);
    }

    /// Takes a page off the queue, if it is on it.
    pub(super) fn leave_queue(&mut self, head: Idx, phys: &PhysMem) {
        let node = phys.node_of(head);
        let page = self.page_mut(head);
        page.partial = false;
        if let Some(ticket) = page.queued.take() {
            self.queues[node.index()].remove(&ticket.get());
        }
    }

    /// Whether a page waits for its split since nobody maps some of its base pages.
    pub(crate) fn is_partially_mapped(&self, head: Idx) -> bool {
        self.page(head).partial
    }

    /// Huge pages that wait on a node for their split, or to be looked at.
    #[must_use]
    pub fn deferred_splits(&self, node: NodeId) -> u64 {
        self.queues.get(node.index()).map_or(0, |queue| queue.len() as u64)
    }

    /// The huge pages that wait on a node for their split, or to be looked at, first come first.
    pub fn deferred_split_queue(&self, node: NodeId, phys: &PhysMem) -> impl Iterator<Item = Pfn> {
        let queue = self.queues.get(node.index()).into_iter();
        queue.flat_map(|queue| queue.values().map(|&head| phys.frames.pfn(head)))
    }

    /// Whether the first page of a node's queue is mapped in part.
    pub(crate) fn next_split_frees(&self, node: NodeId) -> bool {
        self.next_to_split(node).is_some_and(|head| self.is_partially_mapped(head))
    }

    /// The first page of a node's queue.
    pub(super) fn next_to_split(&self, node: NodeId) -> Option<Idx> {
        self.queues.get(node.index()).and_then(|queue| queue.values().next().copied())
    }
}

impl UsedPages {
    /// Splits the first page of a node's queue, unless it waits only to be looked at and is in use; one that cannot be split
    /// goes to the end if nobody maps some of it, and else is left alone from then on. Says whether a page was split.
    pub(crate) fn split_deferred(&mut self, node: NodeId, cpu: usize, phys: &mut PhysMem) -> bool {
        let Some(head) = self.huge.next_to_split(node) else { return false };
        let partial = self.huge.page(head).partial;
        let split = (partial || self.huge.is_underused(head, phys)) && self.split_head(head, cpu, phys).is_ok();
        if split {
            phys.counters.thp_underused_split_page += u64::from(!partial);
            return true;
        }
        self.huge.leave_queue(head, phys);
        if partial {
            self.huge.enqueue(head, true, phys);
        }
        false
    }
}

impl PhysMem {
    /// Whether `ticket` is one of those that a page has which is mapped in part, or is not.
    pub(super) fn stands_in_turn(&self, ticket: u64, partial: bool) -> bool {
        (ticket & LOOKED_AT != 0) == (self.policy.reclaim.partial_first && !partial)
    }
}
