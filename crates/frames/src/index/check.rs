//! Laws of the index, recounted.

use alloc::format;

use super::{BUCKETS, Index, KINDS, NOWHERE, PENALTY_MAX, place};
use crate::Frames;
use crate::check::{Verdict, require};
use crate::frame::Idx;
use crate::storage::Storage;
use crate::watch::Watch;

impl<W: Watch, S: Storage> Frames<W, S> {
    /// Every pageblock is where its counts, type and first frame put it, and every free block is marked.
    pub(crate) fn check_index(&self) -> Verdict {
        let Some(index) = &self.index else { return Ok(()) };
        for (block, own) in self.blocks.iter().enumerate() {
            let entry = index.entries[block];
            let due = place(own, entry.penalty, block, &self.table);
            let of_zone = own.zone.index() < self.zones.len();
            require(!of_zone || entry.place == due, "the index has a pageblock where its counts put it", || {
                format!("pageblock {block}: {own:?} is at {}, due at {due}", entry.place)
            })?;
            let holds = !of_zone || entry.free == own.free && entry.penalty <= PENALTY_MAX;
            require(holds, "the index knows the free frames of a pageblock", || {
                format!("pageblock {block}: {} free, {entry:?}", own.free)
            })?;
        }
        for at in 0..self.table.len() as u32 {
            let (marked, free) =
                (index.heads[at as usize / 64] >> (at % 64) & 1 != 0, self.table.word(Idx(at)).is_free());
            require(marked == free, "the index marks the first frames of free blocks", || {
                format!("{:?} is {:?}, marked: {marked}", self.table.pfn(Idx(at)), self.table.word(Idx(at)).state())
            })?;
        }
        (0..self.zones.len()).try_for_each(|zone| index.check_sets(zone))
    }
}

impl<S: Storage> Index<S> {
    /// Rings, bits and sums of a zone agree with its entries.
    fn check_sets(&self, zone: usize) -> Verdict {
        for kind in KINDS {
            let set = &self.zones[zone][kind as usize];
            let (mut blocks, mut room) = (0, 0);
            for bucket in 0..BUCKETS as u16 {
                let place = kind as u16 * BUCKETS as u16 + bucket;
                let ring = self.links.iter(self.sentinel(zone, place));
                let before = blocks;
                for block in ring {
                    let entry = self.entries[block as usize];
                    require(entry.place == place && place != NOWHERE, "a bucket holds pageblocks of its own", || {
                        format!("zone {zone}, {kind:?} bucket {bucket}: pageblock {block} is at {}", entry.place)
                    })?;
                    blocks += 1;
                    room += u64::from(entry.free);
                }
                require(set.is_occupied(bucket) == (blocks > before), "the bit of a bucket follows its ring", || {
                    format!("zone {zone}, {kind:?} bucket {bucket}: {} pageblocks", blocks - before)
                })?;
            }
            require((blocks, room) == (set.blocks, set.room), "a set knows its pageblocks and their room", || {
                format!("zone {zone}, {kind:?}: {blocks} with {room}, counted {} with {}", set.blocks, set.room)
            })?;
        }
        Ok(())
    }
}
