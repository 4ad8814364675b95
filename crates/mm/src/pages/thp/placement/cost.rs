//! Cost of a huge page on a node, by what the index knows and what the steps to it are worth on this machine.

use order9_frames::{Mark, Zone};
use order9_units::{NodeId, Order, PAGEBLOCK_PAGES};

use super::View;
use super::view::CLASS;
use crate::lru_list::LruList;
use crate::settings::huge_prices::HugePrices;

/// Way of a node to a huge page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// The node has a free huge page.
    Free,
    /// By moving so many pages.
    Compact(u64),
    /// By reclaiming so many pages, and then moving others.
    Reclaim(u64, u64),
}

impl Way {
    /// Cost of the way before the fault.
    pub(super) const fn price(self, prices: &HugePrices) -> u64 {
        match self {
            Self::Free => 0,
            Self::Compact(moves) => moves.saturating_mul(prices.move_page),
            Self::Reclaim(pages, moves) => {
                let moved = moves.saturating_mul(prices.move_page);
                pages.saturating_mul(prices.reclaim_page).saturating_add(moved)
            }
        }
    }
}

impl View<'_> {
    /// The cheapest way to a huge page on `node`, of those that the fault may go; `None` where there is no way.
    pub(super) fn way_to_huge(&self, node: NodeId) -> Option<Way> {
        if self.has_free_huge(node) {
            return Some(Way::Free);
        }
        if !self.may_reclaim() {
            return None;
        }
        self.zones_of(node)
            .filter_map(|zone| self.way_by_effort(zone))
            .min_by_key(|way| way.price(self.engine.prices()))
    }

    /// A way by compaction, after reclaim if need be, unless something stays in every pageblock of the zone.
    fn way_by_effort(&self, zone: &Zone) -> Option<Way> {
        let index = self.engine.index().filter(|index| !index.is_hopeless(zone.id()))?;
        let cheapest = index.cheapest(zone.id()).map(|source| u64::from(source.used));
        let missing = self.wanted_for_compaction(zone).saturating_sub(zone.free());
        if let (0, Some(moves)) = (missing, cheapest) {
            return Some(Way::Compact(moves));
        }
        let helps = missing.max(1) <= self.reclaimable(zone);
        // Pages that are reclaimed need not be those of one pageblock: all of it may have to move.
        helps.then_some(Way::Reclaim(missing.max(1), cheapest.unwrap_or(PAGEBLOCK_PAGES.get())))
    }

    /// Free pages that the zone must have for compaction to start.
    fn wanted_for_compaction(&self, zone: &Zone) -> u64 {
        let leaves = match self.engine.policy().compaction.uses_index() {
            true => zone.mark(Mark::Min) + PAGEBLOCK_PAGES.get(),
            false => zone.mark(Mark::Low) + self.engine.policy().compaction.gap.of(Order::PAGEBLOCK),
        };
        leaves + zone.lowmem_reserve()[CLASS.index()]
    }

    fn reclaimable(&self, zone: &Zone) -> u64 {
        let of = |lists: [LruList; 2]| {
            lists.into_iter().map(|list| self.engine.zone_lru(zone.id()).pages(list)).sum::<u64>()
        };
        let anon = if self.engine.has_swap() { of([LruList::InactiveAnon, LruList::ActiveAnon]) } else { 0 };
        of([LruList::InactiveFile, LruList::ActiveFile]) + anon
    }

    /// Distance of a node from home, as an index of prices.
    pub(super) fn how_far(&self, node: NodeId) -> usize {
        self.engine.prices().levels.of(self.engine.distances(), self.home(), node)
    }

    /// The node on which base pages of a slot would lie: the nearest that has enough of them.
    pub(super) fn base_node(&self) -> NodeId {
        self.by_distance().find(|&node| !self.is_short_of_base_pages(node)).unwrap_or(self.home())
    }
}
