//! Recounts the laws of swap.

use alloc::collections::BTreeMap;
use alloc::format;

use order9_frames::{Idx, Verdict, require};

use super::SlotId;
use crate::page_flags::PageFlag;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::Owner;

impl UsedPages {
    /// Slots know their entries, counted by slot in `entries`, and their pages; a slot without either is unused.
    pub(crate) fn check_swap(&self, entries: &BTreeMap<u32, u32>, phys: &PhysMem) -> Verdict {
        let mut used = 0;
        for (at, slot) in self.swap.slots.iter().enumerate() {
            let found = entries.get(&(at as u32)).copied().unwrap_or(0);
            require(found == slot.entries, "a slot counts the entries that name it", || {
                format!("slot {at}: {found} entries, {} counted", slot.entries)
            })?;
            let in_use = found > 0 || slot.cache.is_some();
            used += u64::from(in_use);
            require(in_use != self.swap.free.is_free(at as u32), "slots that nothing leads to are free", || {
                format!("slot {at}: in use {in_use}")
            })?;
            let Some(idx) = slot.cache else { continue };
            require(self.swap.cached.get(idx) == Some(SlotId(at as u32)), "a page knows its slot", || {
                format!("slot {at}: {:?}", phys.frames.pfn(idx))
            })?;
        }
        require(used == self.swap.free.used(), "slots in use are counted", || {
            format!("{used} slots, {} counted", self.swap.free.used())
        })?;
        let (slots, capacity) = (self.swap.slots.len() as u64, self.swap.free.capacity());
        require(slots <= capacity, "no more slots are used than there are", || format!("{slots} of {capacity}"))?;
        let mut cached = 0;
        for at in 0..phys.frames.table().len() as u32 {
            let (idx, word) = (Idx(at), phys.frames.word(Idx(at)));
            if !word.has(PageFlag::SwapCache) {
                let only = self.rmap.owner(idx) == Owner::SwapCache;
                let marked =
                    [PageFlag::Dirty, PageFlag::Writeback, PageFlag::Reclaim].iter().any(|&flag| word.has(flag));
                let stray = only || marked && !word.has(PageFlag::File);
                require(!stray, "only pages of files and in the swap cache are written", || {
                    format!("{:?}", phys.frames.pfn(idx))
                })?;
                continue;
            }
            cached += word.frames();
            if self.rmap.huge_head(idx, phys) == Some(idx) {
                self.check_huge_in_swap_cache(idx, phys)?;
                continue;
            }
            let slot = self.swap.cached.get(idx).and_then(|slot| self.swap.slots.get(slot.0 as usize));
            let there = slot.is_some_and(|slot| slot.cache == Some(idx));
            require(there, "a page in the swap cache has a slot", || format!("{:?}", phys.frames.pfn(idx)))?;
            let used = self.rmap.owner(idx) != Owner::SwapCache || slot.is_some_and(|slot| slot.entries > 0);
            require(used || word.has(PageFlag::Writeback), "something leads to a page in the swap cache", || {
                format!("{:?}", phys.frames.pfn(idx))
            })?;
        }
        require(cached == self.swap.cached.len(), "the swap cache counts its pages", || {
            format!("{cached} by frames, {} counted", self.swap.cached.len())
        })
    }

    /// A huge page in the swap cache has slots in a row, aligned to its size; no huge entry maps it, something leads to it, and it
    /// does not wait for its split.
    fn check_huge_in_swap_cache(&self, head: Idx, phys: &PhysMem) -> Verdict {
        let pfn = phys.frames.pfn(head);
        let first = self.swap.cached.get(head).map_or(u32::MAX, |slot| slot.0);
        let has = |offset: u32| {
            let (slot, idx) = (first + offset, head.plus(offset));
            let there = self.swap.slots.get(slot as usize).is_some_and(|slot| slot.cache == Some(idx));
            there && self.swap.cached.get(idx) == Some(SlotId(slot))
        };
        let count = phys.frames.word(head).frames() as u32;
        let in_order = first.is_multiple_of(count) && (0..count).all(has);
        require(in_order, "a huge page in the swap cache has slots in a row, in order", || {
            format!("{pfn:?}: {first}")
        })?;
        let named = (first..first + count).any(|slot| self.swap.slots[slot as usize].entries > 0);
        let used = named || self.huge.is_huge_page_mapped(head) || phys.frames.word(head).has(PageFlag::Writeback);
        require(used, "something leads to a huge page in the swap cache", || format!("{pfn:?}"))?;
        require(
            !self.huge.is_partially_mapped(head),
            "a huge page in the swap cache does not wait for its split",
            || format!("{pfn:?}"),
        )
    }
}
