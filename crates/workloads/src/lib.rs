//! The benchmarks by which huge-page changes are judged: each written once, against traits of system calls.
//!
//! Key types: [`Sys`] (what a program may ask of its system), [`Workload`] (the list of all programs), [`Spec`] (everything
//! there is to say of one: what can be chosen and what it measures), [`Parameters`] (what was chosen).
//! One file for each program, with its `WORKLOAD`, a [`Spec`], and its `run`; a new program is such a file, its `mod` here
//! and a row of [`Workload`].
//! A workload does not know its world: no clock, no random numbers, no memory but what [`Sys`] gives it.
#![forbid(unsafe_code)]

mod access;
mod beforehand;
mod cpus;
mod demand;
mod dice;
mod driver;
mod fill_and_free;
mod frag_mix;
mod fsmark;
mod hugealloc;
mod hugetlb_grow;
mod idle;
mod java_heap;
mod ladder;
mod map_and_write;
mod measure;
mod mempolicy;
mod numa;
mod parameters;
mod pattern;
mod spec;
mod stream_reader;
pub mod streams;
mod stutter;
mod sys;
mod thp;
mod trace;
mod unit;
mod uptime;
mod usemem;
mod workload;

pub use beforehand::BEFOREHAND;
pub use cpus::{CpuRange, Cpus, Spread};
pub use demand::Demand;
pub use ladder::thread_ladder;
pub use measure::{Better, Family, Figure, Measure, Unit};
pub use mempolicy::{GENERAL, GENERAL_MEASURES, MbindFlags, MemoryMode, Mempolicy, NodeFlags};
pub use parameters::{Kind, Parameter, Parameters, Value};
pub use spec::{Setting, Spec};
pub use sys::{
    Access, AddressSpace, Administration, Advice, Area, ChildKind, DropCaches, Ended, Facts, FileId, Files,
    KernelAlloc, KernelAllocator, KernelSize, Loads, Mapping, Measuring, Memory, Mount, Nodes, Numastat, Of,
    OomScoreAdj, PoolFile, Processes, Prot, Shared, Statfs, Stop, Sys, Times, Tmpfs,
};
pub use trace::{Interval, Recording, RecordingError, Requests};
pub use workload::{Workload, run_as_chosen};
