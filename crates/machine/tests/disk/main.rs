//! Disks: against a naive model, and what they promise.

mod laws;
mod naive;
mod random;

use std::cell::RefCell;
use std::rc::Rc;

use order9_machine::disk::{Bio, Block, Completion, Disk, DiskSpec, Op, Transfer};
use order9_machine::time::{Config, Executor, Handle, TaskId, TaskSpec};
use order9_units::{Bytes, Nanos, NodeId, Pages};

fn ns(n: u64) -> Nanos {
    Nanos::new(n)
}

/// A disk whose requests take 1000 ns, and 10 ns per page; four at once, no more than eight pages each.
fn plain() -> DiskSpec {
    let transfer = Transfer { latency: ns(1000), bandwidth: Bytes::new(409_600_000_000) };
    DiskSpec {
        size: Pages::new(1 << 20),
        read: transfer,
        write: transfer,
        queue_depth: 4,
        nr_requests: 128,
        max_request: Pages::new(8),
        rotating: None,
        write_cache: None,
        in_memory: false,
    }
}

fn machine(cpus: usize) -> Executor {
    Executor::new(Config::new(vec![NodeId(0); cpus], 1)).expect("a machine with CPUs")
}

/// What ended, in order.
type Log = Rc<RefCell<Vec<Completion>>>;

/// A disk that notes what ends.
fn disk(handle: &Handle, spec: DiskSpec) -> (Disk, Log) {
    let log = Log::default();
    let noted = Rc::clone(&log);
    let disk = Disk::new(handle, "sda", spec, move |completion| noted.borrow_mut().push(*completion));
    (disk.expect("such a disk is possible"), log)
}

fn spawn<F: Future<Output = ()> + 'static>(handle: &Handle, name: &str, code: impl FnOnce(Handle) -> F) -> TaskId {
    handle.spawn(TaskSpec::new(name), code(handle.clone())).expect("it may run anywhere")
}

/// Numbered by their place.
fn bio(op: Op, first: u64, pages: u64) -> Bio {
    Bio { op, first: Block::new(first), pages: Pages::new(pages), tag: first }
}
