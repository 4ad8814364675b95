//! Fallback: what a request does when its own type has nothing left - claim whole pageblocks or steal from them.
//!
//! Every block taken from another type is a fragmentation event: it decides how mixed pageblocks become, and from 5.0 on
//! it boosts the zone's watermarks. Behaviour by release: [`crate::policy::FallbackPolicy`].

mod claim;

use order9_units::{Migratetype, Order, PAGEBLOCK_PAGES};

use crate::Frames;
use crate::counters::Extfrag;
use crate::frame::Idx;
use crate::gfp::AllocFlags;
use crate::policy::FallbackSearch;
use crate::storage::Storage;
use crate::watch::{FrameEvent, Watch};
use crate::zone::{Zone, ZoneId};

pub use claim::BlockContents;

/// A free block of another type.
#[derive(Clone, Copy)]
struct Candidate {
    idx: Idx,
    order: Order,
    list: Migratetype,
}

/// Outcome of a fallback.
enum Fallback {
    /// Blocks now lie on the request's own lists.
    Moved,
    /// The block itself, on no list.
    Taken(Idx),
}

/// Half the order of a pageblock, rounded down.
const HALF_PAGEBLOCK: Order = Order::new(Order::PAGEBLOCK.get() / 2).unwrap();

/// Progress of a bulk refill: a phase that failed once is not tried again under the same zone lock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TakeMode {
    Own,
    Claim,
    Steal,
}

/// The types a request of `mt` falls back to, in order. No other type falls back.
#[must_use]
pub const fn fallbacks(mt: Migratetype) -> &'static [Migratetype] {
    use Migratetype::{Movable, Reclaimable, Unmovable};
    match mt {
        Unmovable => &[Reclaimable, Movable],
        Reclaimable => &[Unmovable, Movable],
        Movable => &[Reclaimable, Unmovable],
        _ => &[],
    }
}

impl<W: Watch, S: Storage> Frames<W, S> {
    /// Takes a block of `order` for a request of type `mt` from the zone: own lists, CMA, then fallback.
    #[inline]
    pub(crate) fn take_from_zone(
        &mut self,
        zone: ZoneId,
        order: Order,
        mt: Migratetype,
        flags: &AllocFlags,
        mode: &mut TakeMode,
    ) -> Option<Idx> {
        if self.prefers_cma(zone, mt, flags.cma)
            && let Some(idx) = self.take_smallest(zone, order, Migratetype::Cma)
        {
            return Some(idx);
        }
        if self.packs(order, mt)
            && let Some(idx) = self.take_packed(zone, order)
        {
            return Some(idx);
        }
        self.take_smallest(zone, order, mt).or_else(|| self.take_foreign(zone, order, mt, flags, mode))
    }

    /// Whether a request of type `mt` looks for CMA memory first; `may` says that it may use that.
    #[inline]
    pub(crate) fn prefers_cma(&self, zone: ZoneId, mt: Migratetype, may: bool) -> bool {
        self.policy.cma_balance && mt == Migratetype::Movable && may && self.zones[zone.index()].is_mostly_cma()
    }

    /// Whether a request is served from the fullest pageblock.
    #[inline]
    pub(crate) fn packs(&self, order: Order, mt: Migratetype) -> bool {
        self.policy.alloc.pack_movable && mt == Migratetype::Movable && order < Order::PAGEBLOCK
    }

    /// Takes a block of `order` where the lists of `mt` have none: from those for CMA, then by fallback.
    #[inline(never)]
    fn take_foreign(
        &mut self,
        zone: ZoneId,
        order: Order,
        mt: Migratetype,
        flags: &AllocFlags,
        mode: &mut TakeMode,
    ) -> Option<Idx> {
        loop {
            if mt == Migratetype::Movable
                && flags.cma
                && let Some(idx) = self.take_smallest(zone, order, Migratetype::Cma)
            {
                return Some(idx);
            }
            if let Fallback::Taken(idx) = self.fall_back(zone, order, mt, flags, mode)? {
                return Some(idx);
            }
            if let Some(idx) = self.take_smallest(zone, order, mt) {
                return Some(idx);
            }
        }
    }

    fn fall_back(
        &mut self,
        zone: ZoneId,
        order: Order,
        mt: Migratetype,
        flags: &AllocFlags,
        mode: &mut TakeMode,
    ) -> Option<Fallback> {
        if self.policy.alloc.fallback_contaminated
            && mt != Migratetype::Movable
            && let Some(fallback) = self.fall_back_to_contaminated(zone, order, mt)
        {
            return Some(fallback);
        }
        let spared = self.policy.fallback.nofragment_spares_huge && order >= Order::PAGEBLOCK;
        let lowest = if flags.nofragment && !spared { Order::PAGEBLOCK } else { order };
        if self.policy.fallback.search == FallbackSearch::ClaimThenSteal {
            return self.claim_then_steal(zone, order, lowest, mt, flags, mode);
        }
        let candidate = self.search_candidate(zone, order, lowest, mt)?;
        Some(self.take_candidate(zone, candidate, order, mt, flags))
    }

    /// Serves a request for memory that cannot move from a pageblock that holds some of its kind already, so that no other pageblock is spoilt. A pageblock that is
    /// mostly free or of its kind changes its type. Whole pageblocks are taken as they are: once they are free again, nothing
    /// else of that kind should come there.
    fn fall_back_to_contaminated(&mut self, zone: ZoneId, order: Order, mt: Migratetype) -> Option<Fallback> {
        if order >= Order::PAGEBLOCK {
            let candidate = order.to(Order::MAX).find_map(|size| self.candidate_at(zone, size, mt))?;
            self.take_block(zone, candidate.idx, order, candidate.list);
            self.extfrag(zone, candidate, order, mt);
            return Some(Fallback::Taken(candidate.idx));
        }
        let found = self.find_contaminated(zone, order)?;
        let candidate = Candidate { idx: found.idx, order: found.order, list: Migratetype::Movable };
        let block = self.blocks[found.idx.block()];
        let outcome = if block.absent == 0 && 2 * u64::from(block.free + block.immovable) >= PAGEBLOCK_PAGES.get() {
            let first = Idx((found.idx.block() as u32) << Order::PAGEBLOCK.get());
            self.retype_with_free_blocks(zone, first, mt);
            Fallback::Moved
        } else {
            self.take_block(zone, found.idx, order, Migratetype::Movable);
            Fallback::Taken(found.idx)
        };
        self.extfrag(zone, candidate, order, mt);
        Some(outcome)
    }

    /// The candidate block: the largest, or the smallest for a movable request that could not claim the largest.
    fn search_candidate(&mut self, zone: ZoneId, order: Order, lowest: Order, mt: Migratetype) -> Option<Candidate> {
        for size in lowest.to(Order::MAX).rev() {
            let Some(candidate) = self.candidate_at(zone, size, mt) else { continue };
            let turn = self.policy.fallback.search == FallbackSearch::SmallestUnlessClaimable
                && size < self.lowest_stealable(mt)
                && size > order;
            if !turn {
                return Some(candidate);
            }
            return order.to(Order::MAX).find_map(|size| self.candidate_at(zone, size, mt));
        }
        None
    }

    /// First block of exactly `order` on the lists of the types `mt` falls back to.
    fn candidate_at(&mut self, zone: ZoneId, order: Order, mt: Migratetype) -> Option<Candidate> {
        let zone = &self.zones[zone.index()];
        for &list in fallbacks(mt) {
            self.work.locked.fallback_lists_searched += 1;
            if zone.has_block_of(list, order) {
                let idx = self.table.first(zone.list(order, list)).expect("an occupied list has a first block");
                return Some(Candidate { idx, order, list });
            }
        }
        None
    }

    /// Smallest block whose pageblock `mt` may take over: a movable page in a foreign block can be cured later, so movable
    /// requests take over only where they gain half a pageblock's order.
    fn lowest_stealable(&self, mt: Migratetype) -> Order {
        if mt == Migratetype::Movable && self.mobility_grouping { HALF_PAGEBLOCK } else { Order::ZERO }
    }

    /// Whether a pageblock is claimed as a whole or left alone but for the block taken.
    fn takes_whole_or_one(&self) -> bool {
        self.policy.fallback.freelist_hygiene || self.policy.fallback.search == FallbackSearch::ClaimThenSteal
    }

    /// The claim decision: what of the candidate's pageblock changes its type or lists.
    fn take_candidate(
        &mut self,
        zone: ZoneId,
        candidate: Candidate,
        order: Order,
        mt: Migratetype,
        flags: &AllocFlags,
    ) -> Fallback {
        let old = self.blocks[candidate.idx.block()].migratetype;
        let outcome = if old == Migratetype::HighAtomic {
            self.move_to_list(zone, candidate.idx, mt);
            Fallback::Moved
        } else if candidate.order >= Order::PAGEBLOCK {
            self.claim_whole(zone, candidate, mt)
        } else {
            self.boost_zone(zone, flags);
            if candidate.order >= self.lowest_stealable(mt) && self.claim_pageblock(zone, candidate, old, mt) {
                Fallback::Moved
            } else {
                self.steal_candidate(zone, candidate, order, mt)
            }
        };
        self.extfrag(zone, candidate, order, mt);
        outcome
    }

    /// Takes the candidate alone; its pageblock keeps its type.
    fn steal_candidate(&mut self, zone: ZoneId, candidate: Candidate, order: Order, mt: Migratetype) -> Fallback {
        if self.takes_whole_or_one() {
            self.take_block(zone, candidate.idx, order, candidate.list);
            Fallback::Taken(candidate.idx)
        } else {
            self.move_to_list(zone, candidate.idx, mt);
            Fallback::Moved
        }
    }

    /// The two phases of 6.15+: claim whole pageblocks from large to small, else steal the smallest foreign block.
    fn claim_then_steal(
        &mut self,
        zone: ZoneId,
        order: Order,
        lowest: Order,
        mt: Migratetype,
        flags: &AllocFlags,
        mode: &mut TakeMode,
    ) -> Option<Fallback> {
        if *mode <= TakeMode::Claim {
            for size in lowest.max(self.lowest_stealable(mt)).to(Order::MAX).rev() {
                let Some(candidate) = self.candidate_at(zone, size, mt) else { continue };
                let old = self.blocks[candidate.idx.block()].migratetype;
                if old == Migratetype::HighAtomic {
                    continue;
                }
                let claimed = if size >= Order::PAGEBLOCK {
                    self.claim_whole(zone, candidate, mt);
                    true
                } else {
                    self.boost_zone(zone, flags);
                    self.claim_pageblock(zone, candidate, old, mt)
                };
                if claimed {
                    self.extfrag(zone, candidate, order, mt);
                    *mode = TakeMode::Own;
                    return Some(Fallback::Moved);
                }
            }
            *mode = TakeMode::Steal;
        }
        if flags.nofragment {
            return None;
        }
        let candidate = order.to(Order::MAX).find_map(|size| self.candidate_at(zone, size, mt))?;
        let outcome = self.steal_candidate(zone, candidate, order, mt);
        self.extfrag(zone, candidate, order, mt);
        Some(outcome)
    }

    /// Boosts the zone's watermarks after a fragmentation event.
    fn boost_zone(&mut self, zone: ZoneId, flags: &AllocFlags) {
        let policy = &self.policy.watermark;
        if self.settings.boost_factor.is_none() {
            return;
        }
        let zone = &mut self.zones[zone.index()];
        let added = zone.add_boost(self.settings.boost_factor, policy);
        match added {
            Some(0) => self.counters.boost_saturated += 1,
            Some(pages) => self.counters.boost_added += pages,
            None => {}
        }
        if flags.kswapd && (added.is_some() || policy.wake_without_boost) {
            zone.boosted = true;
        }
    }

    /// Counts and reports a fragmentation event.
    fn extfrag(&mut self, zone: ZoneId, candidate: Candidate, order: Order, mt: Migratetype) {
        let pfn = self.table.pfn(candidate.idx);
        let change_ownership = self.blocks[candidate.idx.block()].migratetype == mt;
        let event = Extfrag {
            zone,
            pfn,
            alloc_order: order,
            fallback_order: candidate.order,
            alloc_migratetype: mt,
            fallback_migratetype: candidate.list,
            change_ownership,
        };
        self.counters.extfrag.record(&event);
        self.watch.trace(|| FrameEvent::Extfrag(event));
    }
}

impl Zone {
    /// Whether more than half of the free pages lie in contiguous memory areas.
    fn is_mostly_cma(&self) -> bool {
        self.free_of_type(Migratetype::Cma) > self.free / 2
    }
}

#[cfg(test)]
mod tests;
