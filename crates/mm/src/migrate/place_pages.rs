//! Single pages go where somebody wants them: to a node, where a memory policy has them, or out of a range that is about to
//! be taken out.
//!
//! Huge pages move whole where the policy has that, else they are split first, as `FOLL_SPLIT` asks for; those of hugetlb pools
//! always move whole. move_pages(2),
//! mbind(2); Linux' Documentation/admin-guide/mm/memory-hotplug.rst.

use alloc::vec::Vec;

use order9_frames::{Flag, FrameState, Gfp, Idx, IsolateError, Request};
use order9_units::{NodeId, Order, PAGEBLOCK_PAGES, Pages, Pfn, PfnRange};

use super::place_pool::relocate_pool_page;
use super::{MigrateMode, MigrateReason, Room, migrate_pages};
use crate::Mm;
use crate::Pressure;
use crate::env::Stall;
use crate::mempolicy::NodeChoice;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::slow_path::alloc_pages;
use crate::space::{Errno, Owner};
use crate::trace::{Event, Tracer};

/// Nodes that a page may go to.
#[derive(Clone, Copy)]
pub(crate) struct Destination {
    choice: NodeChoice,
    /// No other node than the first will do.
    only: bool,
    reason: MigrateReason,
}

impl Destination {
    /// To `node` and no other.
    pub(crate) const fn only(node: NodeId, reason: MigrateReason) -> Self {
        Self { choice: NodeChoice::local(node), only: true, reason }
    }

    /// Place that a memory policy chooses.
    pub(crate) const fn chosen(choice: NodeChoice, reason: MigrateReason) -> Self {
        Self { choice, only: false, reason }
    }
}

/// Moves the page at `pfn`, and all of the huge page that it is part of. One of a file is split first.
///
/// # Errors
/// `EBUSY` where it cannot move, `ENOMEM` where there is no room for it.
pub(crate) async fn relocate<E: Pressure>(env: &E, pfn: Pfn, to: Destination) -> Result<(), Errno> {
    if env.with(|mm| mm.pages.is_used_pool_page(pfn, &mm.phys)) {
        let request = to.request(env, Order::PAGEBLOCK);
        let gfp = request.gfp.with(Gfp::COMP).with(Gfp::RETRY_MAYFAIL).with(Gfp::NOWARN);
        return relocate_pool_page(env, pfn, &Request { gfp, ..request }, to.reason).await;
    }
    let huge = env.with(|mm| mm.pages.huge_head_of(pfn, &mm.phys));
    let whole = env.with(|mm| mm.phys.policy.thp.migration);
    let Some(head) = huge.filter(|_| whole) else {
        env.with(|mm| mm.follow_split(pfn, env.cpu()))?;
        env.spend().await;
        return relocate_base(env, &[pfn], to).await;
    };
    relocate_huge(env, head, to).await
}

/// Moves a huge page whole. Where there is no huge page for it, it is split and its parts move.
async fn relocate_huge<E: Pressure>(env: &E, head: Pfn, to: Destination) -> Result<(), Errno> {
    if !env.with(|mm| mm.pages.isolate_huge(mm.phys.frames.at(head), &mut mm.phys)) {
        return Err(Errno::Ebusy);
    }
    env.spend().await;
    let target = alloc_pages(env, &to.request(env, Order::PAGEBLOCK)).await;
    let done = env.with(|mm| mm.pages.settle_huge(head, target.ok(), to.reason, env.cpu(), &mut mm.phys));
    env.spend().await;
    match done {
        HugeMove::Moved => Ok(()),
        HugeMove::Failed(errno) => Err(errno),
        HugeMove::Split => {
            let parts: Vec<Pfn> = (0..PAGEBLOCK_PAGES.get()).map(|offset| head + Pages::new(offset)).collect();
            relocate_base(env, &parts, to).await
        }
    }
}

/// Fate of a huge page that was to move.
enum HugeMove {
    /// The huge page is elsewhere, or nobody needs it any more.
    Moved,
    /// The huge page is base pages now, in its old place.
    Split,
    Failed(Errno),
}

/// Moves base pages; those that nobody has any more are passed over.
async fn relocate_base<E: Pressure>(env: &E, pages: &[Pfn], to: Destination) -> Result<(), Errno> {
    let mut sources: Vec<Idx> =
        env.with(|mm| pages.iter().rev().filter_map(|&pfn| mm.pages.isolate_movable(pfn, &mut mm.phys)).collect());
    let mut room = Room(Vec::new());
    for _ in 0..sources.len() {
        let page = alloc_pages(env, &to.request(env, Order::ZERO)).await;
        match page {
            Ok(page) => room.0.push(env.with(|mm| mm.phys.hold_fresh(page))),
            Err(_) => break,
        }
    }
    let (wanted, had) = (sources.len(), room.0.len());
    let done = migrate_pages(env, &mut sources, &mut room, MigrateMode::Sync, to.reason).await;
    env.with(|mm| {
        sources.into_iter().for_each(|idx| mm.pages.putback_movable(idx, env.cpu(), &mut mm.phys));
        room.0.into_iter().for_each(|idx| mm.phys.release_held(idx));
    });
    env.spend().await;
    match done.failed {
        0 if wanted > 0 => Ok(()),
        _ if had < wanted => Err(Errno::Enomem),
        _ => Err(Errno::Ebusy),
    }
}

/// Takes the pageblocks of `range` out of use: nothing is allocated there any more, and what can be moved is moved out. Says
/// whether the range is free then; else it is given back.
///
/// # Errors
/// Those of `PhysMem::isolate_pageblock`; nothing has happened then.
pub async fn offline_pages<E: Pressure>(env: &E, range: PfnRange) -> Result<bool, IsolateError> {
    let blocks: Vec<Pfn> = range.iter().step_by(PAGEBLOCK_PAGES.get() as usize).collect();
    let mut types = Vec::new();
    for &block in &blocks {
        match env.with(|mm| mm.phys.frames.isolate_pageblock(block)) {
            Ok(mt) => types.push(mt),
            Err(error) => {
                env.with(|mm| give_back(mm, &blocks, &types));
                return Err(error);
            }
        }
    }
    env.with(Mm::drain_all);
    let node = env.with(|mm| mm.phys.node_of_pfn(range.start));
    let to = Destination::chosen(NodeChoice::local(node), MigrateReason::MemoryHotplug);
    let mut at = range.start;
    while let Some(page) = env.with(|mm| mm.phys.next_movable(at, range.end)) {
        let _left_behind = relocate(env, page, to).await;
        at = page + Pages::new(1);
    }
    Ok(env.with(|mm| {
        let free = mm.phys.next_used(range.start, range.end).is_none();
        if !free {
            give_back(mm, &blocks, &types);
        }
        free
    }))
}

fn give_back<T: Tracer>(mm: &mut Mm<T>, blocks: &[Pfn], types: &[order9_units::Migratetype]) {
    for (&block, &mt) in blocks.iter().zip(types) {
        mm.phys.frames.unisolate_pageblock(block, mt).expect("it was isolated above");
    }
}

impl Destination {
    fn request<E: Stall>(self, env: &E, order: Order) -> Request {
        let gfp = if order == Order::ZERO { Gfp::GFP_HIGHUSER_MOVABLE } else { Gfp::GFP_TRANSHUGE };
        let gfp = if self.only { gfp.with(Gfp::THISNODE) } else { gfp };
        let NodeChoice { node, nodes, uses } = self.choice;
        Request { node, nodemask: nodes, uses, cpu: env.cpu(), ..Request::new(order, gfp) }
    }
}

impl<T: Tracer> PhysMem<T> {
    pub(crate) fn node_of_pfn(&self, pfn: Pfn) -> NodeId {
        self.frames.idx(pfn).map_or(NodeId(0), |idx| self.node_of(idx))
    }

    /// Makes a fresh page a held frame: it counts as freed, and as one that was migrated to once it is.
    pub(super) fn hold_fresh(&mut self, page: Pfn) -> Idx {
        let idx = self.fresh(page);
        self.frames.hold_fresh(idx);
        idx
    }

    /// Counts a huge page that moved whole, or did not.
    fn count_huge_migration(&mut self, moved: bool, reason: MigrateReason) {
        let (succeeded, failed) = if moved { (PAGEBLOCK_PAGES.get(), 0) } else { (0, PAGEBLOCK_PAGES.get()) };
        self.counters.thp_migration_success += u64::from(moved);
        self.counters.thp_migration_fail += u64::from(!moved);
        self.counters.pgmigrate_success += succeeded;
        self.counters.pgmigrate_fail += failed;
        self.trace(|| Event::MigratePages { succeeded, failed, mode: MigrateMode::Sync, reason });
    }

    /// The first page from `from` on, below `end`, that can be moved.
    fn next_movable(&self, from: Pfn, end: Pfn) -> Option<Pfn> {
        PfnRange::new(from, end).iter().find(|&pfn| {
            let word = self.frames.live(pfn).map(|(_, word)| word);
            word.is_ok_and(|word| word.has(Flag::MovableContent) && !word.has(Flag::Isolated))
        })
    }

    /// The first page from `from` on, below `end`, that is neither free nor missing.
    fn next_used(&self, from: Pfn, end: Pfn) -> Option<Pfn> {
        PfnRange::new(from, end).iter().find(|&pfn| {
            !matches!(self.frames.frame(pfn), FrameState::Free { .. } | FrameState::Tail | FrameState::Hole)
        })
    }
}

impl UsedPages {
    pub(crate) fn huge_head_of(&self, pfn: Pfn, phys: &PhysMem<impl Tracer>) -> Option<Pfn> {
        let head = self.huge_head(phys.frames.idx(pfn)?, phys)?;
        Some(phys.frames.pfn(head))
    }

    /// Moves an isolated huge page to `target`; where there is none, or it cannot move, it is put back, and for want of a
    /// target split.
    fn settle_huge(
        &mut self,
        head: Pfn,
        target: Option<Pfn>,
        reason: MigrateReason,
        cpu: usize,
        phys: &mut PhysMem<impl Tracer>,
    ) -> HugeMove {
        let source = phys.frames.at(head);
        let wanted = self.rmap.owner(source) == Owner::Huge;
        let done = match target {
            Some(target) if wanted => self.migrate_huge(source, target, cpu, phys).inspect_err(|_| {
                let target = phys.frames.at(target);
                phys.free_fresh(target, cpu);
            }),
            Some(target) => {
                let target = phys.frames.at(target);
                phys.free_fresh(target, cpu);
                Ok(())
            }
            None => Err(Errno::Enomem),
        };
        if wanted && done.is_ok() {
            phys.count_huge_migration(true, reason);
            return HugeMove::Moved;
        }
        self.putback_movable(source, cpu, phys);
        let Err(errno) = done else { return HugeMove::Moved };
        if errno == Errno::Enomem && self.split_huge_page(head, cpu, phys).is_ok() {
            phys.counters.thp_migration_split += 1;
            return HugeMove::Split;
        }
        phys.count_huge_migration(false, reason);
        HugeMove::Failed(errno)
    }
}
