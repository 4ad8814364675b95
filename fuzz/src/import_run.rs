//! Bytes as a memory map, which becomes an engine under the rules of some release, and as what then happens there: requests,
//! frees, isolation, reclaim, compaction. Every law holds after each step.

use std::cell::RefCell;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use order9_import::{Disk, import};
use order9_mm::env::{Env, SpinLock, Stall, Task, Until};
use order9_mm::reclaim::PageWrite;
use order9_mm::tasks::compact_node;
use order9_mm::tasks::direct_reclaim;
use order9_mm::{Gfp, Mm, Request};
use order9_snapshot::flags::kpf;
use order9_snapshot::{FrameMapBuilder, FrameState, Machine, NodeInfo, Snapshot, ZoneInfo};
use order9_testkit::profiles;
use order9_units::{Migratetype, Nanos, NodeId, Order, PAGE_SIZE, PAGEBLOCK_PAGES, Pages, Pfn, PfnRange, ZoneKind};

/// Longer inputs find nothing that several short ones do not.
const STEPS_MAX: usize = 48;
/// First frame of the first zone.
const START: u64 = 1024;
const CPU: usize = 0;

const USER: u64 = kpf::UPTODATE | kpf::LRU | kpf::MMAP;
const ANON: u64 = USER | kpf::ANON | kpf::SWAPBACKED;

/// What frames are, by a byte: flags, and how often they are mapped.
const KINDS: [(u64, u64); 20] = [
    (kpf::BUDDY, 0),
    (ANON, 1),
    (ANON | kpf::ACTIVE | kpf::REFERENCED, 1),
    (ANON | kpf::DIRTY | kpf::SWAPCACHE, 2),
    (kpf::UPTODATE | kpf::LRU, 0),
    (USER | kpf::ACTIVE, 3),
    (kpf::UPTODATE | kpf::LRU | kpf::DIRTY, 0),
    (kpf::UPTODATE | kpf::LRU | kpf::WRITEBACK, 0),
    (kpf::UPTODATE | kpf::LRU | kpf::SWAPBACKED, 0),
    (kpf::SLAB, 0),
    (kpf::PGTABLE, 0),
    (kpf::RESERVED, 0),
    (kpf::NOPAGE, 0),
    (0, 0),
    (kpf::UNEVICTABLE | kpf::MLOCKED | ANON, 1),
    (kpf::OFFLINE, 0),
    (kpf::HWPOISON, 0),
    (kpf::ANON | kpf::MMAP, 1),
    (kpf::COMPOUND_HEAD | kpf::LRU, 0),
    (kpf::COMPOUND_TAIL, 0),
];

/// Imports the map of `input`, and does what it says.
pub(crate) fn run(input: &[u8]) {
    let [release, options, sizes, rest @ ..] = input else { return };
    let (map, steps) = rest.split_at(rest.len() * 2 / 3);
    let (_, policy) = profiles::ALL[usize::from(*release) % profiles::ALL.len()];
    let disk = if options & 1 == 0 { Disk::Present } else { Disk::Absent };
    let Ok(imported) = import(&snapshot(map, *options, *sizes), policy(), disk) else { return };
    let mut mm = imported.mm;
    if options & 2 == 0 {
        mm.pages_mut().swap_mut().swapon(Pages::new(1 << (options >> 4)));
    }
    let world = World { mm: RefCell::new(mm), pages: RefCell::default() };
    world.check();
    for step in steps.chunks_exact(2).take(STEPS_MAX) {
        world.step(step[0], step[1]);
        world.check();
    }
    for pfn in world.pages.take() {
        world.with(|mm| mm.free(pfn, CPU)).expect("it was allocated");
    }
    world.with(|mm| mm.phys_mut().drain_all());
    world.check();
}

/// One zone or two, with frames as `map` says; what it does not reach is free.
fn snapshot(map: &[u8], options: u8, sizes: u8) -> Snapshot {
    let blocks = [3 + u64::from(sizes % 8), u64::from(options >> 2 & 1) * (3 + u64::from(sizes / 8 % 4))];
    let end = START + blocks.iter().sum::<u64>() * PAGEBLOCK_PAGES.get();
    let mut frames = FrameMapBuilder::new();
    let mut left = Pages::new(end - START);
    let mut push = |(flags, count), pages: u64, left: &mut Pages| {
        let pages = Pages::new(pages.min(left.get()));
        frames.push_run(FrameState { flags, count }, pages);
        *left -= pages;
    };
    push((kpf::NOPAGE, 0), START, &mut Pages::new(START));
    for run in map.chunks_exact(2) {
        let (kind, length) = (run[0], u64::from(run[1]));
        match kind {
            // A huge page of a program, and one of hugetlb.
            0xe0..=0xef => {
                let of = if kind % 2 == 0 { kpf::THP | kpf::ANON | kpf::MMAP } else { kpf::HUGE };
                push((kpf::COMPOUND_HEAD | of | kpf::LRU, 1), 1, &mut left);
                push((kpf::COMPOUND_TAIL | of, 1), length * 2 + 1, &mut left);
            }
            // Flags that no kernel shows together.
            0xf0..=0xff => push((0x0101_0101_0101_0101 * length, length), u64::from(kind % 16) + 1, &mut left),
            _ => {
                let scale = [1, 4, 32][usize::from(kind) / KINDS.len() % 3];
                push(KINDS[usize::from(kind) % KINDS.len()], (length + 1) * scale, &mut left);
            }
        }
    }
    let rest = left.get();
    push(KINDS[0], rest, &mut left);
    let spans = [START, START + blocks[0] * PAGEBLOCK_PAGES.get()];
    let spans =
        spans.into_iter().zip(blocks).map(|(start, blocks)| PfnRange::of(Pfn::new(start), PAGEBLOCK_PAGES * blocks));
    let spans: Vec<PfnRange> = spans.filter(|span| !span.is_empty()).collect();
    let mixed = options & 8 != 0;
    Snapshot {
        machine: Machine {
            page_size: PAGE_SIZE,
            pageblock_order: Order::PAGEBLOCK.get(),
            cpus: 1,
            ..Machine::default()
        },
        nodes: (0..spans.len()).map(|node| node_info(node as u16, spans.len() as u16)).collect(),
        zones: spans.iter().enumerate().map(|(node, &span)| zone_info(node as u16, span)).collect(),
        ram: vec![PfnRange::new(Pfn::new(START), Pfn::new(end))],
        block_types: mixed
            .then(|| (0..end / PAGEBLOCK_PAGES.get()).map(|at| TYPES[at as usize % TYPES.len()]).collect()),
        frames: Some(frames.finish()),
        ..Snapshot::default()
    }
}

const TYPES: [Migratetype; 4] =
    [Migratetype::Movable, Migratetype::Unmovable, Migratetype::Reclaimable, Migratetype::Movable];

fn node_info(node: u16, nodes: u16) -> NodeInfo {
    NodeInfo {
        id: NodeId(node),
        distances: (0..nodes).map(|other| if other == node { 10 } else { 20 }).collect(),
        cpus: if node == 0 { vec![0] } else { vec![] },
        ..NodeInfo::default()
    }
}

fn zone_info(node: u16, span: PfnRange) -> ZoneInfo {
    ZoneInfo {
        node: NodeId(node),
        kind: ZoneKind::Normal,
        span,
        present: span.len(),
        managed: span.len(),
        cma: Pages::ZERO,
        free: Pages::ZERO,
        watermarks: Default::default(),
        protection: Vec::new(),
        free_blocks: Default::default(),
        free_by_type: Default::default(),
        block_counts: Default::default(),
        pcp: Vec::new(),
        counters: Default::default(),
    }
}

/// The engine, a task that nobody disturbs, and the pages that it has.
struct World {
    mm: RefCell<Mm>,
    pages: RefCell<Vec<Pfn>>,
}

impl World {
    fn check(&self) {
        self.with(|mm| mm.check()).unwrap_or_else(|violation| panic!("{violation}"));
    }

    fn step(&self, what: u8, how: u8) {
        let node = NodeId(u16::from(how >> 7) % self.with(|mm| mm.frames().nodes().len() as u16));
        let order = Order::new(how % 11).expect("an order");
        let gfp = [Gfp::GFP_KERNEL, Gfp::GFP_HIGHUSER_MOVABLE, Gfp::GFP_KERNEL | Gfp::RECLAIMABLE, Gfp::GFP_NOWAIT]
            [usize::from(what >> 4) % 4];
        let request = Request { node, cpu: CPU, ..Request::new(order, gfp) };
        match what % 8 {
            0 | 1 => {
                let page = self.with(|mm| mm.alloc_fast(&request));
                self.pages.borrow_mut().extend(page);
            }
            2 => {
                let pages = self.pages.borrow().len();
                if pages > 0 {
                    let pfn = self.pages.borrow_mut().swap_remove(usize::from(how) % pages);
                    self.with(|mm| mm.free(pfn, CPU)).expect("it was allocated");
                }
            }
            3 => self.with(|mm| mm.phys_mut().drain_all()),
            4 => _ = self.run(compact_node(self, node)),
            5 => _ = self.run(direct_reclaim(self, &request)),
            6 => {
                let pfn = Pfn::new(START + u64::from(how) * 128);
                if let Ok(old) = self.with(|mm| mm.phys_mut().isolate_pageblock(pfn)) {
                    self.check();
                    self.with(|mm| mm.phys_mut().unisolate_pageblock(pfn, old)).expect("it was isolated");
                }
            }
            _ => {
                let pfn = Pfn::new(START + u64::from(how) * 37 + u64::from(what));
                if self.with(|mm| mm.set_isolated(pfn, true)).is_ok() {
                    self.check();
                    // A page that only the isolation kept is gone afterwards.
                    let _ = self.with(|mm| mm.set_isolated(pfn, false));
                }
            }
        }
    }

    fn run<R>(&self, future: impl Future<Output = R>) -> R {
        match pin!(future).as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => result,
            Poll::Pending => unreachable!("this world never makes a task wait"),
        }
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

    async fn wait(&self, _: Until, _: Option<Nanos>) -> bool {
        false
    }

    fn wake(&self, _: Until) {}

    fn now(&self) -> Nanos {
        Nanos::ZERO
    }
}
