//! The highatomic reserve.

use order9_units::{Migratetype, NodeId};

use super::fallback::Wanted;
use super::{Oracle, PAGEBLOCK};

impl Oracle {
    /// Takes a block of the reserve.
    pub(super) fn grab_reserved(&mut self, wanted: Wanted<'_>) -> Option<u64> {
        let pfn = self.grab(wanted.z, wanted.order, Migratetype::HighAtomic)?;
        self.note_taken(wanted, pfn, false);
        Some(pfn)
    }

    /// Adds the pageblock of a page just handed out to the reserve.
    pub(super) fn reserve_highatomic(&mut self, pfn: u64) {
        let z = self.zone_of(pfn).expect("an allocation lies in a zone");
        let hundredth = self.zones[z].managed / 100;
        let limit = match self.policy.frames.highatomic.limit_rounded {
            false => hundredth + PAGEBLOCK,
            true if hundredth < PAGEBLOCK => 0,
            true => hundredth.div_ceil(PAGEBLOCK) * PAGEBLOCK,
        };
        if self.zones[z].reserved_highatomic < limit && self.type_of(pfn).is_mergeable() && self.is_whole(z, pfn) {
            self.retype(z, pfn, Migratetype::HighAtomic);
        }
    }

    /// Gives a reserved pageblock that has a free page back as one of type `mt`; says whether there was one.
    pub fn unreserve_highatomic(&mut self, node: NodeId, mt: Migratetype, force: bool) -> bool {
        if node.index() >= self.kswapd.len() {
            return false;
        }
        for z in self.zonelist(node) {
            let reserved = self.zones[z].reserved_highatomic;
            if reserved == 0 || reserved <= PAGEBLOCK && !force {
                continue;
            }
            let on_lists = self.zones[z].lists.iter().flat_map(|lists| &lists[Migratetype::HighAtomic.index()]);
            let mut reserved = on_lists.copied().filter(|&pfn| self.type_of(pfn) == Migratetype::HighAtomic);
            if let Some(pfn) = reserved.next() {
                self.retype(z, pfn, mt);
                return true;
            }
        }
        false
    }

    /// Moves all free blocks of a pageblock to the lists of `mt`.
    pub(super) fn relist_block(&mut self, z: usize, pfn: u64, mt: Migratetype) {
        for block in self.survey(z, pfn).free_blocks {
            self.relist(z, block, mt);
        }
    }
}
