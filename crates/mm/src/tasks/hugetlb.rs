//! Pools of hugetlb: writes to `nr_hugepages`, and pages that a mapping takes beyond the pool.

use crate::Mm;
use crate::alloc_error::AllocError;
use crate::hugetlb::{PoolResize, PoolStep};
use crate::space::{Errno, MmapRequest, SpaceId, VirtAddr};
use crate::tasks::slow_path::{Pressure, alloc_pages};
use crate::tasks::user_task::UserTask;
use crate::tasks::{Stopped, alive};

/// Requests of a resize for which there was no page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolFailures {
    /// Number of requests.
    pub requests: u64,
    /// Why the last one failed.
    pub last: Option<AllocError>,
}

/// Takes the steps of `resize`, as far as reclaim and compaction get it.
///
/// # Errors
/// [`Stopped::Killed`]; the pages that the pools have by then stay in them.
pub async fn resize_pools<E: UserTask>(env: &E, mut resize: PoolResize) -> Result<PoolFailures, Stopped> {
    let mut failures = PoolFailures::default();
    while let PoolStep::NeedPage(request) = env.with(|mm| resize.step(env.cpu(), &mut mm.pages, &mut mm.phys)) {
        let page = alloc_pages(env, &request).await;
        if let Err(why) = page {
            failures = PoolFailures { requests: failures.requests + 1, last: Some(why) };
        }
        env.preemption_point().await;
        env.with(|mm| resize.give(page.ok(), &mut mm.pages, &mut mm.phys));
        env.spend().await;
        alive(env)?;
    }
    env.spend().await;
    Ok(failures)
}

/// `mmap` with `MAP_HUGETLB`: what the pools lack is allocated first, as far as it may be had.
///
/// # Errors
/// As for any `mmap`; `ENOMEM` where the pools have too few pages.
pub async fn map_from_pools<E: Pressure>(env: &E, space: SpaceId, request: &MmapRequest) -> Result<VirtAddr, Errno> {
    let lacking = |mm: &mut Mm| {
        let node = mm.phys.node_of_cpu(env.cpu());
        mm.pages.hugetlb.hugetlb_shortfall(request.length, node, env.cpu())
    };
    while let Some(surplus) = env.with(lacking) {
        let page = alloc_pages(env, &surplus).await.ok();
        env.with(|mm| mm.pages.hugetlb_give_surplus(page, &mut mm.phys));
        if page.is_none() {
            break;
        }
    }
    env.with(|mm| {
        let start = mm.mmap(space, request, env.cpu());
        mm.pages.hugetlb_trim(env.cpu(), &mut mm.phys);
        start
    })
}
