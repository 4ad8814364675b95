//! Swap: slots that keep the contents of anonymous and tmpfs pages, and the swap cache, pages that have a slot.
//!
//! Key types: [`SwapArea`] (all slots), [`SwapWrite`] (a page to be written to its slot). Reclaim gives a page a slot,
//! replaces its entries by the number of the slot, and hands the write to the caller, who ends it with
//! [`Mm::swap_written`]; a fault on such an entry maps the page again if it is still in memory, else asks for a page to read
//! the slot into. A slot is in use while an entry names it or a page has it. A page that is written while more than half of
//! the slots are in use loses its slot. A page of tmpfs leaves its file for the swap cache, and the file names the slot: see
//! [`crate::shmem`]. A huge page has a slot for each base page, in a row, and is one write. Never does I/O.

mod cache;
mod check;
mod free;
mod readahead;

use alloc::vec::Vec;
use core::ops::Range;

use cache::SwapCache;
use free::{ClusterChoice, FreeSlots};
use order9_frames::Idx;
use order9_units::{Order, Pages, Pfn};
use readahead::Window;

use crate::page_flags::PageFlag;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::policy::NewAnon;
use crate::space::{Access, Mapping, Owner, Prot, Pte, PteFlag, SpaceId, Vma};
use crate::tags::Tag;
use crate::workingset::Shadow;

/// Place of a page in swap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SlotId(pub(crate) u32);

impl SlotId {
    /// Pages before it.
    #[must_use]
    pub const fn index(self) -> u64 {
        self.0 as u64
    }
}

/// A page to be written to swap; the caller writes it and then calls [`Mm::swap_written`](crate::Mm::swap_written). To memory it has been
/// written already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwapWrite {
    /// Slot that the page is written to.
    pub slot: SlotId,
    /// Page that is written.
    pub pfn: Pfn,
    /// Base pages of the page, each to its slot.
    pub pages: Pages,
}

#[derive(Clone, Copy, Default)]
pub(crate) struct Slot {
    /// Page table entries and places of files that name it.
    pub(crate) entries: u32,
    /// The page that has it.
    cache: Option<Idx>,
    /// Content that was last written to the slot.
    tag: Tag,
    /// Shadow that the page of the slot left when it was evicted.
    shadow: Option<Shadow>,
    /// The page of the slot was read ahead, and nobody has used it yet.
    ahead: bool,
}

/// All slots.
#[derive(Clone, Default)]
pub struct SwapArea {
    /// Up to the last one that was ever used.
    slots: Vec<Slot>,
    free: FreeSlots,
    /// Slots in memory, where a page is written as soon as its write begins.
    in_memory: Vec<Range<u32>>,
    /// Slots of pages in the swap cache, by frame.
    cached: SwapCache,
    window: Window,
}

impl SwapArea {
    /// Bytes on the host.
    pub(crate) fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Slot>() + self.free.bytes() + self.cached.bytes()
    }

    pub(crate) const fn free(&self) -> u64 {
        self.free.capacity() - self.free.used()
    }

    const fn is_half_used(&self) -> bool {
        self.free() < self.free.capacity() / 2
    }

    pub(crate) fn slot(&mut self, id: SlotId) -> &mut Slot {
        &mut self.slots[id.0 as usize]
    }

    /// The slot of a page in the swap cache.
    pub(crate) fn of(&self, idx: Idx) -> SlotId {
        self.cached.get(idx).expect("the page is in the swap cache")
    }

    /// The page that has a slot, if one is in memory.
    pub(crate) fn page(&self, id: SlotId) -> Option<Idx> {
        self.slots[id.0 as usize].cache
    }

    /// Page table entries and places of files that name a slot.
    pub(crate) fn entries(&self, id: SlotId) -> u32 {
        self.slots[id.0 as usize].entries
    }

    pub(crate) fn tag(&self, id: SlotId) -> Tag {
        self.slots[id.0 as usize].tag
    }

    /// A base page in the swap cache is in another frame now.
    pub(crate) fn relocate(&mut self, from: Idx, to: Idx) {
        let slot = self.cached.remove(from);
        self.cached.insert(to, slot);
        self.slot(slot).cache = Some(to);
    }

    /// Gives a page a slot; says whether there was one.
    fn give_slot(&mut self, idx: Idx) -> bool {
        let slot = self.free.take();
        slot.inspect(|&slot| self.give(SlotId(slot), idx)).is_some()
    }

    /// Gives the base pages of a huge page of `order` slots in a row; says whether there were as many.
    pub(crate) fn give_row(&mut self, head: Idx, order: Order) -> bool {
        let (first, count) = (self.free.take_row(order), order.pages().get() as u32);
        let give = |&first: &u32| (0..count).for_each(|offset| self.give(SlotId(first + offset), head.plus(offset)));
        first.inspect(give).is_some()
    }

    fn give(&mut self, slot: SlotId, idx: Idx) {
        let end = slot.0 as usize + 1;
        if self.slots.len() < end {
            self.slots.resize(end, Slot::default());
        }
        self.slot(slot).cache = Some(idx);
        self.cached.insert(idx, slot);
    }

    fn release_if_unused(&mut self, id: SlotId) {
        let slot = self.slot(id);
        if slot.entries == 0 && slot.cache.is_none() {
            *slot = Slot::default();
            self.free.release(id.0);
        }
    }
}

/// Swap space that a machine can have: what the numbers of slots can tell apart.
pub const SWAP_MAX: Pages = Pages::new(u32::MAX as u64);

impl SwapArea {
    /// Adds swap space.
    ///
    /// # Panics
    /// Beyond [`SWAP_MAX`] in all.
    pub fn swapon(&mut self, slots: Pages) {
        self.free.add(slots.get(), None);
    }

    /// Adds swap space on a disk without moving parts, where huge pages have room in one piece if the policy has it so.
    pub(crate) fn swapon_solid_state(&mut self, slots: Pages, phys: &PhysMem) {
        let rules = &phys.policy.reclaim;
        let choice = ClusterChoice { by_order: rules.swap_clusters_by_order, used_first: rules.swap_used_first };
        self.free.add(slots.get(), phys.policy.thp.swap_whole.then_some(choice));
    }

    /// Adds swap space that is memory, as of zram.
    pub(crate) fn swapon_in_memory(&mut self, slots: Pages, phys: &PhysMem) {
        let start = self.free.capacity() as u32;
        self.swapon_solid_state(slots, phys);
        self.in_memory.push(start..start + slots.get() as u32);
    }

    /// Whether what is written to a slot is there at once.
    fn is_in_memory(&self, id: SlotId) -> bool {
        self.in_memory.iter().any(|slots| slots.contains(&id.0))
    }

    /// Whether the page of a slot comes back by itself, without readahead: the slot is in memory, and one entry of a space names it
    /// (`SWP_SYNCHRONOUS_IO`; LKML: "mm, swap: skip swapcache for swapin of synchronous device", 2017).
    pub(crate) fn comes_alone(&self, id: SlotId, phys: &PhysMem) -> bool {
        phys.policy.reclaim.swap_in_alone && self.entries(id) == 1 && self.is_in_memory(id)
    }

    /// Swap space: `SwapTotal`.
    #[must_use]
    pub fn swap_total(&self) -> Pages {
        Pages::new(self.free.capacity())
    }

    /// Slots not in use: `SwapFree`.
    #[must_use]
    pub fn swap_free(&self) -> Pages {
        Pages::new(self.free())
    }

    /// Pages in memory that have a slot: `SwapCached`.
    #[must_use]
    pub fn swap_cached(&self) -> Pages {
        Pages::new(self.cached.len())
    }

    /// Gives an anonymous or tmpfs page a slot, unless it has one; says whether it has one now.
    pub(crate) fn add_to_swap(&mut self, idx: Idx, phys: &mut PhysMem) -> bool {
        let word = phys.frames.word(idx);
        if word.has(PageFlag::SwapCache) {
            return true;
        }
        if !self.give_slot(idx) {
            return false;
        }
        phys.frames.set(idx, word.with(PageFlag::SwapCache, true).with(PageFlag::Dirty, true));
        true
    }

    /// Takes a page, with all its base pages, out of the swap cache.
    pub(crate) fn remove_from_swap_cache(&mut self, idx: Idx, phys: &mut PhysMem) {
        let word = phys.frames.word(idx);
        for offset in 0..word.frames() as u32 {
            let slot = self.cached.remove(idx.plus(offset));
            (self.slot(slot).cache, self.slot(slot).ahead) = (None, false);
            self.release_if_unused(slot);
        }
        phys.frames.set(
            idx,
            word.with(PageFlag::SwapCache, false).with(PageFlag::Dirty, false).with(PageFlag::Reclaim, false),
        );
    }

    /// A page may be written from now on: what its slot holds grows old, and is given up where slots are scarce. The slots of a
    /// huge page stay together.
    pub(crate) fn wrote_swap_page(&mut self, idx: Idx, phys: &mut PhysMem) {
        if self.is_half_used() {
            self.give_up_slot(idx, phys);
        }
    }

    /// Takes the slot of a base page away, if it has one that it is not being written to.
    fn give_up_slot(&mut self, idx: Idx, phys: &mut PhysMem) {
        let word = phys.frames.word(idx);
        if !word.is_compound() && word.has(PageFlag::SwapCache) && !word.has(PageFlag::Writeback) {
            self.remove_from_swap_cache(idx, phys);
        }
    }
}

impl UsedPages {
    /// Replaces every entry that maps a page in the swap cache by its slot.
    pub(crate) fn unmap_to_swap(&mut self, idx: Idx, phys: &mut PhysMem) {
        let slot = self.swap.of(idx);
        let mappings = self.mappings_of(idx, phys);
        for &at in &*mappings {
            let space = self.spaces.living(at.space);
            let table = space.table.table_mut(at.vpn).expect("the page is mapped there");
            let old = table.set(at.vpn, Pte::swap(slot));
            space.rss.anon_pages -= 1;
            space.swap_pages += 1;
            self.swap.slot(slot).entries += 1;
            if old.has(PteFlag::Dirty) {
                let word = phys.frames.word(idx);
                phys.frames.set(idx, word.with(PageFlag::Dirty, true));
            }
        }
        if !mappings.is_empty() {
            mappings[1..].iter().for_each(|&at| self.rmap.unshare(idx, at));
            self.rmap.set(idx, Owner::SwapCache);
            self.levels.anon -= 1;
            phys.work.ptes_cleared += mappings.len() as u64;
            phys.work.tlb_flushes += 1;
        }
    }

    /// Starts the write of a dirty page in the swap cache.
    pub(crate) fn start_swap_write(&mut self, idx: Idx, phys: &mut PhysMem) -> SwapWrite {
        let (slot, word) = (self.swap.of(idx), phys.frames.word(idx));
        phys.frames.set(idx, word.with(PageFlag::Dirty, false).with(PageFlag::Reclaim, true));
        self.cache.set_writeback(idx, phys);
        let pages = word.frames();
        if let Some(tags) = &self.tags {
            for offset in 0..pages as u32 {
                self.swap.slot(SlotId(slot.0 + offset)).tag = tags.frame(idx.plus(offset));
            }
        }
        phys.counters.pswpout += pages;
        phys.counters.nr_vmscan_write += pages;
        match self.huge.small_events_of(idx, phys) {
            Some(events) => events.swpout += 1,
            None => phys.counters.thp_swpout += u64::from(pages > 1),
        }
        SwapWrite { slot, pfn: phys.frames.pfn(idx), pages: Pages::new(pages) }
    }

    /// Writes a dirty page in the swap cache, which reclaim has isolated. Says whether the write has ended, as it has where the slot is memory:
    /// reclaim frees the page in the same pass then.
    pub(crate) fn write_to_slot(&mut self, idx: Idx, phys: &mut PhysMem) -> (SwapWrite, bool) {
        let write = self.start_swap_write(idx, phys);
        let has_ended = self.swap.is_in_memory(write.slot);
        if has_ended {
            self.end_writeback(idx, phys);
        }
        (write, has_ended)
    }

    /// Ends a write: the page is the oldest of its list now, if reclaim still waits for it.
    pub(crate) fn swap_written(&mut self, write: SwapWrite, cpu: usize, phys: &mut PhysMem) {
        if self.swap.is_in_memory(write.slot) {
            return; // It ended as it began.
        }
        let idx = phys.frames.at(write.pfn);
        let word = phys.frames.word(idx);
        let there = word.has(PageFlag::Writeback) && self.swap.cached.get(idx) == Some(write.slot);
        assert!(there, "{write:?} is not under way");
        self.end_writeback(idx, phys);
        self.drop_if_useless(idx, cpu, phys);
    }

    /// Takes a page that reclaim evicts out of the swap cache. Where anonymous pages start inactive, its slot remembers it:
    /// what comes back has to be told from what is new.
    pub(crate) fn evict_to_swap(&mut self, idx: Idx, phys: &mut PhysMem) {
        if phys.policy.reclaim.new_anon == NewAnon::Inactive {
            let shadow = self.lru.workingset_eviction(idx, phys);
            for offset in 0..phys.frames.word(idx).frames() as u32 {
                let slot = self.swap.of(idx.plus(offset));
                self.swap.slot(slot).shadow = Some(shadow);
            }
        }
        self.swap.remove_from_swap_cache(idx, phys);
    }

    /// The last mapping of a page in the swap cache is gone.
    pub(crate) fn leave_in_swap_cache(&mut self, idx: Idx, cpu: usize, phys: &mut PhysMem) {
        self.rmap.set(idx, Owner::SwapCache);
        self.drop_if_useless(idx, cpu, phys);
    }

    /// Frees a page in the swap cache that neither mappings nor entries lead to, unless it is being written. One that a file
    /// has again is the file's alone.
    pub(crate) fn drop_if_useless(&mut self, idx: Idx, cpu: usize, phys: &mut PhysMem) {
        if let Some(head) = self.rmap.huge_head(idx, phys) {
            return self.drop_huge_if_useless(head, cpu, phys);
        }
        if phys.frames.word(idx).has(PageFlag::Writeback) {
            return;
        }
        let slot = self.swap.of(idx);
        match self.rmap.owner(idx) {
            Owner::File { .. } => self.swap.remove_from_swap_cache(idx, phys),
            Owner::SwapCache if self.swap.slot(slot).entries == 0 => {
                self.swap.remove_from_swap_cache(idx, phys);
                self.disown(idx, cpu, phys);
            }
            _ => {}
        }
    }

    /// An entry of a space or file that names a slot is gone.
    pub(crate) fn drop_swap_entry(&mut self, slot: SlotId, cpu: usize, phys: &mut PhysMem) {
        self.swap.slot(slot).entries -= 1;
        match self.swap.page(slot) {
            Some(idx) => self.drop_if_useless(idx, cpu, phys),
            None => self.swap.release_if_unused(slot),
        }
    }

    /// A child has the same entry.
    pub(crate) fn share_swap_entry(&mut self, slot: SlotId, child: SpaceId) {
        self.swap.slot(slot).entries += 1;
        self.spaces.living(child).swap_pages += 1;
    }

    /// Whether nothing but its one mapping leads to a page, so that it may be written in place. `entry` is an entry that is
    /// about to map it.
    pub(crate) fn is_exclusive(&self, idx: Idx, entry: bool, phys: &PhysMem) -> bool {
        let entries = self.swap.cached.get(idx).map_or(0, |slot| self.swap.slots[slot.0 as usize].entries);
        if let Some(head) = self.rmap.huge_head(idx, phys) {
            return match phys.frames.word(head).has(PageFlag::SwapCache) {
                true => self.subpage_mapcount(idx, phys) == u32::from(!entry) && entries == u32::from(entry),
                false => self.huge.is_huge_exclusive(head),
            };
        }
        match self.rmap.owner(idx) {
            Owner::Anon(_) => !entry && entries == 0,
            Owner::SwapCache => entry && entries == 1,
            _ => false,
        }
    }

    /// Maps the page that has `slot` in place of the entry that names it; returns the new entry. Only a page that nothing else
    /// leads to is mapped for a write.
    pub(crate) fn map_from_swap(
        &mut self,
        at: Mapping,
        slot: SlotId,
        vma: &Vma,
        access: Access,
        cpu: usize,
        phys: &mut PhysMem,
    ) -> Pte {
        let idx = self.swap.page(slot).expect("the page is in memory");
        let writable = access == Access::Write;
        debug_assert!(!writable || self.is_exclusive(idx, true, phys), "{at:?} would write what others have, too");
        match self.rmap.owner(idx) {
            _ if self.rmap.huge_head(idx, phys).is_some() => self.map_subpage(at, idx, phys),
            Owner::SwapCache => {
                self.rmap.set(idx, Owner::Anon(at));
                self.levels.anon += 1;
            }
            _ => self.rmap.share(idx, at),
        }
        if vma.locked {
            self.mlock_page(idx, phys);
        }
        let space = self.spaces.living(at.space);
        space.rss.anon_pages += 1;
        space.swap_pages -= 1;
        let is_alone = self.swap.comes_alone(slot, phys);
        self.drop_swap_entry(slot, cpu, phys);
        if is_alone {
            self.swap.give_up_slot(idx, phys);
        } else if writable {
            self.swap.wrote_swap_page(idx, phys);
        }
        Pte::present(idx).with(PteFlag::Access, vma.prot != Prot::NONE).with(PteFlag::Write, writable)
    }

    /// Takes the fresh page `idx`, into which `slot` was read for a fault, into the swap cache.
    pub(crate) fn finish_swap_in(&mut self, slot: SlotId, idx: Idx, phys: &mut PhysMem) {
        self.fill_from_slot(slot, idx, phys);
        phys.counters.pgmajfault += 1;
    }

    /// Takes the fresh page `idx`, into which `slot` was read, into the swap cache.
    fn fill_from_slot(&mut self, slot: SlotId, idx: Idx, phys: &mut PhysMem) {
        self.adopt_anon(idx, Owner::SwapCache, false, phys);
        let word = phys.frames.word(idx).with(PageFlag::SwapCache, true);
        phys.frames.set(idx, word);
        self.swap.slot(slot).cache = Some(idx);
        self.swap.cached.insert(idx, slot);
        if let Some(shadow) = self.swap.slot(slot).shadow.take() {
            self.workingset_refault(idx, shadow, phys);
        }
        let tag = self.swap.tag(slot);
        if let Some(tags) = &mut self.tags {
            tags.put(idx, tag);
        }
        phys.counters.pswpin += 1;
    }
}

#[cfg(test)]
mod tests;
