//! System calls of a program: [`Sys`].
//!
//! The parts, each a trait in its own file: [`AddressSpace`], [`Nodes`], [`Files`], [`Tmpfs`], [`Processes`],
//! [`KernelAllocator`], [`Administration`] and [`Measuring`]. Most workloads ask for all of them, which is `Sys`; a helper may
//! ask for a part, such as one that only measures.
//! Two worlds implement them: the lab's machine, in virtual time, and real system calls. Calls answer as Linux does. What ends a program is a [`Stop`],
//! to be passed on with `?`. Code between two awaits must not depend on who else runs, and a process has nothing in common with the one that
//! started it but [`Shared`] numbers.

mod address_space;
mod administration;
mod files;
mod kernel_allocator;
mod measuring;
mod nodes;
mod processes;
mod shared;
mod stop;
mod tmpfs;

pub use address_space::{Access, AddressSpace, Advice, Area, Loads, Mapping, Of, Prot};
pub use administration::{Administration, DropCaches, Facts, Memory, PoolFile};
pub(crate) use files::synced_file;
pub use files::{FileId, Files};
pub use kernel_allocator::{KernelAlloc, KernelAllocator, KernelSize};
pub use measuring::Measuring;
pub use nodes::{Nodes, Numastat};
pub(crate) use processes::sleep_until;
pub use processes::{ChildKind, Ended, OomScoreAdj, Processes, Times};
pub use shared::Shared;
pub(crate) use shared::{Flag, found_by};
pub use stop::Stop;
pub use tmpfs::{Mount, Statfs, Tmpfs};

/// The system, as seen by one thread of one process. A clone is the same thread's.
pub trait Sys:
    AddressSpace + Administration + Clone + Files + KernelAllocator + Measuring + Nodes + Processes + Tmpfs + 'static
{
}

impl<T> Sys for T where
    T: AddressSpace
        + Administration
        + Clone
        + Files
        + KernelAllocator
        + Measuring
        + Nodes
        + Processes
        + Tmpfs
        + 'static
{
}
