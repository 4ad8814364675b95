//! Everything that programs, daemons and the administrator do with huge pages, in any order: after every step every law
//! holds, and every page reads as what was last written to it.
//!
//! Key types: [`World`] (a machine of one to eight nodes with a few programs, and what it does next), [`Choices`] (who decides
//! that: a random number generator in property tests, the bytes of an input in fuzzing), [`Tally`] (what has happened).

mod balancing;
mod files;
mod laws;
mod machine;
mod placed;
mod steps;

use std::cell::Cell;

use order9_mm::env::Env;
use order9_mm::hugetlb::PoolSize;
use order9_mm::mempolicy::SpaceTask;
use order9_mm::numa_balancing::NumaTask;
use order9_mm::policy::{
    HugeCow, HugePlacement, MempolicyInterface, MmapAlign, NewAnon, Policy, ScanSpares, ScanVmas, ShmemPunch, ZeroWrite,
};
use order9_mm::space::VirtAddr;
use order9_mm::thp::{HugeSize, SizeStat};
use order9_mm::{FileId, FrameState, Mm, MountId, ShmemHuge, SpaceId, TmpfsOptions};
use order9_units::{Nanos, Pages, Pfn};

use crate::nodes::{self, Choices, Input};
use machine::Machine;

/// Memory of the machine, about.
const MEMORY: Pages = Pages::new(24 << 10);
/// Base pages of a huge page.
const HUGE: u64 = 512;
/// Address at which programs have memory: the start of a slot.
const START: VirtAddr = VirtAddr::new(0x7f00_0000_0000);
/// Pages that programs use of ordinary memory: four slots, and what lies between them.
const PAGES: u64 = 4 * HUGE;
/// Largest number of pages of a program, with the pages of hugetlb pools that its mappings may have.
const ALL_PAGES: u64 = 6 * HUGE;
/// Programs at a time.
const SPACES: usize = 4;

/// Counts of the events up to now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Slots that programs had collapsed.
    pub collapsed: u64,
    /// Slots that khugepaged collapsed.
    pub by_khugepaged: u64,
    /// Pages that programs could do without, and that reclaim freed.
    pub lazily_freed: u64,
    /// Fault allocations and fallbacks, splits of mappings and pages, refused ones, pages queued for one.
    pub thp: [u64; 6],
    /// Huge pages of less than 2 MiB: fault allocations and fallbacks, splits, refused ones, pages queued for one,
    /// pages written to swap in one piece, and split since there was no room for that.
    pub small: [u64; 7],
    /// Huge pages that moved whole, and pages that moved at all.
    pub moved: [u64; 2],
    /// Pages written to swap, and read back.
    pub swapped: [u64; 2],
    /// Huge pages written to swap in one piece, and those that were split since there was no room for that.
    pub swapped_whole: [u64; 2],
    /// Pages that hugetlb pools got.
    pub pool: u64,
    /// Huge pages that the file got, and that were mapped as such.
    pub files: [u64; 2],
    /// Pages and huge entries that NUMA balancing took the access from, hint faults, and pages that moved after one.
    pub balanced: [u64; 4],
    /// System calls that were refused a page, since the mount was full.
    pub full: u64,
    /// Pages that were looked at since they had to lie on the nodes of an `MPOL_BIND`, and huge pages that had to lie at home.
    pub placed: [u64; 2],
}

/// A machine with programs, and what becomes of them. A copy goes on as the original does.
#[derive(Clone)]
pub struct World<C> {
    machine: Machine,
    choices: C,
    spaces: Vec<SpaceId>,
    /// Threads of programs, beside the first of each; some have ended with their program.
    threads: Vec<SpaceTask>,
    /// The file that programs share, and where it is.
    file: FileId,
    mount: MountId,
    /// Frames that drivers have pinned, and what they are part of.
    pins: Vec<(Pfn, FrameState)>,
    collapsed: u64,
    full: u64,
    placed: Cell<[u64; 2]>,
    /// The task that next faults on pages under NUMA balancing.
    next_user: NumaTask,
    clock: Nanos,
}

/// The switches that matter here, one way or another.
fn policy(choices: &mut impl Choices) -> Policy {
    let mut policy = Policy::default();
    let mut either = || choices.below(2) == 1;
    policy.thp.cow = if either() { HugeCow::Split } else { HugeCow::Huge };
    policy.thp.zero_write = if either() { ZeroWrite::Split } else { ZeroWrite::Huge };
    policy.thp.split_page_with_pmd = either();
    policy.thp.queue_full_unmap = either();
    policy.thp.max_ptes_shared = either();
    policy.thp.migration = either();
    policy.thp.fork_pin_copy = either();
    policy.thp.mmap_align = if either() { MmapAlign::Multiple } else { MmapAlign::None };
    policy.thp.shmem_punch = if either() { ShmemPunch::Split } else { ShmemPunch::Zero };
    policy.thp.shmem_retract = either();
    policy.thp.swap_whole = either();
    policy.thp.zero_by_slot = either();
    policy.thp.collapse_equal_nodes = either();
    policy.reclaim.new_anon = if either() { NewAnon::Inactive } else { NewAnon::Active };
    policy.thp.shrink_underused = either();
    policy.thp.placement = HugePlacement::ALL[choices.below(HugePlacement::ALL.len() as u64) as usize];
    let spares = [ScanSpares::Nothing, ScanSpares::Home, ScanSpares::Shared, ScanSpares::DirtyFiles];
    policy.numa_balancing.spares = spares[choices.below(4) as usize];
    policy.numa_balancing.vmas = [ScanVmas::All, ScanVmas::Accessed][choices.below(2) as usize];
    policy.numa_balancing.rate_limit = choices.below(2) == 1;
    policy.mempolicy = MempolicyInterface::PreferredManyBalancing;
    let mut either = || choices.below(2) == 1;
    policy.thp.free_empty_tables = either();
    policy.reclaim.swap_clusters_by_order = either();
    policy.reclaim.swap_used_first = either();
    policy.compaction.migrate_large_folios = either();
    policy.compaction.batched_migrate = either();
    policy.thp.swap_small_whole = either();
    policy
}

impl<C: Choices> World<C> {
    /// A machine with a program that has mapped its memory and touched nothing of it.
    pub fn new(mut choices: C) -> Self {
        let nodes = nodes::Machine::draw(&mut choices, MEMORY);
        let machine = Machine::boot(policy(&mut choices), nodes);
        let size = files::size(choices.below(files::SIZES));
        let (mount, file) = machine.step(|mm| {
            let options = TmpfsOptions::from(ShmemHuge::Always).sized(size);
            let mount = mm.mount_tmpfs(options).expect("the policy has it");
            (mount, mm.create_file_on(mount, Pages::new(files::FILE), None).expect("the mount exists"))
        });
        let (next_user, clock) = (NumaTask { pid: 1, cpu: 0, threads: 1 }, Nanos::ZERO);
        let mut world = Self {
            machine,
            choices,
            spaces: Vec::new(),
            threads: Vec::new(),
            file,
            mount,
            pins: Vec::new(),
            collapsed: 0,
            full: 0,
            placed: Cell::default(),
            next_user,
            clock,
        };
        let space = world.with(|mm| mm.create_space()).expect("it is the first");
        world.spaces.push(space);
        world.map(space, 0, PAGES);
        world
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.choices.below(bound)
    }

    /// The CPU that everything happens on now.
    fn cpu(&self) -> usize {
        Env::cpu(&self.machine)
    }

    fn with<R>(&self, step: impl FnOnce(&mut Mm) -> R) -> R {
        self.machine.step(step)
    }

    /// Checks every law.
    ///
    /// # Panics
    /// If one is broken.
    pub fn check(&self) {
        self.with(|mm| mm.check()).unwrap_or_else(|violation| panic!("{violation}"));
        for &(pfn, state) in &self.pins {
            let now = self.with(|mm| mm.frames().frame(pfn));
            assert_eq!(now, state, "{pfn:?} is pinned: it is not freed, moved, split or collapsed");
        }
    }

    /// Nodes of the machine.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.machine.nodes.layout.nodes.len()
    }

    /// Every counter, and what every frame is.
    #[must_use]
    pub fn state(&self) -> (Vec<u64>, Vec<FrameState>) {
        self.with(|mm| {
            let frames = self.machine.nodes.frames().map(|pfn| mm.frames().frame(pfn)).collect();
            (order9_procfs::vmstat(mm).map(|(_, value)| value).collect(), frames)
        })
    }

    /// Counts of the events up to now.
    #[must_use]
    pub fn tally(&self) -> Tally {
        self.with(|mm| {
            let counters = mm.counters();
            Tally {
                collapsed: self.collapsed,
                by_khugepaged: u64::from(mm.pages().huge().khugepaged_pages_collapsed()),
                lazily_freed: counters.pglazyfreed,
                thp: [
                    counters.thp_fault_alloc,
                    counters.thp_fault_fallback,
                    counters.thp_split_pmd,
                    counters.thp_split_page,
                    counters.thp_split_page_failed,
                    counters.thp_deferred_split_page,
                ],
                small: [
                    SizeStat::AnonFaultAlloc,
                    SizeStat::AnonFaultFallback,
                    SizeStat::Split,
                    SizeStat::SplitFailed,
                    SizeStat::SplitDeferred,
                    SizeStat::Swpout,
                    SizeStat::SwpoutFallback,
                ]
                .map(|stat| HugeSize::PMD.below().map(|size| mm.thp_size_stat(size, stat)).sum()),
                moved: [counters.thp_migration_success, counters.pgmigrate_success],
                swapped: [counters.pswpout, counters.pswpin],
                swapped_whole: [counters.thp_swpout, counters.thp_swpout_fallback],
                pool: counters.htlb_buddy_alloc_success,
                files: [counters.thp_file_alloc, counters.thp_file_mapped],
                full: self.full,
                placed: self.placed.get(),
                balanced: [
                    counters.numa_pte_updates,
                    counters.numa_huge_pte_updates,
                    counters.numa_hint_faults,
                    counters.numa_pages_migrated,
                ],
            }
        })
    }

    /// Ends all programs, pins and pools: nothing is left then.
    ///
    /// # Panics
    /// If something is.
    pub fn end(mut self) {
        self.machine.end_writes();
        for space in core::mem::take(&mut self.spaces) {
            self.with(|mm| mm.exit(space, self.cpu())).expect("it lives");
        }
        for (pfn, _) in core::mem::take(&mut self.pins) {
            self.with(|mm| mm.unpin(pfn)).expect("it is pinned");
        }
        self.with(|mm| mm.close_file(self.file, self.cpu())).expect("it is open");
        self.resize_pools(0);
        self.shrink();
        self.check();
        let (levels, pool) = self.with(|mm| (mm.pages().user_levels(), mm.pages().hugetlb().hugetlb_pool()));
        assert_eq!((levels.anon, levels.anon_thps, levels.page_tables, pool.total), (0, 0, 0, 0));
        assert_eq!((levels.shmem, levels.shmem_thps, levels.mapped), (0, 0, 0));
        self.with(|mm| {
            assert_eq!(
                (mm.pages().swap().swap_free(), mm.pages().cache().shmem_shrinkable()),
                (mm.pages().swap().swap_total(), 0)
            );
        });
    }

    fn resize_pools(&self, count: u64) {
        self.with(|mm| mm.set_nr_hugepages(PoolSize::all(count)));
    }
}

/// Runs an input to its end, which is what a fuzzer looks for faults of.
///
/// # Panics
/// If a law is broken, or something is left at the end.
pub fn run_input(input: &[u8]) {
    /// Longer inputs find nothing that several short ones do not.
    const STEPS: u32 = 400;
    let mut world = World::new(Input(input));
    for _ in 0..STEPS {
        if world.choices.0.is_empty() {
            break;
        }
        world.step();
    }
    world.end();
}

fn pages(count: u64) -> order9_units::Bytes {
    Pages::new(count).bytes()
}

fn at(page: u64) -> VirtAddr {
    VirtAddr::new(START.get() + pages(page).get())
}
