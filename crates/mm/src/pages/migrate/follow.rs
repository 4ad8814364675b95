//! Pages that follow their user to another node, at once or not at all (`migrate_misplaced_page`).
//!
//! The program waits in its fault, so nothing else is waited for: no memory is reclaimed, and a node that is nearly full is
//! left alone. Huge pages move whole or stay. When a page belongs elsewhere is [`crate::numa_balancing`]'s business.

use order9_frames::{AllocFlags, Gfp, Idx, Mark, Request};
use order9_units::{Nanos, NodeId, Order, Pfn, ZoneKind};

use super::page::{Attempt, Outcome};
use super::run::PASSES;
use super::{MigrateMode, MigrateReason};
use crate::lru_list::LruType;
use crate::numa_balancing::NumaBalancing;
use crate::page_flags::{PageFlag, PageWord};
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::policy::ScanSpares;
use crate::space::{Owner, Prot, Vma};
use crate::trace::Event;

impl UsedPages {
    /// Moves the base page `source` of a mapping to `node`; says whether it did.
    pub(crate) fn follow_base(
        &mut self,
        source: Idx,
        vma: &Vma,
        node: NodeId,
        cpu: usize,
        now: Nanos,
        phys: &mut PhysMem,
    ) -> bool {
        let pfn = phys.frames.pfn(source);
        let stays =
            self.stays_where_it_is(source, vma, phys) || !self.balancing.node_takes(node, Order::ZERO, now, phys);
        if stays || self.isolate_movable(pfn, phys).is_none() {
            return false;
        }
        let gfp = Gfp::GFP_HIGHUSER_MOVABLE.with(Gfp::NOMEMALLOC).with(Gfp::NORETRY).with(Gfp::NOWARN);
        let moved = match self.page_on(node, Order::ZERO, gfp.without(Gfp::RECLAIM), cpu, phys) {
            None => {
                self.putback_movable(source, cpu, phys);
                false
            }
            Some(page) => self.move_into(source, page, cpu, phys),
        };
        phys.count_followed(1, moved);
        moved
    }

    /// Moves an isolated page to a fresh one, or puts it back and frees that.
    fn move_into(&mut self, source: Idx, page: Pfn, cpu: usize, phys: &mut PhysMem) -> bool {
        let target = phys.hold_fresh(page);
        let attempt = Attempt { mode: MigrateMode::Async, may_wait: false, memalloc: false, cpu };
        let mut tries = (0..PASSES).map(|_| self.migrate_page(source, target, &attempt, phys));
        let settled = tries.find(|outcome| !matches!(outcome, Outcome::Again(_)));
        let moved = settled == Some(Outcome::Moved);
        if !moved {
            phys.release_held(target);
            self.putback_movable(source, cpu, phys);
        }
        moved
    }

    /// Moves the huge page that starts at `head` to `node`; says whether it did.
    pub(crate) fn follow_huge(&mut self, head: Idx, node: NodeId, cpu: usize, now: Nanos, phys: &mut PhysMem) -> bool {
        let alone = self.subpage_mapcount(head, phys) == 1 && self.huge.is_huge_exclusive(head);
        if !alone || !self.balancing.node_takes(node, Order::PAGEBLOCK, now, phys) || !self.isolate_huge(head, phys) {
            return false;
        }
        let moved = match self.page_on(node, Order::PAGEBLOCK, Gfp::GFP_TRANSHUGE_LIGHT, cpu, phys) {
            None => false,
            Some(target) => {
                let done = self.migrate_huge(head, target, cpu, phys).is_ok();
                if !done {
                    let target = phys.frames.at(target);
                    phys.free_fresh(target, cpu);
                }
                done
            }
        };
        if !moved {
            self.putback_movable(head, cpu, phys);
        }
        if phys.policy.numa_balancing.counts_thp {
            phys.counters.thp_migration_success += u64::from(moved);
            phys.counters.thp_migration_fail += u64::from(!moved);
        }
        phys.count_followed(Order::PAGEBLOCK.pages().get(), moved);
        moved
    }

    /// Whether a page stays whoever uses it: that of a program or library that several run, and one that would have to be
    /// written first.
    fn stays_where_it_is(&self, idx: Idx, vma: &Vma, phys: &PhysMem) -> bool {
        let Owner::File { .. } = self.rmap.owner(idx) else { return false };
        let word = phys.page_word(idx);
        let of_disk = word.lru_type() == LruType::File;
        let everybodys = vma.prot.has(Prot::EXEC) && self.mapcount(phys.frames.pfn(idx), phys) != 1;
        let dirty = phys.policy.numa_balancing.spares >= ScanSpares::DirtyFiles && word.has(PageFlag::Dirty);
        of_disk && (everybodys || dirty)
    }

    /// A page of `node` that is free now.
    fn page_on(&self, node: NodeId, order: Order, gfp: Gfp, cpu: usize, phys: &mut PhysMem) -> Option<Pfn> {
        let request = Request { node, cpu, ..Request::new(order, gfp.with(Gfp::THISNODE)) };
        self.alloc_fast(&request, phys).ok()
    }
}

impl NumaBalancing {
    /// Whether a node has room beyond its high watermark, and has not had its share lately (`migrate_balanced_pgdat`,
    /// `numamigrate_update_ratelimit`).
    fn node_takes(&mut self, node: NodeId, order: Order, now: Nanos, phys: &PhysMem) -> bool {
        let pages = order.pages().get();
        if phys.policy.numa_balancing.rate_limit && !self.admit(node, pages, now) {
            return false;
        }
        let flags = AllocFlags::plain(Mark::High);
        let mut zones = phys.frames.zones().iter().filter(|zone| zone.node() == node && zone.managed() > 0);
        zones.any(|zone| {
            let mark = zone.mark(Mark::High) + pages;
            zone.watermark_ok_at(Order::ZERO, mark, ZoneKind::Movable, &flags, &phys.policy.frames)
        })
    }
}

impl PhysMem {
    fn count_followed(&mut self, pages: u64, moved: bool) {
        let (succeeded, failed) = if moved { (pages, 0) } else { (0, pages) };
        self.counters.pgmigrate_success += succeeded;
        self.counters.pgmigrate_fail += failed;
        self.counters.numa_pages_migrated += succeeded;
        let (mode, reason) = (MigrateMode::Async, MigrateReason::NumaMisplaced);
        self.trace(|| Event::MigratePages { succeeded, failed, mode, reason });
    }
}
