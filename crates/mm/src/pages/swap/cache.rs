//! The slots of pages in the swap cache, by frame: a table per pageblock that has such pages.

use alloc::boxed::Box;
use alloc::vec::Vec;

use order9_units::PAGEBLOCK_PAGES;

use super::SlotId;
use order9_frames::Idx;

const PAGES: usize = PAGEBLOCK_PAGES.get() as usize;
const NONE: u32 = u32::MAX;

/// Slots of the frames of a pageblock.
#[derive(Clone)]
struct Block {
    used: u16,
    slots: [u32; PAGES],
}

/// The slot of every page that has one.
#[derive(Clone, Default)]
pub(super) struct SwapCache {
    blocks: Vec<Option<Box<Block>>>,
    len: u64,
}

impl SwapCache {
    /// Pages that have a slot.
    pub(super) const fn len(&self) -> u64 {
        self.len
    }

    #[inline]
    pub(super) fn get(&self, idx: Idx) -> Option<SlotId> {
        let slot = self.blocks.get(idx.block())?.as_ref()?.slots[idx.at() % PAGES];
        (slot != NONE).then_some(SlotId(slot))
    }

    /// Gives a page that has none a slot.
    pub(super) fn insert(&mut self, idx: Idx, slot: SlotId) {
        if self.blocks.len() <= idx.block() {
            self.blocks.resize(idx.block() + 1, None);
        }
        let block = self.blocks[idx.block()].get_or_insert_with(|| Box::new(Block { used: 0, slots: [NONE; PAGES] }));
        block.slots[idx.at() % PAGES] = slot.0;
        block.used += 1;
        self.len += 1;
    }

    /// Takes the slot of a page that has one.
    pub(super) fn remove(&mut self, idx: Idx) -> SlotId {
        let place = &mut self.blocks[idx.block()];
        let block = place.as_mut().expect("the page is in the swap cache");
        let slot = core::mem::replace(&mut block.slots[idx.at() % PAGES], NONE);
        assert!(slot != NONE, "{idx:?} has no slot");
        block.used -= 1;
        if block.used == 0 {
            *place = None;
        }
        self.len -= 1;
        SlotId(slot)
    }

    /// Bytes on the host.
    pub(super) fn bytes(&self) -> usize {
        let blocks = self.blocks.iter().flatten().count();
        self.blocks.capacity() * size_of::<Option<Box<Block>>>() + blocks * size_of::<Block>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_found_by_frame_and_tables_go_with_their_last_page() {
        let mut cache = SwapCache::default();
        for at in [0, 511, 512, 5000] {
            cache.insert(Idx(at), SlotId(at + 7));
        }
        assert_eq!(
            [511, 513, 5000, 90_000].map(|at| cache.get(Idx(at)).map(SlotId::index)),
            [Some(518), None, Some(5007), None]
        );
        let full = cache.bytes();
        assert_eq!((cache.remove(Idx(5000)), cache.remove(Idx(0)), cache.len()), (SlotId(5007), SlotId(7), 2));
        assert_eq!((full - cache.bytes(), cache.get(Idx(0))), (size_of::<Block>(), None), "511 keeps the other");
    }
}
