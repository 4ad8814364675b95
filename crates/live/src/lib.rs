//! Workloads on a real kernel: the traits of system calls by real system calls, and a supervisor that watches from outside.
//!
//! Two processes take part. The *program* ([`program`]) is a workload with its threads and children; the *supervisor*
//! ([`supervise`]) starts the program, reads counters, keeps the machine from harm, and hands all it hears on as [`Message`]s.
//! On a host the supervisor is the command; in a virtual machine it is the guest's first process, and the messages go to a
//! serial port. What a message means for a run directory is not decided here.
//!
//! A [`Recorder`] reads the same counters while something else runs, a command or whatever the host does.
//!
//! All calls of `Thread` block: their futures are ready at once, and each thread has an executor that polls once.
//! Only the module `raw` is unsafe.
#![deny(unsafe_code)]

mod cgroups;
mod clock;
mod collapse;
mod damon;
mod errno;
mod files;
mod job;
mod kills;
mod message;
mod phase;
mod program;
mod raw;
mod readings;
mod recorder;
mod space;
mod step;
mod storage;
mod supervisor;
mod system;
mod thread;
mod traces;
mod wire;

pub use collapse::{Collapser, own_cpu_time};
pub use damon::{Damon, DamonError, PROCESSES as DAMON_PROCESSES, Region, Watched};
pub use job::{Job, WireValue};
pub use kills::{Kills, Victim, settings_of_memory};
pub use message::{Facts, Message, Sample, StopKind, Traced, Unit};
pub use order9_journal::{DIRECTORY as JOURNAL_DIRECTORY, Journal, JournalError, Undone};
pub use phase::pause_of_phase;
pub use program::program;
pub use readings::{Readings, own_meaning, read_facts};
pub use recorder::{Recorded, Recorder};
pub use step::{Step, end_with_parent, step};
pub use storage::{FileDisk, FileSystem, Storage, SwapArea, swap_on};
pub use supervisor::{Limits, SuperviseError, Supervised, Witness, supervise};
pub use traces::tracefs;
pub use wire::{FromGuest, ToGuest, read_frame, write_frame};
