//! Direct reclaim: a task frees memory for its own request.

use order9_frames::{Request, Search};

use crate::Mm;
use crate::env::Stall;
use crate::reclaim::control::{DEF_PRIORITY, ReclaimControl, ReclaimId};
use crate::reclaimer::CHUNK;
use crate::reclaimer::Reclaimer;
use crate::reclaimer::Stalled;
use crate::tasks::reclaim::node::shrink_node;
use crate::tasks::reclaim::throttle::throttle;
use crate::tasks::reclaim::throttle::throttle_direct;
use crate::trace::Event;

/// Reclaims on behalf of a task for its request: pages freed, 1 if it stopped since compaction can start, 0 if there is
/// nothing to be had.
pub async fn direct_reclaim<E: Stall>(env: &E, request: &Request) -> u64 {
    throttle_direct(env, request).await;
    let Some((id, search)) = env.with(|mm| mm.begin_direct(request)) else { return 0 };
    let mut ready = try_harder(env, id, &search).await;
    if !ready && env.with(|mm| mm.forces_deactivation(id)) {
        ready = try_harder(env, id, &search).await;
    }
    env.with(|mm| {
        let reclaimed = mm.end_reclaim(id).nr_reclaimed;
        let progress =
            if reclaimed == 0 { u64::from(ready || mm.pages.has_hope(&search, &mm.phys)) } else { reclaimed };
        mm.phys.trace(|| Event::DirectReclaimEnd { reclaimed: progress });
        progress
    })
}

/// Passes of more and more effort; says whether they ended since compaction can start.
async fn try_harder<E: Stall>(env: &E, id: ReclaimId, search: &Search) -> bool {
    let mut ready = false;
    for priority in (0..=DEF_PRIORITY).rev() {
        let passes = env.with(|mm| {
            mm.reclaim_mut(id).priority = priority;
            let (passes, one_is_ready) = mm.pages.direct_passes(search, priority, &mm.phys);
            ready = one_is_ready;
            passes
        });
        for pass in passes {
            shrink_node(env, id, &pass).await;
        }
        let reclaimed = env.with(|mm| mm.reclaim_mut(id).nr_reclaimed);
        if ready || reclaimed >= CHUNK {
            break;
        }
        if priority == 1 && reclaimed == 0 {
            throttle(env, search.request.node, Stalled::NoProgress).await;
        }
    }
    ready
}

impl Mm {
    /// Whether a run that got nothing starts anew and takes active pages too, which it had left alone: inactive lists may be
    /// long and yet hold nothing but pages that are pinned or isolated.
    pub(crate) fn forces_deactivation(&mut self, id: ReclaimId) -> bool {
        let policy = self.phys.policy.reclaim.force_deactivate;
        let run = self.reclaim_mut(id);
        run.force_deactivate = policy && run.nr_reclaimed == 0 && run.skipped_deactivate;
        run.force_deactivate
    }

    pub(crate) fn begin_direct(&mut self, request: &Request) -> Option<(ReclaimId, Search)> {
        let search = self.phys.frames.search_for(request).ok()?;
        self.phys.counters.allocstall.add(search.class, 1);
        let Request { order, gfp, .. } = *request;
        self.phys.trace(|| Event::DirectReclaimBegin { order, gfp });
        let mut control = ReclaimControl::new(Reclaimer::Direct, request.order, CHUNK, search.class);
        control.gfp = request.gfp;
        Some((self.begin_reclaim(control), search))
    }
}
