//! Pages of all kinds move at random while programs go on, disks end transfers and pins come and go: every law holds after
//! every step, and every page reads as what was last written to it.

use alloc::vec::Vec;
use core::cell::RefCell;

use order9_units::{Nanos, Order, Pages, Pfn};

use super::{CPU, MigrateMode, MigrateReason, World, address};
use crate::env::{Env, SpinLock, Stall, Task, Until, run};
use crate::migrate::{DriverAnswer, DriverPageId};
use crate::page_cache::MigrateHandler;
use crate::policy::Policy;
use crate::reclaim::PageWrite;
use crate::slab::tests::Random;
use crate::space::{Access, Backing, FaultStep, Madvise, MmapRequest, PageView, SpaceId, VirtAddr};
use crate::tasks::migrate::gather::gather_pages;
use crate::{FileId, Gfp, Mm, Request};

/// Pages of a mapping.
const PAGES: u64 = 30;
const STEPS: u64 = 300;

/// A world in which others go on whenever a task spends time.
struct Busy {
    world: World,
    random: RefCell<Random>,
    /// An anonymous mapping, one of a file on disk and one of tmpfs in each of two spaces.
    mappings: Vec<(SpaceId, VirtAddr)>,
    file: FileId,
    pins: RefCell<Vec<Pfn>>,
    driver_pages: Vec<DriverPageId>,
}

impl Busy {
    fn new(policy: Policy, seed: u64) -> Self {
        let world = World::with_policy(policy);
        let file = world.file(PAGES);
        let (mut mappings, mut driver_pages) = (Vec::new(), Vec::new());
        {
            let mut mm = world.mm.borrow_mut();
            let tmpfs = mm.create_file(Pages::new(PAGES)).expect("there are few");
            for _ in 0..2 {
                let space = mm.create_space().expect("there are few");
                let anon = MmapRequest::anon(Pages::new(PAGES).bytes());
                let of = |file| Backing::File { file, offset: Pages::ZERO, shared: true };
                for backing in [anon.backing, of(file), of(tmpfs)] {
                    let start = mm.mmap(space, &MmapRequest { backing, ..anon }, CPU).expect("there is room");
                    mappings.push((space, start));
                }
            }
            for _ in 0..5 {
                let page = mm.alloc_fast(&Request::new(Order::ZERO, Gfp::GFP_HIGHUSER_MOVABLE)).expect("it is free");
                driver_pages.push(mm.register_driver_page(page).expect("nobody owns it"));
            }
        }
        let (random, pins) = (RefCell::new(Random(seed)), RefCell::default());
        Self { world, random, mappings, file, pins, driver_pages }
    }

    fn below(&self, end: u64) -> u64 {
        self.random.borrow_mut().below(end)
    }

    fn place(&self) -> (SpaceId, VirtAddr) {
        let (space, start) = self.mappings[self.below(6) as usize];
        (space, address(start, self.below(PAGES)))
    }

    fn present(&self) -> Option<Pfn> {
        let (space, addr) = self.place();
        match self.world.mm.borrow().page_at(space, addr) {
            PageView::Present { pfn, .. } => Some(pfn),
            _ => None,
        }
    }

    /// Does one random thing that other tasks do.
    fn disturb(&self) {
        match self.below(18) {
            0..=5 => self.access(),
            6 => {
                let ((space, addr), length) = (self.place(), Pages::new(1).bytes());
                let locks = self.below(2) == 0;
                self.world
                    .with(|mm| if locks { mm.mlock(space, addr, length) } else { mm.munlock(space, addr, length) })
                    .expect("it is mapped");
            }
            7 => self.pin_or_unpin(),
            8 => {
                let write = self.world.with(|mm| mm.pages.start_writeback(self.file, Pages::new(4), &mut mm.phys));
                self.world.writes.borrow_mut().extend(write.map(PageWrite::File));
            }
            9 => self.to_swap(),
            10 => {
                let (space, addr) = self.place();
                // Locked pages cannot be discarded.
                let _ = self.world.with(|mm| mm.madvise(space, addr, Pages::new(1).bytes(), Madvise::DontNeed, CPU));
            }
            11 => {
                let answer = [DriverAnswer::Moves, DriverAnswer::Busy, DriverAnswer::Refuses][self.below(3) as usize];
                let id = self.driver_pages[self.below(5) as usize];
                self.world.with(|mm| mm.pages.drivers.set_driver_answer(id, answer));
            }
            12 => {
                let handlers = [MigrateHandler::Present, MigrateHandler::Absent, MigrateHandler::AbsentPrivate];
                let handler = handlers[self.below(3) as usize];
                self.world.with(|mm| mm.pages.cache.set_migrate_handler(self.file, handler));
            }
            13 => {
                let (index, pages) = (self.below(PAGES), Pages::new(PAGES));
                self.world.with(|mm| {
                    mm.truncate(self.file, Pages::new(index), CPU).expect("it is open");
                    mm.truncate(self.file, pages, CPU).expect("it is open");
                });
            }
            14 => self.world.end_transfers(),
            _ => self.to_swap(),
        }
    }

    /// An access; one whose read from disk takes time is left undone.
    fn access(&self) {
        let (space, addr) = self.place();
        let access = if self.below(2) == 0 { Access::Write } else { Access::Read };
        loop {
            let now = self.world.clock.get() + Nanos::new(1);
            self.world.clock.set(now);
            let step = self.world.with(|mm| match mm.fault_begin(space, addr, access, CPU) {
                FaultStep::NeedPage(fault) => {
                    let page = mm.alloc_fast(&fault.request(CPU)).expect("memory is free");
                    mm.fault_finish(&fault, page, CPU)
                }
                FaultStep::NeedRead { file, index } => {
                    let page =
                        mm.alloc_fast(&Request::new(Order::ZERO, Gfp::GFP_HIGHUSER_MOVABLE)).expect("it is free");
                    mm.add_to_page_cache(file, index, page, CPU).expect("the inode is in memory");
                    self.world.reads.borrow_mut().push((file, index));
                    FaultStep::Done
                }
                FaultStep::NeedMkwrite => mm.pages.page_mkwrite(space, addr, now, CPU, &mut mm.phys),
                step => step,
            });
            if matches!(step, FaultStep::Hit | FaultStep::Done) {
                return;
            }
        }
    }

    fn pin_or_unpin(&self) {
        let pins = self.pins.borrow().len() as u64;
        if self.below(2) == 0 && pins > 0 {
            let pfn = self.pins.borrow_mut().swap_remove(self.below(pins) as usize);
            self.world.with(|mm| mm.unpin(pfn)).expect("it is pinned");
        } else if let Some(pfn) = self.present() {
            self.world.with(|mm| mm.pin(pfn)).expect("it is allocated");
            self.pins.borrow_mut().push(pfn);
        }
    }

    /// An anonymous page goes to the swap cache, and perhaps on its way to the disk.
    fn to_swap(&self) {
        let Some(pfn) = self.present() else { return };
        let (unmaps, writes) = (self.below(2) == 0, self.below(2) == 0);
        let write = self.world.with(|mm| {
            let idx = mm.phys.frames.at(pfn);
            let word = mm.phys.frames.word(idx);
            let is_anon = mm.phys.lru_of(pfn).is_some() && matches!(mm.block_view(pfn).user, crate::BlockUser::Anon);
            if !is_anon
                || word.has(crate::page_flags::PageFlag::Unevictable)
                || !mm.pages.swap.add_to_swap(idx, &mut mm.phys)
            {
                return None;
            }
            if unmaps {
                mm.pages.unmap_to_swap(idx, &mut mm.phys);
            }
            let word = mm.phys.frames.word(idx);
            let can_write =
                word.has(crate::page_flags::PageFlag::Dirty) && !word.has(crate::page_flags::PageFlag::Writeback);
            (writes && can_write).then(|| PageWrite::Swap(mm.pages.start_swap_write(idx, &mut mm.phys)))
        });
        self.world.writes.borrow_mut().extend(write);
    }

    /// Moves some pages to some free block.
    fn migrate(&self) {
        let mode = [MigrateMode::Async, MigrateMode::SyncLight, MigrateMode::Sync][self.below(3) as usize];
        self.world.task.set(Task { memalloc: self.below(2) == 0, ..Task::default() });
        let mut pages: Vec<Pfn> = (0..self.below(40)).filter_map(|_| self.present()).collect();
        pages.extend((0..self.below(PAGES)).filter_map(|index| self.world.mm.borrow().file_page(self.file, index)));
        pages.extend(
            self.driver_pages
                .iter()
                .filter_map(|&id| self.world.mm.borrow().pages.drivers.driver_page(id, &self.world.mm.borrow().phys)),
        );
        let order = Order::new(self.below(7) as u8).expect("a small order");
        let small = self.below(2) == 0;
        let Some(block) = self.world.free_block(|&of| of <= order || !small) else { return };
        let gathered = gather_pages(self, &pages, block, mode, MigrateReason::Compaction);
        run(gathered).expect("it is free");
    }

    /// Everything ends, and nothing is left isolated.
    fn end(self) -> Mm {
        self.world.end_transfers();
        let mut mm = self.world.mm.into_inner();
        self.pins.take().into_iter().for_each(|pfn| assert!(mm.unpin(pfn).is_ok()));
        self.driver_pages.iter().for_each(|&id| assert!(mm.release_driver_page(id, CPU)));
        for at in [0, 3] {
            mm.exit(self.mappings[at].0, CPU).expect("it lives");
        }
        mm.check().unwrap_or_else(|violation| panic!("in the end: {violation}"));
        assert!(mm.phys.frames.blocks().iter().all(|block| block.isolated == 0));
        assert_eq!(
            (mm.pages.user_levels().anon, mm.pages.user_levels().mapped, mm.pages.swap.swap_cached()),
            (0, 0, Pages::ZERO)
        );
        mm
    }
}

impl Env for Busy {
    fn with<R>(&self, step: impl FnOnce(&mut Mm) -> R) -> R {
        self.world.with(step)
    }

    async fn spend(&self) {
        if self.below(3) == 0 {
            self.disturb();
        }
    }

    fn cpu(&self) -> usize {
        CPU
    }

    fn task(&self) -> Task {
        self.world.task()
    }

    async fn sleep(&self, _: Nanos) {}

    fn need_resched(&self) -> bool {
        false
    }

    fn lock_busy(&self, _: SpinLock) -> bool {
        false
    }
}

impl Stall for Busy {
    async fn submit(&self, writes: Vec<PageWrite>) {
        self.world.submit(writes).await;
    }

    async fn wait(&self, until: Until, timeout: Option<Nanos>) -> bool {
        self.world.wait(until, timeout).await
    }

    fn wake(&self, _: Until) {}

    fn now(&self) -> Nanos {
        self.world.now()
    }
}

#[test]
fn nothing_is_lost_whatever_moves_when() {
    for (seed, batched) in [(1, false), (2, true), (3, false)] {
        let mut policy = Policy::default();
        (policy.compaction.batched_migrate, policy.compaction.nohandler_fail_fast) = (batched, seed == 1);
        let busy = Busy::new(policy, seed);
        for _ in 0..STEPS {
            if busy.below(5) == 0 { busy.migrate() } else { busy.disturb() }
        }
        let mm = busy.end();
        let (counters, failures) = (mm.counters(), mm.counters().migrate_failures);
        let waits = counters.migrate_waits;
        for (what, count) in [
            ("moved", counters.pgmigrate_success),
            ("failed", counters.pgmigrate_fail),
            ("locked", failures.locked),
            ("under writeback", failures.writeback),
            ("pinned", failures.pinned),
            ("dirty without handler", failures.dirty),
            ("with private data", failures.private_data),
            ("of a busy driver", failures.driver_busy),
            ("refused", failures.driver_refused),
            ("without target", failures.no_target),
            ("waits for reads or writes", waits.read.number + waits.file_write.number + waits.swap_write.number),
        ] {
            assert!(count > 0, "none {what} with seed {seed}");
        }
    }
}
