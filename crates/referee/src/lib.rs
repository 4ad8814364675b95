//! The referee: the workloads of the lab on real kernels, with results in the same form.
//!
//! Key types: [`bench`](bench()) (runs a job on this host), [`record`](record()) (records this host while something else runs), [`Collector`] (makes a [`Run`](order9_record::Run) of the messages of a real
//! run, wherever it took place), [`Refusal`] (why this host is not one to run on).
#![forbid(unsafe_code)]

mod bench;
mod collector;
pub mod guest;
mod here;
pub mod kernels;
mod recording;
mod refusal;

pub use bench::{BenchError, Benched, bench, journal_directory, reserve_of};
pub use collector::Collector;
pub use recording::{RECORDED_SEED, Recording, record};
pub use refusal::{Refusal, check_compaction, check_host, check_rights, check_view};
