//! The engine by itself with requests that may wait: one task, whose locks are busy, whose slice ends and whose disks are slow
//! at random.

use core::cell::{Cell, RefCell};
use core::fmt::Write as _;
use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker};

use order9_mm::env::{Env, OomKill, SpinLock, Stall, Task, Until};
use order9_mm::page_cache::MigrateHandler;
use order9_mm::policy::Policy;
use order9_mm::reclaim::PageWrite;
use order9_mm::slab::CacheSpec;
use order9_mm::space::{Access, FaultStep, MmapRequest, VirtAddr};
use order9_mm::tasks::{alloc_pages, compact_memory};
use order9_mm::{FileId, Gfp, Layout, Mm, MmBuilder, NodeSpec, Pressure, Request, SpaceId, ZoneSpec};
use order9_testkit::nodes::{Choices as _, Random};
use order9_units::{Bytes, Nanos, NodeId, Order, PAGE_SIZE, Pages, Pfn, PfnRange, ZoneKind};

/// CPUs of the two nodes.
const CPUS: usize = 2;
/// Pages of a node.
const NODE: Pages = Pages::new(16 << 9);

/// Memory of the world, and requests for it.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Shortage {
    /// Huge pages are asked for where memory of a program has holes; a sixteenth is page cache.
    HugePages,
    /// Small blocks are asked for, and kept, in the same memory.
    SmallBlocks,
    /// Most of memory is page cache that nobody writes back.
    DirtyPages,
}

/// Flags of a request, and its highest order: a huge page is always one.
type Kind = (Gfp, u64);

const HUGE_PAGES: [Kind; 7] = [
    (Gfp::GFP_TRANSHUGE, 9),
    (Gfp::GFP_TRANSHUGE, 9),
    (Gfp::GFP_TRANSHUGE_LIGHT, 9),
    (Gfp::GFP_KERNEL, 4),
    (Gfp::GFP_HIGHUSER_MOVABLE, 3),
    (Gfp::GFP_ATOMIC, 2),
    (Gfp::GFP_NOWAIT, 1),
];
const SMALL_BLOCKS: [Kind; 4] =
    [(Gfp::GFP_KERNEL, 5), (Gfp::GFP_HIGHUSER_MOVABLE, 3), (Gfp::GFP_HIGHUSER_MOVABLE, 3), (Gfp::GFP_NOWAIT, 4)];

struct World {
    mm: RefCell<Mm>,
    random: RefCell<Random>,
    cpu: Cell<usize>,
    task: Cell<Task>,
    now: Cell<Nanos>,
}

impl World {
    fn below(&self, bound: u64) -> u64 {
        self.random.borrow_mut().below(bound)
    }
}

impl Env for World {
    fn with<R>(&self, step: impl FnOnce(&mut Mm) -> R) -> R {
        step(&mut self.mm.borrow_mut())
    }

    async fn spend(&self) {
        self.now.set(self.now.get() + Nanos::new(1_000));
    }

    fn cpu(&self) -> usize {
        self.cpu.get()
    }

    fn task(&self) -> Task {
        self.task.get()
    }

    async fn sleep(&self, time: Nanos) {
        self.now.set(self.now.get() + time);
    }

    fn need_resched(&self) -> bool {
        self.below(16) == 0
    }

    fn lock_busy(&self, _: SpinLock) -> bool {
        self.below(4) == 0
    }
}

impl Stall for World {
    async fn submit(&self, writes: Vec<PageWrite>) {
        for write in writes {
            self.with(|mm| match write {
                PageWrite::File(write) => mm.file_written(&write, self.now.get(), self.cpu()),
                PageWrite::Swap(_) => unreachable!("there is no swap"),
            });
        }
    }

    async fn wait(&self, _: Until, timeout: Option<Nanos>) -> bool {
        self.now.set(self.now.get() + timeout.unwrap_or(Nanos::new(1_000_000)));
        true
    }

    fn wake(&self, _: Until) {}

    fn now(&self) -> Nanos {
        self.now.get()
    }
}

impl Pressure for World {
    async fn oom_kill(&self, _: &Request) -> OomKill {
        OomKill::NoVictim
    }
}

/// Runs what never has to wait in this world.
fn run<R>(future: impl Future<Output = R>) -> R {
    match pin!(future).as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => unreachable!("this world never makes a task wait"),
    }
}

/// Two nodes, each nearly full of pages of a program with holes here and there, and of a file that cannot be moved. Requests of
/// all orders come from both.
pub(super) fn requests_that_wait(policy: Policy, seed: u64, shortage: Shortage) -> String {
    let mut random = Random(seed);
    let mut mm = boot(policy);
    let space = mm.create_space().expect("it is the first");
    let holes = fill(&mut mm, space, shortage, &mut random);
    let world = World {
        mm: RefCell::new(mm),
        random: RefCell::new(random),
        cpu: Cell::new(0),
        task: Cell::default(),
        now: Cell::new(Nanos::ZERO),
    };
    let mut seen = String::new();
    let mut held = Vec::new();
    for hole in holes {
        let _ = world.with(|mm| mm.munmap(space, hole, PAGE_SIZE, 0));
        if world.below(if shortage != Shortage::HugePages { 6 } else { 24 }) == 0 {
            request(&world, shortage, &mut held, &mut seen);
        }
        if world.below(400) == 0 {
            run(compact_memory(&world));
        }
    }
    for _ in 0..900 {
        request(&world, shortage, &mut held, &mut seen);
    }
    world
        .with(|mm| write!(seen, "{:?} {held:?} {:?} {:?}", world.now.get(), mm.frames().counters(), mm.counters()))
        .expect("a string takes it");
    seen
}

/// One request of any kind, or the end of an old one. A kernel thread asks: nobody else waits for kswapd, which is not there.
fn request(world: &World, shortage: Shortage, held: &mut Vec<Pfn>, seen: &mut String) {
    let (kinds, most): (&[Kind], _) = match shortage {
        Shortage::HugePages => (&HUGE_PAGES, 16),
        Shortage::SmallBlocks | Shortage::DirtyPages => (&SMALL_BLOCKS, 5_000),
    };
    if held.len() > most || world.below(if most > 16 { 20 } else { 3 }) == 0 && !held.is_empty() {
        let pfn = held.swap_remove(world.below(held.len() as u64) as usize);
        world.with(|mm| mm.free(pfn, world.cpu())).expect("it is held");
        return;
    }
    let (gfp, order) = kinds[world.below(kinds.len() as u64) as usize];
    let order = if order == 9 { 9 } else { world.below(order + 1) };
    world.cpu.set(world.below(CPUS as u64) as usize);
    world.task.set(Task { rt: world.below(4) == 0, kthread: true, ..Task::default() });
    let order = Order::new(order as u8).expect("it is small");
    let asked = Request { cpu: world.cpu(), node: NodeId(world.cpu() as u16), ..Request::new(order, gfp) };
    match run(alloc_pages(world, &asked)) {
        Ok(pfn) => held.push(pfn),
        Err(error) => write!(seen, "{error:?} ").expect("a string takes it"),
    }
}

/// Fills both nodes, and says which pages of the program are to go, in which order.
fn fill(mm: &mut Mm, space: SpaceId, shortage: Shortage, random: &mut Random) -> Vec<VirtAddr> {
    mm.mount(CacheSpec::EXT4_INODE).expect("nothing is mounted yet");
    let file = mm.fs_create(NODE).expect("there is room");
    let _ = mm.fs_open_fast(file, &Request::new(Order::ZERO, Gfp::GFP_KERNEL));
    let size = Bytes::new(2 * NODE.bytes().get());
    let start = mm.mmap(space, &MmapRequest::anon(size), 0).expect("the space is empty");
    let mut pages = Vec::new();
    for page in 0..2 * NODE.get() {
        let cpu = random.below(CPUS as u64) as usize;
        let share = if shortage == Shortage::DirtyPages { 13 } else { 1 };
        if random.below(16) < share && cache(mm, file, page / 2, cpu) {
            if shortage == Shortage::DirtyPages {
                mm.write_page(file, page / 2, Nanos::ZERO);
            }
            continue;
        }
        let addr = VirtAddr::new(start.get() + Pages::new(page).bytes().get());
        if mm.touch(space, addr, Access::Write, cpu) != FaultStep::Done {
            break;
        }
        pages.push(addr);
    }
    let share = if shortage != Shortage::HugePages { 8 } else { 3 };
    let mut holes: Vec<VirtAddr> = pages.iter().copied().filter(|_| random.below(share) == 0).collect();
    for at in (1..holes.len()).rev() {
        holes.swap(at, random.below(at as u64 + 1) as usize);
    }
    mm.pages_mut().cache_mut().set_migrate_handler(file, MigrateHandler::AbsentPrivate);
    holes
}

/// Reads a page of the file; says whether there was memory for it.
fn cache(mm: &mut Mm, file: FileId, index: u64, cpu: usize) -> bool {
    let asked = Request { cpu, ..Request::new(Order::ZERO, Gfp::GFP_HIGHUSER_MOVABLE) };
    let Ok(page) = mm.alloc_fast(&asked) else { return false };
    let added = mm.add_to_page_cache(file, index, page, cpu).is_ok();
    if added {
        mm.end_page_read(file, index, Pages::new(1), cpu);
    }
    added
}

fn boot(policy: Policy) -> Mm {
    let mut zones = Vec::new();
    let mut at = Pfn::new(1 << 12);
    for (node, kind, pages) in [
        (0, ZoneKind::Dma32, Pages::new(4 << 9)),
        (0, ZoneKind::Normal, NODE - Pages::new(4 << 9)),
        (1, ZoneKind::Normal, NODE),
    ] {
        let span = PfnRange::of(at, pages);
        zones.push(ZoneSpec { node: NodeId(node), kind, span });
        at = span.end;
    }
    let layout = Layout {
        nodes: vec![NodeSpec { distances: vec![10, 21] }, NodeSpec { distances: vec![21, 10] }],
        zones,
        cpus: vec![NodeId(0), NodeId(1)],
        ..Layout::default()
    };
    MmBuilder::new(&layout, policy).expect("the layout is sound").boot()
}
