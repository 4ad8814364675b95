//! Single pages go to chosen nodes, and whole ranges out of use.

use alloc::vec::Vec;

use order9_frames::{Gfp, Idx, IsolateError, Request};
use order9_units::{Order, PAGEBLOCK_PAGES, Pages, Pfn, PfnRange};

use super::place_pool::relocate_pool_page;
use crate::env::Stall;
use crate::mempolicy::NodeChoice;
use crate::pages::migrate::place_pages::{Destination, HugeMove};
use crate::pages::migrate::{MigrateMode, MigrateReason};
use crate::space::Errno;
use crate::tasks::migrate::run::migrate_pages;
use crate::tasks::migrate::targets::Room;
use crate::tasks::slow_path::alloc_pages;
use crate::{Mm, Pressure};

/// Moves the page at `pfn`, and all of the huge page or large folio that it is part of. A huge page of tmpfs is split first.
///
/// # Errors
/// `EBUSY` where it cannot move, `ENOMEM` where there is no room for it.
pub(crate) async fn relocate<E: Pressure>(env: &E, pfn: Pfn, to: Destination) -> Result<(), Errno> {
    if env.with(|mm| mm.pages.hugetlb.is_used_pool_page(pfn, &mm.phys)) {
        let request = to.request(env, Order::PAGEBLOCK);
        let gfp = request.gfp.with(Gfp::COMP).with(Gfp::RETRY_MAYFAIL).with(Gfp::NOWARN);
        return relocate_pool_page(env, pfn, &Request { gfp, ..request }, to.reason).await;
    }
    let (head, whole) = env.with(|mm| (mm.pages.moved_with(pfn, &mm.phys), mm.phys.policy.thp.migration));
    let Some(head) = head.filter(|_| whole) else {
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
    let order = env.with(|mm| mm.phys.frames.word(mm.phys.frames.at(head)).order());
    let target = alloc_pages(env, &to.request(env, order)).await;
    let done = env.with(|mm| mm.pages.settle_huge(head, target.ok(), to.reason, env.cpu(), &mut mm.phys));
    env.spend().await;
    match done {
        HugeMove::Moved => Ok(()),
        HugeMove::Failed(errno) => Err(errno),
        HugeMove::Split => {
            let parts: Vec<Pfn> = PfnRange::of(head, order.pages()).iter().collect();
            relocate_base(env, &parts, to).await
        }
    }
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
    env.with(|mm| mm.phys.drain_all());
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

fn give_back(mm: &mut Mm, blocks: &[Pfn], types: &[order9_units::Migratetype]) {
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
