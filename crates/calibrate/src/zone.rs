//! Work of the page allocator per page, beside and under the zone lock.
//!
//! fallocate() of a memory file allocates pages without clearing them, truncation frees them. Whether that reaches the zone
//! depends on the CPU's list of free pages, which grows with what is freed in one go: it is kept empty or full by a file
//! that is larger than the list can be.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{FallocateFlags, MemfdFlags, fallocate, ftruncate, memfd_create};
use rustix::pipe::pipe;

use crate::clock::{cpu_of, cpu_per};
use crate::direct::Direct;
use crate::pages::PAGES;
use crate::sys::{PAGE, PageSize, Region};

/// A longer list would take more memory to fill than a benchmark should.
const LIST_MAX: usize = 400_000;

/// More than the list's own granularity: so many pages the file has beyond what the list can hold.
const BEYOND: usize = 2_048;

/// Calls that read nothing.
const READS: usize = 20_000;

/// The file that fills the CPU's list of free pages when it is freed, and empties it when it is allocated.
pub(crate) struct Filler {
    file: OwnedFd,
    pages: usize,
}

impl Filler {
    /// An empty file.
    pub(crate) fn new() -> io::Result<Self> {
        let list_max = longest_list()?;
        if list_max > LIST_MAX {
            let message = format!(
                "/proc/zoneinfo: a CPU's list may have {list_max} pages, expected at most {LIST_MAX}: filling it takes too \
                 much memory"
            );
            return Err(io::Error::other(message));
        }
        Ok(Self { file: memory_file()?, pages: list_max + BEYOND })
    }

    fn allocate(&self) -> io::Result<()> {
        grow(&self.file, self.pages)
    }

    /// Gives the file back: the list is full afterwards.
    fn free(&self) -> io::Result<()> {
        Ok(ftruncate(&self.file, 0)?)
    }

    /// Fills the list.
    pub(crate) fn fill_list(&self) -> io::Result<()> {
        self.allocate()?;
        self.free()
    }
}

/// Fills in what concerns the allocator. The CPU's list of free pages must be full, and is so afterwards.
pub(crate) fn measure(direct: &mut Direct, filler: &Filler) -> io::Result<()> {
    pages_of_kernel(direct)?;
    (direct.file_alloc, direct.file_free) = alloc_and_free()?;
    holes(direct, filler)?;
    beyond_the_list(direct, filler)
}

/// Time per page of allocating a file, and of freeing it.
fn alloc_and_free() -> io::Result<(f64, f64)> {
    let file = memory_file()?;
    let alloc = cpu_per(PAGES, || grow(&file, PAGES))?;
    Ok((alloc, cpu_per(PAGES, || Ok(ftruncate(&file, 0)?))?))
}

/// Everything is taken while the list is empty, and given back while it is full. Touched first is what was touched before:
/// the hypervisor may back other frames only now.
fn beyond_the_list(direct: &mut Direct, filler: &Filler) -> io::Result<()> {
    filler.allocate()?;
    let mut region = Region::anonymous(PAGES, PageSize::Base)?;
    direct.write_fault_zone = cpu_of(PAGES, || region.store(0, PAGE));
    let file = memory_file()?;
    direct.file_alloc_zone = cpu_per(PAGES, || grow(&file, PAGES))?;
    filler.free()?;
    direct.unmap_zone = cpu_of(PAGES, || drop(region));
    direct.file_free_zone = cpu_per(PAGES, || Ok(ftruncate(&file, 0)?))?;
    Ok(())
}

/// As long as every second frame is in use, no two free ones can merge. Freed while the list is empty they are its oldest
/// entries, and the first that go to the zone once the filler has filled it: when the last of the filler is freed.
fn holes(direct: &mut Direct, filler: &Filler) -> io::Result<()> {
    filler.allocate()?;
    let mut every_second = Region::anonymous(2 * PAGES, PageSize::Base)?;
    every_second.populate()?;
    every_second.punch_every_second_page()?;
    ftruncate(&filler.file, ((PAGES + BEYOND) * PAGE) as u64)?;
    direct.file_free_holes = cpu_per(PAGES + BEYOND, || filler.free())?;

    filler.allocate()?;
    (direct.file_alloc_holes, _) = alloc_and_free()?;
    drop(every_second);
    filler.free()
}

/// Reading no bytes of /proc/self/mem takes one page for the content and returns it; reading none of a pipe does nothing.
fn pages_of_kernel(direct: &mut Direct) -> io::Result<()> {
    let memory = File::open("/proc/self/mem")?;
    direct.read_memory = cpu_per(READS, || (0..READS).try_for_each(|_| read_nothing(&memory)))?;
    let (reader, _writer) = pipe()?;
    direct.read_pipe = cpu_per(READS, || (0..READS).try_for_each(|_| read_nothing(&reader)))?;
    Ok(())
}

fn read_nothing(file: impl AsFd) -> io::Result<()> {
    Ok(rustix::io::read(file, &mut [0_u8; 0]).map(drop)?)
}

/// File in memory, without pages.
pub(crate) fn memory_file() -> io::Result<OwnedFd> {
    Ok(memfd_create("order9-bench", MemfdFlags::CLOEXEC)?)
}

fn grow(file: &OwnedFd, pages: usize) -> io::Result<()> {
    Ok(fallocate(file, FallocateFlags::empty(), 0, (pages * PAGE) as u64)?)
}

/// The most pages that any zone may have on the list of one CPU: `high_max`, or `high` before Linux 6.7.
fn longest_list() -> io::Result<usize> {
    let text = fs::read_to_string("/proc/zoneinfo")?;
    let longest = |field: &str| {
        let values = text.lines().filter_map(|line| line.trim().strip_prefix(field)?.trim().parse().ok());
        values.max()
    };
    longest("high_max:").or_else(|| longest("high:")).ok_or_else(|| {
        io::Error::other("/proc/zoneinfo: expected lines `high_max: N` or `high: N`, how long a CPU's list may be")
    })
}
