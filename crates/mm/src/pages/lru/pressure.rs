//! [`Pressure`]: what scanning a set of LRU lists has cost lately, from which reclaim shares its effort between the types.

use crate::lru_list::{LruList, LruType};

/// Cost of scanning one set of lists lately, by type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pressure {
    /// Pages scanned.
    pub scanned: [u64; LruType::COUNT],
    /// Scanned pages that were found in use.
    pub rotated: [u64; LruType::COUNT],
    /// Refaults, rotations and writes that reclaim of the type has caused.
    pub cost: [u64; LruType::COUNT],
}

impl Pressure {
    /// Counts pages that were scanned, and those of them that were found in use.
    pub fn note_scan(&mut self, of: LruType, scanned: u64, rotated: u64) {
        self.scanned[of.index()] += scanned;
        self.rotated[of.index()] += rotated;
    }

    /// Counts what reclaim of a type has cost; old costs fade once all exceed a quarter of the `lru_pages`.
    pub fn note_cost(&mut self, of: LruType, cost: u64, lru_pages: u64) {
        self.cost[of.index()] += cost;
        if self.cost.iter().sum::<u64>() > lru_pages / 4 {
            self.cost = self.cost.map(|cost| cost / 2);
        }
    }

    /// Lets old scans fade once there are more than a quarter of the pages of their type.
    pub fn fade(&mut self, sizes: &[u64; LruList::COUNT]) {
        for of in [LruType::Anon, LruType::File] {
            let at = of.index();
            if self.scanned[at] > (sizes[of.active().index()] + sizes[of.inactive().index()]) / 4 {
                self.scanned[at] /= 2;
                self.rotated[at] /= 2;
            }
        }
    }
}
