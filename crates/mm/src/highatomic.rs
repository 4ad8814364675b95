//! The highatomic reserve: pageblocks kept for high-order requests that may not sleep.

use order9_units::{Migratetype, Order, PAGEBLOCK_PAGES};

use crate::Mm;
use crate::frame::Idx;
use crate::trace::Tracer;
use crate::zone::ZoneId;

impl<T: Tracer> Mm<T> {
    /// Adds the pageblock of a page just handed out to the reserve, if the zone's limit allows.
    pub(crate) fn reserve_highatomic(&mut self, zone: ZoneId, page: Idx) {
        let limit = self.zones[zone.index()].highatomic_limit(self.policy.highatomic.limit_rounded);
        let block = &mut self.blocks[page.block()];
        if self.zones[zone.index()].reserved_highatomic >= limit || !block.migratetype.is_mergeable() {
            return;
        }
        block.migratetype = Migratetype::HighAtomic;
        self.zones[zone.index()].reserved_highatomic += PAGEBLOCK_PAGES.get();
        self.move_pageblock(zone, page, Migratetype::HighAtomic);
    }

    /// Gives one reserved pageblock that has a free page back, as one of type `mt`. Without `force` the last block of a zone
    /// stays. Zones are tried in the order of the node's zonelist; says whether a block was given back.
    pub fn unreserve_highatomic(&mut self, node: order9_units::NodeId, mt: Migratetype, force: bool) -> bool {
        for at in 0..self.nodes[node.index()].fallback_list.len() {
            let zone = self.nodes[node.index()].fallback_list[at].zone;
            let reserved = self.zones[zone.index()].reserved_highatomic;
            if reserved == 0 || !force && reserved <= PAGEBLOCK_PAGES.get() {
                continue;
            }
            let first_free = Order::all()
                .find_map(|order| self.frames.first(self.zones[zone.index()].list(order, Migratetype::HighAtomic)));
            if let Some(page) = first_free {
                self.blocks[page.block()].migratetype = mt;
                self.zones[zone.index()].reserved_highatomic -= PAGEBLOCK_PAGES.get();
                self.move_pageblock(zone, page, mt);
                return true;
            }
        }
        false
    }

    /// Moves all free blocks of the pageblock around `page` to the lists of `mt`.
    pub(crate) fn move_pageblock(&mut self, zone: ZoneId, page: Idx, mt: Migratetype) {
        if let Some((first, end)) = self.clip_to_zone(zone, page) {
            self.walk_block(zone, first, end, Some(mt));
        }
    }
}
