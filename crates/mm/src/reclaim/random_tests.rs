//! Programs, files, pins, locks and writes in random order, with runs of reclaim in between: whatever happens, every law
//! holds after every step, and every page reads as what was last written to it.

use alloc::vec::Vec;

use order9_units::{Nanos, Order, Pages, Pfn, ZoneKind};

use super::{PageWrite, ReclaimControl, ReclaimFlags, ReclaimId, ReclaimStep, Reclaimer};
use crate::fs_cache::FsStep;
use crate::fs_cache::tests::{KERNEL, mounted};
use crate::policy::{BalanceRule, LruScope, NewAnon, Policy};
use crate::slab::tests::Random;
use crate::space::{Access, Backing, Errno, FaultStep, Madvise, MmapRequest, PageView, SpaceId, VirtAddr};
use crate::{FileId, Gfp, Mm, ZoneId};

const CPU: usize = 0;
/// Pages of a mapping; there are four.
const PAGES: u64 = 60;
/// Too little for all anonymous pages, so that swap is full now and then.
const SLOTS: Pages = Pages::new(80);
const STEPS: u64 = 1000;

struct World {
    mm: Mm,
    random: Random,
    now: u64,
    /// An anonymous mapping and one of the file in each of two spaces.
    mappings: Vec<(SpaceId, VirtAddr)>,
    file: FileId,
    reads: Vec<u64>,
    writes: Vec<PageWrite>,
    runs: Vec<ReclaimId>,
    pins: Vec<Pfn>,
}

impl World {
    fn new(policy: Policy, seed: u64) -> Self {
        let mut mm = mounted(policy).with_content_tags();
        mm.pages.swap.swapon(SLOTS);
        let file = mm.fs_create(Pages::new(PAGES)).expect("there is room");
        assert!(matches!(mm.fs_open_fast(file, &KERNEL), FsStep::Done { .. }));
        let mut mappings = Vec::new();
        for _ in 0..2 {
            let space = mm.create_space().expect("there are few");
            let anon = MmapRequest::anon(Pages::new(PAGES).bytes());
            let backing = Backing::File { file, offset: Pages::ZERO, shared: true };
            for request in [anon, MmapRequest { backing, ..anon }] {
                mappings.push((space, mm.mmap(space, &request, CPU).expect("there is room")));
            }
        }
        let (reads, writes, runs, pins) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { mm, random: Random(seed), now: 0, mappings, file, reads, writes, runs, pins }
    }

    fn chance(&mut self, one_in: u64) -> bool {
        self.random.below(one_in) == 0
    }

    /// A page of a mapping, the first ones more often.
    fn place(&mut self) -> (SpaceId, VirtAddr) {
        let (space, start) = self.mappings[self.random.below(4) as usize];
        let most = self.random.below(PAGES) + 1;
        (space, VirtAddr::new(start.get() + 4096 * self.random.below(most)))
    }

    fn page(&mut self) -> Pfn {
        let request = crate::Request::new(Order::ZERO, Gfp::GFP_HIGHUSER_MOVABLE);
        self.mm.alloc_fast(&request).expect("memory is free")
    }

    fn step(&mut self) {
        self.now += 1;
        match self.random.below(20) {
            0..=7 => self.access(),
            8 => self.lock(),
            9 => self.pin_or_unpin(),
            10..=14 => self.reclaim(),
            15..=16 => self.end_io(),
            17 => self.flush(),
            18 => {
                let (space, addr) = self.place();
                if let PageView::Present { pfn, .. } = self.mm.page_at(space, addr) {
                    self.mm.mark_accessed(pfn);
                }
            }
            _ => {
                let (space, addr) = self.place();
                let done = self.mm.madvise(space, addr, Pages::new(1).bytes(), Madvise::DontNeed, CPU);
                assert!(matches!(done, Ok(()) | Err(Errno::Einval)), "{done:?}: only locked pages cannot be discarded");
            }
        }
        self.mm.check().unwrap_or_else(|violation| panic!("step {}: {violation}", self.now));
    }

    /// An access; one whose read from disk takes time is left undone.
    fn access(&mut self) {
        let (space, addr) = self.place();
        let access = if self.chance(2) { Access::Write } else { Access::Read };
        loop {
            match self.mm.fault_begin(space, addr, access, CPU) {
                FaultStep::NeedPage(fault) => {
                    let page = self.mm.alloc_fast(&fault.request(CPU)).expect("memory is free");
                    self.mm.fault_finish(&fault, page, CPU);
                }
                FaultStep::NeedRead { file, index } => {
                    let page = self.page();
                    self.mm.add_to_page_cache(file, index, page, CPU).expect("the inode is in memory");
                    if self.chance(3) {
                        self.reads.push(index);
                        return;
                    }
                    self.mm.end_page_read(file, index, Pages::new(1), CPU);
                }
                FaultStep::NeedMkwrite => {
                    self.mm.pages.page_mkwrite(space, addr, Nanos::new(self.now), CPU, &mut self.mm.phys);
                }
                FaultStep::Hit | FaultStep::Done => return,
                other => panic!("{other:?}"),
            }
        }
    }

    fn lock(&mut self) {
        let (space, start) = self.mappings[self.random.below(4) as usize];
        let length = Pages::new(self.random.below(PAGES) + 1).bytes();
        if self.chance(3) {
            self.mm.mlock(space, start, length).expect("it is mapped");
        } else {
            self.mm.munlock(space, start, length).expect("it is mapped");
        }
    }

    fn pin_or_unpin(&mut self) {
        if self.chance(2) && !self.pins.is_empty() {
            let at = self.random.below(self.pins.len() as u64) as usize;
            self.mm.unpin(self.pins.swap_remove(at)).expect("it is pinned");
            return;
        }
        let (space, addr) = self.place();
        if let PageView::Present { pfn, .. } = self.mm.page_at(space, addr)
            && self.mm.pin(pfn).is_ok()
        {
            self.pins.push(pfn);
        }
    }

    /// Some steps of one of up to three runs.
    fn reclaim(&mut self) {
        let at = self.random.below(3) as usize;
        if at >= self.runs.len() {
            let run = self.any_run();
            let id = self.mm.begin_reclaim(run);
            self.mm.begin_lru_pass(id, ZoneId(0));
            self.runs.push(id);
            return;
        }
        let id = self.runs[at];
        for _ in 0..self.random.below(12) {
            let step = self.mm.reclaim_step(id, CPU);
            self.mm.check().unwrap_or_else(|violation| panic!("step {}: {violation}", self.now));
            if step == ReclaimStep::Done {
                let run = self.mm.reclaim_mut(id);
                run.priority = run.priority.saturating_sub(1);
                self.mm.begin_lru_pass(id, ZoneId(0));
            }
        }
        if self.chance(4) {
            self.runs.swap_remove(at);
            let run = self.mm.end_reclaim(id);
            self.writes.extend(run.writes);
        }
    }

    fn any_run(&mut self) -> ReclaimControl {
        let by = if self.chance(2) { Reclaimer::Kswapd } else { Reclaimer::Direct };
        let mut run = ReclaimControl::new(by, Order::ZERO, self.random.below(100), ZoneKind::Movable);
        run.priority = self.random.below(4) as u8;
        (run.may_unmap, run.may_swap, run.may_writepage) = (!self.chance(8), !self.chance(8), !self.chance(8));
        run.gfp = [Gfp::GFP_KERNEL, Gfp::GFP_NOFS, Gfp::GFP_KERNEL - Gfp::IO - Gfp::FS][self.random.below(3) as usize];
        let flags = ReclaimFlags { dirty: self.chance(2), writeback: self.chance(2), congested: false };
        self.mm.reclaim.set_reclaim_flags(ZoneId(0), flags, &self.mm.phys);
        run
    }

    fn end_io(&mut self) {
        if !self.reads.is_empty() && self.chance(2) {
            let at = self.random.below(self.reads.len() as u64) as usize;
            self.mm.end_page_read(self.file, self.reads.swap_remove(at), Pages::new(1), CPU);
        }
        for _ in 0..self.random.below(self.writes.len() as u64 + 1) {
            let at = self.random.below(self.writes.len() as u64) as usize;
            let write = self.writes.swap_remove(at);
            self.end_write(write);
        }
    }

    fn end_write(&mut self, write: PageWrite) {
        match write {
            PageWrite::Swap(write) => self.mm.swap_written(write, CPU),
            PageWrite::File(write) => self.mm.file_written(&write, Nanos::new(self.now), CPU),
        }
    }

    fn flush(&mut self) {
        let most = Pages::new(self.random.below(8) + 1);
        let write = self.mm.pages.start_writeback(self.file, most, &mut self.mm.phys);
        self.writes.extend(write.map(PageWrite::File));
    }

    /// Everything ends; nothing may be left but clean pages of the file.
    fn end(mut self) -> Mm {
        for id in core::mem::take(&mut self.runs) {
            let run = self.mm.end_reclaim(id);
            self.writes.extend(run.writes);
        }
        for write in core::mem::take(&mut self.writes) {
            self.end_write(write);
        }
        for index in core::mem::take(&mut self.reads) {
            self.mm.end_page_read(self.file, index, Pages::new(1), CPU);
        }
        for pfn in core::mem::take(&mut self.pins) {
            self.mm.unpin(pfn).expect("it is pinned");
        }
        for at in [0, 2] {
            self.mm.exit(self.mappings[at].0, CPU).expect("it lives");
        }
        self.mm.check().unwrap_or_else(|violation| panic!("in the end: {violation}"));
        let levels = self.mm.pages.user_levels();
        assert_eq!((levels.anon, levels.mapped, self.mm.pages.swap.swap_free()), (0, 0, SLOTS));
        self.mm
    }
}

#[test]
fn nothing_is_lost_whatever_is_reclaimed_when() {
    for (seed, lru, new_anon, balance) in [
        (1, LruScope::Zone, NewAnon::Active, BalanceRule::Rotation),
        (2, LruScope::Node, NewAnon::Active, BalanceRule::Rotation),
        (3, LruScope::Node, NewAnon::Inactive, BalanceRule::RefaultCost),
    ] {
        let mut policy = Policy::default();
        (policy.reclaim.lru, policy.reclaim.new_anon, policy.reclaim.balance) = (lru, new_anon, balance);
        policy.reclaim.file_ratio = lru == LruScope::Node;
        let mut world = World::new(policy, seed);
        (0..STEPS).for_each(|_| world.step());
        let mm = world.end();
        let counters = mm.counters();
        for (what, count) in [
            ("stolen by kswapd", counters.pgsteal_kswapd.total()),
            ("stolen by tasks", counters.pgsteal_direct.total()),
            ("swapped in", counters.pswpin),
            ("swapped out", counters.pswpout),
            ("written", counters.nr_vmscan_write - counters.pswpout),
            ("left to flushers", counters.nr_vmscan_immediate_reclaim),
            ("rotated", counters.pgrotated),
            ("deactivated", counters.pgdeactivate),
            ("refaulted", counters.workingset_refault[1]),
        ] {
            assert!(count > 0, "none {what} with seed {seed}");
        }
        let anon = counters.workingset_refault[0] > 0;
        assert_eq!(anon, new_anon == NewAnon::Inactive, "anonymous pages leave shadows from 5.9 on");
    }
}
