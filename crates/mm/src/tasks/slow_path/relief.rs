//! Means by which a request makes room: [`Relief`]. [`Engine`] reclaims and compacts; tests of the slow path script the answers.

use order9_frames::Request;

use crate::ZoneId;
use crate::env::{CompactPriority, Compacted};
use crate::tasks::compaction::direct::try_to_compact_pages;
use crate::tasks::reclaim::direct::direct_reclaim;
use crate::tasks::reclaim::node_reclaim::reclaim_node;
use crate::tasks::slow_path::{Effort, Pressure};

/// Means of the slow path against a shortage of memory.
pub(super) trait Relief<E> {
    /// Direct reclaim for `request`: pages freed, or 1 if it stopped because compaction can start.
    fn reclaim(env: &E, request: &Request) -> impl Future<Output = u64>;

    /// Reclaim of the node of `zone` before `request` goes on to another one; says whether it brought enough.
    fn reclaim_node(env: &E, zone: ZoneId, request: &Request) -> impl Future<Output = bool>;

    /// Direct compaction for `request` over its zonelist.
    fn compact(env: &E, request: &Request, priority: CompactPriority) -> impl Future<Output = Compacted>;

    /// Pages of the zone that reclaim could free: file pages, and anonymous ones while there is swap space.
    fn reclaimable(env: &E, zone: ZoneId) -> u64;
}

/// Reclaim and compaction of the engine.
pub(super) enum Engine {}

impl<E: Pressure> Relief<E> for Engine {
    async fn reclaim(env: &E, request: &Request) -> u64 {
        env.exert(Effort::Reclaim, direct_reclaim(env, request)).await
    }

    async fn reclaim_node(env: &E, zone: ZoneId, request: &Request) -> bool {
        env.exert(Effort::ReclaimNode, reclaim_node(env, zone, request)).await
    }

    async fn compact(env: &E, request: &Request, priority: CompactPriority) -> Compacted {
        env.exert(Effort::Compact, try_to_compact_pages(env, request, priority)).await
    }

    fn reclaimable(env: &E, zone: ZoneId) -> u64 {
        env.with(|mm| mm.pages.reclaimable_pages(zone, &mm.phys))
    }
}
