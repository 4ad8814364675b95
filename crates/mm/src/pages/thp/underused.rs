//! Huge pages that are mostly zeros: which are, and what becomes of their zeros.
//!
//! A program that touches a page here and there gets all 2 MiB around each (memory bloat). From 6.12 on every new huge page is
//! queued; the shrinker of the deferred split queue splits those with more zeros than `khugepaged/max_ptes_none`, so that what
//! khugepaged would not have made is taken back. LKML: "mm: split underused THPs" (2024); Linux'
//! Documentation/admin-guide/mm/transhuge.rst. What is zeros, [`super::filled`] knows.

use alloc::vec::Vec;

use order9_frames::Idx;

use super::{NR, subpages};
use crate::page_flags::PageFlag;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::{Owner, Pte};
use crate::thp::HugeMemory;

impl HugeMemory {
    /// Whether more base pages of a huge page are zeros than khugepaged would fill. Looks at pages until that is known.
    pub(super) fn is_underused(&self, head: Idx, phys: &mut PhysMem) -> bool {
        let limit = phys.settings.thp.khugepaged.max_ptes_none;
        let all = u64::from(NR);
        let Some(filled) = self.filled.as_ref().filter(|_| limit < all - 1) else { return false };
        let (mut zeros, mut used) = (0, 0);
        for idx in subpages(head) {
            match filled.get(idx) {
                true => used += 1,
                false => zeros += 1,
            }
            if zeros > limit || used >= all - limit {
                break;
            }
        }
        // Whether a page is in use shows at its beginning; that it is zeros, at its end.
        phys.work.pages_compared += zeros;
        zeros > limit
    }

    /// The base pages of a huge page that are zeros and could be had from the page of zeros: all but those that are mlocked
    /// or have a copy in swap.
    pub(super) fn zeros_of(&self, head: Idx, phys: &mut PhysMem) -> Vec<Idx> {
        let Some(filled) = &self.filled else { return Vec::new() };
        if phys.frames.word(head).has(PageFlag::SwapCache) {
            return Vec::new();
        }
        let zeros: Vec<Idx> = phys.parts(head).filter(|&idx| !filled.get(idx)).collect();
        phys.work.pages_compared += zeros.len() as u64;
        zeros
    }
}

impl UsedPages {
    /// Maps the page of zeros instead of these parts of a huge page that was just split, and frees them.
    pub(super) fn map_zeros_for(&mut self, zeros: Vec<Idx>, cpu: usize, phys: &mut PhysMem) {
        for idx in zeros {
            let is_mapped = matches!(self.rmap.owner(idx), Owner::Anon(_) | Owner::Shared { .. });
            if is_mapped && !self.is_mlocked(idx, phys) {
                self.replace_everywhere(idx, Pte::zeroed, cpu, phys);
            }
        }
    }
}
