//! Pages of hugetlb pools go where somebody wants them, whole.

use order9_frames::Request;
use order9_units::Pfn;

use crate::Pressure;
use crate::hugetlb::PoolMove;
use crate::pages::migrate::MigrateReason;
use crate::space::Errno;
use crate::tasks::slow_path::alloc_pages;

/// Moves the page of a pool at `head` to where `request` would have one: into a free page of the pool there that is promised to
/// nobody, else into free memory, which the pool takes in exchange.
///
/// # Errors
/// As [`super::relocate`].
pub(crate) async fn relocate_pool_page<E: Pressure>(
    env: &E,
    head: Pfn,
    request: &Request,
    reason: MigrateReason,
) -> Result<(), Errno> {
    let mut fresh = None;
    loop {
        let step = env.with(|mm| mm.pages.move_pool_page(head, request, fresh, reason, env.cpu(), &mut mm.phys));
        env.spend().await;
        match step {
            PoolMove::Moved => return Ok(()),
            PoolMove::Failed(errno) => return Err(errno),
            PoolMove::NeedPage => fresh = Some(alloc_pages(env, request).await.map_err(|_| Errno::Enomem)?),
        }
    }
}
