//! Sets of LRU lists: their pages, what scanning them costs, and whether reclaim can still do anything there.

use crate::lru::LruState;
use crate::lru_list::{LruList, LruType};
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::policy::Unreclaimable;

/// Scans in vain after which lists count as unreclaimable.
const SCANS_MAX: u64 = 6;

impl UsedPages {
    /// Pages of a zone that reclaim could free: those of files, and anonymous ones while there is swap space.
    #[must_use]
    pub fn reclaimable_pages(&self, zone: crate::ZoneId, phys: &PhysMem) -> u64 {
        let zone = phys.frames.zone(zone);
        let of = |of: LruType| {
            self.lru.zone_lru(zone.id()).pages(of.active()) + self.lru.zone_lru(zone.id()).pages(of.inactive())
        };
        of(LruType::File) + if self.swap.swap_free().get() > 0 { of(LruType::Anon) } else { 0 }
    }

    /// Whether the lists that serve `zone` have been scanned in vain so often that only first passes go over them any more.
    pub(crate) fn is_unreclaimable(&self, zone: crate::ZoneId, phys: &PhysMem) -> bool {
        match phys.policy.reclaim.unreclaimable {
            Unreclaimable::KswapdFailures => false,
            Unreclaimable::PagesScanned => {
                let set = phys.lru_set(zone);
                let reclaimable: u64 = phys.zones_of_set(set).map(|zone| self.reclaimable_pages(zone.id(), phys)).sum();
                phys.frames.watch().scanned_since_free.pages[set] >= SCANS_MAX * reclaimable
            }
        }
    }
}

impl LruState {
    /// Pages on each list of a set.
    pub(crate) fn lru_sizes(&self, set: usize, phys: &PhysMem) -> [u64; LruList::COUNT] {
        let mut sizes = [0; LruList::COUNT];
        for zone in phys.zones_of_set(set) {
            LruList::ALL.into_iter().for_each(|list| sizes[list.index()] += self.zone_lru(zone.id()).pages(list));
        }
        sizes
    }
}

impl LruState {
    /// Counts what reclaim of a type has cost a set of lists.
    pub(crate) fn note_lru_cost(&mut self, set: usize, of: LruType, cost: u64, phys: &PhysMem) {
        if cost > 0 {
            let lru_pages = self.lru_sizes(set, phys).iter().sum();
            self.pressure[set].note_cost(of, cost, lru_pages);
        }
    }
}
