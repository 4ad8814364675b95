//! Cost of disks: what the host needs for a request, from its submission to its end.
//!
//! Each figure is the median of several rounds. Run with `cargo bench -p order9-machine --bench disks`.

use std::time::Instant;

use order9_machine::disk::{Bio, Block, Disk, DiskSpec, Op, Transfer};
use order9_machine::time::{Config, Executor, Handle, TaskSpec};
use order9_units::{Bytes, Nanos, NodeId, Pages};

const ROUNDS: usize = 9;
/// Bios of one round, over all tasks.
const BIOS: u64 = 400_000;
/// Blocks apart, so that nothing merges.
const APART: u64 = 2;

fn main() {
    println!("{:<52} {:>9} {:>12}", "host time, median of rounds", "ns", "per second");
    row("read and wait, one task", &|handle, disk| readers(handle, disk, 1));
    row("read and wait, 32 tasks", &|handle, disk| readers(handle, disk, 32));
    row("write without waiting, 64 at a time, nothing merges", &|handle, disk| writer(handle, disk, APART));
    row("write without waiting, 64 at a time, neighbours", &|handle, disk| writer(handle, disk, 1));
}

fn row(what: &str, set_up: &dyn Fn(&Handle, &Disk)) {
    let mut rounds: Vec<f64> = (0..ROUNDS).map(|_| round(set_up)).collect();
    rounds.sort_by(f64::total_cmp);
    let ns = rounds[ROUNDS / 2];
    println!("{what:<52} {ns:>9.1} {:>12.0}", 1e9 / ns);
}

fn round(set_up: &dyn Fn(&Handle, &Disk)) -> f64 {
    let mut executor = Executor::new(Config::new(vec![NodeId(0); 8], 1)).expect("there are CPUs");
    let transfer = Transfer { latency: Nanos::new(80_000), bandwidth: Bytes::new(500_000_000) };
    let spec = DiskSpec {
        size: Pages::new(1 << 24),
        read: transfer,
        write: transfer,
        queue_depth: 10,
        nr_requests: 128,
        max_request: Pages::new(320),
        rotating: None,
        write_cache: None,
        in_memory: false,
    };
    let disk = Disk::new(executor.handle(), "sda", spec, |_| ()).expect("such a disk is possible");
    set_up(executor.handle(), &disk);
    let start = Instant::now();
    executor.run().expect("everything ends");
    start.elapsed().as_nanos() as f64 / BIOS as f64
}

fn readers(handle: &Handle, disk: &Disk, tasks: u64) {
    for task in 0..tasks {
        let disk = disk.clone();
        let code = async move {
            for nth in 0..BIOS / tasks {
                disk.read(Block::new((nth * tasks + task) * APART), Pages::new(1)).await;
            }
        };
        handle.spawn(TaskSpec::new("reader"), code).expect("it may run anywhere");
    }
}

/// Every 64th bio is waited for.
fn writer(handle: &Handle, disk: &Disk, apart: u64) {
    let disk = disk.clone();
    let code = async move {
        for nth in 0..BIOS {
            let ticket =
                disk.submit(Bio { op: Op::Write, first: Block::new(nth * apart), pages: Pages::new(1), tag: nth });
            if nth % 64 == 63 {
                disk.wait(ticket).await;
            }
        }
    };
    handle.spawn(TaskSpec::new("writer"), code).expect("it may run anywhere");
}
