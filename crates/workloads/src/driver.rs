//! Takers of the huge pages that a driver of the kernel takes: the kernel, or a stand-in that a program can be on any kernel.
//!
//! A driver's blocks cannot be had by system calls. Where a real kernel is measured, somebody who can be had takes them, chosen by
//! name, and the lab runs the same stand-in when the two are held against each other.

use order9_units::{Nanos, Order};

use crate::parameters::{Kind, Parameter, Parameters, Value};
use crate::sys::{Advice, Area, ChildKind, KernelAlloc, KernelSize, PoolFile, Stop, Sys};
use crate::unit::{UNIT, is_huge, map_units};

/// The parameter that says who it is.
pub(crate) const DRIVER: Parameter = Parameter {
    key: "driver",
    meaning: "who takes the blocks: the kernel for itself, which is the benchmark and cannot be had by system calls; a program by a fault in \
        advised memory, which also clears the block; or a write to vm.nr_hugepages for each",
    kind: Kind::Word(&["kernel", "advised", "nr_hugepages"]),
    default: |_| Value::Word("kernel"),
    default_text: "kernel",
};

/// Taker of huge pages, one at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Driver {
    /// A driver in the kernel.
    Kernel,
    /// A fault in memory advised with `MADV_HUGEPAGE`. What would become base pages is given back and counts as a failure.
    Advised,
    /// A write to `vm.nr_hugepages` of one more than there are.
    Pool,
}

/// A huge page that was taken.
pub(crate) enum Block<M> {
    Kernel(M),
    Advised(Area),
    Pool,
}

impl Driver {
    pub(crate) fn of(parameters: &Parameters) -> Self {
        match parameters.word(DRIVER.key) {
            "advised" => Self::Advised,
            "nr_hugepages" => Self::Pool,
            _ => Self::Kernel,
        }
    }

    /// The kind of child that can be this.
    pub(crate) const fn child_kind(self) -> ChildKind {
        match self {
            Self::Kernel => ChildKind::Kernel,
            Self::Advised | Self::Pool => ChildKind::Thread,
        }
    }

    /// Takes a huge page, and says how long that took; `None` where there is none for it. A stand-in takes none either where no memory
    /// is available: the kernel would not refuse it base pages, and would swap or kill for them. Asking what is available takes no part
    /// of the time, since only a real kernel takes any for it: 60,000 instructions to write /proc/meminfo.
    pub(crate) async fn take<S: Sys>(self, sys: &S) -> Result<(Option<Block<S::KernelMemory>>, Nanos), Stop> {
        if self != Self::Kernel && sys.memory().available < UNIT {
            return Ok((None, Nanos::ZERO));
        }
        let start = sys.now();
        let block = self.ask(sys).await?;
        Ok((block, sys.now() - start))
    }

    async fn ask<S: Sys>(self, sys: &S) -> Result<Option<Block<S::KernelMemory>>, Stop> {
        match self {
            Self::Kernel => {
                let block = sys.kernel_alloc(KernelAlloc::new(KernelSize::Block(Order::PAGEBLOCK))).await?;
                Ok(block.map(Block::Kernel))
            }
            Self::Advised => {
                let (mapped, unit) = map_units(sys, UNIT, Some(Advice::HugePage)).await?;
                if is_huge(sys, unit).await? {
                    return Ok(Some(Block::Advised(mapped)));
                }
                sys.munmap(mapped).await?;
                Ok(None)
            }
            Self::Pool => {
                let before = sys.nr_hugepages();
                let has = sys.set_nr_hugepages(PoolFile::NrHugepages, before + 1).await?;
                Ok((has > before).then_some(Block::Pool))
            }
        }
    }

    /// Gives a huge page back.
    pub(crate) async fn give_back<S: Sys>(sys: &S, block: Block<S::KernelMemory>) -> Result<(), Stop> {
        match block {
            Block::Kernel(memory) => sys.kernel_free(memory).await,
            Block::Advised(mapped) => sys.munmap(mapped).await,
            Block::Pool => {
                let before = sys.nr_hugepages();
                sys.set_nr_hugepages(PoolFile::NrHugepages, before.saturating_sub(1)).await.map(drop)
            }
        }
    }
}
