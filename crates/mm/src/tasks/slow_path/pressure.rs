//! The world's part in a shortage of memory: [`Pressure`]. All else is the engine's ([`relief`](super::relief)).

use order9_frames::Request;

use crate::env::{Alone, OomKill, Stall};

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

/// A task that may be in need of memory.
pub trait Pressure: Stall + Sized {
    /// Tries to kill a task for memory.
    fn oom_kill(&self, request: &Request) -> impl Future<Output = OomKill>;

    /// Does such work of a request to its end; a world may time it.
    fn exert<R>(&self, _: Effort, work: impl Future<Output = R>) -> impl Future<Output = R> {
        work
    }
}

/// The only task has nobody else to kill.
impl Pressure for Alone {
    async fn oom_kill(&self, _: &Request) -> OomKill {
        OomKill::NoVictim
    }
}
