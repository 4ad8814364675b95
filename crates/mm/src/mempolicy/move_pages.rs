//! `move_pages`, and how any call moves a page that a program has mapped.

use alloc::vec::Vec;
use core::cell::Cell;

use order9_units::{NodeId, Order, Pages, Pfn};

use super::Movable;
use crate::Mm;
use crate::Pressure;
use crate::migrate::{Destination, MigrateReason, relocate};
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::{Errno, PageView, Pte, Slot, SpaceId, VirtAddr, VmaKind, Vpn, VpnRange};
use crate::trace::Tracer;

/// A page to move, and where to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageMove {
    /// An address in it.
    pub addr: VirtAddr,
    /// The node.
    pub to: NodeId,
}

/// A page that a program has mapped.
pub(super) struct Found {
    pub(super) pfn: Pfn,
    pub(super) node: NodeId,
    mapcount: u32,
}

/// A page that a program has mapped on a node that it should not be on.
pub(super) struct Misplaced {
    /// Its first place.
    pub(super) vpn: Vpn,
    /// By which kind of entry it is mapped.
    pub(super) order: Order,
}

impl Misplaced {
    /// The first place behind it.
    fn end(&self) -> Vpn {
        if self.order == Order::ZERO { self.vpn + Pages::new(1) } else { self.vpn.slot().end }
    }
}

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
        mm.pages.space(caller)?;
        let privileged = movable == Movable::Own || mm.pages.has_sys_nice(caller);
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
        let destination = |_: &mut Mm<E::Tracer>, found: &Found| {
            (found.node != to).then(|| Destination::only(to, MigrateReason::Syscall))
        };
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
    to: impl FnOnce(&mut Mm<E::Tracer>, &Found) -> Option<Destination>,
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
    to: impl Fn(&mut Mm<E::Tracer>, &Misplaced, &Found) -> Option<Destination>,
) -> u64 {
    let mut failed = 0;
    loop {
        let batch = env.with(|mm| mm.pages.misplaced(space, range, &is_wrong, BATCH, &mut mm.phys));
        env.spend().await;
        let Some(last) = batch.last() else { return failed };
        range.start = last.end();
        for page in batch {
            let moved = move_found(env, space, page.vpn, movable, |mm, found| to(mm, &page, found));
            failed += u64::from(moved.await.is_err());
        }
    }
}

impl UsedPages {
    /// `move_pages` without nodes: on which node each page is. Errors as those of a page of [`move_pages`].
    #[must_use]
    pub fn page_nodes(
        &self,
        space: SpaceId,
        pages: &[VirtAddr],
        phys: &PhysMem<impl Tracer>,
    ) -> Vec<Result<NodeId, Errno>> {
        pages.iter().map(|addr| self.node_at(space, addr.vpn(), phys)).collect()
    }

    fn node_at(&self, id: SpaceId, vpn: Vpn, phys: &PhysMem<impl Tracer>) -> Result<NodeId, Errno> {
        self.follow(id, vpn, phys).map(|found| found.node)
    }

    /// The page at `vpn` that could move.
    fn follow(&self, id: SpaceId, vpn: Vpn, phys: &PhysMem<impl Tracer>) -> Result<Found, Errno> {
        let space = self.space(id)?;
        let vma = space.vmas.find(vpn).ok_or(Errno::Efault)?;
        match self.page_at(id, vpn.addr(), phys) {
            _ if matches!(vma.kind, VmaKind::Hugetlb { .. }) => {
                let head = space.table.hugetlb(vpn).and_then(Pte::idx).ok_or(Errno::Enoent)?;
                let (pfn, mapcount) = (phys.frames.pfn(head), self.pool_page_mappings(head));
                Ok(Found { pfn, node: phys.node_of(head), mapcount })
            }
            PageView::Present { pfn, .. } => {
                Ok(Found { pfn, node: phys.node_of_pfn(pfn), mapcount: self.mapcount(pfn, phys) })
            }
            PageView::Zero => Err(Errno::Efault),
            PageView::None | PageView::Swapped => Err(Errno::Enoent),
        }
    }

    /// The first pages of a range that lie on a node that `is_wrong`, at most so many. Pages of zeros lie nowhere.
    pub(super) fn misplaced(
        &self,
        id: SpaceId,
        range: VpnRange,
        is_wrong: impl Fn(NodeId) -> bool,
        most: usize,
        phys: &mut PhysMem<impl Tracer>,
    ) -> Vec<Misplaced> {
        let Ok(space) = self.space(id) else { return Vec::new() };
        let looked_at = Cell::new(0);
        let wrong = |idx| {
            looked_at.set(looked_at.get() + 1);
            is_wrong(phys.node_of(idx))
        };
        let (huge, base) = (Order::PAGEBLOCK, Order::ZERO);
        let mapped = space.table.used_slots(range).flat_map(|(slot, content)| {
            let part = slot.intersect(range);
            let (entries, order) = match content {
                Slot::Table(_) => (part, base),
                Slot::Huge(_) | Slot::Hugetlb(_) | Slot::Empty => (VpnRange::of(part.start, Pages::new(1)), huge),
            };
            entries
                .iter()
                .filter(|&vpn| space.table.get(vpn).idx().is_some_and(wrong))
                .map(move |vpn| Misplaced { vpn, order })
        });
        let mut found: Vec<Misplaced> = mapped.take(most).collect();
        let of_pools = space.table.hugetlb_slots(range).filter(|(_, pte)| pte.idx().is_some_and(wrong));
        found.extend(of_pools.map(|(slot, _)| Misplaced { vpn: slot.start, order: huge }).take(most));
        found.sort_unstable_by_key(|page| page.vpn);
        found.truncate(most);
        phys.work.scanned_unlocked += looked_at.get();
        found
    }
}
