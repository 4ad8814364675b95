//! Formulas: what single steps of the kernel cost, by the measurements. Each is a price of the table, or a part of several.

use super::price;
use crate::collapse::{FEW, HALF};
use crate::direct::Direct;
use crate::files::CHUNK;

/// Entries of one page table.
pub(crate) const PER_TABLE: f64 = 512.0;

/// Pages that one section of the zone lock takes or returns: the default batch of Linux.
pub(crate) const PER_SECTION: f64 = 63.0;

/// Cache lines read to check a watermark: free pages, watermarks and reserves, lists held back for atomic allocations.
const LINES_OF_CHECK: f64 = 3.0;

pub(super) fn vma_lookup(d: &Direct) -> f64 {
    d.msync - d.getppid
}

pub(super) fn zone_check(d: &Direct) -> f64 {
    LINES_OF_CHECK * d.load_l2
}

/// Opening the memory of a process takes and drops a reference to it: two atomic operations, as a lock has.
pub(super) fn pcp_hit(d: &Direct) -> f64 {
    (d.read_memory - d.read_pipe - 2.0 * d.uncontended_lock - zone_check(d)) / 2.0
}

pub(super) fn zone_lock(d: &Direct) -> f64 {
    d.uncontended_lock + d.load_l2
}

/// Taking a page out of a large block is two list operations and a split, returning it two and a merge.
pub(super) fn list_op(d: &Direct) -> f64 {
    let both = d.file_alloc_zone - d.file_alloc + d.file_free_zone - d.file_free;
    (both - 2.0 * zone_lock(d) / PER_SECTION - 2.0 * d.load_l2) / 4.0
}

/// A move finds the mappings of its page twice: to unmap it, and to map it again.
pub(super) fn rmap_walk(d: &Direct) -> f64 {
    (d.compact_mapped_file - d.compact_file - remapping(d)) / 2.0
}

/// Price of a move's entries and flushes, where its page has one mapping.
pub(super) fn remapping(d: &Direct) -> f64 {
    d.unmap - pcp_hit(d) + tlb_flush(d) / d.moves_per_flush + pte_set(d)
}

/// Price of a moved page's copy, of its LRU list, and of both frames.
pub(super) fn moved_content(d: &Direct) -> f64 {
    2.0 * list_op(d) + d.memcpy + 2.0 * list_op(d) + d.load_l2
}

pub(super) fn migrate_folio(d: &Direct) -> f64 {
    d.compact_quarter - moved_content(d) - remapping(d) - 2.0 * rmap_walk(d)
}

pub(super) fn clear_page(d: &Direct) -> f64 {
    d.map_uncleared - d.map_cleared
}

pub(super) fn clear_huge_part(d: &Direct) -> f64 {
    d.huge_populate - (vma_lookup(d) + zone_check(d) + pcp_hit(d) + pte_set(d)) / PER_TABLE
}

pub(super) fn page_table(d: &Direct) -> f64 {
    d.first_in_slot - d.second_in_slot - vma_lookup(d) - zone_check(d) - pcp_hit(d)
}

/// Price of a page table per entry, its page included.
pub(crate) fn table_per_page(d: &Direct) -> f64 {
    (page_table(d) + vma_lookup(d) + zone_check(d) + pcp_hit(d)) / PER_TABLE
}

pub(super) fn pte_set(d: &Direct) -> f64 {
    d.fork_page - table_per_page(d)
}

pub(super) fn fault(d: &Direct) -> f64 {
    d.write_fault - vma_lookup(d) - zone_check(d) - pcp_hit(d) - clear_page(d) - pte_set(d) - table_per_page(d)
}

/// A call for two pages takes one page more than a call for one, and a call for one a page and a flush more than a call in vain.
pub(super) fn tlb_flush(d: &Direct) -> f64 {
    2.0 * d.discard_one - d.discard_two - d.discard_none
}

pub(super) fn unmap_huge_part(d: &Direct) -> f64 {
    d.discard_part - d.discard_none - tlb_flush(d)
}

pub(super) fn split_pmd(d: &Direct) -> f64 {
    d.discard_first_part - d.discard_part - tlb_flush(d)
}

/// Price of a base page that is collapsed, the hole in whose place it is left out: the copy, and all that becomes of the old page.
pub(super) fn collapsed_page(d: &Direct) -> f64 {
    per_page(d.collapse_few, d.collapse_full, PER_TABLE) + clear_huge_part(d)
}

/// Price of a collapsed part of a huge page, likewise.
pub(super) fn collapsed_part(d: &Direct) -> f64 {
    per_page(d.collapse_few_parts, d.collapse_half_parts, HALF as f64) + clear_huge_part(d)
}

/// Time that one page more takes, between a slot with [`FEW`] pages and one with `many`.
pub(super) fn per_page(few: f64, much: f64, many: f64) -> f64 {
    (much - few) / (many - FEW as f64)
}

/// Price of a base page that reclaim frees, as the engine counts it.
pub(super) fn reclaimed_page(d: &Direct) -> f64 {
    let list = price(d, "lru_scan") + price(d, "isolate_page");
    list + rmap_walk(d) + price(d, "pte_clear") + tlb_flush(d) + pcp_hit(d)
}

/// Price of finding a page of a file in the page cache.
pub(super) fn file_page(d: &Direct) -> f64 {
    d.file_read_byte - d.file_read_none
}

/// Price of each further page of a large folio, where its pages take `each` on average and the first one `page`.
pub(super) fn part(each: f64, page: f64) -> f64 {
    let pages = CHUNK as f64;
    (pages * each - page) / (pages - 1.0)
}

/// Price of a collapse beside the pages of its slot, as the engine counts it: finding the mapping, looking at each page, the huge page
/// and its entry, the flush.
pub(crate) fn around_collapse(d: &Direct) -> f64 {
    let found = vma_lookup(d) + PER_TABLE * d.compact_in_vain;
    found + zone_check(d) + zone_lock(d) + list_op(d) + pte_set(d) + tlb_flush(d)
}

/// Price of a split of a huge page of which `mapped` pages are mapped singly, beside its parts, as the engine counts it: each mapping is
/// taken away and put back. `MADV_COLD` for one page is the way to it.
pub(super) fn around_split(d: &Direct, mapped: f64) -> f64 {
    let entries = mapped * (price(d, "pte_clear") + pte_set(d));
    d.getppid + vma_lookup(d) + rmap_walk(d) + entries + tlb_flush(d)
}

/// Price of a part of a huge page that is split.
pub(super) fn split_huge_part(d: &Direct) -> f64 {
    let entry = split_pmd(d) + tlb_flush(d);
    (d.huge_split_whole - entry - around_split(d, PER_TABLE)) / PER_TABLE
}

/// Price of finding and restoring the mapping of such a part that is mapped by itself.
pub(super) fn remap_huge_part(d: &Direct) -> f64 {
    let mapped = PER_TABLE - 1.0;
    (d.huge_split_pages - around_split(d, mapped) - PER_TABLE * split_huge_part(d)) / mapped
}
