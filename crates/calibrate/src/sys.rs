//! The system calls and memory accesses that take unsafe code: mappings, and forks.
//!
//! Key types: [`Region`] (memory that nobody else refers to), [`Mapping`] (of a file, without access), [`Child`] (a fork that
//! only waits). What others can call is safe: a region lends its memory for the length of a call and bounds every access.
//! Never decides what is measured.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::io;
use std::ops::Range;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::ptr::NonNull;

use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, MprotectFlags, MsyncFlags, ProtFlags};
use rustix::process::{Pid, WaitOptions};

/// Bytes of a base page.
pub(crate) const PAGE: usize = 4096;

/// Bytes that one page table maps, and of a huge page.
pub(crate) const SLOT: usize = 512 * PAGE;

/// Advice to collapse; since Linux 6.1.
const MADV_COLLAPSE: i32 = 25;

/// Pages that a mapping may get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageSize {
    Base,
    Huge,
}

/// A mapping of whole pages.
///
/// Invariant: the `len` bytes from `start` are mapped until drop, and no other code of this process unmaps them.
pub(crate) struct Mapping {
    start: NonNull<u8>,
    len: usize,
}

impl Mapping {
    /// The first `pages` pages of `file`, shared. It can only be populated, so that neither other mappings of the file nor
    /// a file that is too short do harm.
    pub(crate) fn of_file(file: BorrowedFd<'_>, pages: usize) -> io::Result<Self> {
        let (len, prot) = (pages * PAGE, ProtFlags::READ | ProtFlags::WRITE);
        // SAFETY: without MAP_FIXED a new mapping replaces none.
        let start = unsafe { rustix::mm::mmap(std::ptr::null_mut(), len, prot, MapFlags::SHARED, file, 0) }?;
        Self::at(start, len)
    }

    fn anonymous(len: usize) -> io::Result<Self> {
        let (prot, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | MapFlags::NORESERVE);
        // SAFETY: without MAP_FIXED a new mapping replaces none.
        let start = unsafe { rustix::mm::mmap_anonymous(std::ptr::null_mut(), len, prot, flags) }?;
        Self::at(start, len)
    }

    fn at(start: *mut c_void, len: usize) -> io::Result<Self> {
        Ok(Self { start: NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?, len })
    }

    /// Makes every page resident and writable: by one call, or by a write to each where the kernel is older than 5.14.
    pub(crate) fn populate(&mut self) -> io::Result<()> {
        // SAFETY: the range is mapped, and populating it changes no content.
        match unsafe { rustix::mm::madvise(self.start.as_ptr().cast(), self.len, Advice::LinuxPopulateWrite) } {
            Err(Errno::INVAL) => {
                for at in (0..self.len).step_by(PAGE) {
                    // SAFETY: `at` is below `len`, and nobody refers to the content.
                    unsafe { self.start.add(at).write_volatile(0) };
                }
                Ok(())
            }
            done => Ok(done?),
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range is this mapping's and is not used afterwards. A failure would leak it, no more.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.len) };
    }
}

/// Ranges of `pages` pages between those that stay, one of each `stride`. Which one stays differs: of pages at regular distances, the
/// search for free pages, which looks at one frame in 32, may see nothing but pages that stay.
pub(crate) fn between_kept(pages: usize, stride: usize) -> impl Iterator<Item = Range<usize>> {
    // Multiples of the golden ratio spread evenly, and repeat nowhere.
    let place = move |group: u64| (group.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % stride;
    let kept = (0..pages / stride).map(move |group| group * stride + place(group as u64));
    let mut from = 0;
    kept.chain([pages]).map(move |at| {
        let gap = from..at;
        from = at + 1;
        gap
    })
}

/// Private anonymous memory of whole pages, aligned to 2 MiB.
///
/// Invariant: the `len` bytes from `base` lie in `mapping`, are known to no other code of this process, and may be read and
/// written whenever `self` is borrowed mutably.
pub(crate) struct Region {
    base: NonNull<u8>,
    len: usize,
    /// Unmaps the memory on drop.
    _mapping: Mapping,
}

impl Region {
    /// Memory that holds zeroes.
    pub(crate) fn anonymous(pages: usize, size: PageSize) -> io::Result<Self> {
        let len = pages * PAGE;
        let mapping = Mapping::anonymous(len + SLOT)?;
        let skip = mapping.start.as_ptr().align_offset(SLOT);
        // SAFETY: `skip` is below SLOT, so that `base` and the `len` bytes after it lie in the mapping.
        let base = unsafe { mapping.start.add(skip) };
        let mut region = Self { base, len, _mapping: mapping };
        region.advise(if size == PageSize::Huge { Advice::LinuxHugepage } else { Advice::LinuxNoHugepage })?;
        Ok(region)
    }

    fn start(&self) -> *mut c_void {
        self.base.as_ptr().cast()
    }

    fn advise(&mut self, advice: Advice) -> io::Result<()> {
        // SAFETY: the range is the region's own, no reference into it exists, and any bytes are valid content.
        Ok(unsafe { rustix::mm::madvise(self.start(), self.len, advice) }?)
    }

    /// Makes every page resident and writable: by one call, or by a write to each where the kernel is older than 5.14.
    pub(crate) fn populate(&mut self) -> io::Result<()> {
        match self.advise(Advice::LinuxPopulateWrite) {
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                self.store(0, PAGE);
                Ok(())
            }
            done => done,
        }
    }

    /// Gives back every second page, one call each.
    pub(crate) fn punch_every_second_page(&mut self) -> io::Result<()> {
        self.punch(2 * PAGE, PAGE)
    }

    /// Gives two pages of every four back, by a call for each pair.
    pub(crate) fn punch_every_second_pair(&mut self) -> io::Result<()> {
        self.punch(4 * PAGE, 2 * PAGE)
    }

    /// Gives back all pages but one of each `stride`, one call between two that stay.
    pub(crate) fn keep_one_in(&mut self, stride: usize) -> io::Result<()> {
        let pages = self.len / PAGE;
        between_kept(pages, stride).try_for_each(|gap| self.give_back(gap.start * PAGE, gap.len() * PAGE))
    }

    /// Gives back the first `bytes` of each slot, one call each.
    pub(crate) fn give_back_of_slots(&mut self, bytes: usize) -> io::Result<()> {
        self.punch(SLOT, bytes)
    }

    /// Says that the last page of each slot is not used, one call each.
    pub(crate) fn cool_ends(&mut self) -> io::Result<()> {
        for at in (SLOT - PAGE..self.len).step_by(SLOT) {
            // SAFETY: the page at `at` lies below `len`, and the call changes no content.
            unsafe { rustix::mm::madvise(self.start().byte_add(at), PAGE, Advice::LinuxCold) }?;
        }
        Ok(())
    }

    /// Sends all of the region to swap.
    pub(crate) fn page_out(&mut self) -> io::Result<()> {
        self.advise(Advice::LinuxPageOut)
    }

    /// Gives back the first `bytes` of each `stride`.
    fn punch(&mut self, stride: usize, bytes: usize) -> io::Result<()> {
        (0..self.len).step_by(stride).try_for_each(|at| self.give_back(at, bytes.min(self.len - at)))
    }

    /// Gives back `bytes` at `at`, which lie in the region.
    fn give_back(&mut self, at: usize, bytes: usize) -> io::Result<()> {
        assert!(at <= self.len && bytes <= self.len - at, "{bytes} bytes at {at} of {}", self.len);
        // SAFETY: the bytes lie in the region; no reference into it exists, and zeroes are valid content.
        Ok(unsafe { rustix::mm::madvise(self.start().byte_add(at), bytes, Advice::LinuxDontNeed) }?)
    }

    /// Lets the region have huge pages from here on.
    pub(crate) fn allow_huge(&mut self) -> io::Result<()> {
        self.advise(Advice::LinuxHugepage)
    }

    /// Makes all slots of the region huge. Before Linux 6.1 the call is refused as an invalid one.
    pub(crate) fn collapse(&mut self) -> io::Result<()> {
        // SAFETY: the range is the region's own, no reference into it exists, and its content stays.
        match unsafe { libc::madvise(self.start(), self.len, MADV_COLLAPSE) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// msync(MS_ASYNC) of the first page.
    pub(crate) fn sync_page(&mut self) -> io::Result<()> {
        // SAFETY: the page is the region's own; MS_ASYNC changes no content.
        Ok(unsafe { rustix::mm::msync(self.start(), PAGE, MsyncFlags::ASYNC) }?)
    }

    /// Takes the right to write from the whole region, and gives it back.
    pub(crate) fn protect_and_restore(&mut self) -> io::Result<()> {
        // SAFETY: the range is the region's own, nothing accesses it between the calls, and the second restores its rights;
        // if that fails, so does the benchmark: later safe accesses can at worst end the process by a signal.
        unsafe {
            rustix::mm::mprotect(self.start(), self.len, MprotectFlags::READ)?;
            rustix::mm::mprotect(self.start(), self.len, MprotectFlags::READ | MprotectFlags::WRITE)?;
        }
        Ok(())
    }

    /// Stores one byte at `first` and every `stride` bytes after it.
    pub(crate) fn store(&mut self, first: usize, stride: usize) {
        for at in (first..self.len).step_by(stride) {
            // SAFETY: `at` is below `len`, and `self` is borrowed mutably.
            unsafe { self.base.add(at).write_volatile(1) };
        }
    }

    /// Loads one byte of every page.
    pub(crate) fn load(&mut self) {
        for at in (0..self.len).step_by(PAGE) {
            // SAFETY: `at` is below `len`; mapped memory is initialised.
            unsafe { self.base.add(at).read_volatile() };
        }
    }

    /// The whole region.
    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the region is mapped readable and writable, initialised, and borrowed by nobody else.
        unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr(), self.len) }
    }
}

/// A forked copy of this process that waits until it is dropped.
pub(crate) struct Child {
    pid: Pid,
    release: Option<OwnedFd>,
}

impl Child {
    /// Forks. The caller has seen to it that this process has no other thread: a lock held by one would stay locked in
    /// the child for ever.
    pub(crate) fn fork() -> io::Result<Self> {
        let (wait, release) = rustix::pipe::pipe()?;
        // SAFETY: the child closes, reads and exits, all of which is allowed after fork, and never returns.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                drop(release);
                let _ = rustix::io::read(&wait, &mut [0_u8; 1]);
                // SAFETY: ends the child without running anything of its parent's.
                unsafe { libc::_exit(0) }
            }
            pid => {
                let pid = Pid::from_raw(pid).ok_or(io::ErrorKind::InvalidData)?;
                Ok(Self { pid, release: Some(release) })
            }
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        drop(self.release.take());
        let _ = rustix::process::waitpid(Some(self.pid), WaitOptions::empty());
    }
}
