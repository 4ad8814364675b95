//! Everything at once in random order: whatever happens, every law holds after every step, and every page reads as what was
//! last written to it.

use alloc::vec::Vec;

use order9_units::{NodeId, Order, Pages, Pfn, ZoneKind};

use super::{CPU, HUGE, START, boot, checked, map, pages};
use crate::policy::{HugeCow, NewAnon, Policy, ZeroWrite};
use crate::reclaim::{PageWrite, ReclaimControl, ReclaimStep, Reclaimer};
use crate::slab::tests::Random;
use crate::space::{
    Access, FaultStep, Madvise, Mremap, MremapTo, PageView, Prot, SpaceId, TableStep, VirtAddr, VpnRange,
};
use crate::swap::SwapWrite;
use crate::{Gfp, Mm, Request, ZoneId};

/// Pages that the programs use: four slots, and what lies between them.
const PAGES: u64 = 4 * HUGE;
const STEPS: u64 = 500;

struct World {
    mm: Mm,
    random: Random,
    spaces: Vec<SpaceId>,
    pins: Vec<Pfn>,
    writes: Vec<SwapWrite>,
    collapsed: u64,
}

impl World {
    fn new(policy: Policy, seed: u64) -> Self {
        let mut mm = boot(policy);
        mm.swapon(Pages::new(3000));
        let space = mm.create_space().expect("it is the first");
        map(&mut mm, space, 0, PAGES);
        Self {
            mm,
            random: Random(seed),
            spaces: alloc::vec![space],
            pins: Vec::new(),
            writes: Vec::new(),
            collapsed: 0,
        }
    }

    fn space(&mut self) -> SpaceId {
        self.spaces[self.random.below(self.spaces.len() as u64) as usize]
    }

    fn addr(&mut self) -> VirtAddr {
        VirtAddr::new(START.get() + pages(self.random.below(PAGES)).get())
    }

    /// A range of pages: whole slots, parts of one, or what lies across an edge.
    fn range(&mut self) -> (VirtAddr, u64) {
        let grain = [1, 64, HUGE][self.random.below(3) as usize];
        let start = self.random.below(PAGES / grain) * grain;
        let most = (PAGES - start) / grain;
        let length = (self.random.below(most.min(HUGE / grain + 1)) + 1).min(most) * grain;
        (VirtAddr::new(START.get() + pages(start).get()), length)
    }

    fn step(&mut self) {
        match self.random.below(30) {
            0..=7 => self.touch(),
            24 | 25 => self.remap(HUGE),
            8 => self.advise(Madvise::DontNeed),
            9 => self.advise(Madvise::NoHugePage),
            28 | 29 => self.advise(Madvise::Free),
            10 => self.advise(Madvise::HugePage),
            11 if self.random.below(3) == 0 => self.unmap(),
            12 => self.remap(1),
            13 => self.protect(),
            14 => self.relocate(),
            15 => self.fork_or_exit(),
            16 => self.pin_or_unpin(),
            17 => self.split(),
            18..=20 => self.reclaim(),
            21 => self.end_writes(),
            22 => self.lock(),
            23 | 26 => self.collapse(),
            27 => drop(super::khugepaged::pass(&mut self.mm, true)),
            _ => {
                self.mm.split_deferred(NodeId(0), CPU);
                self.mm.shrink_huge_zero(CPU);
            }
        }
        checked(&self.mm);
    }

    fn touch(&mut self) {
        let (space, addr) = (self.space(), self.addr());
        let access = if self.random.below(3) == 0 { Access::Read } else { Access::Write };
        let huge = self.random.below(8) > 0;
        self.access(space, addr, access, huge);
        if self.random.below(2) == 0 {
            let mut rest = VpnRange::of(addr.vpn(), Pages::new(self.random.below(HUGE)));
            self.mm.touch_mapped(space, &mut rest, access);
        }
    }

    fn access(&mut self, space: SpaceId, addr: VirtAddr, access: Access, huge: bool) {
        let mut step = self.mm.fault_begin(space, addr, access);
        while let FaultStep::NeedPage(fault) = step {
            let refused = fault.need().may_be_refused();
            let page = match refused && !huge {
                true => None,
                false => self.mm.alloc_fast(&fault.request(NodeId(0), CPU)).ok(),
            };
            step = match page {
                Some(page) => self.mm.fault_finish(&fault, page, CPU),
                None if refused => self.mm.fault_refused(&fault, CPU),
                None => return,
            };
        }
    }

    fn advise(&mut self, advice: Madvise) {
        let (space, (start, length)) = (self.space(), self.range());
        let _ = self.mm.madvise(space, start, pages(length), advice, CPU);
    }

    fn unmap(&mut self) {
        let (space, (start, length)) = (self.space(), self.range());
        self.mm.munmap(space, start, pages(length), CPU).expect("the range is sound");
    }

    /// Maps fresh memory, from a multiple of `grain` pages on.
    fn remap(&mut self, grain: u64) {
        let space = self.space();
        let first = self.random.below(PAGES / grain) * grain;
        let length = (self.random.below(3) + 1) * grain;
        map(&mut self.mm, space, first, length.min(PAGES - first));
    }

    fn protect(&mut self) {
        let (space, (start, length)) = (self.space(), self.range());
        let prot = [Prot::NONE, Prot::READ, Prot::RW, Prot::RW][self.random.below(4) as usize];
        let _ = self.mm.mprotect(space, start, pages(length), prot);
    }

    /// Moves a range within the four slots, aligned or not.
    fn relocate(&mut self) {
        let (space, (start, length)) = (self.space(), self.range());
        let to = MremapTo::Fixed(self.range().0);
        let Ok(Mremap::Moving(mut run)) = self.mm.mremap(space, start, pages(length), pages(length), to, CPU) else {
            return;
        };
        loop {
            checked(&self.mm);
            match self.mm.move_step(&mut run, CPU).expect("nobody interferes") {
                TableStep::Progress => {}
                TableStep::NeedTable(vpn) => {
                    let table = self.table();
                    self.mm.give_table(space, vpn, table, CPU);
                }
                TableStep::NeedCopy(_) => unreachable!("a move copies nothing"),
                TableStep::Done => return,
            }
        }
    }

    fn page(&mut self) -> Pfn {
        self.mm.alloc_fast(&Request::new(Order::ZERO, Gfp::GFP_HIGHUSER_MOVABLE)).expect("memory is free")
    }

    fn table(&mut self) -> Pfn {
        self.mm.alloc_fast(&Request::new(Order::ZERO, Gfp::GFP_PGTABLE_USER)).expect("memory is free")
    }

    fn fork_or_exit(&mut self) {
        let at = self.random.below(self.spaces.len() as u64) as usize;
        if self.spaces.len() == 4 {
            let space = self.spaces.swap_remove(at);
            return self.mm.exit(space, CPU).expect("it lives");
        }
        let mut fork = self.mm.fork(self.spaces[at]).expect("the parent lives");
        loop {
            match self.mm.fork_step(&mut fork).expect("nobody interferes") {
                TableStep::Progress => {}
                TableStep::NeedTable(vpn) => {
                    let table = self.table();
                    self.mm.give_table(fork.child(), vpn, table, CPU);
                }
                TableStep::NeedCopy(copy) => {
                    let page = self.page();
                    self.mm.give_copy(&copy, page, CPU);
                }
                TableStep::Done => break,
            }
        }
        self.spaces.push(fork.child());
    }

    fn pin_or_unpin(&mut self) {
        if self.pins.len() > 2 {
            let at = self.random.below(self.pins.len() as u64) as usize;
            let pfn = self.pins.swap_remove(at);
            self.mm.unpin(pfn).expect("it is pinned");
            return;
        }
        let (space, addr) = (self.space(), self.addr());
        if let PageView::Present { pfn, .. } = self.mm.page_at(space, addr) {
            self.mm.pin(pfn).expect("it is mapped");
            self.pins.push(pfn);
        }
    }

    /// Collapses a slot, after accesses to what is in swap of it.
    fn collapse(&mut self) {
        let (space, addr) = (self.space(), self.addr());
        let Ok(Some(plan)) = self.mm.collapse_scan(space, addr) else { return };
        let Ok(page) = self.mm.alloc_fast(&plan.request(CPU)) else { return };
        self.mm.collapse_allocated(&plan, true);
        for _ in 0..self.random.below(2 * HUGE) {
            let Some(swapped) = self.mm.collapse_swapped(&plan) else { break };
            self.access(space, swapped, Access::Read, true);
        }
        self.collapsed += u64::from(self.mm.collapse_finish(&plan, page, CPU).is_ok());
    }

    fn split(&mut self) {
        let (space, addr) = (self.space(), self.addr());
        let PageView::Present { pfn, .. } = self.mm.page_at(space, addr) else { return };
        if self.random.below(2) == 0 {
            self.mm.split_pmd(space, addr.vpn());
        } else {
            let head = self.mm.compound_head(pfn);
            let _ = self.mm.split_huge_page(head, CPU);
        }
    }

    fn reclaim(&mut self) {
        let swappiness = [0, 200][self.random.below(2) as usize];
        let mut control = ReclaimControl::new(Reclaimer::Direct, Order::ZERO, swappiness, ZoneKind::Movable);
        control.priority = self.random.below(3) as u8;
        let id = self.mm.begin_reclaim(control);
        self.mm.begin_lru_pass(id, ZoneId(0));
        while self.mm.reclaim_step(id, CPU) != ReclaimStep::Done {
            checked(&self.mm);
            if self.random.below(6) == 0 {
                self.touch();
            }
        }
        self.writes.extend(self.mm.end_reclaim(id).writes.into_iter().map(|write| match write {
            PageWrite::Swap(write) => write,
            PageWrite::File(write) => panic!("{write:?} is of no file"),
        }));
    }

    fn end_writes(&mut self) {
        for write in core::mem::take(&mut self.writes) {
            self.mm.swap_written(write, CPU);
            if self.random.below(16) == 0 {
                checked(&self.mm);
            }
        }
    }

    fn lock(&mut self) {
        let (space, (start, length)) = (self.space(), self.range());
        let _ = match self.random.below(3) {
            0 => self.mm.mlock(space, start, pages(length)),
            _ => self.mm.munlock(space, start, pages(length)),
        };
    }

    fn end(mut self) {
        self.end_writes();
        for space in core::mem::take(&mut self.spaces) {
            self.mm.exit(space, CPU).expect("it lives");
        }
        for pfn in core::mem::take(&mut self.pins) {
            self.mm.unpin(pfn).expect("it is pinned");
        }
        self.mm.shrink_huge_zero(CPU);
        checked(&self.mm);
        let levels = self.mm.user_levels();
        assert_eq!((levels.anon, levels.anon_thps, levels.page_tables), (0, 0, 0));
        assert_eq!(self.mm.deferred_splits(NodeId(0)), 0);
    }
}

#[test]
fn nothing_is_lost_whatever_happens() {
    let (mut split_all, mut collapsed, mut by_daemon, mut lazily_freed) = ([0; 6], 0, 0, 0);
    for (seed, cow, zero_write, new_anon, queue_full_unmap) in [
        (1, HugeCow::Huge, ZeroWrite::Huge, NewAnon::Active, true),
        (2, HugeCow::Split, ZeroWrite::Split, NewAnon::Inactive, false),
        (3, HugeCow::Huge, ZeroWrite::Split, NewAnon::Inactive, false),
    ] {
        let mut policy = Policy::default();
        (policy.thp.cow, policy.thp.zero_write, policy.thp.queue_full_unmap) = (cow, zero_write, queue_full_unmap);
        policy.thp.max_ptes_shared = cow == HugeCow::Split;
        policy.reclaim.new_anon = new_anon;
        let mut world = World::new(policy, seed);
        for _ in 0..STEPS {
            world.step();
        }
        for (sum, count) in split_all.iter_mut().zip(super::events(world.mm.counters())) {
            *sum += count;
        }
        collapsed += world.collapsed;
        by_daemon += world.mm.khugepaged_pages_collapsed();
        lazily_freed += world.mm.counters().pglazyfreed;
        world.end();
    }
    assert!(split_all.iter().all(|&count| count > 0), "everything happened: {split_all:?}");
    assert!(collapsed > 5 && by_daemon > 5, "{collapsed} and {by_daemon} collapsed");
    assert!(lazily_freed > 100, "{lazily_freed} lazily freed");
}
