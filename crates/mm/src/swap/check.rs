//! Recounts the laws of swap.

use alloc::collections::BTreeMap;
use alloc::format;

use super::SlotId;
use crate::Mm;
use crate::check::{Verdict, require};
use crate::frame::{Flag, Idx};
use crate::space::Owner;
use crate::trace::Tracer;

impl<T: Tracer> Mm<T> {
    /// Slots know their entries, counted by slot in `entries`, and their pages; a slot without either is unused.
    pub(crate) fn check_swap(&self, entries: &BTreeMap<u32, u32>) -> Verdict {
        let mut unused = 0;
        for (at, slot) in self.swap.slots.iter().enumerate() {
            let found = entries.get(&(at as u32)).copied().unwrap_or(0);
            require(found == slot.entries, "a slot counts the entries that name it", || {
                format!("slot {at}: {found} entries, {} counted", slot.entries)
            })?;
            unused += usize::from(found == 0 && slot.cache.is_none());
            let Some(idx) = slot.cache else { continue };
            require(self.swap.cached.get(idx) == Some(SlotId(at as u32)), "a page knows its slot", || {
                format!("slot {at}: {:?}", self.frames.pfn(idx))
            })?;
        }
        require(unused == self.swap.unused.len(), "slots that nothing leads to are unused", || {
            format!("{unused} slots, {} counted", self.swap.unused.len())
        })?;
        require(self.swap.slots.len() as u64 <= self.swap.capacity, "no more slots are used than there are", || {
            format!("{} of {}", self.swap.slots.len(), self.swap.capacity)
        })?;
        let mut cached = 0;
        for at in 0..self.frames.len() as u32 {
            let (idx, word) = (Idx(at), self.frames.word(Idx(at)));
            if !word.has(Flag::SwapCache) {
                let only = self.user.rmap.owner(idx) == Owner::SwapCache;
                let marked = [Flag::Dirty, Flag::Writeback, Flag::Reclaim].iter().any(|&flag| word.has(flag));
                let stray = only || marked && !word.has(Flag::File);
                require(!stray, "only pages of files and in the swap cache are written", || {
                    format!("{:?}", self.frames.pfn(idx))
                })?;
                continue;
            }
            cached += 1;
            let slot = self.swap.cached.get(idx).and_then(|slot| self.swap.slots.get(slot.0 as usize));
            let there = slot.is_some_and(|slot| slot.cache == Some(idx));
            require(there, "a page in the swap cache has a slot", || format!("{:?}", self.frames.pfn(idx)))?;
            let used = self.user.rmap.owner(idx) != Owner::SwapCache || slot.is_some_and(|slot| slot.entries > 0);
            require(used || word.has(Flag::Writeback), "something leads to a page in the swap cache", || {
                format!("{:?}", self.frames.pfn(idx))
            })?;
        }
        require(cached == self.swap.cached.len(), "the swap cache counts its pages", || {
            format!("{cached} by frames, {} counted", self.swap.cached.len())
        })
    }
}
