//! The field kit's view of Linux: reads a host, or a directory holding copies of its files, into a
//! [`Snapshot`](order9_snapshot::Snapshot).
//!
//! [`capture`] reads every file once, /proc/kpageflags and /proc/kpagecount side by side, and writes nothing. What it
//! cannot read it names in `Snapshot::missing` with the permission or kernel option that is needed. Unless owners are asked for it
//! never looks at processes: no file below /proc/PID, no names. It keeps no command line but the kernel's own, and of that a fixed list of
//! memory parameters.
//!
//! # Copies may come from anyone
//!
//! A support bundle is read as root, so nothing in it can lead out of it: links and mounts are refused by name, only
//! regular files are opened, and each has a limit. What is kept is a fixed list of files, each with the form that a kernel
//! gives it; a text under the name of a number is left out and named, and never quoted.
//!
//! # What it costs the host
//!
//! The kernel looks at every frame once per file, tens of nanoseconds each, on one CPU and without holding a lock. Nothing
//! is read twice but /proc/zoneinfo and /proc/vmstat, so that memory size bounds the cost; `CaptureCost` says what it was.
//! /proc/pagetypeinfo walks free lists under the zone's lock; newer kernels stop after 100000 blocks of a list for that
//! reason, older ones walk on.
//!
//! # How sharp the picture is
//!
//! Linux offers no way to read the memory map at one instant. While it is read, pages are allocated, freed and moved, so
//! - a frame's flags and its count can belong to different moments, a few milliseconds apart: a page that was freed in
//!   between looks free and mapped;
//! - a page that moves from high to low addresses while the reader passes can be seen in both places or in neither, and
//!   a huge page that is split or assembled can show some frames of each form;
//! - free pages on their way through per-CPU lists carry no flag and look like kernel memory;
//! - zone totals, block counts and the map are each from their own moment.
//!
//! `CaptureCost::inconsistent` counts the frames that contradict themselves or their neighbour; the others may be stale,
//! but each was true when it was read. `CaptureCost::free_drift` says how far free memory moved meanwhile.
#![forbid(unsafe_code)]

mod balloon;
mod beneath;
mod calibrate;
mod capture;
mod consistency;
mod form;
mod frames;
mod huge_fault;
mod memory;
mod owners;
pub mod page_owner;
mod parse;
mod root;
mod settings;
pub mod smaps;
mod source;
mod stopwatch;
mod topology;
mod totals;

pub use balloon::{hypervisor_fault, hypervisor_takes_free_pages};
pub use calibrate::calibrate;
pub use capture::{CaptureError, Options, capture};
pub use frames::{PlainRead, Progress, plain_read};
pub use memory::{available_memory, memory_limit};
pub use root::Root;
pub use totals::{Totals, TotalsError, totals};
