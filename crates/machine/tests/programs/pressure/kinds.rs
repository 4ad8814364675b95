//! What programs want memory for.

use order9_machine::Thread;
use order9_units::{Bytes, Nanos, PAGE_SIZE};
use order9_workloads::{Access, AddressSpace, Area, FileId, Files, Mapping, Measuring, Of, Processes, Stop};

use crate::kib;

/// What programs want memory for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Memory of their own, written over and over.
    Anon,
    /// Shared memory, written over and over.
    Shared,
    /// A file, written once and read over and over.
    Read,
    /// A file, written over and over.
    Dirty,
    /// Memory of their own, half of it locked.
    Mlocked,
    /// The same, half of it pinned.
    Pinned,
    /// Half memory of their own, half small files with all the objects that these take.
    Slab,
}

impl Kind {
    /// One program that wants `share`.
    pub(super) async fn run(self, sys: Thread, share: Bytes) -> Result<(), Stop> {
        let half = Bytes::new(share.get() / 2 / PAGE_SIZE.get() * PAGE_SIZE.get());
        match self {
            Self::Anon => write_all(&sys, anon(&sys, share).await?).await,
            Self::Shared => {
                let area = sys.mmap(Mapping { length: share, of: Of::Shared }).await?;
                sys.touch(area, Access::Write).await?;
                write_all(&sys, area).await
            }
            Self::Read => {
                let file = sys.create_file(share).await?;
                read_all(&sys, file, share).await?;
                read_all(&sys, file, share).await
            }
            Self::Dirty => {
                let file = sys.create_file(share).await?;
                rewrite(&sys, file, share).await?;
                rewrite(&sys, file, share).await
            }
            Self::Mlocked => {
                sys.mlock(anon(&sys, half).await?).await?;
                write_all(&sys, anon(&sys, half).await?).await
            }
            Self::Pinned => {
                sys.pin(anon(&sys, half).await?).await?;
                write_all(&sys, anon(&sys, half).await?).await
            }
            Self::Slab => {
                let area = anon(&sys, half).await?;
                for _ in 0..half.get() / PAGE_SIZE.get() {
                    sys.create_file(PAGE_SIZE).await?;
                }
                write_all(&sys, area).await
            }
        }
    }
}

async fn anon(sys: &Thread, length: Bytes) -> Result<Area, Stop> {
    let area = sys.mmap(Mapping::anon(length)).await?;
    sys.touch(area, Access::Write).await?;
    Ok(area)
}

/// Once all programs have what they want, writes it again.
async fn write_all(sys: &Thread, area: Area) -> Result<(), Stop> {
    let all_have_it = Nanos::new(30_000_000_000);
    sys.sleep(all_have_it - sys.now().min(all_have_it)).await?;
    sys.touch(area, Access::Write).await
}

/// Offsets of pieces of a file.
fn pieces(length: Bytes) -> impl Iterator<Item = Bytes> {
    (0..length.get()).step_by(kib(256).get() as usize).map(Bytes::new)
}

async fn read_all(sys: &Thread, file: FileId, length: Bytes) -> Result<(), Stop> {
    sys.open(file).await?;
    for at in pieces(length) {
        sys.read(file, at, kib(256)).await?;
    }
    sys.close(file).await
}

async fn rewrite(sys: &Thread, file: FileId, length: Bytes) -> Result<(), Stop> {
    sys.open(file).await?;
    for at in pieces(length) {
        sys.write(file, at, kib(256).min(length - at)).await?;
    }
    sys.close(file).await
}
