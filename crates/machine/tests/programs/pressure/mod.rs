//! Machines that want more memory than they have, in every way in which memory can be wanted.

mod kinds;
mod matrix;
mod outcome;
mod presets;

use std::num::NonZeroU64;

use order9_machine::{Engine, Machine, Options, Results, Thread, Tick};
use order9_units::{Bytes, Nanos, Pages};
use order9_workloads::{Administration, ChildKind, DropCaches, Files, Processes, Stop};

use crate::disk;
use kinds::Kind;

/// A program that takes longer hangs.
const VIRTUAL_TIME_MAX: Nanos = Nanos::new(600_000_000_000);

/// A machine under pressure.
#[derive(Clone, Copy, Debug)]
struct Pressure {
    /// What the machine has. Small, as every check looks at all of it.
    memory: Bytes,
    kind: Kind,
    /// What all tasks want together, in percent of memory.
    percent: u64,
    swap: Pages,
    tasks: u64,
}

impl Pressure {
    /// Runs the tasks on the machine that `machine` makes, each a process, all at once; then has everything written and
    /// dropped.
    ///
    /// # Panics
    /// If a law is broken, a page lost, or the end does not come in time.
    fn run(&self, machine: impl FnOnce(&Options) -> Machine) -> Results {
        let options = Options {
            check_every: NonZeroU64::new(4999),
            disks: vec![disk(self.swap)],
            sample_every: Nanos::new(100_000_000),
            ..Options::new(1)
        };
        let (this, watched) = (*self, *self);
        machine(&options).run_program(
            "pressure",
            move |sys| this.program(sys),
            move |tick: &Tick<'_>| {
                assert!(tick.now < VIRTUAL_TIME_MAX, "{watched:?} hangs");
                if tick.is_last {
                    assert_nothing_lost(tick.engine);
                }
            },
        )
    }

    async fn program(self, sys: Thread) -> Result<(), Stop> {
        let share = Pages::new(Pages::from_bytes_floor(self.memory).get() * self.percent / 100 / self.tasks).bytes();
        let mut children = Vec::new();
        for _ in 0..self.tasks {
            children.push(sys.spawn(ChildKind::Process, "task", move |sys| self.kind.run(sys, share)).await?);
        }
        for child in children {
            match sys.wait(child).await?.result {
                Ok(()) | Err(Stop::Killed { .. } | Stop::OutOfMemory(_)) => {}
                Err(stop) => panic!("{self:?}: a task ended with {stop}"),
            }
        }
        sys.sync().await?;
        // Writes to swap of pages that nobody has any more come to their end.
        sys.sleep(Nanos::new(100_000_000)).await?;
        sys.drop_caches(DropCaches::All).await
    }
}

/// After the end of all programs, every page is free, or of the few files and objects that caches keep.
fn assert_nothing_lost(mm: &Engine) {
    mm.check().expect("every law holds at the end");
    let level =
        |name| order9_procfs::vmstat(mm).find(|&(known, _)| known == name).expect("the engine has this level").1;
    for gone in ["nr_anon_pages", "nr_mapped", "nr_page_table_pages", "nr_shmem", "nr_dirty", "nr_writeback"] {
        assert_eq!(level(gone), 0, "{gone}");
    }
    for gone in ["nr_isolated_anon", "nr_isolated_file", "nr_unevictable", "nr_mlock", "nr_swapcached"] {
        assert_eq!(level(gone), 0, "{gone}");
    }
    assert_eq!(mm.pages().swap().swap_free(), mm.pages().swap().swap_total(), "slots of swap");
    let managed: u64 = mm.frames().zones().iter().map(order9_mm::Zone::managed).sum();
    let slab = level("nr_slab_reclaimable") + level("nr_slab_unreclaimable");
    let accounted = level("nr_free_pages")
        + mm.frames().zones().iter().map(|zone| mm.frames().pcp_pages(zone.id())).sum::<u64>()
        + level("nr_file_pages")
        + slab;
    assert_eq!(accounted, managed, "free, cached by CPUs, of files, of slab");
    assert!(level("nr_free_pages") > managed * 9 / 10, "caches were dropped");
}
