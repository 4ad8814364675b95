//! The reference machine with memory in a chosen state, and a kswapd that nobody disturbs: writes are done at once, naps
//! are never cut short, and nothing else happens while it works.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use order9_mm::Extfrag;
use order9_mm::FrameEvent;
use order9_mm::env::{Env, SpinLock, Stall, Task, Until};
use order9_mm::fs_cache::FsStep;
use order9_mm::policy::Policy;
use order9_mm::reclaim::PageWrite;
use order9_mm::slab::CacheSpec;
use order9_mm::space::{Access, FaultStep, MmapRequest, VirtAddr};
use order9_mm::tasks::kswapd;
use order9_mm::thp::HugeEnabled;
use order9_mm::trace::Event;
use order9_mm::{Contents, FileId, Gfp, Mm, MmBuilder, Request, Zone};
use order9_testkit::machines::machine_a;
use order9_units::{Nanos, NodeId, Order, PAGEBLOCK_PAGES, Pages, Pfn, PfnRange, ZoneKind};

pub(crate) const NODE: NodeId = NodeId(0);
pub(crate) const KERNEL: Request = Request::new(Order::ZERO, Gfp::GFP_KERNEL);
/// The machine has no per-CPU lists, so that every free page counts as one.
const CPU: usize = 0;

/// What memory holds before kswapd is needed.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    pub(crate) policy: Policy,
    /// Free pages of zone DMA32, all in blocks below order 9.
    pub(crate) dma32_free: u64,
    /// Free pages of zone Normal, likewise, and up to two pageblocks more.
    pub(crate) normal_free: u64,
    /// Clean pages of an open file, read once.
    pub(crate) file: u64,
    /// Pages of a program, written once, and slots in swap for as many.
    pub(crate) anon: u64,
    /// Files that were open twice: a dentry and an inode each, which shrinkers spare once and count as a hundred.
    pub(crate) files: u64,
}

/// The machine and its only task.
pub(crate) struct World {
    mm: RefCell<Mm>,
}

fn order(n: u8) -> Order {
    Order::new(n).expect("tests name orders up to 10")
}

fn zone(mm: &Mm, kind: ZoneKind) -> &Zone {
    mm.frames().zones().iter().find(|zone| zone.kind() == kind).expect("the machine has the zone")
}

/// Gives every frame of `range` away in the largest aligned blocks up to `most`, or leaves them free.
fn assign(builder: &mut MmBuilder, range: PfnRange, most: Order, free: bool) {
    let mut pfn = range.start;
    while pfn < range.end {
        let fits = |order: &Order| *order <= most && pfn.is_aligned(*order) && pfn + order.pages() <= range.end;
        let order = Order::all().rev().find(fits).expect("one page always fits");
        let done = if free { builder.free(pfn, order) } else { builder.allocate(pfn, order, Contents::Movable) };
        done.expect("the frames are nobody's");
        pfn += order.pages();
    }
}

/// In every pageblock of `range` the lower half is free, until `free` pages are; the rest is given away, in blocks up to
/// order 8.
fn half_free(builder: &mut MmBuilder, range: PfnRange, mut free: u64) {
    for pfn in range.iter().step_by(PAGEBLOCK_PAGES.get() as usize) {
        let lower = PfnRange::of(pfn, Pages::new(free.min(256)));
        free -= lower.len().get();
        assign(builder, lower, order(8), true);
        assign(builder, PfnRange::new(lower.end, (pfn + PAGEBLOCK_PAGES).min(range.end)), order(8), false);
    }
    assert_eq!(free, 0, "half of the range is enough");
}

impl Memory {
    /// The machine in that state, without any boost, and kswapd not asked for.
    pub(crate) fn world(&self) -> World {
        let (mut mm, returned) = self.boot();
        self.cache_files(&mut mm);
        self.read_file(&mut mm);
        self.write_anon(&mut mm);
        returned.iter().for_each(|&pfn| mm.free(pfn, CPU).expect("it was given away at boot"));
        use_up_pageblocks(&mut mm);
        // Writing the setting ends the boosts that all this came with.
        mm.phys_mut().set_watermark_scale_factor(10);
        mm.phys_mut().take_kswapd_request(NODE);
        mm.take_wakeups();
        mm.phys_mut().events_mut().clear();
        mm.check().expect("every law holds");
        World { mm: RefCell::new(mm) }
    }

    /// All memory given away but for what is free in DMA32 and what this state takes in Normal; and blocks to return.
    fn boot(&self) -> (Mm, Vec<Pfn>) {
        let layout = machine_a(0);
        let mut builder = MmBuilder::new(&layout, self.policy.clone()).expect("the layout is sound").traced();
        // Programs here take pages one by one.
        builder = builder.transparent_hugepage(HugeEnabled::Madvise);
        let [dma, dma32, normal] = [layout.zones[0].span, layout.zones[1].span, layout.zones[2].span];
        assign(&mut builder, PfnRange::new(layout.reserved[0].end, dma.end), Order::MAX, false);
        half_free(&mut builder, PfnRange::new(dma32.start, layout.holes[0].start), self.dma32_free);
        let blocks = self.normal_free / 256;
        let returned = PfnRange::of(normal.start, PAGEBLOCK_PAGES * blocks);
        assign(&mut builder, returned, order(8), false);
        // The marks are kept all the time, and a file takes a quarter of a page of slab at most.
        let needed = self.file + self.anon * 102 / 100 + self.files / 2 + 30_000;
        let room = PfnRange::of(returned.end, Pages::new(needed.next_multiple_of(1024)));
        assign(&mut builder, room, Order::MAX, true);
        assign(&mut builder, PfnRange::new(room.end, normal.end), Order::MAX, false);
        let returned = returned.iter().step_by(PAGEBLOCK_PAGES.get() as usize).collect();
        (builder.finish(), returned)
    }

    fn cache_files(&self, mm: &mut Mm) {
        mm.mount(CacheSpec::EXT4_INODE).expect("nothing is mounted");
        mm.tune(|tunables| tunables.vfs_cache_pressure = 10_000);
        for _ in 0..self.files {
            let file = open(mm, Pages::new(1));
            mm.pages_mut().fs_close(file).expect("it is open");
            assert!(matches!(mm.fs_open_fast(file, &KERNEL), FsStep::Done { .. }));
            mm.pages_mut().fs_close(file).expect("it is open");
        }
    }

    fn read_file(&self, mm: &mut Mm) {
        let file = open(mm, Pages::new(self.file));
        for index in 0..self.file {
            let page = mm.alloc_fast(&Request::new(Order::ZERO, Gfp::GFP_HIGHUSER_MOVABLE)).expect("there is room");
            mm.add_to_page_cache(file, index, page, CPU).expect("the inode is in memory");
            mm.end_page_read(file, index, Pages::new(1), CPU);
        }
    }

    fn write_anon(&self, mm: &mut Mm) {
        if self.anon == 0 {
            return;
        }
        mm.pages_mut().swap_mut().swapon(Pages::new(self.anon));
        let space = mm.create_space().expect("there are few");
        let length = Pages::new(self.anon).bytes();
        let start = mm.mmap(space, &MmapRequest::anon(length), CPU).expect("there is room").get();
        for addr in (start..start + length.get()).step_by(4096) {
            assert_eq!(mm.touch(space, VirtAddr::new(addr), Access::Write, CPU), FaultStep::Done);
        }
    }
}

fn open(mm: &mut Mm, size: Pages) -> FileId {
    let file = mm.fs_create(size).expect("there is room");
    assert!(matches!(mm.fs_open_fast(file, &KERNEL), FsStep::Done { .. }));
    file
}

/// Leaves no block of a pageblock or more in zone Normal, and nothing on its lists for the kernel: the next page that the
/// kernel asks for fragments a pageblock.
fn use_up_pageblocks(mm: &mut Mm) {
    let whole = Order::PAGEBLOCK.get() as usize;
    while zone(mm, ZoneKind::Normal).areas()[whole..].iter().any(|area| area.total() > 0) {
        mm.alloc_fast(&Request::new(Order::PAGEBLOCK, Gfp::GFP_HIGHUSER_MOVABLE)).expect("one is free");
    }
}

impl World {
    /// Asks for pages of the kernel until `events` of them have fragmented a pageblock, or none is left above the low mark.
    pub(crate) fn fragment(&self, events: usize) {
        let mut mm = self.mm.borrow_mut();
        let fragmenting = |event: &Event| matches!(event, Event::Frame(FrameEvent::Extfrag(extfrag)) if Extfrag::is_fragmenting(extfrag));
        while mm.phys_mut().events_mut().iter().filter(|event| fragmenting(event)).count() < events
            && mm.alloc_fast(&KERNEL).is_ok()
        {}
    }

    /// Runs kswapd from its start, which puts it to sleep, through `needed`, until it sleeps again.
    ///
    /// # Panics
    /// If a law is broken then.
    pub(crate) fn kswapd(&self, needed: impl FnOnce()) {
        let mut daemon = pin!(kswapd(self, NODE));
        let mut context = Context::from_waker(Waker::noop());
        assert_eq!(daemon.as_mut().poll(&mut context), Poll::Pending);
        needed();
        assert_eq!(daemon.as_mut().poll(&mut context), Poll::Pending);
        self.with(|mm| mm.check().expect("every law holds"));
    }

    pub(crate) fn boost(&self) -> u64 {
        self.with(|mm| mm.frames().zones().iter().map(Zone::boost).sum())
    }

    pub(crate) fn count(&self, name: &str) -> u64 {
        self.with(|mm| {
            order9_procfs::vmstat(mm).find(|&(known, _)| known == name).expect("the engine has this counter").1
        })
    }

    /// Priority, pages looked at and pages freed of every pass over inactive lists of files.
    pub(crate) fn passes_over_files(&self) -> Vec<(u8, u64, u64)> {
        let mut passes: Vec<(u8, u64, u64)> = Vec::new();
        for event in self.with(|mm| mm.phys_mut().events_mut().clone()) {
            let Event::LruShrinkInactive { scanned, reclaimed, priority, .. } = event else { continue };
            match passes.last_mut() {
                Some(last) if last.0 == priority => (last.1, last.2) = (last.1 + scanned, last.2 + reclaimed),
                _ => passes.push((priority, scanned, reclaimed)),
            }
        }
        passes
    }
}

impl Env for World {
    fn with<R>(&self, step: impl FnOnce(&mut Mm) -> R) -> R {
        step(&mut self.mm.borrow_mut())
    }

    async fn spend(&self) {}

    fn cpu(&self) -> usize {
        CPU
    }

    fn task(&self) -> Task {
        Task { kthread: true, memalloc: true, ..Task::default() }
    }

    async fn sleep(&self, _: Nanos) {}

    fn need_resched(&self) -> bool {
        false
    }

    fn lock_busy(&self, _: SpinLock) -> bool {
        false
    }
}

impl Stall for World {
    async fn submit(&self, writes: Vec<PageWrite>) {
        for write in writes {
            self.with(|mm| match write {
                PageWrite::Swap(write) => mm.swap_written(write, CPU),
                PageWrite::File(write) => mm.file_written(&write, Nanos::ZERO, CPU),
            });
        }
    }

    fn wait(&self, until: Until, timeout: Option<Nanos>) -> impl Future<Output = bool> {
        poll_fn(move |_| {
            let needed = until == Until::KswapdNeeded(NODE) && self.with(Mm::take_wakeups).kswapd != 0;
            match needed || timeout.is_some() {
                true => Poll::Ready(needed),
                false => Poll::Pending,
            }
        })
    }

    fn wake(&self, _: Until) {}

    fn now(&self) -> Nanos {
        Nanos::ZERO
    }
}
