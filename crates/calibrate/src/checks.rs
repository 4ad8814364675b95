//! Wholes that are measured, beside the sum of the prices of their parts, counted as the engine counts them.
//!
//! The write fault with a page from the per-CPU list is not among them: `fault` is what its other parts leave.

use crate::collapse::HALF;
use crate::direct::Direct;
use crate::prices::{PER_SECTION, PER_TABLE, around_collapse, price, table_per_page};

/// One whole.
pub(crate) struct Check {
    /// Whole that is measured, in words.
    pub(crate) what: &'static str,
    /// Measured, in ns.
    pub(crate) whole: fn(&Direct) -> f64,
    /// By prices, in ns.
    pub(crate) sum: fn(&Direct) -> f64,
    /// The sum in words.
    pub(crate) parts: &'static str,
}

fn sum(d: &Direct, keys: &[&str]) -> f64 {
    keys.iter().map(|key| price(d, key)).sum()
}

/// Every whole.
pub(crate) const CHECKS: &[Check] = &[
    Check {
        what: "write fault, pages from the zone",
        whole: |d| d.write_fault_zone,
        sum: |d| {
            sum(
                d,
                &[
                    "fault",
                    "vma_lookup",
                    "zone_check",
                    "pcp_hit",
                    "clear_page",
                    "pte_set",
                    "list_op",
                    "list_op",
                    "split",
                ],
            ) + table_per_page(d)
                + price(d, "zone_lock") / PER_SECTION
        },
        parts: "fault + vma_lookup + zone_check + pcp_hit + clear_page + pte_set + page table / 512 + 2 list_op + split \
                + zone_lock / 63",
    },
    Check {
        what: "munmap per page, pages to the zone",
        whole: |d| d.unmap_zone,
        sum: |d| sum(d, &["pte_clear", "pcp_hit", "list_op", "list_op", "merge"]) + price(d, "zone_lock") / PER_SECTION,
        parts: "pte_clear + pcp_hit + 2 list_op + merge + zone_lock / 63",
    },
    Check {
        what: "copy-on-write fault",
        whole: |d| d.cow_fault,
        sum: |d| {
            let parts = ["vma_lookup", "zone_check", "pcp_hit", "copy_page", "pte_set", "pte_clear", "tlb_flush"];
            price(d, "fault") + sum(d, &parts)
        },
        parts: "fault + vma_lookup + zone_check + pcp_hit + copy_page + pte_set + pte_clear + tlb_flush",
    },
    Check {
        what: "fault of a huge page, per 4096 bytes",
        whole: |d| d.huge_fault,
        sum: |d| {
            let once = ["fault", "vma_lookup", "zone_check", "pcp_hit", "pte_set"];
            sum(d, &once) / PER_TABLE + price(d, "clear_huge_part")
        },
        parts: "(fault + vma_lookup + zone_check + pcp_hit + pte_set) / 512 + clear_huge_part",
    },
    Check {
        what: "collapse of 256 base pages",
        whole: |d| d.collapse_half,
        sum: |d| {
            let page = ["collapse_page", "copy_page", "isolate_page", "pte_clear", "pcp_hit"];
            let pages = HALF as f64 * sum(d, &page) + (PER_TABLE - HALF as f64) * price(d, "clear_huge_part");
            price(d, "collapse_range") + around_collapse(d) + pages
        },
        parts: "collapse_range + vma_lookup + 512 frame_scan + zone_check + zone_lock + list_op + pte_set + tlb_flush + 256 \
                (collapse_page + copy_page + isolate_page + pte_clear + pcp_hit) + 256 clear_huge_part",
    },
    Check {
        what: "huge page swapped out, per 4096 bytes",
        whole: |d| d.swap_out_huge,
        sum: |d| {
            let once = ["lru_scan", "isolate_page", "rmap_walk", "split_pmd", "tlb_flush", "pcp_hit", "swap_out"];
            sum(d, &["compress_page", "pte_clear"]) + sum(d, &once) / PER_TABLE
        },
        parts: "compress_page + pte_clear + (lru_scan + isolate_page + rmap_walk + split_pmd + tlb_flush + pcp_hit + swap_out) / 512",
    },
    Check {
        what: "mprotect of one page, there and back",
        whole: |d| d.mprotect_page,
        sum: |d| 2.0 * sum(d, &["syscall", "vma_lookup", "pte_set"]) + price(d, "tlb_flush"),
        parts: "2 (syscall + vma_lookup + pte_set) + tlb_flush; changing a mapping has no price of its own",
    },
];
