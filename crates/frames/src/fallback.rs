//! Fallback: what a request does when its own type has nothing left - claim whole pageblocks or steal from them.
//!
//! Every block taken from another type is a fragmentation event: it decides how mixed pageblocks become, and from 5.0 on
//! it boosts the zone's watermarks. Behaviour by release: [`crate::policy::FallbackPolicy`].

use order9_units::{Migratetype, Order, PAGEBLOCK_PAGES, Pages};

use crate::Frames;
use crate::counters::Extfrag;
use crate::frame::{Flag, FrameState, Idx};
use crate::gfp::AllocFlags;
use crate::policy::{ClaimRule, FallbackSearch};
use crate::storage::Storage;
use crate::watch::{FrameEvent, Watch};
use crate::zone::{Zone, ZoneId};

/// A free block of another type.
#[derive(Clone, Copy)]
struct Candidate {
    idx: Idx,
    order: Order,
    list: Migratetype,
}

/// What a fallback came to.
enum Fallback {
    /// Blocks now lie on the request's own lists.
    Moved,
    /// The block itself, on no list.
    Taken(Idx),
}

/// Half the order of a pageblock, rounded down.
const HALF_PAGEBLOCK: Order = Order::new(Order::PAGEBLOCK.get() / 2).unwrap();

/// Where a bulk refill has got to: a phase that failed once is not tried again under the same zone lock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TakeMode {
    Own,
    Claim,
    Steal,
}

/// Free frames and pages that compaction may move, in one pageblock.
pub struct BlockContents {
    /// Free frames.
    pub free: u64,
    /// Frames of pages that compaction may move.
    pub movable: u64,
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
    pub(crate) fn take_from_zone(
        &mut self,
        zone: ZoneId,
        order: Order,
        mt: Migratetype,
        flags: &AllocFlags,
        mode: &mut TakeMode,
    ) -> Option<Idx> {
        let cma = mt == Migratetype::Movable && flags.cma;
        if cma
            && self.policy.cma_balance
            && self.zones[zone.index()].is_mostly_cma()
            && let Some(idx) = self.take_smallest(zone, order, Migratetype::Cma)
        {
            return Some(idx);
        }
        if self.policy.alloc.pack_movable
            && mt == Migratetype::Movable
            && order < Order::PAGEBLOCK
            && let Some(idx) = self.take_packed(zone, order)
        {
            return Some(idx);
        }
        loop {
            if let Some(idx) = self.take_smallest(zone, order, mt) {
                return Some(idx);
            }
            if cma && let Some(idx) = self.take_smallest(zone, order, Migratetype::Cma) {
                return Some(idx);
            }
            match self.fall_back(zone, order, mt, flags, mode)? {
                Fallback::Moved => {}
                Fallback::Taken(idx) => return Some(idx),
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

    /// What cannot move goes where something of its kind is already, so that no other pageblock is spoilt. A pageblock that is
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
            self.work.fallback_lists_searched += 1;
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

    /// Retypes all pageblocks of a candidate that covers them whole.
    fn claim_whole(&mut self, zone: ZoneId, candidate: Candidate, mt: Migratetype) -> Fallback {
        let first = candidate.idx.block();
        let count = 1 << (candidate.order.get() - Order::PAGEBLOCK.get());
        for block in first..first + count {
            self.retype_block(block, mt);
        }
        self.move_to_list(zone, candidate.idx, mt);
        Fallback::Moved
    }

    /// Takes over the candidate's pageblock if enough of it is free or compatible. Says whether blocks now lie on the
    /// lists of `mt`: before the freelist hygiene they do even where the pageblock keeps its type.
    fn claim_pageblock(&mut self, zone: ZoneId, candidate: Candidate, old: Migratetype, mt: Migratetype) -> bool {
        let Some((first, end)) = self.clip_to_zone(zone, candidate.idx) else { return false };
        let claimed = if self.takes_whole_or_one() {
            let contents = self.walk_block(zone, first, end, None);
            if !self.is_claimed(&contents, old, mt) {
                return false;
            }
            self.walk_block(zone, first, end, Some(mt));
            true
        } else {
            let contents = self.walk_block(zone, first, end, Some(mt));
            self.is_claimed(&contents, old, mt)
        };
        if claimed {
            self.retype_block(candidate.idx.block(), mt);
        }
        true
    }

    fn is_claimed(&self, contents: &BlockContents, old: Migratetype, mt: Migratetype) -> bool {
        let pageblock = PAGEBLOCK_PAGES.get();
        let alike = match self.policy.fallback.claim {
            ClaimRule::FreeHalf => 0,
            ClaimRule::CompatibleHalf if mt == Migratetype::Movable => contents.movable,
            ClaimRule::CompatibleHalf if old == Migratetype::Movable => pageblock - contents.free - contents.movable,
            ClaimRule::CompatibleHalf => 0,
        };
        contents.free + alike >= pageblock / 2 || !self.mobility_grouping
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

    /// Counts free frames and movable content between two frames of one pageblock, frame by frame, and moves the free
    /// blocks to the lists of `to` on the way.
    pub fn walk_block(&mut self, zone: ZoneId, first: Idx, end: Idx, to: Option<Migratetype>) -> BlockContents {
        let mut contents = BlockContents { free: 0, movable: 0 };
        let mut at = first;
        while at < end {
            let word = self.table.word(at);
            let frames = match word.state() {
                FrameState::Free { order, .. }
                | FrameState::Allocated { order }
                | FrameState::Pcp { order, .. }
                | FrameState::Held { order } => order.pages().get().min(u64::from(end.0 - at.0)),
                FrameState::Tail | FrameState::Hole | FrameState::Reserved => 1,
            };
            if word.is_free() {
                contents.free += frames;
                if let Some(mt) = to {
                    self.move_to_list(zone, at, mt);
                }
            } else if word.is_allocated() && word.has(Flag::MovableContent) && !word.has(Flag::Isolated) {
                contents.movable += frames;
            }
            self.work.frames_scanned += 1;
            at = at.plus(frames as u32);
        }
        contents
    }

    /// The part of the pageblock around `idx` that a walk covers: from the frame in hand where the block starts outside the
    /// zone; nothing where it ends outside.
    #[must_use]
    pub fn clip_to_zone(&self, zone: ZoneId, idx: Idx) -> Option<(Idx, Idx)> {
        let span = self.zones[zone.index()].span;
        let start = self.table.pfn(idx).align_down(Order::PAGEBLOCK);
        let end = start + PAGEBLOCK_PAGES;
        if end > span.end {
            return None;
        }
        if start < span.start {
            // Lists that agree with pageblocks leave no room for moving a part.
            return (!self.policy.fallback.freelist_hygiene).then(|| (idx, self.end_of_block(idx)));
        }
        Some((self.at(start), self.end_of_block(idx)))
    }

    /// The frames of the pageblock around `idx`, if all of them lie in the zone.
    #[must_use]
    pub fn whole_block(&self, zone: ZoneId, idx: Idx) -> Option<(Idx, Idx)> {
        let span = self.zones[zone.index()].span;
        let start = self.table.pfn(idx).align_down(Order::PAGEBLOCK);
        let whole = span.start <= start && start + PAGEBLOCK_PAGES <= span.end;
        whole.then(|| (self.at(start), self.end_of_block(idx)))
    }

    fn end_of_block(&self, idx: Idx) -> Idx {
        let last = self.table.pfn(idx).align_down(Order::PAGEBLOCK) + PAGEBLOCK_PAGES - Pages::new(1);
        self.at(last).plus(1)
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
