//! Claiming pageblocks: whether a request takes a whole pageblock over, and the walk over its frames that tells.

use order9_units::{Migratetype, Order, PAGEBLOCK_PAGES, Pages};

use super::{Candidate, Fallback};
use crate::Frames;
use crate::frame::{Flag, FrameState, Idx};
use crate::policy::ClaimRule;
use crate::storage::Storage;
use crate::watch::Watch;
use crate::zone::ZoneId;

/// Free frames and pages that compaction may move, in one pageblock.
pub struct BlockContents {
    /// Free frames.
    pub free: u64,
    /// Frames of pages that compaction may move.
    pub movable: u64,
}

impl<W: Watch, S: Storage> Frames<W, S> {
    /// Retypes all pageblocks of a candidate that covers them whole.
    pub(super) fn claim_whole(&mut self, zone: ZoneId, candidate: Candidate, mt: Migratetype) -> Fallback {
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
    pub(super) fn claim_pageblock(
        &mut self,
        zone: ZoneId,
        candidate: Candidate,
        old: Migratetype,
        mt: Migratetype,
    ) -> bool {
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

    pub(super) fn is_claimed(&self, contents: &BlockContents, old: Migratetype, mt: Migratetype) -> bool {
        let pageblock = PAGEBLOCK_PAGES.get();
        let alike = match self.policy.fallback.claim {
            ClaimRule::FreeHalf => 0,
            ClaimRule::CompatibleHalf if mt == Migratetype::Movable => contents.movable,
            ClaimRule::CompatibleHalf if old == Migratetype::Movable => pageblock - contents.free - contents.movable,
            ClaimRule::CompatibleHalf => 0,
        };
        contents.free + alike >= pageblock / 2 || !self.mobility_grouping
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
            self.work.locked.frames_scanned += 1;
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
}
