//! The machine of the lab: programs on virtual CPUs, in virtual time, around the engine.
//!
//! Key types: [`Machine`] (an engine, CPUs and prices: runs a program and says what came of it), [`Thread`] (how a program
//! sees it: the lab's [`Sys`](order9_workloads::Sys)), [`Results`] (samples, counters, events, times). Below lie
//! [`time`], the executor, which knows nothing of memory, [`cost`], what the engine's work takes, [`access`], what
//! accesses of programs take, and [`disk`].
//! One thread, no unsafe code, no wall clock, nothing unordered: the same inputs give the same results anywhere.
#![forbid(unsafe_code)]

pub mod access;
mod address_space;
mod administration;
mod balancing;
pub mod cost;
mod counters;
mod daemons;
pub mod disk;
mod events;
mod faults;
mod files;
mod guard;
mod huge_prices;
mod hugetlb;
mod kernel;
mod kernel_memory;
mod machine;
mod measuring;
mod mmap_lock;
mod numa;
mod oom;
mod oom_report;
mod pages;
mod process;
mod readings;
mod results;
mod stalls;
mod storage;
mod thread;
pub mod time;
mod tmpfs;
mod translations;
mod user_task;
mod variation;

pub use counters::{counter_meaning, counter_names};
pub use events::{CollapseEvent, CompactEvent, Event, TraceKinds, Traced, TracedSwitch};
pub use guard::{GuardStep, Guarded};
pub use hugetlb::PoolResized;
pub use kernel::Engine;
pub use machine::{Machine, MachineError, Options, Tick};
pub use oom::OutOfMemory;
pub use results::{Operation, Outcome, Phase, Results, Sample, Series, Unit};
pub use storage::{DiskLimits, FileSystem, MachineDisk};
pub use thread::Thread;
pub use variation::Variation;
