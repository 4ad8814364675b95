//! The highatomic reserve: pageblocks kept for high-order requests that may not sleep.

use order9_units::{Migratetype, NodeId, Order, PAGEBLOCK_PAGES};

use crate::Mm;
use crate::frame::Idx;
use crate::trace::Tracer;
use crate::zone::ZoneId;

impl<T: Tracer> Mm<T> {
    /// Adds the pageblock of a page just handed out to the reserve, if the zone's limit allows and all of it is in the zone.
    pub(crate) fn reserve_highatomic(&mut self, zone: ZoneId, page: Idx) {
        let limit = self.zones[zone.index()].highatomic_limit(self.policy.highatomic.limit_rounded);
        let migratetype = self.blocks[page.block()].migratetype;
        if self.zones[zone.index()].reserved_highatomic < limit && migratetype.is_mergeable() {
            self.retype_pageblock(zone, page, Migratetype::HighAtomic);
        }
    }

    /// Gives one reserved pageblock that has a free page back, as one of type `mt`. Without `force` the last block of a zone
    /// stays. Zones are tried in the order of the node's zonelist; says whether a block was given back.
    pub fn unreserve_highatomic(&mut self, node: NodeId, mt: Migratetype, force: bool) -> bool {
        let zones = self.nodes.get(node.index()).map_or(0, |node| node.fallback_list.len());
        for at in 0..zones {
            let zone = self.nodes[node.index()].fallback_list[at].zone;
            let reserved = self.zones[zone.index()].reserved_highatomic;
            if reserved == 0 || !force && reserved <= PAGEBLOCK_PAGES.get() {
                continue;
            }
            if let Some(page) = self.first_reserved(zone)
                && self.retype_pageblock(zone, page, mt)
            {
                return true;
            }
        }
        false
    }

    /// The first free block of a reserved pageblock, smallest order first. Other pageblocks' blocks can be on these lists
    /// too, freed with the type that a per-CPU list remembered.
    fn first_reserved(&self, zone: ZoneId) -> Option<Idx> {
        Order::all().find_map(|order| {
            let list = self.zones[zone.index()].list(order, Migratetype::HighAtomic);
            self.frames.iter(list).find(|idx| self.blocks[idx.block()].migratetype == Migratetype::HighAtomic)
        })
    }

    /// Gives a pageblock another type, and its free blocks to that type's lists; refuses one that is only partly in the
    /// zone.
    pub(crate) fn retype_pageblock(&mut self, zone: ZoneId, page: Idx, mt: Migratetype) -> bool {
        let Some((first, end)) = self.whole_block(zone, page) else { return false };
        self.split_across_pageblocks(page.block());
        self.retype_block(page.block(), mt);
        self.walk_block(zone, first, end, Some(mt));
        true
    }
}
