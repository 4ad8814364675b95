//! The allocation slow path: what a request does that found no page above the low watermark.
//!
//! [`alloc_pages`] is the whole of an allocation: the fast path, then reserves, compaction, reclaim, retries and the OOM
//! killer, as far as the request's flags and the policy let it go. Control flow only: pages are taken by the walk of the
//! fast path, reclaim and compaction are reached through [`Relief`]. Every way to stop has a name ([`GaveUp`]).

mod compact;
mod pressure;
mod relief;
mod retry;
#[cfg(test)]
mod tests;

use core::marker::PhantomData;

use order9_frames::{AllocFlags, Gfp, Mark, NodeUse, Request, Reserve, Search, ZoneRef};
use order9_units::{NodeMask, Pfn};

use crate::alloc_error::{AllocError, GaveUp};
use crate::env::{CompactPriority, OomKill, TICK};
use crate::policy::{ReserveRights, RetryRule, SlowPathPolicy};
use crate::tasks::slow_path::relief::{Engine, Relief};

pub use pressure::{Effort, Pressure};

/// Allocates `2^order` pages as `request` asks, going as far as its flags allow.
///
/// # Errors
/// [`AllocError`], with the reason to stop.
pub async fn alloc_pages<E: Pressure>(env: &E, request: &Request) -> Result<Pfn, AllocError> {
    match env.with(|mm| mm.alloc_fast(request)) {
        Err(AllocError::NoneAboveWatermark) => alloc_slow(env, request).await,
        decided => {
            env.spend().await;
            decided
        }
    }
}

/// Serves a request that [`Mm::alloc_fast`](crate::Mm::alloc_fast) has just failed; may wait.
///
/// # Errors
/// [`AllocError`], with the reason to stop.
pub async fn alloc_slow<E: Pressure>(env: &E, request: &Request) -> Result<Pfn, AllocError> {
    serve::<E, Engine>(env, request).await
}

async fn serve<E: Pressure, R: Relief<E>>(env: &E, request: &Request) -> Result<Pfn, AllocError> {
    match request.uses {
        NodeUse::Ordinary | NodeUse::Interleaved => slow_path::<E, R>(env, request).await,
        NodeUse::FastPathMask => {
            slow_path::<E, R>(env, &Request { nodemask: None, uses: NodeUse::Ordinary, ..*request }).await
        }
        NodeUse::MaskFirst(then) => {
            let first = request.gfp.without(Gfp::DIRECT_RECLAIM).with(Gfp::NOWARN);
            match slow_path::<E, R>(env, &Request { gfp: first, uses: NodeUse::Ordinary, ..*request }).await {
                Ok(pfn) => Ok(pfn),
                Err(_) => {
                    beyond_mask::<E, R>(env, &Request { nodemask: Some(then), uses: NodeUse::Ordinary, ..*request })
                        .await
                }
            }
        }
    }
}

/// The second attempt of a request whose first nodes had nothing.
async fn beyond_mask<E: Pressure, R: Relief<E>>(env: &E, request: &Request) -> Result<Pfn, AllocError> {
    match env.with(|mm| mm.alloc_fast(request)) {
        Err(AllocError::NoneAboveWatermark) => slow_path::<E, R>(env, request).await,
        decided => decided,
    }
}

async fn slow_path<E: Pressure, R: Relief<E>>(env: &E, request: &Request) -> Result<Pfn, AllocError> {
    let result = match SlowPath::<E, R>::new(env, request) {
        Ok(path) => match path.reclaim_nodes().await {
            Some(pfn) => Ok(pfn),
            None => path.run().await,
        },
        Err(error) => Err(error),
    };
    env.spend().await;
    result
}

/// One request on its slow path.
struct SlowPath<'e, E, R> {
    env: &'e E,
    relief: PhantomData<R>,
    search: Search,
    policy: SlowPathPolicy,
    rights: ReserveRights,
    /// Effort of the next compaction.
    priority: CompactPriority,
    /// Compactions that made progress at this priority.
    compaction_retries: u32,
    /// Rounds in which reclaim made no progress.
    no_progress: u32,
    /// Pages reclaimed so far.
    reclaimed: u64,
    /// Types are not mixed, as `vm.defrag_mode` asks, while reclaim and compaction may still help.
    keeps_types_apart: bool,
}

/// Result of one round.
pub(crate) enum Round {
    Page(Pfn),
    Again,
    Stop(GaveUp),
}

impl<'e, E: Pressure, R: Relief<E>> SlowPath<'e, E, R> {
    fn new(env: &'e E, request: &Request) -> Result<Self, AllocError> {
        env.with(|mm| {
            let phys = &mm.phys;
            Ok(Self {
                env,
                relief: PhantomData,
                search: phys.frames.search_for(request)?,
                policy: phys.policy.slow_path,
                rights: phys.policy.frames.watermark.reserve_rights,
                priority: CompactPriority::SyncLight,
                compaction_retries: 0,
                no_progress: 0,
                reclaimed: 0,
                keeps_types_apart: phys.frames.settings().defrag_mode,
            })
        })
    }

    /// The rest of the fast path where near nodes are reclaimed before others are used.
    async fn reclaim_nodes(&self) -> Option<Pfn> {
        if !self.env.with(|mm| mm.phys.reclaims_nodes()) || self.env.task().memalloc {
            return None;
        }
        let request = self.search.request;
        let passes_over = match request.gfp.has(Gfp::WRITE) {
            true => self.env.with(|mm| mm.pages.nodes_too_dirty(&mm.phys)),
            false => NodeMask::EMPTY,
        };
        let search = Search { passes_over, ..self.search };
        let flags = self.env.with(|mm| mm.phys.frames.fast_flags(&search));
        for ZoneRef { zone, .. } in self.zones() {
            if self.env.with(|mm| mm.pages.is_node_reclaimed_first(&search, zone, &flags, &mm.phys)) {
                self.env.spend().await;
                R::reclaim_node(self.env, zone, &request).await;
            }
            let page = self.env.with(|mm| mm.pages.try_zone(&search, zone, &flags, &mut mm.phys));
            if page.is_some() {
                return page;
            }
        }
        self.env.with(|mm| mm.pages.get_page_from_freelist(&search, flags, &mut mm.phys))
    }

    async fn run(mut self) -> Result<Pfn, AllocError> {
        let gfp = self.search.request.gfp;
        let dead_end = gfp.has(Gfp::THISNODE) && !gfp.has(Gfp::DIRECT_RECLAIM);
        if dead_end && self.policy.thisnode_needs_reclaim {
            return Err(self.error(GaveUp::NoDirectReclaim));
        }
        self.wake_kswapds();
        if let Some(pfn) = self.walk(self.flags()) {
            return Ok(pfn);
        }
        if let Some(decided) = self.first_compaction().await {
            return decided;
        }
        loop {
            match self.round().await {
                Round::Page(pfn) => return Ok(pfn),
                Round::Again => {}
                Round::Stop(reason) if self.mixes_types_after(reason) => {}
                Round::Stop(_) if self.must_not_fail() => match self.last_reserves().await {
                    Some(pfn) => return Ok(pfn),
                    None => self.env.sleep(TICK).await,
                },
                Round::Stop(reason) => return Err(self.error(reason)),
            }
        }
    }

    /// One try with everything the request may do: reserves, reclaim, compaction, the OOM killer.
    async fn round(&mut self) -> Round {
        let Request { order, gfp, .. } = self.search.request;
        // Never asleep while somebody loops here.
        self.wake_kswapds();
        let mut flags = self.flags();
        if let Some(pfn) = self.walk(flags) {
            return Round::Page(pfn);
        }
        if !gfp.has(Gfp::DIRECT_RECLAIM) {
            return Round::Stop(GaveUp::NoDirectReclaim);
        }
        if self.env.task().memalloc {
            return Round::Stop(GaveUp::Nested);
        }
        let (progress, page) = self.reclaim(flags).await;
        if let Some(pfn) = page {
            return Round::Page(pfn);
        }
        if self.policy.retry == RetryRule::Repeat {
            return self.repeat(progress).await;
        }
        let compacted = self.compact(self.priority).await;
        if let Some(pfn) = compacted.page {
            return Round::Page(pfn);
        }
        if gfp.has(Gfp::NORETRY) {
            return Round::Stop(GaveUp::NoRetry);
        }
        if order.is_costly() && !gfp.has(Gfp::RETRY_MAYFAIL) {
            return Round::Stop(GaveUp::Costly);
        }
        if self.should_reclaim_retry(progress).await || progress > 0 && self.should_compact_retry(compacted.result) {
            return Round::Again;
        }
        if self.keeps_types_apart {
            self.keeps_types_apart = false;
            return Round::Again;
        }
        flags = self.flags();
        self.out_of_memory(flags).await
    }

    /// Whether the request goes on by mixing types, since it cannot reclaim or must not fail. Others that stop would rather
    /// fail than spoil a pageblock.
    fn mixes_types_after(&mut self, reason: GaveUp) -> bool {
        let mixes = reason == GaveUp::NoDirectReclaim || self.must_not_fail();
        mixes && core::mem::take(&mut self.keeps_types_apart)
    }

    /// Direct reclaim, then another look: first as it is, then with cached and reserved pages returned.
    async fn reclaim(&mut self, flags: AllocFlags) -> (u64, Option<Pfn>) {
        self.env.spend().await;
        let progress = R::reclaim(self.env, &self.search.request).await;
        self.reclaimed += progress;
        if progress == 0 {
            return (0, None);
        }
        let page = self.walk(flags).or_else(|| {
            self.env.with(|mm| {
                mm.phys.frames.unreserve_highatomic(self.search.request.node, self.search.mt, false);
                mm.phys.frames.drain_all();
            });
            self.walk(flags)
        });
        (progress, page)
    }

    /// The last resort: a look at the high watermark, then a kill unless the request is not worth one.
    async fn out_of_memory(&mut self, flags: AllocFlags) -> Round {
        let Request { order, gfp, .. } = self.search.request;
        if let Some(pfn) = self.walk(AllocFlags { mark: Mark::High, ..flags }) {
            return Round::Page(pfn);
        }
        let spares = order.is_costly()
            || gfp.has(Gfp::RETRY_MAYFAIL)
            || gfp.has(Gfp::THISNODE)
            || self.search.class < order9_units::ZoneKind::Normal;
        if spares {
            return Round::Stop(GaveUp::NotWorthAKill);
        }
        self.env.spend().await;
        match self.env.oom_kill(&self.search.request).await {
            OomKill::Killed | OomKill::Busy => {
                if self.env.task().oom_victim {
                    return Round::Stop(GaveUp::Victim);
                }
                self.no_progress = 0;
                self.env.sleep(TICK).await;
                Round::Again
            }
            OomKill::NoVictim => Round::Stop(GaveUp::NoVictim),
        }
    }

    fn must_not_fail(&self) -> bool {
        let gfp = self.search.request.gfp;
        gfp.has(Gfp::NOFAIL) && gfp.has(Gfp::DIRECT_RECLAIM)
    }

    /// Takes a page for a request that must not fail: from deeper reserves, then any page there is.
    async fn last_reserves(&mut self) -> Option<Pfn> {
        let mut flags = self.flags();
        flags.reserve.min_reserve = true;
        flags.reserve.harder = true;
        let page = self.walk(flags);
        page.or_else(|| self.walk(AllocFlags { no_watermarks: true, ..flags }))
    }

    fn error(&self, reason: GaveUp) -> AllocError {
        AllocError::GaveUp { order: self.search.request.order, reason }
    }

    /// Rights of the request as they are now: the task may have been killed or begun to reclaim meanwhile.
    fn flags(&self) -> AllocFlags {
        let Request { order, gfp, .. } = self.search.request;
        let task = self.env.task();
        let mut reserve = Reserve::of(gfp, task.rt, order.get() > 0, self.rights);
        reserve.oom = task.oom_victim;
        let may_use_all = gfp.has(Gfp::MEMALLOC) || task.memalloc;
        let no_watermarks = may_use_all && !gfp.has(Gfp::NOMEMALLOC);
        AllocFlags {
            mark: Mark::Min,
            no_watermarks,
            reserve,
            cma: self.search.mt == order9_units::Migratetype::Movable,
            nofragment: self.keeps_types_apart && !no_watermarks,
            kswapd: gfp.has(Gfp::KSWAPD_RECLAIM),
        }
    }

    /// A walk over the zonelist. Who may use all memory may also use every node.
    fn walk(&self, flags: AllocFlags) -> Option<Pfn> {
        let mut search = self.search;
        if flags.no_watermarks {
            search.request.nodemask = None;
        }
        self.env.with(|mm| mm.pages.get_page_from_freelist(&search, flags, &mut mm.phys))
    }

    fn wake_kswapds(&self) {
        if self.search.request.gfp.has(Gfp::KSWAPD_RECLAIM) {
            self.env.with(|mm| mm.pages.wake_all_kswapds(&self.search, &mut mm.phys));
        }
    }
}
