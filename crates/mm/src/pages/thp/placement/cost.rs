//! What a huge page would cost on a node, by what the index knows and what the steps to it are worth on this machine.

use order9_frames::{Mark, Zone};
use order9_units::{NodeId, Order, PAGEBLOCK_PAGES};

use super::View;
use super::view::CLASS;
use crate::access_level::AccessLevels;
use crate::lru_list::LruList;
use crate::suitable::compact_gap;

/// What the steps to a huge page cost on a machine, and each access to what comes of them, in any unit of time. The engine has
/// no prices of its own: whoever knows the machine says them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HugePrices {
    /// Moving one page out of the way.
    pub move_page: u64,
    /// Reclaiming one page, and reading it back.
    pub reclaim_page: u64,
    /// One fault that maps a zeroed base page.
    pub base_fault: u64,
    /// One fault that maps a zeroed huge page which is free.
    pub huge_fault: u64,
    /// An access to a base page, by level.
    pub base: [u64; AccessLevels::COUNT],
    /// The same for a huge page.
    pub huge: [u64; AccessLevels::COUNT],
    /// Which distances are levels of their own.
    pub levels: AccessLevels,
}

impl HugePrices {
    /// Without a machine: every page that is touched costs the same, and every access.
    pub const COUNTED: Self = Self {
        move_page: 1,
        reclaim_page: 1,
        base_fault: 1,
        huge_fault: PAGEBLOCK_PAGES.get(),
        base: [1; AccessLevels::COUNT],
        huge: [1; AccessLevels::COUNT],
        levels: AccessLevels::NONE_APART,
    };
}

/// How a node comes by a huge page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// It has one.
    Free,
    /// By moving so many pages.
    Compact(u64),
    /// By reclaiming so many pages, and then moving others.
    Reclaim(u64, u64),
}

impl Way {
    /// What it costs before the fault.
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
            false => zone.mark(Mark::Low) + compact_gap(Order::PAGEBLOCK),
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

    /// How far a node is from home, as an index of prices.
    pub(super) fn how_far(&self, node: NodeId) -> usize {
        self.engine.prices().levels.of(self.engine.distances(), self.home(), node)
    }

    /// The node on which base pages of a slot would lie: the nearest that has enough of them.
    pub(super) fn base_node(&self) -> NodeId {
        self.by_distance().find(|&node| !self.is_short_of_base_pages(node)).unwrap_or(self.home())
    }
}
