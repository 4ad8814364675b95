//! Random programs over several processes on machines of one to eight nodes, every step checked: no law broken, no content
//! lost, and the same again.

use std::collections::BTreeSet;
use std::num::NonZeroU64;
use std::sync::Arc;

use order9_machine::{Machine, Options, Outcome, Results, Thread};
use order9_mm::MmBuilder;
use order9_mm::policy::{HugePlacement, MempolicyInterface, MmapLock, Policy};
use order9_testkit::nodes::{self, Choices, Random};
use order9_units::{Bytes, Nanos, NodeMask, PAGE_SIZE, Pages};
use order9_workloads::{
    Access, AddressSpace, Administration, Advice, Area, ChildKind, DropCaches, FileId, Files, Mapping, MbindFlags,
    MemoryMode, Mempolicy, NodeFlags, Nodes, Of, Processes, Prot, Spread, Stop, Tmpfs,
};
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::Rng as _;

use crate::{counter, disk, mib, prices};

/// Calls that each thread makes.
const CALLS: u64 = 50;
/// Largest mapping, in pages.
const PAGES_MAX: u64 = 100;

struct Program {
    sys: Thread,
    rng: Pcg64Mcg,
    areas: Vec<Area>,
    files: Vec<FileId>,
    /// Further generations of children that may be started.
    depth: u64,
    nodes: Arc<nodes::Machine>,
}

impl Choices for Program {
    fn below(&mut self, bound: u64) -> u64 {
        self.rng.next_u64() % bound
    }
}

impl Program {
    fn new(sys: Thread, areas: Vec<Area>, depth: u64, nodes: Arc<nodes::Machine>) -> Self {
        let rng = Pcg64Mcg::new(u128::from(sys.seed("chaos")) | 1);
        Self { sys, rng, areas, files: Vec::new(), depth, nodes }
    }

    fn pages(&mut self, most: u64) -> Bytes {
        Bytes::new((1 + self.below(most)) * PAGE_SIZE.get())
    }

    /// A piece of something that was mapped once, by this thread.
    fn piece(&mut self) -> Option<Area> {
        let at = self.below(self.areas.len().max(1) as u64) as usize;
        let area = *self.areas.get(at)?;
        let offset = Bytes::new(self.below(area.pages()) * PAGE_SIZE.get());
        let length = self.pages(area.pages());
        Some(area.part(offset, length))
    }

    async fn map(&mut self) -> Result<(), Stop> {
        let length = self.pages(PAGES_MAX);
        let of = match (self.below(5), self.files.last()) {
            (0, Some(&file)) => Of::File(file, Bytes::ZERO),
            (4, Some(&file)) => {
                let area = self.sys.mmap(Mapping { length: mib(3), of: Of::FileShared(file, Bytes::ZERO) }).await?;
                self.areas.push(area);
                return Ok(());
            }
            (1, Some(&file)) => Of::FilePrivate(file, Bytes::ZERO),
            (2, _) => Of::Shared,
            _ => Of::Anon,
        };
        let area = self.sys.mmap(Mapping { length, of }).await?;
        self.areas.push(area);
        Ok(())
    }

    async fn child(&mut self) -> Result<(), Stop> {
        if self.depth == 0 {
            return Ok(());
        }
        let kind = [ChildKind::Thread, ChildKind::Process, ChildKind::Fork][self.below(3) as usize];
        let areas = if kind == ChildKind::Process { Vec::new() } else { self.areas.clone() };
        let (depth, nodes) = (self.depth - 1, Arc::clone(&self.nodes));
        let child = self.sys.spawn(kind, "child", move |sys| Program::new(sys, areas, depth, nodes).run()).await?;
        if self.below(2) == 0 {
            // What ended the child is its own affair.
            let _ = self.sys.wait(child).await?.result;
        }
        Ok(())
    }

    /// A sparse file on a mount with huge pages, which may be a small one, and change its size with the file there.
    async fn file_on_tmpfs(&mut self) -> Result<(), Stop> {
        const SIZES: [&str; 4] =
            ["huge=always,size=100k", "huge=always,size=2100k", "huge=always,size=200%", "huge=always"];
        let [size, resized] = [self.below(4), self.below(4)].map(|at| SIZES[at as usize]);
        let mount = self.sys.mount_tmpfs(size).await?;
        let file = self.sys.create_on(mount).await?;
        self.files.push(file);
        let length = self.pages(1000);
        self.sys.truncate(file, length).await?;
        let length = self.pages(40);
        self.sys.fallocate(file, Bytes::ZERO, length).await?;
        self.sys.remount_tmpfs(mount, resized).await
    }

    /// A call on one of its files.
    async fn file_call(&mut self, choice: u64) -> Result<(), Stop> {
        let at = self.below(self.files.len().max(1) as u64) as usize;
        let Some(&file) = self.files.get(at) else { return Ok(()) };
        let (offset, length) = (self.pages(200), self.pages(40));
        let (offset, length) = (Bytes::new(offset.get() - self.below(5000).min(offset.get())), length);
        let sys = self.sys.clone();
        match choice {
            0 | 1 => {
                sys.open(file).await?;
                sys.read(file, offset, length).await?;
                sys.close(file).await
            }
            2 => {
                sys.open(file).await?;
                sys.write(file, offset, length).await?;
                sys.close(file).await
            }
            3 if self.below(2) == 0 => sys.fsync(file).await,
            3 if self.below(4) == 0 => sys.truncate(file, self.pages(1000)).await,
            3 => sys.punch_hole(file, offset, self.pages(600)).await,
            _ if self.below(4) == 0 => sys.drop_caches(DropCaches::All).await,
            _ => sys.sync().await,
        }
    }

    /// A call that chooses nodes or CPUs, for what comes or for what is there.
    async fn node_call(&mut self, choice: u64) -> Result<(), Stop> {
        let (sys, nodes) = (self.sys.clone(), Arc::clone(&self.nodes));
        let (policy, node) = (self.policy(), nodes.node(self));
        let [from, to] = [(); 2].map(|()| nodes.mask(self));
        let flags = MbindFlags { strict: self.below(2) == 0, moves: self.below(2) == 0, moves_all: self.below(4) == 0 };
        match (choice, self.piece()) {
            (0, _) => sys.set_mempolicy(policy).await,
            (1, _) => sys.migrate_pages(from, to).await.map(|_| ()),
            (2, _) => sys.set_mems(to, flags.moves).await,
            (3, _) => {
                let cpus: Vec<u32> = (0..=self.below(3)).map(|_| self.below(8) as u32).collect();
                sys.set_spread(if flags.strict { Spread::Even } else { Spread::Packed }).await?;
                sys.set_affinity(&cpus).await
            }
            // What a program does for a while, so that NUMA balancing looks at it.
            (4, Some(piece)) => {
                sys.compute(Nanos::new(5_000_000)).await?;
                sys.touch(piece, Access::Read).await
            }
            (5 | 6, Some(piece)) if flags.moves_all => {
                sys.set_mempolicy_home_node(piece, node).await?;
                sys.move_pages(piece, node).await.map(|_| ())
            }
            (5.., Some(piece)) => sys.mbind(piece, policy, flags).await,
            _ => Ok(()),
        }
    }

    fn policy(&mut self) -> Mempolicy {
        use MemoryMode::{
            Bind, Default, Interleave, Local, NodeProximity, Preferred, PreferredMany, WeightedInterleave,
        };
        const MODES: [MemoryMode; 8] =
            [Default, Local, NodeProximity, Preferred, PreferredMany, Bind, Interleave, WeightedInterleave];
        const FLAGS: [NodeFlags; 4] = [NodeFlags::None, NodeFlags::Static, NodeFlags::Relative, NodeFlags::Balancing];
        let mode = MODES[self.below(8) as usize];
        if !mode.takes_nodes() {
            return Mempolicy::new(mode, NodeMask::EMPTY);
        }
        let nodes = Arc::clone(&self.nodes).mask(self);
        Mempolicy { mode, flags: FLAGS[self.below(4) as usize], nodes }
    }

    async fn call(&mut self) -> Result<(), Stop> {
        let sys = self.sys.clone();
        let choice = self.below(33);
        match choice {
            20..25 => return self.file_call(choice - 20).await,
            25.. => return self.node_call(choice - 25).await,
            _ => {}
        }
        let Some(piece) = self.piece().filter(|_| choice > 4) else {
            return match choice {
                0 => self.child().await,
                1 if self.below(2) == 0 => {
                    let length = self.pages(200);
                    self.files.push(sys.create_file(length).await?);
                    Ok(())
                }
                1 => self.file_on_tmpfs().await,
                2 if !self.files.is_empty() => {
                    let at = self.below(self.files.len() as u64) as usize;
                    sys.remove_file(self.files.swap_remove(at)).await
                }
                _ => self.map().await,
            };
        };
        match choice {
            5 => sys.munmap(piece).await,
            6 => sys.mprotect(piece, [Prot::None, Prot::Read, Prot::ReadWrite][self.below(3) as usize]).await,
            7 => sys.mprotect(piece, Prot::ReadWrite).await,
            8 => {
                let length = self.pages(PAGES_MAX);
                let moved = sys.mremap(piece, length).await?;
                self.areas.push(moved);
                Ok(())
            }
            9 if self.below(3) == 0 => sys.madvise(piece, Advice::Remove).await,
            // A third of them, by place.
            9 if piece.start.is_multiple_of(3) => sys.madvise(piece, Advice::Free).await,
            9 => sys.madvise(piece, Advice::DontNeed).await,
            10 => sys.mlock(piece).await,
            11 => sys.munlock(piece).await,
            12 => sys.sleep(Nanos::new(self.below(100_000))).await,
            13 => sys.compute(Nanos::new(self.below(10_000))).await,
            14 | 15 => sys.touch(piece, Access::Read).await,
            _ => sys.touch(piece, Access::Write).await,
        }
    }

    async fn run(mut self) -> Result<(), Stop> {
        for _ in 0..CALLS {
            match self.call().await {
                // Refusals and signals are to be expected; a handler would return from those.
                Ok(()) | Err(Stop::Refused { .. } | Stop::Signal { .. }) => {}
                Err(stop) => return Err(stop),
            }
        }
        Ok(())
    }
}

fn nodes_for(seed: u64, memory: Bytes) -> nodes::Machine {
    nodes::Machine::draw(&mut Random(seed), Pages::from_bytes_floor(memory))
}

fn chaos(seed: u64, memory: Bytes) -> Results {
    const RULES: [MmapLock; 4] = [MmapLock::Whole, MmapLock::Downgraded, MmapLock::PerAnonVma, MmapLock::PerVma];
    let mut policy = Policy {
        mempolicy: MempolicyInterface::PreferredManyBalancing,
        mmap_lock: RULES[seed as usize / 4 % RULES.len()],
        ..Policy::default()
    };
    policy.thp.placement = HugePlacement::ALL[seed as usize % HugePlacement::ALL.len()];
    // Reclaim takes many steps that change little.
    chaos_under(policy, seed, memory, NonZeroU64::new(7))
}

/// The random program of a seed under a policy.
pub(crate) fn chaos_under(policy: Policy, seed: u64, memory: Bytes, check_every: Option<NonZeroU64>) -> Results {
    // Without swap, with hardly any, with plenty.
    let disks = match seed % 5 {
        0 | 1 => vec![],
        2 => vec![disk(Pages::new(20))],
        _ => vec![disk(Pages::new(4096))],
    };
    let options = Options { check_every, disks, ..Options::new(seed) };
    let nodes = Arc::new(nodes_for(seed, memory));
    let mut mm = MmBuilder::new(&nodes.layout, policy)
        .expect("the layout is sound")
        .content_tags()
        .boot()
        .with_compaction_account();
    mm.set_numa_balancing(seed.is_multiple_of(2));
    mm.tune(|tunables| {
        let scan = &mut tunables.numa_scan;
        (scan.delay_ms, scan.period_min_ms, scan.size_mb) = (1, 1, 1);
    });
    let machine = Machine::new(mm, nodes.layout.cpus.clone(), prices(), &options).expect("there are CPUs");
    machine.run_program("chaos", |sys| Program::new(sys, Vec::new(), 2, nodes).run(), |_| ())
}

/// Runs that a test makes; `PROPTEST_CASES` asks for more.
fn cases() -> u64 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(40)
}

#[test]
fn random_programs_break_no_law_and_lose_no_content() {
    let (mut out_of_memory, mut swapped, mut huge) = (0, 0, 0);
    let (mut sizes, mut migrated, mut balanced) = (BTreeSet::new(), 0, 0);
    for seed in 0..cases() {
        // A third of the machines are too small for what may come.
        let memory = if seed % 3 == 0 { mib(2) } else { mib(4) };
        let results = chaos(seed, memory);
        match results.outcome {
            Outcome::Completed => {}
            Outcome::OutOfMemory(_) => out_of_memory += 1,
            other => panic!("seed {seed}: {other:?}"),
        }
        out_of_memory += results.kills.len();
        swapped += u64::from(counter(&results, "pswpin") > 0 && counter(&results, "pswpout") > 0);
        huge += counter(&results, "thp_file_alloc");
        migrated += counter(&results, "pgmigrate_success");
        balanced += if seed.is_multiple_of(2) { counter(&results, "numa_pages_migrated") } else { 0 };
        sizes.insert(nodes_for(seed, memory).layout.nodes.len());
    }
    assert!(out_of_memory > 0, "some machines were too small");
    assert!(swapped > 3, "some machines swapped: {swapped}");
    assert!(huge > 3, "files had huge pages: {huge}");
    assert!(migrated > 1000 && balanced > 0, "pages moved, {balanced} of {migrated} after hint faults");
    assert!(sizes.len() > 5, "machines of {sizes:?} nodes");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for seed in 0..10 {
        assert_eq!(chaos(seed, mib(4)), chaos(seed, mib(4)), "seed {seed}");
    }
    assert_ne!(chaos(1, mib(4)).schedule, chaos(5, mib(4)).schedule);
}
