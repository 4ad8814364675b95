//! Answers of a request to a shortage of memory: [`Pressure`]. The world only kills; all else is the engine's, and
//! scripted by tests of the slow path.

use order9_frames::Request;

use crate::ZoneId;
use crate::env::{CompactPriority, Compacted, OomKill, Stall};
use crate::tasks::compaction::direct::try_to_compact_pages;
use crate::tasks::reclaim::direct::direct_reclaim;
use crate::tasks::reclaim::node_reclaim::reclaim_node;

/// Work that a request does itself, before it gets memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Direct reclaim (`try_to_free_pages`).
    Reclaim,
    /// Reclaim of a node before memory of another one is taken (`node_reclaim`).
    ReclaimNode,
    /// Direct compaction (`try_to_compact_pages`).
    Compact,
}

/// A task that can make room when memory is short.
pub trait Pressure: Stall + Sized {
    /// Tries to kill a task for memory.
    fn oom_kill(&self, request: &Request) -> impl Future<Output = OomKill>;

    /// Does such work of a request to its end; a world may time it.
    fn exert<R>(&self, _: Effort, work: impl Future<Output = R>) -> impl Future<Output = R> {
        work
    }

    /// Direct reclaim for `request`: pages freed, or 1 if it stopped because compaction can start.
    fn reclaim(&self, request: &Request) -> impl Future<Output = u64> {
        self.exert(Effort::Reclaim, direct_reclaim(self, request))
    }

    /// Reclaim of the node of `zone` before `request` goes on to another one; says whether it brought enough.
    fn reclaim_node(&self, zone: ZoneId, request: &Request) -> impl Future<Output = bool> {
        self.exert(Effort::ReclaimNode, reclaim_node(self, zone, request))
    }

    /// Direct compaction for `request` over its zonelist.
    fn compact(&self, request: &Request, priority: CompactPriority) -> impl Future<Output = Compacted> {
        self.exert(Effort::Compact, try_to_compact_pages(self, request, priority))
    }

    /// Pages of the zone that reclaim could free: file pages, and anonymous ones while there is swap space.
    fn reclaimable(&self, zone: ZoneId) -> u64 {
        self.with(|mm| mm.pages.reclaimable_pages(zone, &mm.phys))
    }
}
