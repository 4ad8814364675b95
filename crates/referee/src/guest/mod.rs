//! Virtual machines that run a workload on a kernel of choice.
//!
//! Key types: [`Shape`] (CPUs, nodes and memory), [`GuestSpec`] (what boots), [`Guest`] (a machine that takes orders), [`Saved`] (its whole
//! state, from which any number of runs start). QEMU does the work; the guest's first process is the crate `guest`.

mod accel;
mod error;
mod images;
mod initramfs;
mod machine;
mod maps;
mod qemu;
mod qmp;
mod run;
mod saved;
mod shape;

pub use accel::Accel;
pub use error::GuestError;
pub use initramfs::find_init;
pub use machine::{Guest, GuestSpec};
pub use run::{InGuest, Meaning, collect};
pub use saved::Saved;
pub use shape::{NodeShape, Shape};
