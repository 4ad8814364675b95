//! The system calls that no safe library offers: everything about the memory of a program, `fork`, and what a child has used.
//!
//! # Why this is sound
//!
//! Programs map, write and unmap memory by number. All of it lies between [`BASE`] and [`END`], 16 and 64 TiB. Memory of Rust, its
//! heap, stacks and code, never does: the kernel maps what names no address from the top of 128 TiB downward, and a program
//! starts near its middle or at the top. Each mapping here names its address and replaces none (`MAP_FIXED_NOREPLACE`). A [`Region`] is
//! proof that an address lies there, and functions take nothing else, so that no call can reach memory of Rust. Accesses are
//! volatile: they may trap, as accesses of any program may, and the kernel ends the program then.
//!
//! [`shared_page`] and [`SharedWords`] alone map memory that Rust refers to: where the kernel chooses, and never by a region.
//!
//! A child of `fork` that had several threads finds their locks as they were. [`fork`] says what the caller must hold.
#![allow(unsafe_code)]

use std::arch::asm;
use std::ffi::{CString, c_void};
use std::hint::black_box;
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::ptr;
use std::sync::atomic::AtomicU64;

use order9_units::{Bytes, Nanos, PAGE_SIZE};
use order9_workloads::{Area, Stop, Times};

/// The lowest address of a program's memory: 16 TiB.
pub(crate) const BASE: u64 = 1 << 44;
/// The end of it: 64 TiB.
pub(crate) const END: u64 = 1 << 46;

const PAGE: u64 = PAGE_SIZE.get();

/// Advice of Linux that not every C library names: musl's headers have none.
pub(crate) const MADV_COLLAPSE: i32 = 25;

/// Whole pages of a program's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    start: u64,
    length: u64,
}

impl Region {
    /// The pages of an area.
    ///
    /// # Errors
    /// `SIGSEGV` where programs have no memory.
    pub(crate) fn of(area: Area) -> Result<Self, Stop> {
        let length = area.length.get().checked_next_multiple_of(PAGE);
        let end = length.and_then(|length| area.start.checked_add(length));
        match (length, end) {
            (Some(length), Some(end)) if area.start >= BASE && end <= END && area.start.is_multiple_of(PAGE) => {
                Ok(Self { start: area.start, length })
            }
            _ => Err(Stop::Signal { signal: "SIGSEGV", addr: area.start }),
        }
    }

    /// All memory that a program may have mapped below `end`.
    pub(crate) fn all_below(end: u64) -> Self {
        Self { start: BASE, length: end.clamp(BASE, END) - BASE }
    }

    pub(crate) const fn area(self) -> Area {
        Area { start: self.start, length: Bytes::new(self.length) }
    }

    fn pages(self) -> impl Iterator<Item = u64> {
        (self.start..self.start + self.length).step_by(PAGE as usize)
    }

    const fn len(self) -> usize {
        self.length as usize
    }

    fn at(self) -> *mut c_void {
        pointer(self.start).cast()
    }
}

/// A pointer to memory that Rust knows nothing of.
fn pointer(address: u64) -> *mut u64 {
    ptr::with_exposed_provenance_mut(address as usize)
}

/// The answer of a call that is -1 where it failed.
fn answer(value: i64) -> io::Result<u64> {
    if value < 0 { Err(io::Error::last_os_error()) } else { Ok(value.unsigned_abs()) }
}

/// Contents of a mapping.
pub(crate) enum Backing<'a> {
    Anon { shared: bool },
    Hugetlb { shared: bool },
    File { file: BorrowedFd<'a>, offset: u64, shared: bool },
}

/// Maps `region`, where nothing is mapped.
pub(crate) fn map(region: Region, backing: &Backing<'_>, write: bool) -> io::Result<()> {
    let (fd, offset, flags) = match backing {
        Backing::Anon { shared } => (-1, 0, libc::MAP_ANONYMOUS | share(*shared)),
        Backing::Hugetlb { shared } => (-1, 0, libc::MAP_ANONYMOUS | libc::MAP_HUGETLB | share(*shared)),
        Backing::File { file, offset, shared } => (file.as_raw_fd(), *offset, share(*shared)),
    };
    let prot = if write { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
    let flags = flags | libc::MAP_FIXED_NOREPLACE;
    // SAFETY: the region holds nothing of Rust's, and the mapping replaces none.
    let got = unsafe { libc::mmap(region.at(), region.len(), prot, flags, fd, offset.cast_signed()) };
    if got == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    if got.addr() as u64 != region.start {
        // A kernel before 4.17 takes the address for a wish.
        // SAFETY: the mapping was made above, and nobody knows it.
        unsafe { libc::munmap(got, region.len()) };
        return Err(io::Error::from_raw_os_error(libc::EEXIST));
    }
    Ok(())
}

const fn share(shared: bool) -> i32 {
    if shared { libc::MAP_SHARED } else { libc::MAP_PRIVATE | libc::MAP_NORESERVE }
}

/// `munmap`.
pub(crate) fn unmap(region: Region) -> io::Result<()> {
    // SAFETY: the region holds nothing of Rust's.
    answer(unsafe { libc::munmap(region.at(), region.len()) }.into()).map(drop)
}

/// `mprotect`.
pub(crate) fn protect(region: Region, prot: i32) -> io::Result<()> {
    // SAFETY: the region holds nothing of Rust's.
    answer(unsafe { libc::mprotect(region.at(), region.len(), prot) }.into()).map(drop)
}

/// `mremap` of `from` to `to`, where nothing is mapped.
pub(crate) fn remap(from: Region, to: Region) -> io::Result<()> {
    let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
    // SAFETY: both regions hold nothing of Rust's.
    let got = unsafe { libc::mremap(from.at(), from.len(), to.len(), flags, to.at()) };
    if got == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// `madvise`.
pub(crate) fn advise(region: Region, advice: i32) -> io::Result<()> {
    // SAFETY: the region holds nothing of Rust's, so that contents may be lost.
    answer(unsafe { libc::madvise(region.at(), region.len(), advice) }.into()).map(drop)
}

/// `mlock`, or `munlock`.
pub(crate) fn lock(region: Region, locked: bool) -> io::Result<()> {
    let call = if locked { libc::mlock } else { libc::munlock };
    // SAFETY: locking changes no content.
    answer(unsafe { call(region.at(), region.len()) }.into()).map(drop)
}

/// Pages that one call of `mincore` is asked about, whose answer lies on the stack: memory of the heap would come and go with each question,
/// and its pages with it.
const ASKED: usize = 512;

/// `mincore`: calls `found` with the address of each base page of `region` that is in memory.
pub(crate) fn resident(region: Region, mut found: impl FnMut(u64)) -> io::Result<()> {
    let pages = region.len() / PAGE as usize;
    let mut addresses = region.pages();
    for first in (0..pages).step_by(ASKED) {
        let mut answers = [0_u8; ASKED];
        let asked = (pages - first).min(ASKED);
        let start = region.at().wrapping_byte_add(first * PAGE as usize);
        // SAFETY: the array has a byte for each page that is asked about.
        answer(unsafe { libc::mincore(start, asked * PAGE as usize, answers.as_mut_ptr()) }.into())?;
        let there = answers[..asked].iter().zip(addresses.by_ref()).filter(|(page, _)| **page & 1 == 1);
        there.for_each(|(_, address)| found(address));
    }
    Ok(())
}

/// Loads, or stores, the first word of every page, upward.
pub(crate) fn touch(region: Region, write: bool) {
    for address in region.pages() {
        // SAFETY: a volatile access to memory that is none of Rust's.
        unsafe {
            if write {
                pointer(address).write_volatile(address);
            } else {
                black_box(pointer(address).read_volatile());
            }
        }
    }
}

/// Stores to every byte, upward, a word at a time as `memset` does: where instructions are counted, bytes one by one would take eight times as long.
pub(crate) fn fill(region: Region, byte: u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: stores to memory that is none of Rust's; the direction flag is clear in Rust code.
    unsafe {
        asm!(
            "rep stosq",
            inout("rcx") region.length / 8 => _,
            inout("rdi") region.start => _,
            in("rax") u64::from_ne_bytes([byte; 8]),
            options(nostack, preserves_flags)
        );
    }
    #[cfg(not(target_arch = "x86_64"))]
    for address in (region.start..region.start + region.length).step_by(8) {
        // SAFETY: as above.
        unsafe { pointer(address).write_volatile(u64::from_ne_bytes([byte; 8])) };
    }
}

/// Loads a word of one of `lines`, which are addresses in a region, `loads` times, each after the one before has come: `choose` gives the
/// place in `lines` of the load of a number.
pub(crate) fn chase(lines: &[Region], loads: u64, choose: impl Fn(u64) -> usize) {
    let none = black_box(0);
    let mut before = 0;
    for number in 0..loads {
        // The compiler does not know that this adds nothing, and the CPU waits for the word.
        let line = &lines[choose(number ^ (before & none))];
        // SAFETY: a volatile load from memory that is none of Rust's.
        before = unsafe { pointer(line.start).read_volatile() };
    }
    black_box(before);
}

/// The cache line at an address of `region`.
pub(crate) fn line(region: Region, offset: u64) -> Region {
    Region { start: region.start + offset.min(region.length - 8) / 8 * 8, length: 8 }
}

/// `get_mempolicy` of an address, or of the thread: the mode and the nodes.
pub(crate) fn mempolicy(region: Option<Region>) -> io::Result<(i32, u64)> {
    const MPOL_F_ADDR: u64 = 2;
    let (address, flags) = region.map_or((0, 0), |region| (region.start, MPOL_F_ADDR));
    let (mut mode, mut nodes) = (0_i32, [0_u64; 16]);
    // SAFETY: the mask holds the 1024 nodes that it is said to hold.
    let result =
        unsafe { libc::syscall(libc::SYS_get_mempolicy, &raw mut mode, nodes.as_mut_ptr(), 1024_u64, address, flags) };
    answer(result)?;
    Ok((mode, nodes[0]))
}

/// `get_mempolicy` with `MPOL_F_NODE | MPOL_F_ADDR`: the node of the first page, which is brought in.
pub(crate) fn node_of(region: Region) -> io::Result<u16> {
    const MPOL_F_NODE_ADDR: u64 = 1 | 2;
    let mut node = 0_i32;
    // SAFETY: writes one number; the mask is not asked for.
    let result =
        unsafe { libc::syscall(libc::SYS_get_mempolicy, &raw mut node, 0_u64, 0_u64, region.start, MPOL_F_NODE_ADDR) };
    answer(result)?;
    Ok(node as u16)
}

/// `get_mempolicy` with `MPOL_F_MEMS_ALLOWED`.
pub(crate) fn mems_allowed() -> io::Result<u64> {
    const MPOL_F_MEMS_ALLOWED: u64 = 4;
    let mut nodes = [0_u64; 16];
    // SAFETY: the mask holds the 1024 nodes that it is said to hold.
    let result = unsafe {
        libc::syscall(libc::SYS_get_mempolicy, 0_u64, nodes.as_mut_ptr(), 1024_u64, 0_u64, MPOL_F_MEMS_ALLOWED)
    };
    answer(result)?;
    Ok(nodes[0])
}

/// `set_mempolicy`; `None` where a mode takes no nodes.
pub(crate) fn set_mempolicy(mode: i32, nodes: Option<u64>) -> io::Result<()> {
    let mask = nodes.unwrap_or(0);
    let (at, bits) = mask_of(nodes.is_some(), &mask);
    // SAFETY: the mask holds the nodes that it is said to hold.
    answer(unsafe { libc::syscall(libc::SYS_set_mempolicy, mode, at, bits) }).map(drop)
}

/// `mbind`.
pub(crate) fn mbind(region: Region, mode: i32, nodes: Option<u64>, flags: u32) -> io::Result<()> {
    let mask = nodes.unwrap_or(0);
    let (at, bits) = mask_of(nodes.is_some(), &mask);
    // SAFETY: the mask holds the nodes that it is said to hold; pages keep their contents.
    answer(unsafe { libc::syscall(libc::SYS_mbind, region.start, region.length, mode, at, bits, flags) }).map(drop)
}

/// A mask of nodes, and its length in bits as the kernel counts them: one more than there are.
fn mask_of(is_there: bool, mask: &u64) -> (*const u64, u64) {
    if is_there { (ptr::from_ref(mask), 65) } else { (ptr::null(), 0) }
}

/// `set_mempolicy_home_node`.
pub(crate) fn home_node(region: Region, node: u16) -> io::Result<()> {
    const SYS_SET_MEMPOLICY_HOME_NODE: i64 = 450;
    // SAFETY: pages keep their contents.
    let result =
        unsafe { libc::syscall(SYS_SET_MEMPOLICY_HOME_NODE, region.start, region.length, u64::from(node), 0_u64) };
    answer(result).map(drop)
}

/// `move_pages` of every base page to `node`: how many lie there then.
pub(crate) fn move_pages(region: Region, node: u16) -> io::Result<u64> {
    const MPOL_MF_MOVE: i32 = 2;
    let pages: Vec<u64> = region.pages().collect();
    let (nodes, mut status) = (vec![i32::from(node); pages.len()], vec![0_i32; pages.len()]);
    // SAFETY: three tables of as many entries; pages keep their contents.
    let result = unsafe {
        libc::syscall(
            libc::SYS_move_pages,
            0_i32,
            pages.len(),
            pages.as_ptr(),
            nodes.as_ptr(),
            status.as_mut_ptr(),
            MPOL_MF_MOVE,
        )
    };
    answer(result)?;
    Ok(status.iter().filter(|&&at| at == i32::from(node)).count() as u64)
}

/// `migrate_pages` of this process: how many pages could not be moved.
pub(crate) fn migrate_pages(from: u64, to: u64) -> io::Result<u64> {
    // SAFETY: two masks of 64 nodes; pages keep their contents.
    answer(unsafe { libc::syscall(libc::SYS_migrate_pages, 0_i32, 65_u64, &raw const from, &raw const to) })
}

/// Pins `region` as a buffer of an `io_uring`, which is `FOLL_LONGTERM`, until the ring is closed.
pub(crate) fn pin(region: Region) -> io::Result<OwnedFd> {
    const IORING_REGISTER_BUFFERS: u32 = 0;
    let mut parameters = [0_u8; 120];
    // SAFETY: `struct io_uring_params` has 120 bytes.
    let ring = answer(unsafe { libc::syscall(libc::SYS_io_uring_setup, 1_u32, parameters.as_mut_ptr()) })?;
    // SAFETY: the call has just opened it.
    let ring = unsafe { OwnedFd::from_raw_fd(ring as i32) };
    let buffers = pieces(region);
    let count = buffers.len() as u32;
    // SAFETY: so many buffers, none of Rust's memory.
    let result = unsafe {
        libc::syscall(libc::SYS_io_uring_register, ring.as_raw_fd(), IORING_REGISTER_BUFFERS, buffers.as_ptr(), count)
    };
    answer(result)?;
    Ok(ring)
}

/// Parts of a region that a ring takes as buffers: 1 GiB at most.
fn pieces(region: Region) -> Vec<libc::iovec> {
    const MAX: u64 = 1 << 30;
    let piece = |offset: u64| libc::iovec {
        iov_base: pointer(region.start + offset).cast(),
        iov_len: MAX.min(region.length - offset) as usize,
    };
    (0..region.length).step_by(MAX as usize).map(piece).collect()
}

/// `fork`: the number of the child in the parent, `None` in the child. The child has this thread alone: the caller must hold every lock
/// of its own that the child is going to take.
pub(crate) fn fork() -> io::Result<Option<i32>> {
    // SAFETY: the C library keeps its own locks through a fork; ours are the caller's duty.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(None),
        child => Ok(Some(child)),
    }
}

/// Ends this process at once: nothing of the parent's is run or flushed a second time.
pub(crate) fn exit_now(status: i32) -> ! {
    // SAFETY: never returns.
    unsafe { libc::_exit(status) }
}

/// `wait4`: the status and the times of a child that has ended.
pub(crate) fn wait(child: i32) -> io::Result<(i32, Times)> {
    let mut status = 0;
    // SAFETY: zeros are a value of this type.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: writes to the two.
        match unsafe { libc::wait4(child, &raw mut status, 0, &raw mut usage) } {
            -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            -1 => return Err(io::Error::last_os_error()),
            _ => return Ok((status, times(&usage))),
        }
    }
}

/// Times of the calling thread.
pub(crate) fn thread_times() -> Times {
    usage_of(libc::RUSAGE_THREAD)
}

/// Times of this process and of children that it has waited for.
pub(crate) fn all_times() -> Times {
    usage_of(libc::RUSAGE_SELF) + usage_of(libc::RUSAGE_CHILDREN)
}

fn usage_of(who: i32) -> Times {
    // SAFETY: zeros are a value of this type, and the call writes to it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(who, &raw mut usage);
        usage
    };
    times(&usage)
}

fn times(usage: &libc::rusage) -> Times {
    let nanos = |time: libc::timeval| {
        Nanos::new(time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_usec.unsigned_abs() * 1000)
    };
    Times { user: nanos(usage.ru_utime), system: nanos(usage.ru_stime) }
}

/// A page that the program's processes and the supervisor share: a file in memory, of which they use the words.
pub(crate) fn shared_page(file: BorrowedFd<'_>) -> io::Result<&'static [AtomicU64; 512]> {
    let prot = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: the kernel chooses a free place.
    let got = unsafe { libc::mmap(ptr::null_mut(), PAGE as usize, prot, libc::MAP_SHARED, file.as_raw_fd(), 0) };
    if got == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the page is never unmapped, and atomics may be shared with other processes.
    Ok(unsafe { &*got.cast::<[AtomicU64; 512]>() })
}

/// Words that this process shares with its later children, 0 at first.
pub(crate) struct SharedWords {
    words: &'static [AtomicU64],
    bytes: usize,
}

impl SharedWords {
    /// Maps memory for so many words.
    pub(crate) fn map(count: usize) -> io::Result<Self> {
        let bytes = count.checked_mul(size_of::<AtomicU64>()).filter(|&bytes| bytes <= isize::MAX as usize);
        let bytes = bytes.ok_or(io::ErrorKind::OutOfMemory)?.max(1).next_multiple_of(PAGE as usize);
        let (prot, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
        // SAFETY: the kernel chooses a free place.
        let got = unsafe { libc::mmap(ptr::null_mut(), bytes, prot, flags, -1, 0) };
        if got == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the mapping is aligned, holds zeros, and stays until the drop, past which the field, which is private, does not live.
        Ok(Self { words: unsafe { std::slice::from_raw_parts(got.cast(), count) }, bytes })
    }
}

impl AsRef<[AtomicU64]> for SharedWords {
    fn as_ref(&self) -> &[AtomicU64] {
        self.words
    }
}

impl Drop for SharedWords {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, and nobody has borrowed of it any longer.
        unsafe { libc::munmap(self.words.as_ptr().cast_mut().cast(), self.bytes) };
    }
}

/// `process_madvise` with `MADV_COLLAPSE` of a range of the process behind `pidfd`.
pub(crate) fn collapse(pidfd: BorrowedFd<'_>, start: u64, length: Bytes) -> io::Result<()> {
    let range = libc::iovec { iov_base: pointer(start).cast(), iov_len: length.get() as usize };
    let advice = i64::from(MADV_COLLAPSE);
    // SAFETY: the memory keeps its contents, whoever's it is; the call reads one range.
    answer(unsafe {
        libc::syscall(libc::SYS_process_madvise, pidfd.as_raw_fd(), &raw const range, 1_usize, advice, 0_u64)
    })
    .map(drop)
}

/// `unshare` of mounts: what this process mounts from now on, no other process sees.
pub(crate) fn unshare_mounts() -> io::Result<()> {
    // SAFETY: changes the namespace alone; file descriptors stay.
    answer(unsafe { libc::unshare(libc::CLONE_NEWNS) }.into()).map(drop)
}

/// `swapon` of a device with a signature.
pub(crate) fn swap_on(device: &Path) -> io::Result<()> {
    let device = CString::new(device.as_os_str().as_bytes())?;
    // SAFETY: the path ends with a zero; the device is no memory of Rust's.
    answer(unsafe { libc::swapon(device.as_ptr(), 0) }.into()).map(drop)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;

    #[test]
    fn shared_words_are_the_same_in_a_later_child() {
        let (shared, own) = (SharedWords::map(3).expect("there is memory"), AtomicU64::new(0));
        let Some(child) = fork().expect("a child can be started") else {
            shared.as_ref()[2].store(7, Ordering::Relaxed);
            own.store(7, Ordering::Relaxed);
            exit_now(0);
        };
        wait(child).expect("it ends");
        let read = [0, 1, 2].map(|word| shared.as_ref()[word].load(Ordering::Relaxed));
        assert_eq!((read, own.load(Ordering::Relaxed)), ([0, 0, 7], 0), "all else is a copy");
    }
}
