//! The deferred split queue: huge pages some of whose base pages nobody maps, split when memory is short.

use core::num::NonZeroU64;

use order9_units::{NodeId, Pfn};

use crate::Mm;
use crate::frame::Idx;
use crate::trace::Tracer;

impl<T: Tracer> Mm<T> {
    /// Puts a page at the end of its node's queue, unless it is queued already.
    pub(super) fn queue_deferred(&mut self, head: Idx) {
        if self.user.huge.page(head).queued.is_none() {
            self.enqueue(head);
            self.counters.thp_deferred_split_page += 1;
        }
    }

    pub(super) fn enqueue(&mut self, head: Idx) {
        let node = self.node_of(head);
        let huge = &mut self.user.huge;
        huge.tickets += 1;
        let ticket = NonZeroU64::new(huge.tickets).expect("tickets start at 1");
        huge.page_mut(head).queued = Some(ticket);
        if huge.queues.len() <= node.index() {
            huge.queues.resize_with(node.index() + 1, Default::default);
        }
        huge.queues[node.index()].insert(ticket.get(), head);
    }

    /// Takes a page off the queue, if it is on it.
    pub(super) fn leave_queue(&mut self, head: Idx) {
        let node = self.node_of(head);
        if let Some(ticket) = self.user.huge.page_mut(head).queued.take() {
            self.user.huge.queues[node.index()].remove(&ticket.get());
        }
    }

    /// Huge pages that wait for their split on a node.
    #[must_use]
    pub fn deferred_splits(&self, node: NodeId) -> u64 {
        self.user.huge.queues.get(node.index()).map_or(0, |queue| queue.len() as u64)
    }

    /// The huge pages that wait for their split on a node, first come first.
    pub fn deferred_split_queue(&self, node: NodeId) -> impl Iterator<Item = Pfn> {
        let queue = self.user.huge.queues.get(node.index()).into_iter();
        queue.flat_map(|queue| queue.values().map(|&head| self.frames.pfn(head)))
    }

    /// Splits the first page of a node's queue; one that cannot be split goes to the end. Says whether a page was split.
    pub(crate) fn split_deferred(&mut self, node: NodeId, cpu: usize) -> bool {
        let first = self.user.huge.queues.get(node.index()).and_then(|queue| queue.values().next().copied());
        let Some(head) = first else { return false };
        let split = self.split_head(head, cpu).is_ok();
        if !split {
            self.leave_queue(head);
            self.enqueue(head);
        }
        split
    }
}
