//! `move_pages`: pages go to the nodes that a program names.

use alloc::vec::Vec;

use order9_units::NodeId;

use crate::migrate::{Destination, MigrateReason};
use crate::pages::mempolicy::Movable;
use crate::pages::mempolicy::move_pages::{Found, Misplaced, PageMove};
use crate::space::{Errno, SpaceId, Vpn, VpnRange};
use crate::tasks::migrate::place_pages::relocate;
use crate::{Mm, Pressure};

/// Pages that one step looks for: a program may have millions.
const BATCH: usize = 512;

/// `move_pages` by a task of `caller` on the pages of `target`: says for each page where it is then.
///
/// A page that lies there already stays; several pages of one huge page move once. Errors of a page: `ENOENT` where there is
/// none, `EFAULT` where nothing is mapped and for the page of zeros, `EACCES` where others map it, unless all may be moved,
/// `EBUSY` where it cannot move, `ENOMEM` where the node has no room.
///
/// # Errors
/// `ESRCH` where one of the spaces is gone, `EPERM` for [`Movable::All`] without `CAP_SYS_NICE`, `ENODEV` at the first page
/// whose node does not exist or has no memory, `EACCES` where the cpuset of `target` does not have it; pages before that one
/// have moved.
pub async fn move_pages<E: Pressure>(
    env: &E,
    caller: SpaceId,
    target: SpaceId,
    pages: &[PageMove],
    movable: Movable,
) -> Result<Vec<Result<NodeId, Errno>>, Errno> {
    let allowed = env.with(|mm| {
        mm.pages.spaces.get(caller)?;
        let privileged = movable == Movable::Own || mm.pages.spaces.has_sys_nice(caller);
        if privileged { mm.mems_allowed(target) } else { Err(Errno::Eperm) }
    })?;
    let mut moved = Vec::with_capacity(pages.len());
    for &PageMove { addr, to } in pages {
        if !env.with(|mm| mm.phys.memory_nodes().has(to)) {
            return Err(Errno::Enodev);
        }
        if !allowed.has(to) {
            return Err(Errno::Eacces);
        }
        let destination =
            |_: &mut Mm, found: &Found| (found.node != to).then(|| Destination::only(to, MigrateReason::Syscall));
        moved.push(move_found(env, target, addr.vpn(), movable, destination).await);
    }
    Ok(moved)
}

/// Moves the page at `vpn`, if it is to go anywhere: says on which node it is then.
async fn move_found<E: Pressure>(
    env: &E,
    space: SpaceId,
    vpn: Vpn,
    movable: Movable,
    to: impl FnOnce(&mut Mm, &Found) -> Option<Destination>,
) -> Result<NodeId, Errno> {
    let (found, to) = env.with(|mm| {
        let found = mm.pages.follow(space, vpn, &mm.phys)?;
        let to = to(mm, &found);
        Ok((found, to))
    })?;
    let Some(to) = to else { return Ok(found.node) };
    if movable == Movable::Own && found.mapcount > 1 {
        return Err(Errno::Eacces);
    }
    relocate(env, found.pfn, to).await?;
    env.with(|mm| mm.pages.follow(space, vpn, &mm.phys).map(|found| found.node))
}

/// Moves the pages of a range that lie on a node that `is_wrong` to where `to` has them: says how many could not.
pub(super) async fn move_misplaced<E: Pressure>(
    env: &E,
    space: SpaceId,
    mut range: VpnRange,
    movable: Movable,
    is_wrong: impl Fn(NodeId) -> bool,
    to: impl Fn(&mut Mm, &Misplaced, &Found) -> Option<Destination>,
) -> u64 {
    let mut failed = 0;
    loop {
        let batch = env.with(|mm| mm.pages.spaces.misplaced(space, range, &is_wrong, BATCH, &mut mm.phys));
        env.spend().await;
        let Some(last) = batch.last() else { return failed };
        range.start = last.end();
        for page in batch {
            let moved = move_found(env, space, page.vpn, movable, |mm, found| to(mm, &page, found));
            failed += u64::from(moved.await.is_err());
        }
    }
}
