//! Measurements, each in ns per operation: one value of everything per round, so that prices can be taken from
//! differences within a round. Pure data; `prices` says what follows from it.

use serde::{Deserialize, Serialize};

macro_rules! direct {
    ($($(#[doc = $meaning:literal])+ $field:ident,)*) => {
        /// One round of measurements, each in ns per operation; what could not be measured is not a number.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
        pub struct Direct {
            $($(#[doc = $meaning])+ pub $field: f64,)*
        }

        /// Name, meaning and value of each measurement.
        pub(crate) const DIRECT: &[(&str, &str, fn(&Direct) -> f64)] = &[
            $((stringify!($field), concat!($($meaning),+), |direct| direct.$field),)*
        ];
    };
}

direct! {
    /// clock_getres(CLOCK_MONOTONIC_COARSE): from one timer interrupt to the next
    tick,
    /// getppid()
    getppid,
    /// msync(MS_ASYNC) of an anonymous page: finds its mapping and does nothing
    msync,
    /// write fault, page from the per-CPU list
    write_fault,
    /// the same while the per-CPU list is empty
    write_fault_zone,
    /// MADV_POPULATE_WRITE: the same without exceptions
    populate,
    /// read fault on the shared zero page
    zero_fault,
    /// fault of a huge page that the hypervisor has backed, per 4096 bytes
    huge_fault,
    /// MADV_POPULATE_WRITE: the same without an exception
    huge_populate,
    /// first write fault in a slot of 2 MiB
    first_in_slot,
    /// second write fault in a slot of 2 MiB
    second_in_slot,
    /// munmap per resident page, to the per-CPU list
    unmap,
    /// the same while the per-CPU list is full
    unmap_zone,
    /// munmap per entry that shows the zero page
    unmap_zero,
    /// fork and exit of a child, nothing else mapped
    fork_empty,
    /// fork alone, nothing else mapped
    fork_base,
    /// fork per resident page above that
    fork_page,
    /// write fault on a page shared with a child
    cow_fault,
    /// mapping a shared file page that must be cleared
    map_uncleared,
    /// mapping a shared file page that has its content
    map_cleared,
    /// fallocate of a file page, from the per-CPU list
    file_alloc,
    /// the same, from large blocks of the zone
    file_alloc_zone,
    /// the same, from single free frames of the zone
    file_alloc_holes,
    /// truncation of a file page, to the per-CPU list
    file_free,
    /// the same, the zone taking frames whose buddies are free
    file_free_zone,
    /// the same, the zone taking frames whose buddies are in use
    file_free_holes,
    /// reading 0 bytes of /proc/self/mem: a page taken and returned
    read_memory,
    /// reading 0 bytes of a pipe
    read_pipe,
    /// one byte written to a pipe and read again
    pipe_alone,
    /// mprotect to read-only and back, no page there
    mprotect_empty,
    /// the same with a page there, and reading it
    mprotect_page,
    /// mprotect of many pages, per page and direction
    mprotect_run,
    /// mprotect to read-only and back of one page, and reading it, while a second thread runs on another CPU
    mprotect_shared,
    /// MADV_DONTNEED of a base page that is not there
    discard_none,
    /// MADV_DONTNEED of a base page that is there
    discard_one,
    /// MADV_DONTNEED of two base pages that are there, per call
    discard_two,
    /// MADV_DONTNEED of the first part of a huge page, which is mapped by one entry until then
    discard_first_part,
    /// MADV_DONTNEED of another part of it
    discard_part,
    /// two threads on one CPU waking each other through pipes, per round trip
    pipe_round_trip,
    /// cache line to another CPU and back
    line_round_trip,
    /// thread created and joined
    thread,
    /// uncontended compare-and-swap and release store
    uncontended_lock,
    /// storing one byte per resident page of 512 MiB
    touch,
    /// filling resident pages of 512 MiB
    fill,
    /// memcpy of a page from 256 MiB to another 256 MiB
    memcpy,
    /// random load within 512 KiB
    load_l2,
    /// random load within 8 MiB
    load_llc,
    /// random load within 128 MiB
    load_dram,
    /// sequential load of 64 bytes within 128 MiB
    load_sequential,
    /// compaction where one page of four is in use, per page that it moves, less a second pass
    compact_quarter,
    /// compaction of a file in memory that nobody maps, one page of four, per page that it moves, less a second pass
    compact_file,
    /// compaction of such a file that one process maps, likewise
    compact_mapped_file,
    /// compaction of a pageblock none of whose frames can move, per frame
    compact_in_vain,
    /// pages that it moves before it flushes their translations, by the kernel's release (a number)
    moves_per_flush,
    /// writing 2 MiB to zram at once, past the page cache, per page
    zram_write,
    /// reading them again, per page
    zram_read,
    /// taking a clean page of a zram device out of the page cache, to be free
    uncache,
    /// swapping out single pages to zram by MADV_PAGEOUT, per page
    swap_out,
    /// the same of huge pages that are mapped whole, per base page
    swap_out_huge,
    /// fault that brings a single page back, which is written
    swap_in,
    /// collapse of 2 MiB where 64 base pages are there, and holes
    collapse_few,
    /// collapse of 2 MiB where 256 base pages are there, and holes
    collapse_half,
    /// collapse of 2 MiB where 512 base pages are there
    collapse_full,
    /// collapse of 2 MiB where 64 parts of a huge page are left, and holes
    collapse_few_parts,
    /// collapse of 2 MiB where 256 parts of a huge page are left, and holes
    collapse_half_parts,
    /// split of a huge page that is mapped whole, with its mapping
    huge_split_whole,
    /// split of a huge page of which all pages but one are mapped, page by page
    huge_split_pages,
    /// split of a huge page of which half is mapped, page by page
    huge_split_half,
    /// pread of 0 bytes of a file on a disk
    file_read_none,
    /// pread of one byte of each page of it, from the page cache
    file_read_byte,
    /// pread of 128 KiB of it, from the page cache, per page
    file_read_chunk,
    /// pwrite of one byte to each page of it, clean and without a block
    file_dirty,
    /// the same once more, pages dirty
    file_redirty,
    /// fsync of these pages, per page, all CPUs
    file_write_back,
    /// pread of 128 KiB of it, from the disk, per page, all CPUs
    file_read_disk,
    /// pread of 128 KiB of a file that readahead has filled, from the page cache, per page
    large_read_chunk,
    /// pwrite of 128 KiB to it, pages clean and without a block, per page
    large_dirty,
    /// the same once more, pages dirty, per page
    large_redirty,
    /// fsync of these pages, per page, all CPUs
    large_write_back,
    /// pread of 128 KiB of it with readahead, from the disk, per page, all CPUs
    large_read_disk,
    /// taking these pages out of the page cache, per page
    large_uncache,
}
