//! Many tasks at once on a small machine: whatever one of them has found, others change before its next step.
//!
//! Programs access memory and files while compaction, reclaim, migration, collapse, shrinkers and daemons work, each in steps;
//! between any two, others take theirs, files are written, truncated, removed and evicted, and spaces end. After
//! every round every law holds and every page reads as what was last written to it, and nothing is left at the end.
//!
//! Key types: [`World`] (the machine, its tasks, and what happens next). A space is changed by whoever has its `mmap_lock`
//! alone, and a file of tmpfs is closed when nobody uses it, as on a machine; nothing else is kept apart.

mod files;
mod machine;
mod tasks;

use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Waker};

use order9_mm::env::{CompactPriority, Env as _};
use order9_mm::hugetlb::PoolSize;
use order9_mm::mempolicy::Movable;
use order9_mm::migrate::MigrateMode;
use order9_mm::policy::Policy;
use order9_mm::space::{Access, Backing, Madvise, MmapRequest, Place, VirtAddr};
use order9_mm::tasks::{direct_reclaim, flusher, kcompactd, khugepaged, kswapd};
use order9_mm::{
    Effort, FileId, FrameState, Gfp, LruType, Mm, MountId, Pressure as _, Request, ShmemHuge, SpaceId, TmpfsOptions,
};
use order9_units::{NodeId, Order, Pages, Pfn};

use crate::nodes::{Choices, Input};
use machine::{Machine, Thread};

const CPU: usize = 0;
/// Address at which programs have memory: the start of a slot.
const START: VirtAddr = VirtAddr::new(0x7f00_0000_0000);
/// Pages that a program uses: two slots.
const PAGES: u64 = 1024;
/// Pages that a file has at most.
const FILE: u64 = 700;
const SPACES: usize = 3;
const FILES: usize = 6;
const TASKS: usize = 5;
/// Rounds in which every task must come to its end.
const ROUNDS: u32 = 100_000;

/// Presets to try, which differ most in what tasks do: from page cache that goes with its inode and lists by zone to lists that
/// agree with pageblocks, and the index.
pub const POLICIES: [&str; 5] = ["linux-4.4", "linux-5.3-shrinker", "linux-5.9", "linux-6.18", "order9"];

type Running = Pin<Box<dyn Future<Output = ()>>>;

/// Counts of the events up to now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Pages moved, swapped out, taken by reclaim, and written by it.
    pub pages: [u64; 4],
    /// Files removed, and shortened step by step.
    pub files: [u64; 2],
    /// Pages that NUMA balancing has taken the access from.
    pub balanced: u64,
}

/// A machine, its tasks, and what becomes of them.
pub struct World<C> {
    machine: Rc<Machine>,
    choices: C,
    tasks: Vec<Running>,
    daemons: Vec<(Thread, Running)>,
    /// Spaces and files, and who uses them.
    spaces: Vec<(SpaceId, Rc<()>)>,
    files: Vec<(FileId, Rc<()>)>,
    mount: MountId,
    /// Children that tasks have made.
    born: Rc<std::cell::RefCell<Vec<SpaceId>>>,
    taken: Vec<Pfn>,
    /// Frames that drivers have pinned, and what they are part of.
    pins: Vec<(Pfn, FrameState)>,
    removed: u64,
    shortened: Rc<std::cell::Cell<u64>>,
}

impl<C: Choices> World<C> {
    /// A machine under `policy` with daemons and one program.
    pub fn new(mut choices: C, policy: Policy) -> Self {
        let machine = Rc::new(Machine::boot(policy, &mut choices));
        machine.step(|mm| mm.set_numa_balancing(true));
        let mount = machine.step(|mm| {
            // Releases before 4.8 have no huge pages there.
            let huge = mm.mount_tmpfs(TmpfsOptions::from(ShmemHuge::Always));
            huge.or_else(|_| mm.mount_tmpfs(TmpfsOptions::default())).expect("tmpfs can be mounted")
        });
        let mut world = Self {
            machine,
            choices,
            tasks: Vec::new(),
            daemons: Vec::new(),
            spaces: Vec::new(),
            files: Vec::new(),
            mount,
            born: Rc::default(),
            taken: Vec::new(),
            pins: Vec::new(),
            removed: 0,
            shortened: Rc::default(),
        };
        for node in world.machine.nodes.nodes() {
            world.start_daemon(async move |thread: Thread| kswapd(&thread, node).await);
            world.start_daemon(async move |thread: Thread| kcompactd(&thread, node, None).await);
        }
        world.start_daemon(async |thread: Thread| khugepaged(&thread, None).await);
        world.start_daemon(async |thread: Thread| flusher(&thread, &thread, None).await);
        world.new_space();
        world
    }

    fn start_daemon<F: AsyncFnOnce(Thread) + 'static>(&mut self, daemon: F) {
        let thread = Thread::new(&self.machine, CPU);
        let of_daemon = thread.clone();
        self.daemons.push((thread, Box::pin(async move { daemon(of_daemon).await })));
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.choices.below(bound)
    }

    fn with<R>(&self, step: impl FnOnce(&mut Mm) -> R) -> R {
        self.machine.step(step)
    }

    /// Performs one random action: mostly a task goes on.
    ///
    /// # Panics
    /// If a law is broken then.
    pub fn step(&mut self) {
        match self.below(32) {
            0..=11 => self.go_on(),
            12..=14 => self.daemons_go_on(),
            15..=20 => self.begin(),
            21..=23 => self.end_some_transfer(),
            24 | 25 => self.change_space(),
            26 | 27 => self.change_file(),
            28 => self.pin_or_unpin(),
            29 => self.take_or_free(),
            30 => self.remove_file(),
            _ => self.exit(),
        }
        self.check();
    }

    fn check(&self) {
        self.with(|mm| mm.check()).unwrap_or_else(|violation| panic!("{violation}"));
        // Whoever draws the map of memory asks this of every frame.
        let frames = self.machine.nodes.frames();
        let mapped = self.with(|mm| frames.filter(|&pfn| mm.block_view(pfn).mapcount > 0).count());
        assert!(mapped <= self.machine.nodes.frames().count());
        for &(pfn, state) in &self.pins {
            let now = self.with(|mm| mm.frames().frame(pfn));
            assert_eq!(now, state, "{pfn:?} is pinned: it is not freed, moved, split or collapsed");
        }
    }

    /// A task takes a few steps.
    fn go_on(&mut self) {
        if self.tasks.is_empty() {
            return self.begin();
        }
        let at = self.below(self.tasks.len() as u64) as usize;
        for _ in 0..=self.below(12) {
            if poll(&mut self.tasks[at]) {
                drop(self.tasks.swap_remove(at));
                return;
            }
        }
    }

    fn daemons_go_on(&mut self) {
        let at = self.below(self.daemons.len() as u64) as usize;
        for _ in 0..=self.below(8) {
            poll(&mut self.daemons[at].1);
        }
    }

    fn end_some_transfer(&mut self) {
        let transfers = self.machine.transfers() as u64;
        for left in (1..=transfers).rev().take(1 + self.below(12) as usize) {
            let nth = self.below(left) as usize;
            self.machine.end_transfer(nth);
        }
    }

    fn new_space(&mut self) {
        let Ok(space) = self.with(|mm| mm.create_space()) else { return };
        let request = MmapRequest { place: Place::Fixed(START), ..MmapRequest::anon(Pages::new(PAGES).bytes()) };
        self.with(|mm| mm.mmap(space, &request, CPU)).expect("it is empty");
        self.spaces.push((space, Rc::default()));
    }

    fn new_file(&mut self) {
        let (size, on_disk) = (Pages::new(1 + self.below(FILE)), self.below(3) > 0);
        let mount = self.mount;
        let file = self.with(|mm| match on_disk {
            true => mm.fs_create(size).ok(),
            false => mm.create_file_on(mount, size, None).ok(),
        });
        self.files.extend(file.map(|file| (file, Rc::default())));
    }

    /// A space that nobody has locked, with a note that it is used.
    fn space(&mut self) -> Option<(SpaceId, Rc<()>)> {
        let at = self.below(self.spaces.len().max(1) as u64) as usize;
        self.spaces.get(at).cloned()
    }

    fn file(&mut self) -> Option<(FileId, Rc<()>)> {
        let at = self.below(self.files.len().max(1) as u64) as usize;
        self.files.get(at).cloned()
    }

    fn node(&mut self) -> NodeId {
        self.machine.nodes.node(&mut self.choices)
    }

    fn addr(&mut self) -> VirtAddr {
        at(self.below(PAGES))
    }

    fn frame(&mut self) -> Pfn {
        self.machine.nodes.frame(&mut self.choices)
    }

    /// Begins a task.
    fn begin(&mut self) {
        if self.tasks.len() >= TASKS {
            return;
        }
        let cpu = self.machine.nodes.cpu(&mut self.choices);
        let thread = Thread::new(&self.machine, cpu);
        let task = match self.below(10) {
            0..=2 => self.of_program(thread),
            3..=6 => self.on_file(thread),
            _ => self.of_kernel(thread),
        };
        self.tasks.extend(task);
    }

    fn of_program(&mut self, thread: Thread) -> Option<Running> {
        let ((space, used), addr, many) = (self.space()?, self.addr(), self.below(40));
        let (to, node) = (self.addr(), self.node());
        let access = if self.below(3) == 0 { Access::Read } else { Access::Write };
        let addrs = move |many| (0..many).map(move |page| at((addr.vpn().get() - START.vpn().get() + page) % PAGES));
        Some(match self.below(20) {
            0..=6 => Box::pin(async move {
                for addr in addrs(many) {
                    thread.access(space, addr, access).await;
                }
                drop(used);
            }),
            7 => {
                let born = Rc::clone(&self.born);
                Box::pin(async move {
                    let child = thread.fork(space).await;
                    born.borrow_mut().extend(child);
                    drop(used);
                })
            }
            8 => Box::pin(async move {
                thread.relocate(space, addr, to, Pages::new(many + 1)).await;
                drop(used);
            }),
            11..=14 => Box::pin(async move {
                thread.scan(space).await;
                drop(used);
            }),
            9 | 10 => Box::pin(async move {
                thread.collapse(space, addr).await;
                drop(used);
            }),
            15 => Box::pin(async move {
                thread.move_pages(space, addrs(many).collect(), node).await;
                drop(used);
            }),
            _ => return self.of_placed_program(thread, space, used),
        })
    }

    /// A program chooses its nodes, or has its pages moved.
    fn of_placed_program(&mut self, thread: Thread, space: SpaceId, used: Rc<()>) -> Option<Running> {
        let nodes = &self.machine.nodes;
        let (policy, from, to) =
            (nodes.policy(&mut self.choices), nodes.mask(&mut self.choices), nodes.mask(&mut self.choices));
        let (first, moves) = (self.below(PAGES), self.below(3));
        let length = Pages::new(1 + self.below(PAGES - first));
        let moves = [None, Some(Movable::Own), Some(Movable::All)][moves as usize];
        let what = self.below(6);
        Some(Box::pin(async move {
            match what {
                0 => thread.set_mempolicy(space, &policy),
                1..=3 => thread.mbind(space, at(first), length, &policy, moves).await,
                4 => thread.migrate_pages(space, from, to).await,
                _ => thread.set_mems(space, to, moves.is_some()).await,
            }
            drop(used);
        }))
    }

    fn on_file(&mut self, thread: Thread) -> Option<Running> {
        if self.files.len() < FILES {
            self.new_file();
        }
        let ((file, used), index, count) = (self.file()?, self.below(FILE), 1 + self.below(60));
        let (what, shortened) = (self.below(10), Rc::clone(&self.shortened));
        let on_disk = self.with(|mm| mm.pages().cache().is_on_disk(file));
        Some(Box::pin(async move {
            let work = async || match what {
                0..=2 if on_disk => thread.read(file, index, count).await,
                0..=5 => thread.write(file, index, count).await,
                6 | 7 => {
                    thread.truncate(file, index).await;
                    shortened.set(shortened.get() + 1);
                }
                8 => thread.with(|mm| mm.punch_hole(file, index, Pages::new(count), CPU)).expect("it is open"),
                _ => thread.sync(file).await,
            };
            thread.while_open(file, work).await;
            drop(used);
        }))
    }

    fn of_kernel(&mut self, thread: Thread) -> Option<Running> {
        let (frame, node, count) = (self.frame(), self.node(), self.below(3));
        let order = Order::new([2, 9, 9][self.below(3) as usize]).expect("it exists");
        let priority =
            [CompactPriority::Async, CompactPriority::SyncLight, CompactPriority::SyncFull][self.below(3) as usize];
        let mode = [MigrateMode::Async, MigrateMode::SyncLight, MigrateMode::Sync][self.below(3) as usize];
        Some(match self.below(16) {
            0 | 1 => Box::pin(async move { thread.compact_node(node).await }),
            2..=4 => Box::pin(async move { thread.compact_for(order, priority).await }),
            5..=7 => Box::pin(async move {
                thread.exert(Effort::Reclaim, direct_reclaim(&thread, &page_request(thread.cpu()))).await;
            }),
            8 => Box::pin(async move { thread.offline(frame).await }),
            9 | 10 => Box::pin(async move { thread.gather(frame, mode).await }),
            11 => Box::pin(async move { thread.drop_pagecache().await }),
            12 => Box::pin(async move { thread.resize_pools(count).await }),
            _ => Box::pin(async move { thread.shrink(node).await }),
        })
    }

    /// Maps part of a file, maps memory anew, unmaps or advises.
    fn change_space(&mut self) {
        let born: Vec<SpaceId> = self.born.borrow_mut().drain(..).collect();
        self.spaces.extend(born.into_iter().map(|space| (space, Rc::default())));
        let Some((space, _used)) = self.space().filter(|(space, _)| !self.machine.is_locked(*space)) else { return };
        let (first, shared, what) = (self.below(PAGES), self.below(3) > 0, self.below(8));
        let length = Pages::new(1 + self.below((PAGES - first).min(600))).bytes();
        let place = Place::Fixed(at(first));
        match (what, self.file()) {
            (0..=2, Some((file, _used))) => {
                let backing = Backing::File { file, offset: Pages::new(self.below(2) * (first % 512)), shared };
                let request = MmapRequest { place, backing, ..MmapRequest::anon(length) };
                let thread = Thread::new(&self.machine, CPU);
                poll(&mut Box::pin(thread.while_open(file, async || {
                    let _refused = thread.with(|mm| mm.mmap(space, &request, CPU));
                })));
            }
            (3, _) => drop(self.with(|mm| mm.munmap(space, at(first), length, CPU))),
            (4, _) => drop(self.with(|mm| mm.madvise(space, at(first), length, Madvise::Free, CPU))),
            (5, _) => drop(self.with(|mm| mm.madvise(space, at(first), length, Madvise::DontNeed, CPU))),
            (6, _) => drop(self.with(|mm| mm.mlock(space, at(first), length))),
            _ => {
                let _refused = self.with(|mm| mm.mmap(space, &MmapRequest { place, ..MmapRequest::anon(length) }, CPU));
            }
        }
    }

    /// Truncates or punches at once, whoever is at work on the file.
    fn change_file(&mut self) {
        let (Some((file, _used)), index, count) = (self.file(), self.below(FILE), self.below(FILE)) else { return };
        let truncates = self.below(2) == 0;
        let thread = Thread::new(&self.machine, CPU);
        poll(&mut Box::pin(thread.while_open(file, async || {
            thread
                .with(|mm| match truncates {
                    true => mm.truncate(file, Pages::new(index), CPU),
                    false => mm.punch_hole(file, index, Pages::new(count), CPU),
                })
                .expect("it is open");
        })));
    }

    /// Removes a file on disk that nobody has open, or closes one of tmpfs.
    fn remove_file(&mut self) {
        let at = self.below(self.files.len().max(1) as u64) as usize;
        let Some((file, used)) = self.files.get(at) else { return };
        let (file, is_used) = (*file, Rc::strong_count(used) > 1);
        let removed = self.with(|mm| match mm.pages().cache().is_on_disk(file) {
            true => mm.fs_unlink(file, CPU).is_ok(),
            false => !is_used && mm.close_file(file, CPU).is_ok(),
        });
        if removed {
            self.files.swap_remove(at);
            self.removed += 1;
        }
    }

    fn pin_or_unpin(&mut self) {
        let pfn = self.frame();
        if self.pins.len() < 3 && self.with(|mm| mm.phys().lru_of(pfn).is_some() && mm.pin(pfn).is_ok()) {
            let state = self.with(|mm| mm.frames().frame(pfn));
            self.pins.push((pfn, state));
        } else if let Some((pfn, _)) = self.pins.pop() {
            self.with(|mm| mm.unpin(pfn)).expect("it is pinned");
        }
    }

    /// Memory of the kernel comes and goes.
    fn take_or_free(&mut self) {
        if self.taken.len() > 200 || self.below(2) == 0 {
            for page in self.taken.split_off(self.taken.len() / 2) {
                self.with(|mm| mm.free(page, CPU)).expect("it is ours");
            }
            return;
        }
        let order = Order::new([0, 0, 1, 3][self.below(4) as usize]).expect("it exists");
        let request = Request::new(order, Gfp::GFP_KERNEL);
        let pages = (0..self.below(30)).map_while(|_| self.with(|mm| mm.alloc_fast(&request)).ok());
        let pages: Vec<Pfn> = pages.collect();
        self.taken.extend(pages);
    }

    /// A program ends that no task is at work for, and another begins.
    fn exit(&mut self) {
        let at = self.below(self.spaces.len().max(1) as u64) as usize;
        let idle = |(space, used): &(SpaceId, Rc<()>)| Rc::strong_count(used) == 1 && !self.machine.is_locked(*space);
        if self.spaces.get(at).is_some_and(idle) {
            let (space, _) = self.spaces.swap_remove(at);
            self.with(|mm| mm.exit(space, CPU)).expect("it lives");
        }
        if self.spaces.len() < SPACES {
            self.new_space();
        }
    }

    /// Counts of the events up to now.
    #[must_use]
    pub fn tally(&self) -> Tally {
        self.with(|mm| {
            let counters = mm.counters();
            let stolen = counters.pgsteal_direct.total() + counters.pgsteal_kswapd.total();
            Tally {
                pages: [counters.pgmigrate_success, counters.pswpout, stolen, counters.nr_vmscan_write],
                files: [self.removed, self.shortened.get()],
                balanced: counters.numa_pte_updates,
            }
        })
    }

    /// Lets every task come to its end, and ends programs and files as soon as none works for them: nothing is left then.
    ///
    /// # Panics
    /// If something is, or a task does not end.
    pub fn end(mut self) {
        for (pfn, _) in std::mem::take(&mut self.pins) {
            self.with(|mm| mm.unpin(pfn)).expect("it is pinned");
        }
        for round in 0..ROUNDS {
            // As in Linux, the scanners wait without end for pages that their own task has isolated, until it is killed.
            if round == ROUNDS / 2 {
                self.machine.kill_all();
            }
            self.tasks.retain_mut(|task| !poll(task));
            for (_, daemon) in &mut self.daemons {
                poll(daemon);
            }
            (0..self.machine.transfers()).rev().for_each(|nth| self.machine.end_transfer(nth));
            self.end_unused();
            if self.tasks.is_empty() && self.daemons.iter().all(|(thread, _)| thread.is_idle()) {
                break;
            }
        }
        assert!(self.tasks.is_empty(), "every task comes to its end");
        self.check();
        self.end_unused();
        assert!(self.spaces.is_empty() && self.files.is_empty());
        self.taken.iter().for_each(|&page| self.with(|mm| mm.free(page, CPU)).expect("it is ours"));
        self.with(|mm| mm.set_nr_hugepages(PoolSize::all(0)));
        self.check();
        self.with(|mm| {
            let levels = mm.pages().user_levels();
            assert_eq!((levels.anon, levels.file, levels.shmem, levels.page_tables), (0, 0, 0, 0), "{levels:?}");
            assert_eq!(mm.pages().swap().swap_free(), mm.pages().swap().swap_total());
            for zone in mm.frames().zones() {
                assert_eq!(
                    [LruType::Anon, LruType::File].map(|of| mm.pages().lru().zone_lru(zone.id()).isolated(of)),
                    [0, 0]
                );
            }
            assert_eq!(mm.write_pending(None).total(), 0);
        });
    }

    /// Ends the programs that no task works for, and removes the files that nobody uses. Up to 5.3, a request for a page of a
    /// hugetlb pool reclaims until it finds nothing to scan.
    fn end_unused(&mut self) {
        let born = self.born.take();
        self.spaces.extend(born.into_iter().map(|space| (space, Rc::default())));
        let is_used = |used: &Rc<()>| Rc::strong_count(used) > 1;
        let machine = &self.machine;
        self.spaces.retain(|(space, used)| {
            let stays = is_used(used) || machine.is_locked(*space);
            if !stays {
                machine.step(|mm| mm.exit(*space, CPU)).expect("it lives");
            }
            stays
        });
        self.files.retain(|(file, used)| {
            is_used(used)
                || machine.step(|mm| match mm.pages().cache().is_on_disk(*file) {
                    true => mm.fs_unlink(*file, CPU).is_err(),
                    false => mm.close_file(*file, CPU).is_err(),
                })
        });
    }
}

/// Runs an input to its end, which is what a fuzzer looks for faults of; its first byte takes one of [`POLICIES`], which
/// `load` knows.
///
/// # Panics
/// If a law is broken, or something is left at the end.
pub fn run_input(input: &[u8], load: impl FnOnce(&str) -> Policy) {
    /// Longer inputs find nothing that several short ones do not.
    const STEPS: u32 = 600;
    let Some((&first, rest)) = input.split_first() else { return };
    let mut world = World::new(Input(rest), load(POLICIES[usize::from(first) % POLICIES.len()]));
    for _ in 0..STEPS {
        if world.choices.0.is_empty() {
            break;
        }
        world.step();
    }
    world.end();
}

/// Lets a task take a step; says whether it has come to its end.
fn poll<F: Future<Output = ()> + ?Sized>(task: &mut Pin<Box<F>>) -> bool {
    task.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready()
}

/// A page for a program or file.
fn page_request(cpu: usize) -> Request {
    Request { cpu, ..Request::new(Order::ZERO, Gfp::GFP_HIGHUSER_MOVABLE) }
}

fn at(page: u64) -> VirtAddr {
    VirtAddr::new(START.get() + Pages::new(page).bytes().get())
}
