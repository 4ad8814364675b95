//! Prices of work on one machine. The engine counts work, this list prices it.
//!
//! Key types: [`Prices`] (time per unit of each kind of work), [`PriceInfo`] (key, unit and meaning of each price: [`PRICES`] names them all). Values come from
//! files (`machines/*.toml`), where each has its source. Never knows what a price should be.

use order9_mm::env::SpinLock;
use order9_mm::{FrameWork, LruLockWork, Work, WorkDone, ZoneLockWork};
use order9_units::Nanos;

use crate::access::AccessPrices;

/// A length of time in picoseconds: single steps of memory management take less than a nanosecond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Picos(u64);

impl Picos {
    /// No time.
    pub const ZERO: Self = Self(0);
    /// The most a price may be: one second.
    pub const MAX_PRICE: Self = Self(1_000_000_000_000);

    /// A duration of `ps` picoseconds.
    #[must_use]
    pub const fn new(ps: u64) -> Self {
        Self(ps)
    }

    /// The duration in picoseconds.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The time of `count` units at this price.
    #[must_use]
    pub const fn times(self, count: u64) -> Self {
        Self(self.0.saturating_mul(count))
    }

    /// The difference; zero where `other` is longer.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Whole nanoseconds, and what is left of the last one.
    #[must_use]
    pub const fn split(self) -> (Nanos, Self) {
        (Nanos::new(self.0 / 1000), Self(self.0 % 1000))
    }
}

impl std::ops::Add for Picos {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl std::iter::Sum for Picos {
    fn sum<I: Iterator<Item = Self>>(times: I) -> Self {
        times.fold(Self::ZERO, |sum, time| sum + time)
    }
}

/// One kind of work that has a price.
#[derive(Clone, Copy, Debug)]
pub struct PriceInfo {
    /// Name of the price in machine files.
    pub key: &'static str,
    /// The work that has this price, in words.
    pub meaning: &'static str,
    /// The field of [`Prices`] that holds the price.
    pub field: fn(&mut Prices) -> &mut Picos,
}

macro_rules! prices {
    ($($(#[doc = $meaning:literal])+ $field:ident,)*) => {
        /// Time per unit of each kind of work, on one machine.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct Prices {
            $($(#[doc = $meaning])+ pub $field: Picos,)*
            /// The TLB, and memory of other nodes.
            pub access: AccessPrices,
        }

        /// Every price there is.
        pub const PRICES: &[PriceInfo] = &[
            $(PriceInfo {
                key: stringify!($field),
                meaning: concat!($($meaning),+).trim_ascii_start(),
                field: |prices| &mut prices.$field,
            },)*
        ];
    };
}

prices! {
    /// Entering and leaving the kernel for one system call.
    syscall,
    /// One page fault: the exception, its return, and what every fault does beside work that has its own price.
    fault,
    /// Finding the mapping of an address.
    vma_lookup,
    /// Checking one zone's watermark.
    zone_check,
    /// Taking a page from a per-CPU list, or putting it there.
    pcp_hit,
    /// Taking and dropping a zone lock, or an LRU lock, that nobody else wants.
    zone_lock,
    /// Putting one block on a free list, or taking it off.
    list_op,
    /// Splitting a block in two.
    split,
    /// Merging two buddies.
    merge,
    /// Looking at one free list of another type for a fallback.
    fallback_search,
    /// Looking at one frame while a pageblock is counted, moved between lists or scanned by compaction.
    frame_scan,
    /// Passing one pageblock in compaction by its skip hint.
    block_pass,
    /// Moving one free block to another type's list.
    block_retype,
    /// Clearing one page of 4096 bytes.
    clear_page,
    /// Clearing 4096 bytes of a huge page, whose parts follow each other. Where it was not measured, `clear_page`.
    clear_huge_part,
    /// Copying one page of 4096 bytes.
    copy_page,
    /// Filling or changing one page table entry, reverse mapping and counters of its page included.
    pte_set,
    /// Looking at one page table entry and its page, and taking the access away, for NUMA balancing.
    prot_numa,
    /// Emptying one page table entry, reverse mapping and counters of its page included.
    pte_clear,
    /// Putting a page table in place.
    page_table,
    /// Looking at one entry of an LRU list, under its lock.
    lru_scan,
    /// Taking one page off its LRU list, and putting it back or letting it go, under its lock.
    isolate_page,
    /// Finding the mappings of one page and asking whether it was accessed by them.
    rmap_walk,
    /// Moving one page or folio to another frame: locks, references, flags, charges. Beside its mappings, copy, LRU list and frame.
    migrate_folio,
    /// Flushing cached translations on the CPU itself.
    tlb_flush,
    /// Making one other CPU flush its translations, and waiting for it.
    tlb_ipi,
    /// Switching a CPU from one task to another.
    context_switch,
    /// Starting a thread or process, and ending it.
    spawn,
    /// Passing a lock that is waited for from one CPU to another.
    lock_handover,
    /// A program touching base pages that are mapped, in order: one access, its cache and TLB misses included.
    touch_page,
    /// A program writing all 4096 bytes of a page that is mapped.
    fill_page,
    /// Compressing one page into memory, as zram does when the page is swapped out. Its request is included where `swap_out` was not
    /// measured.
    compress_page,
    /// Decompressing one page that zram holds. Its request is included where `swap_in` was not measured.
    decompress_page,
    /// Sending a page to swap, a huge page as one: its slot, the swap cache, the request. Beside reclaim, and the work or the wait of the
    /// device.
    swap_out,
    /// Getting one page from swap: the swap cache, the request. Beside the fault, and the work or the wait of the device.
    swap_in,
    /// Taking a page of a file on a disk out of the page cache, beside its LRU list and its frame.
    uncache_page,
    /// Taking each further page of a large folio out of the page cache. As `uncache_page` where it was not measured.
    uncache_part,
    /// Making a huge page of a range, beside its allocation, its flush, a look at each page, and work on single pages.
    collapse_range,
    /// Moving one base page into that huge page, beside its copy, LRU list, page table entry and frame.
    collapse_page,
    /// Moving one part of a larger page into that huge page, beside its copy, LRU list and page table entry.
    collapse_part,
    /// Making one part of a huge page a page of its own, beside mappings that are taken away and put back.
    split_huge_part,
    /// Finding and restoring the mapping of such a part that is mapped by itself, not with the whole huge page.
    remap_huge_part,
    /// Giving back such a part that nobody maps, beside its frame.
    free_huge_part,
    /// Emptying one page table entry of a part of a huge page that stays. As `pte_clear` where it was not measured.
    unmap_huge_part,
    /// Replacing the entry of a whole huge page by a table with an entry for each part. As 512 `pte_set` where it was not measured.
    split_pmd,
    /// Taking pages of a range away (MADV_DONTNEED), beside the system call, the mapping, the pages and the flush.
    discard,
    /// Opening a file whose dentry and inode are cached, and closing it again, beside the two system calls.
    file_open,
    /// Making a file: directory entry and new inode, in memory and in the log. CPU time beyond `file_open`.
    file_create,
    /// Removing a file: directory entry and inode. CPU time beside freeing its pages.
    file_unlink,
    /// Finding a page of a file in the page cache for a read or write, or putting a new one there.
    file_page,
    /// Making a clean page of a file dirty: accounting, and reserving a block for it.
    dirty_page,
    /// Making each further clean page of a large folio dirty. As `dirty_page` where it was not measured.
    dirty_part,
    /// CPU time of writing back one dirty page among its neighbours: finding it, its share of a request, completion.
    writeback_page,
    /// CPU time of writing back each further page of a large folio. As `writeback_page` where it was not measured.
    writeback_part,
    /// CPU time of writing back one dirty inode: its log item, and its share of a buffer of inodes.
    writeback_inode,
    /// CPU time of reading ahead one page of a file: its share of a request, completion. Allocation is not included.
    read_page,
    /// CPU time of reading ahead each further page of a large folio. As `read_page` where it was not measured.
    read_part,
    /// Allocating one kernel object from its slab cache, or freeing it.
    slab_object,
    /// A shrinker looking at one unused dentry or inode. Freeing is not included.
    slab_scan,
    /// A load that waits for the one before, from memory of the own node whose translation the TLB holds.
    load,
    /// A load from a base page whose translation the TLB does not hold, with far more such pages in use than it holds.
    load_base,
    /// A load from a huge page whose translation the TLB does not hold, with far more such pages in use than it holds.
    load_huge,
    /// The page walk, a share of `touch_page`. A page within a huge page is spared it.
    touch_walk,
    /// First touch of a pageblock whose memory the hypervisor has taken back. A machine with this price is a guest that reports free
    /// blocks.
    hypervisor_fault,
}

impl Prices {
    /// The price of work under a zone lock; none where the lock was not taken.
    #[must_use]
    #[rustfmt::skip]
    pub fn of_zone_lock(&self, work: &ZoneLockWork) -> Picos {
        // Without `..`: a kind of work that has no price does not compile.
        let ZoneLockWork {
            sections, list_ops, splits, merges, fallback_lists_searched, frames_scanned, list_nodes_visited, index_updates,
            blocks_retyped,
        } = *work;
        if sections == 0 {
            return Picos::ZERO;
        }
        self.zone_lock.times(sections)
            + self.list_op.times(list_ops)
            + self.split.times(splits)
            + self.merge.times(merges)
            + self.fallback_search.times(fallback_lists_searched)
            + self.frame_scan.times(frames_scanned + list_nodes_visited + index_updates)
            + self.block_retype.times(blocks_retyped)
    }

    /// The price of work under the LRU lock of a node.
    #[must_use]
    pub fn of_lru_lock(&self, work: &LruLockWork) -> Picos {
        let LruLockWork { sections, batched: _, scanned, isolated } = *work;
        self.zone_lock.times(sections)
            + self.lru_scan.times(scanned)
            + self.isolate_page.times(isolated)
            + self.batched(work)
    }

    /// Prices of work under locks that others of their kind were taken after.
    #[inline]
    #[must_use]
    pub fn of_earlier_locks(&self, done: &WorkDone<'_>) -> Vec<(SpinLock, Picos)> {
        // Said first, since nearly no step takes two locks of a kind, and building no list costs as much as the other prices.
        if done.other_zones.is_empty() && done.other_nodes.is_empty() {
            return Vec::new();
        }
        let zones = done.other_zones.iter().map(|(zone, work)| (SpinLock::Zone(*zone), self.of_zone_lock(work)));
        let nodes = done.other_nodes.iter().map(|(node, work)| (SpinLock::Lru(*node), self.of_lru_lock(work)));
        zones.chain(nodes).collect()
    }

    /// Each page of a batch takes one of the two list operations of an isolation.
    fn batched(&self, work: &LruLockWork) -> Picos {
        Picos(self.isolate_page.0 / 2).times(work.batched)
    }

    /// The price of what was done without a zone or LRU lock. Flushes are those of the CPU itself: who else must flush, the
    /// caller knows.
    #[inline]
    #[must_use]
    #[rustfmt::skip]
    pub fn of_unlocked(&self, done: &WorkDone<'_>) -> Picos {
        let FrameWork { zones_checked, pcp_hits, locked: _ } = *done.frames;
        // Without `..`: a kind of work that has no price does not compile.
        let Work {
            faults, vma_lookups, pages_cleared, huge_parts_cleared, ptes_set,
            scanned_unlocked, blocks_passed, pages_copied, pages_compared, prot_numa, ptes_cleared, page_tables_allocated,
            slab_objects, rmap_walks, folios_moved, slab_objects_scanned, hypervisor_faults, tlb_flushes,
            pages_uncached, parts_uncached,
            ranges_collapsed, pages_collapsed, parts_collapsed, huge_parts_split, huge_parts_remapped, huge_parts_freed,
            huge_parts_unmapped, pmds_split,
        } = *done.rest;
        let of_faults = self.zone_check.times(zones_checked)
            + self.pcp_hit.times(pcp_hits)
            + self.fault.times(faults)
            + self.vma_lookup.times(vma_lookups)
            + self.clear_page.times(pages_cleared)
            + self.clear_huge_part.times(huge_parts_cleared)
            + self.pte_set.times(ptes_set);
        let others = scanned_unlocked | blocks_passed | pages_copied | pages_compared | prot_numa | ptes_cleared
            | page_tables_allocated | slab_objects | rmap_walks | folios_moved | slab_objects_scanned
            | hypervisor_faults | tlb_flushes
            | pages_uncached | parts_uncached
            | ranges_collapsed | pages_collapsed | parts_collapsed
            | huge_parts_split | huge_parts_remapped | huge_parts_freed | huge_parts_unmapped | pmds_split | done.lru.batched;
        // Most steps are faults: to multiply zeros would cost them more than the rest of their bill.
        if others == 0 && done.other_nodes.is_empty() { of_faults } else { self.with_others(of_faults, done) }
    }

    /// The price of work without a lock, that of faults included, which is `of_faults`.
    #[inline(never)]
    #[rustfmt::skip]
    fn with_others(&self, of_faults: Picos, done: &WorkDone<'_>) -> Picos {
        let Work {
            scanned_unlocked, blocks_passed, pages_copied, pages_compared, prot_numa, ptes_cleared, page_tables_allocated,
            slab_objects, rmap_walks, folios_moved, slab_objects_scanned, hypervisor_faults, tlb_flushes,
            pages_uncached, parts_uncached,
            ranges_collapsed, pages_collapsed, parts_collapsed, huge_parts_split, huge_parts_remapped, huge_parts_freed,
            huge_parts_unmapped, pmds_split, ..
        } = *done.rest;
        let unlocked = of_faults
            + self.frame_scan.times(scanned_unlocked)
            + self.block_pass.times(blocks_passed)
            + self.copy_page.times(pages_copied)
            // A copy reads as much as it writes.
            + Picos(self.copy_page.0 / 2).times(pages_compared)
            + self.prot_numa.times(prot_numa)
            + self.pte_clear.times(ptes_cleared)
            + self.page_table.times(page_tables_allocated)
            + self.rmap_walk.times(rmap_walks)
            + self.migrate_folio.times(folios_moved)
            + self.tlb_flush.times(tlb_flushes)
            + self.slab_object.times(slab_objects)
            + self.slab_scan.times(slab_objects_scanned)
            + self.uncache_page.times(pages_uncached)
            + self.uncache_part.times(parts_uncached)
            + self.collapse_range.times(ranges_collapsed)
            + self.collapse_page.times(pages_collapsed)
            + self.collapse_part.times(parts_collapsed)
            + self.split_huge_part.times(huge_parts_split)
            + self.remap_huge_part.times(huge_parts_remapped)
            + self.free_huge_part.times(huge_parts_freed)
            + self.unmap_huge_part.times(huge_parts_unmapped)
            + self.split_pmd.times(pmds_split)
            + self.hypervisor_fault.times(hypervisor_faults);
        // Prices of faults, files and unmapped entries include what is done under the lock for their pages.
        let others = done.other_nodes.iter().fold(Picos::ZERO, |sum, (_, work)| sum + self.batched(work));
        unlocked.saturating_sub(self.batched(done.lru) + others)
    }
}

#[cfg(test)]
mod tests;
