//! The highatomic reserve: pageblocks kept for high-order requests that may not sleep.

use order9_units::{Migratetype, NodeId, Order, PAGEBLOCK_PAGES};

use crate::Frames;
use crate::frame::Idx;
use crate::storage::Storage;
use crate::watch::Watch;
use crate::zone::ZoneId;

impl<W: Watch, S: Storage> Frames<W, S> {
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
        let zones = if node.index() < self.nodes.len() { self.nodes.fallback_list(node).len() } else { 0 };
        for at in 0..zones {
            let zone = self.nodes.fallback_list(node)[at].zone;
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
            self.table.iter(list).find(|idx| self.blocks[idx.block()].migratetype == Migratetype::HighAtomic)
        })
    }

    /// Gives a pageblock another type, and its free blocks to that type's lists; refuses one that is only partly in the
    /// zone.
    pub fn retype_pageblock(&mut self, zone: ZoneId, page: Idx, mt: Migratetype) -> bool {
        let Some((first, end)) = self.whole_block(zone, page) else { return false };
        self.split_across_pageblocks(page.block());
        self.retype_block(page.block(), mt);
        self.walk_block(zone, first, end, Some(mt));
        true
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use order9_units::{Pfn, PfnRange, ZoneKind};

    use super::*;
    use crate::gfp::{AllocFlags, Gfp, Mark, Reserve};
    use crate::policy::FramesPolicy;
    use crate::testing::{Layout, NodeSpec};
    use crate::{Request, ZoneSpec};

    const ZONE: ZoneId = ZoneId(0);

    /// A zone of 64 pageblocks, all of them free: a hundredth of it is less than a pageblock.
    fn machine(limit_rounded: bool) -> Frames {
        let span = PfnRange::of(Pfn::new(1 << 20), PAGEBLOCK_PAGES * 64);
        let layout = Layout {
            nodes: vec![NodeSpec { distances: vec![10] }],
            zones: vec![ZoneSpec { node: NodeId(0), kind: ZoneKind::Normal, span }],
            ..Layout::default()
        };
        let mut policy = FramesPolicy::default();
        policy.highatomic.limit_rounded = limit_rounded;
        layout.builder(policy).expect("the layout is sound").boot()
    }

    /// The type of the pageblock that serves a request of `order`.
    fn take(mm: &mut Frames, order: u8, urgent: bool) -> Migratetype {
        let reserve = Reserve { highatomic: urgent, ..Reserve::default() };
        let flags = AllocFlags { reserve, ..AllocFlags::plain(Mark::Min) };
        let request = Request::new(Order::new(order).expect("an order"), Gfp::GFP_KERNEL);
        let pfn = mm.alloc_with(&request, flags).expect("memory is free");
        mm.check().expect("every law holds");
        mm.pageblock(pfn).expect("it is in the zone").migratetype
    }

    #[test]
    fn the_reserve_grows_while_it_is_below_a_hundredth_of_the_zone_and_a_pageblock() {
        use Migratetype::HighAtomic;
        let mut mm = machine(false);
        let of_urgent = [(); 4].map(|()| take(&mut mm, 9, true) == HighAtomic);
        assert_eq!(of_urgent, [true, true, false, false], "0 and 512 pages are below 327 and 512");
        assert_eq!(mm.zones[0].reserved_highatomic, 1024);
        assert_ne!(
            take(&mut machine(true), 9, true),
            HighAtomic,
            "a small zone has no reserve where the limit is rounded"
        );
        assert_ne!(take(&mut machine(false), 9, false), HighAtomic, "nobody is urgent");
        assert_ne!(take(&mut machine(false), 0, true), HighAtomic, "single pages need no reserve");
    }

    #[test]
    fn urgent_blocks_come_from_the_reserve_while_it_has_one() {
        let mut mm = machine(false);
        for left in [510, 508] {
            assert_eq!(take(&mut mm, 1, true), Migratetype::HighAtomic);
            assert_eq!(mm.zones[0].free_of_type(Migratetype::HighAtomic), left);
        }
        take(&mut mm, 1, false);
        assert_eq!(mm.zones[0].free_of_type(Migratetype::HighAtomic), 508, "who is not urgent stays out");
    }

    #[test]
    fn the_last_pageblock_of_the_reserve_is_given_back_by_force_only() {
        let mut mm = machine(false);
        for block in [8, 16] {
            let page = mm.at(Pfn::new(1 << 20) + PAGEBLOCK_PAGES * block);
            mm.reserve_highatomic(ZONE, page);
        }
        let mut give = |force| {
            let given = mm.unreserve_highatomic(NodeId(0), Migratetype::Movable, force);
            (given, mm.zones[0].reserved_highatomic)
        };
        assert_eq!([false, false, true, true].map(&mut give), [(true, 512), (false, 512), (true, 0), (false, 0)]);
    }
}
