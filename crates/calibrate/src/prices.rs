//! Prices that follow from the measurements: one table. The keys are those of the cost model (`PRICES` of crate machine),
//! whose tests compare them. `checks` adds prices up again.

mod formulas;

use crate::collapse::{FEW, HALF};
use crate::direct::Direct;
use crate::files::CHUNK;
use formulas::*;
pub(crate) use formulas::{PER_SECTION, PER_TABLE, around_collapse, table_per_page};

/// One price of the cost model.
pub(crate) struct Price {
    /// Name of the price in machine files.
    pub(crate) key: &'static str,
    /// The price in ns.
    pub(crate) ns: fn(&Direct) -> f64,
    /// Method by which the price is obtained.
    pub(crate) method: &'static str,
    /// Another way to the price, if there is one.
    pub(crate) cross: Option<Cross>,
}

/// Another way to a price.
pub(crate) struct Cross {
    /// Way in words.
    pub(crate) what: &'static str,
    /// Price by that way, in ns.
    pub(crate) ns: fn(&Direct) -> f64,
    /// Why the two may differ.
    pub(crate) comment: &'static str,
}

/// Every price of the cost model, in its order.
pub(crate) const PRICES: &[Price] = &[
    Price { key: "syscall", ns: |d| d.getppid, method: "getppid()", cross: None },
    Price {
        key: "fault",
        ns: fault,
        method: "Write fault on a base page of 256 MiB, less vma_lookup, zone_check, pcp_hit, clear_page, pte_set and its \
                 share of page_table: the exception, and accounting the new page to its control group and LRU list",
        cross: Some(Cross {
            what: "read fault on the zero page, less vma_lookup and the munmap of such an entry",
            ns: |d| d.zero_fault - vma_lookup(d) - d.unmap_zero,
            comment: "such a fault has no page to account",
        }),
    },
    Price {
        key: "vma_lookup",
        ns: vma_lookup,
        method: "msync(MS_ASYNC) of an anonymous page, which takes the mapping lock, finds the mapping and does nothing, less \
                 getppid()",
        cross: None,
    },
    Price {
        key: "zone_check",
        ns: zone_check,
        method: "Estimate: three cache lines of the zone (counters, watermarks, reserves) at the load latency of L2, measured \
                 by a random walk through 512 KiB",
        cross: None,
    },
    Price {
        key: "pcp_hit",
        ns: pcp_hit,
        method: "Half of reading 0 bytes of /proc/self/mem, which takes and returns one page, less reading 0 bytes of a pipe, \
                 the reference to the process, and zone_check",
        cross: None,
    },
    Price {
        key: "zone_lock",
        ns: zone_lock,
        method: "Estimate: compare-and-swap and release store on a line in L1, measured, and fetching that line from L2",
        cross: None,
    },
    Price {
        key: "list_op",
        ns: list_op,
        method: "fallocate() and truncation of 256 MiB of tmpfs, zone against per-CPU list (a file of the list's longest \
                 length empties or fills it before), less zone_lock / 63, split and merge; two operations each way",
        cross: Some(Cross {
            what: "the same with single free frames, one operation each way",
            ns: |d| {
                let both = d.file_alloc_holes - d.file_alloc + d.file_free_holes - d.file_free;
                both / 2.0 - zone_lock(d) / PER_SECTION
            },
            comment: "such frames lie apart: each link is a cache miss, where neighbours share prefetched lines",
        }),
    },
    Price {
        key: "split",
        ns: |d| d.load_l2,
        method: "Estimate: one line, the frame entry of the upper half, at the load latency of L2; its list operation is \
                 counted as such, and the sum with list_op is measured there",
        cross: None,
    },
    Price {
        key: "merge",
        ns: |d| d.load_l2,
        method: "Estimate: one line, the frame entry of the buddy, at the load latency of L2; its list operation is counted \
                 as such, and the sum with list_op is measured there",
        cross: None,
    },
    Price {
        key: "fallback_search",
        ns: |d| d.load_l2,
        method: "Estimate: one line, the head of a free list, at the load latency of L2",
        cross: None,
    },
    Price {
        key: "frame_scan",
        ns: |d| d.compact_in_vain,
        method: "Compaction by compact_memory of pageblocks none of whose frames can move, by the times of its tracepoint, less \
                 those of pageblocks that it jumps over",
        cross: Some(Cross {
            what: "the 64 bytes of one frame entry, read in sequence from 128 MiB in huge pages",
            ns: |d| d.load_sequential,
            comment: "memory alone, without what is asked of each frame",
        }),
    },
    Price {
        key: "block_pass",
        ns: |d| d.compact_in_vain - d.load_sequential,
        method: "Looking at a frame beside its line of memory: frame_scan, less the 64 bytes of one frame entry, read in sequence from \
                 128 MiB in huge pages. The hint by which a pageblock is passed is one bit of a line that has those of 128",
        cross: None,
    },
    Price {
        key: "block_retype",
        ns: |d| d.load_l2,
        method: "Estimate: one line, the counters of the two types, at the load latency of L2; the two list operations are \
                 counted as such",
        cross: None,
    },
    Price {
        key: "clear_page",
        ns: clear_page,
        method: "Mapping 256 MiB of tmpfs by MADV_POPULATE_WRITE, pages that fallocate() left to be cleared against the same \
                 pages a second time",
        cross: Some(Cross {
            what: "fault of a huge page / 512",
            ns: |d| d.huge_fault,
            comment: "one of them was disturbed",
        }),
    },
    Price {
        key: "clear_huge_part",
        ns: clear_huge_part,
        method: "MADV_POPULATE_WRITE of advised memory, which the hypervisor has backed, per 4096 bytes, less vma_lookup, zone_check, \
                 pcp_hit and pte_set for each 2 MiB",
        cross: Some(Cross {
            what: "clear_page, of pages that may lie apart",
            ns: clear_page,
            comment: "where the hypervisor backs memory by base pages, or one of them was disturbed",
        }),
    },
    Price {
        key: "copy_page",
        ns: |d| d.memcpy,
        method: "memcpy() per 4096 bytes from 256 MiB of resident base pages to another 256 MiB",
        cross: Some(Cross {
            what: "copy-on-write fault less write fault, plus clear_page, less tlb_flush",
            ns: |d| d.cow_fault - d.write_fault + clear_page(d) - tlb_flush(d),
            comment: "the small difference of large numbers; the check of the copy-on-write fault says more",
        }),
    },
    Price {
        key: "pte_set",
        ns: pte_set,
        method: "fork() of a process with 256 MiB of resident base pages against one without, per page, less its share of \
                 page_table",
        cross: Some(Cross {
            what: "mprotect() of 256 MiB, per page",
            ns: |d| d.mprotect_run,
            comment: "mprotect changes the entry alone; fork also counts the page's mappings",
        }),
    },
    Price {
        key: "prot_numa",
        ns: |d| d.mprotect_run + d.load_sequential,
        method: "mprotect() of 256 MiB of resident base pages, per page, and a line of memory read in sequence for the page that each entry shows",
        cross: None,
    },
    Price {
        key: "pte_clear",
        ns: |d| d.unmap - pcp_hit(d),
        method: "munmap() of 256 MiB of resident base pages, per page, less pcp_hit",
        cross: Some(Cross {
            what: "munmap() of entries that show the zero page",
            ns: |d| d.unmap_zero,
            comment: "the zero page has no reverse mapping, counters or LRU list to leave",
        }),
    },
    Price {
        key: "page_table",
        ns: page_table,
        method: "First write fault in a slot of 2 MiB against the second, less vma_lookup, zone_check and pcp_hit; clearing \
                 the table is included",
        cross: None,
    },
    Price {
        key: "lru_scan",
        ns: list_op,
        method: "Estimate: one line, the frame entry of a page somewhere in memory, as for list_op",
        cross: None,
    },
    Price {
        key: "isolate_page",
        ns: |d| 2.0 * list_op(d),
        method: "Estimate: off one LRU list and onto another, two list_op",
        cross: None,
    },
    Price {
        key: "rmap_walk",
        ns: rmap_walk,
        method: "Half of what compaction takes longer for a page of a file in memory that one process maps than for one of a file that \
                 nobody maps, less pte_clear, tlb_flush (from 6.3 on one for 32 pages) and pte_set: a move finds the mappings of its \
                 page twice",
        cross: Some(Cross {
            what: "three list_op: anon_vma or address_space, the mapping it names, and the page table entry of one mapping",
            ns: |d| 3.0 * list_op(d),
            comment: "lines of memory alone, without what is asked of each",
        }),
    },
    Price {
        key: "migrate_folio",
        ns: migrate_folio,
        method: "Anonymous page that compaction moves, without the search for it, less 2 rmap_walk, isolate_page, pte_clear, tlb_flush \
                 (from 6.3 on one for 32 pages), copy_page, pte_set, 2 list_op and split",
        cross: Some(Cross {
            what: "such a page of a file in memory that nobody maps, less isolate_page, copy_page, 2 list_op and split",
            ns: |d| d.compact_file - moved_content(d),
            comment: "the page also changes its place in its file",
        }),
    },
    Price {
        key: "tlb_flush",
        ns: tlb_flush,
        method: "Twice MADV_DONTNEED of one page, less that of two pages in one call and that of a page that is not there",
        cross: Some(Cross {
            what: "mprotect() of one resident page to read-only and back and reading it, against a page that is not there, less twice \
                   that of many pages, per page; one of the two flushes",
            ns: |d| d.mprotect_page - d.mprotect_empty - 2.0 * d.mprotect_run,
            comment: "the read has to walk the page table again",
        }),
    },
    Price {
        key: "tlb_ipi",
        ns: |d| d.mprotect_shared - d.mprotect_page,
        method: "The same mprotect() while a second thread of the process spins on the other CPU, against alone",
        cross: None,
    },
    Price {
        key: "context_switch",
        ns: |d| d.pipe_round_trip / 2.0 - d.pipe_alone,
        method: "Two threads on one CPU sending each other a byte through pipes, half a round trip, less writing and reading \
                 a byte alone; waking the other is included",
        cross: None,
    },
    Price {
        key: "spawn",
        ns: |d| d.thread,
        method: "Creating and joining a thread on the same CPU",
        cross: Some(Cross {
            what: "fork, exit and wait",
            ns: |d| d.fork_empty,
            comment: "a process copies and drops an address space, a thread does not",
        }),
    },
    Price {
        key: "lock_handover",
        ns: |d| d.line_round_trip / 2.0,
        method: "One cache line passed between two CPUs that spin on it, one way",
        cross: None,
    },
    Price {
        key: "touch_page",
        ns: |d| d.touch,
        method: "Storing one byte in each resident base page of 512 MiB, in order, so that misses overlap",
        cross: None,
    },
    Price {
        key: "fill_page",
        ns: |d| d.fill,
        method: "memset() of 512 MiB of resident base pages, per page",
        cross: None,
    },
    Price {
        key: "compress_page",
        ns: |d| d.zram_write,
        method: "Writing 2 MiB to a device of zram, past the page cache, by pwrite(), per page: pages that hold one byte and zeroes \
                 otherwise, by the kernel's default compressor",
        cross: None,
    },
    Price {
        key: "decompress_page",
        ns: |d| d.zram_read,
        method: "Reading these pages again by pread(), per page",
        cross: None,
    },
    Price {
        key: "swap_out",
        ns: |d| d.swap_out - d.zram_write - reclaimed_page(d),
        method: "MADV_PAGEOUT of 64 MiB of base pages where zram is the swap, per page, less compress_page, lru_scan, isolate_page, \
                 rmap_walk, pte_clear, tlb_flush and pcp_hit",
        cross: None,
    },
    Price {
        key: "swap_in",
        ns: |d| d.swap_in - d.zram_read - fault(d) - vma_lookup(d) - zone_check(d) - pcp_hit(d) - pte_set(d),
        method: "Write fault on such a page once more, less decompress_page, fault, vma_lookup, zone_check, pcp_hit and pte_set",
        cross: None,
    },
    Price {
        key: "uncache_page",
        ns: |d| d.uncache - 2.0 * list_op(d) - pcp_hit(d),
        method: "posix_fadvise(POSIX_FADV_DONTNEED) of a device of zram that was read through the page cache, per page, less \
                 isolate_page and pcp_hit",
        cross: None,
    },
    Price {
        key: "uncache_part",
        ns: |d| part(d.large_uncache - (2.0 * list_op(d) + pcp_hit(d)) / CHUNK as f64, price(d, "uncache_page")),
        method: "posix_fadvise(POSIX_FADV_DONTNEED) of 128 MiB of a file that was read with readahead, per page, less isolate_page, \
                 pcp_hit and uncache_page for one of 32",
        cross: None,
    },
    Price {
        key: "collapse_range",
        ns: |d| {
            let holes = (PER_TABLE - FEW as f64) * clear_huge_part(d);
            d.collapse_few - FEW as f64 * collapsed_page(d) - holes - around_collapse(d)
        },
        method: "MADV_COLLAPSE, before 6.1 khugepaged, of 2 MiB with 64 base pages, less these pages, clear_huge_part for \
                 the others, vma_lookup, 512 frame_scan, zone_check, zone_lock, list_op, pte_set and tlb_flush",
        cross: Some(Cross {
            what: "the same with 64 parts of a huge page",
            ns: |d| {
                let holes = (PER_TABLE - FEW as f64) * clear_huge_part(d);
                d.collapse_few_parts - FEW as f64 * collapsed_part(d) - holes - around_collapse(d)
            },
            comment: "the small difference of large numbers",
        }),
    },
    Price {
        key: "collapse_page",
        ns: |d| collapsed_page(d) - d.memcpy - 2.0 * list_op(d) - d.unmap,
        method: "MADV_COLLAPSE, before 6.1 khugepaged, of 2 MiB with 512 base pages against 64, per page, and \
                 clear_huge_part for the hole that it is not, less copy_page, isolate_page, pte_clear and pcp_hit",
        cross: Some(Cross {
            what: "the same with 256 base pages against 64",
            ns: |d| {
                let page = per_page(d.collapse_few, d.collapse_half, HALF as f64) + clear_huge_part(d);
                page - d.memcpy - 2.0 * list_op(d) - d.unmap
            },
            comment: "the difference of large numbers",
        }),
    },
    Price {
        key: "collapse_part",
        ns: |d| collapsed_part(d) - d.memcpy - 2.0 * list_op(d) - unmap_huge_part(d),
        method: "MADV_COLLAPSE, before 6.1 khugepaged, of 2 MiB with 256 parts of a huge page against 64, per part, and \
                 clear_huge_part for the hole that it is not, less copy_page, isolate_page and unmap_huge_part",
        cross: None,
    },
    Price {
        key: "split_huge_part",
        ns: split_huge_part,
        method: "MADV_COLD for one page of a huge page, per part, less getppid(), vma_lookup, rmap_walk, split_pmd, 2 tlb_flush, and \
                 for each part pte_set and pte_clear",
        cross: None,
    },
    Price {
        key: "remap_huge_part",
        ns: remap_huge_part,
        method: "The same where 511 of its pages are mapped, page by page, per page, less split_huge_part for each part, \
                 getppid(), vma_lookup, rmap_walk, tlb_flush, and for each page pte_set and pte_clear",
        cross: None,
    },
    Price {
        key: "free_huge_part",
        ns: |d| {
            let half = PER_TABLE / 2.0;
            let parts = PER_TABLE * split_huge_part(d) + half * remap_huge_part(d);
            (d.huge_split_half - around_split(d, half) - parts) / half - pcp_hit(d)
        },
        method: "The same where half of it is mapped, page by page, per page that is not, less split_huge_part for each part, \
                 remap_huge_part for each that is mapped, getppid(), vma_lookup, rmap_walk, tlb_flush, for each page that \
                 is mapped pte_set and pte_clear, and pcp_hit",
        cross: None,
    },
    Price {
        key: "unmap_huge_part",
        ns: unmap_huge_part,
        method: "MADV_DONTNEED of single parts of huge pages that stay, less that of a page that is not there and tlb_flush",
        cross: None,
    },
    Price {
        key: "split_pmd",
        ns: split_pmd,
        method: "MADV_DONTNEED of the first part of a huge page that is mapped by one entry, less that of another part and tlb_flush",
        cross: None,
    },
    Price {
        key: "discard",
        ns: |d| d.discard_none - d.getppid - vma_lookup(d),
        method: "MADV_DONTNEED of a page that is not there, less getppid() and vma_lookup",
        cross: None,
    },
    Price {
        key: "file_page",
        ns: file_page,
        method: "pread() of one byte of each page of a file of 128 MiB in the page cache, less pread() of 0 bytes",
        cross: Some(Cross {
            what: "pread() of 128 KiB, per page, less copy_page",
            ns: |d| d.file_read_chunk - d.memcpy,
            comment: "the search for the page after one that was found is shorter",
        }),
    },
    Price {
        key: "dirty_page",
        ns: |d| d.file_dirty - d.file_redirty,
        method: "pwrite() of one byte to each page of a sparse file, pages in the page cache and clean, less the same a second \
                 time",
        cross: None,
    },
    Price {
        key: "dirty_part",
        ns: |d| part(d.large_dirty - d.large_redirty, price(d, "dirty_page")),
        method: "pwrite() of 128 KiB to a sparse file that readahead has filled, per page, less the same a second time and \
                 dirty_page for one of 32",
        cross: None,
    },
    Price {
        key: "writeback_page",
        ns: |d| d.file_write_back,
        method: "fsync() of a file of 128 MiB whose pages are dirty, per page: time of all CPUs but for what they idle",
        cross: None,
    },
    Price {
        key: "writeback_part",
        ns: |d| part(d.large_write_back, price(d, "writeback_page")),
        method: "fsync() of these pages, per page, time of all CPUs but for what they idle, less writeback_page for one of 32",
        cross: None,
    },
    Price {
        key: "read_page",
        ns: |d| d.file_read_disk - d.file_read_chunk - zone_check(d) - pcp_hit(d) - file_page(d),
        method: "pread() of 128 KiB from the disk, per page, time of all CPUs but for what they idle, less the same from the page \
                 cache, zone_check, pcp_hit and file_page for the new page",
        cross: None,
    },
    Price {
        key: "read_part",
        ns: |d| {
            let folio = (zone_check(d) + pcp_hit(d) + file_page(d)) / CHUNK as f64;
            part(d.large_read_disk - d.large_read_chunk - folio, price(d, "read_page"))
        },
        method: "pread() of 128 KiB with readahead from the disk, per page, time of all CPUs but for what they idle, less the same \
                 from the page cache, and zone_check, pcp_hit, file_page and read_page for one of 32",
        cross: None,
    },
];

/// The price called `key`.
///
/// # Panics
/// If there is none.
pub(crate) fn price(d: &Direct, key: &str) -> f64 {
    let found = PRICES.iter().find(|price| price.key == key);
    (found.unwrap_or_else(|| panic!("no price is called {key}")).ns)(d)
}

/// Keys of all prices that are measured, in the order of the cost model.
pub fn keys() -> impl Iterator<Item = &'static str> {
    PRICES.iter().map(|price| price.key)
}

#[cfg(test)]
mod tests;
