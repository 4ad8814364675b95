//! Swap readahead: with the slot that a fault needs its neighbours are read, since pages that were swapped out together are
//! likely wanted together.
//!
//! Key type: [`Window`], how many slots to read at once. It follows the use that pages read ahead are put to, and is bounded
//! by `vm.page-cluster` (kernel documentation, `admin-guide/sysctl/vm`; LKML: "swap: add a simple detector for inappropriate
//! swapin readahead"). Behaviour: docs/reclaim.md.

use alloc::vec::Vec;

use order9_units::Pfn;

use super::SlotId;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::swap::SwapArea;

/// Slots read at once beside the last slot that was read.
const BESIDE_A_MISS: u64 = 2;

/// Length of readahead.
#[derive(Clone, Copy)]
pub(super) struct Window {
    /// Pages read ahead that were used since the last read.
    hits: u64,
    /// Slots of the last window.
    last: u64,
    /// The last slot that was read while nothing read ahead was used.
    missed: u32,
}

impl Default for Window {
    /// Window of a machine at its start, which takes readahead for worthwhile.
    fn default() -> Self {
        Self { hits: 4, last: 0, missed: 0 }
    }
}

impl Window {
    /// Slots to read at once around `slot`, at most `most`: a power of two, as far as `most` is one.
    fn next(&mut self, slot: SlotId, most: u64) -> u64 {
        if most <= 1 {
            return 1;
        }
        let hits = core::mem::take(&mut self.hits);
        let wanted = match hits {
            0 if slot.0.abs_diff(self.missed) != 1 => 1,
            0 => BESIDE_A_MISS,
            // Four at least.
            hits => (hits + 2).next_power_of_two(),
        };
        if hits == 0 {
            self.missed = slot.0;
        }
        self.last = wanted.min(most).max(self.last / 2);
        self.last
    }
}

impl SwapArea {
    /// The slots to read together with `slot`, which a fault needs, in their order. For each the caller allocates a page, if
    /// it has one to spare, and hands it to `UsedPages::finish_readahead` when it is read.
    pub fn swap_readahead(&mut self, slot: SlotId, phys: &PhysMem) -> Vec<SlotId> {
        let window = self.window.next(slot, 1 << phys.settings.page_cluster);
        let first = u64::from(slot.0) / window * window;
        let end = (first + window).min(self.slots.len() as u64);
        let needed = |&at: &u64| {
            let other = &self.slots[at as usize];
            at != slot.index() && other.entries > 0 && other.cache.is_none()
        };
        (first..end).filter(needed).map(|at| SlotId(at as u32)).collect()
    }

    /// A fault has found the page of a slot in memory.
    pub(crate) fn note_swap_cache_hit(&mut self, slot: SlotId, phys: &mut PhysMem) {
        if core::mem::take(&mut self.slot(slot).ahead) {
            self.window.hits += 1;
            phys.counters.swap_ra_hit += 1;
        }
    }
}

impl UsedPages {
    /// Takes the page just allocated, into which `slot` was read ahead, into the swap cache; frees it if nobody needs it any
    /// more.
    ///
    /// # Panics
    /// If `page` is not a single page that was just allocated.
    pub fn finish_readahead(&mut self, slot: SlotId, page: Pfn, cpu: usize, phys: &mut PhysMem) {
        let idx = phys.fresh(page);
        let at = self.swap.slot(slot);
        if at.entries == 0 || at.cache.is_some() {
            return phys.free_fresh(idx, cpu);
        }
        at.ahead = true;
        self.fill_from_slot(slot, idx, phys);
        phys.counters.swap_ra += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_grow_with_use_and_shrink_by_half() {
        let mut window = Window::default();
        let mut next = |hits, slot| {
            window.hits += hits;
            window.next(SlotId(slot), 8)
        };
        assert_eq!(next(0, 100), 8, "the start counts as four hits");
        assert_eq!([next(0, 200), next(0, 300), next(0, 400), next(0, 500)], [4, 2, 1, 1]);
        assert_eq!([next(0, 501), next(0, 502)], [2, 2], "neighbours");
        assert_eq!([next(1, 10), next(3, 20), next(100, 30)], [4, 8, 8]);
        assert_eq!(window.next(SlotId(31), 1), 1, "off");
    }
}
