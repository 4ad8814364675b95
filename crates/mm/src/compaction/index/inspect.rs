//! A look at every frame of a pageblock before anything in it is moved: nothing is moved in vain out of a pageblock that
//! something else has_unmovable.

use order9_frames::{FrameState, Idx, Word, bits};
use order9_units::Order;

use crate::compaction::BLOCK;
use crate::compaction::run::control::CompactControl;
use crate::compaction::source::block_scan::Found;
use crate::page_flags::PageFlag;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::trace::Tracer;

/// Frames of a pageblock, a bit for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FrameSet([u64; BLOCK.get() as usize / 64]);

impl FrameSet {
    fn insert(&mut self, frame: u32) {
        self.0[frame as usize / 64] |= 1 << (frame % 64);
    }

    /// Takes the lowest one out.
    pub(in crate::compaction) fn pop(&mut self) -> Option<u32> {
        let (at, word) = self.0.iter_mut().enumerate().find(|(_, word)| **word != 0)?;
        let lowest = bits(*word).next()?;
        *word &= *word - 1;
        Some(64 * at as u32 + lowest)
    }

    pub(in crate::compaction) fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }
}

/// What a pageblock holds beside free frames.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Contents {
    /// FrameSet that the run may take.
    pub(super) pages: FrameSet,
    /// Free frames in per-CPU lists.
    pub(super) has_pcp: bool,
    /// Something that stays, or that the run may not wait for.
    pub(super) has_unmovable: bool,
}

impl UsedPages {
    /// Looks at the pageblock at `first` from end to end.
    pub(super) fn inspect(&self, run: &mut CompactControl, first: Idx, phys: &mut PhysMem<impl Tracer>) -> Contents {
        let mut contents = Contents::default();
        let (mut at, mut scanned) = (0, 0);
        while at < BLOCK.get() as u32 && !contents.has_unmovable {
            let idx = first.plus(at);
            let word = phys.frames.word(idx);
            let frames = match word.state() {
                FrameState::Free { .. } | FrameState::Pcp { .. } => word.frames().min(BLOCK.get()),
                _ => 1,
            };
            scanned += if phys.policy.compaction.scan_counts_jumps { frames } else { 1 };
            match word.state() {
                FrameState::Free { .. } => {}
                FrameState::Pcp { .. } => contents.has_pcp = true,
                _ if self.may_isolate_frame(run, idx, word, phys) => contents.pages.insert(at),
                _ => contents.has_unmovable = true,
            }
            at += frames as u32;
        }
        run.totals.migrate_scanned += scanned;
        phys.work.scanned_unlocked += scanned;
        contents
    }

    /// Whether the run may isolate the page at `idx`, and has a chance to move it without waiting longer than it may.
    pub(super) fn may_isolate_frame(
        &self,
        run: &CompactControl,
        idx: Idx,
        word: Word,
        phys: &PhysMem<impl Tracer>,
    ) -> bool {
        // Who compacts for itself never waits for a lock.
        let busy = word.has(PageFlag::Locked) && (run.by.is_direct() || run.mode == crate::migrate::MigrateMode::Async);
        let single = word.is_allocated() && word.order() == Order::ZERO;
        single
            && !busy
            && match self.classify(run, idx, word) {
                Found::Lru(word) => self.may_isolate_lru(run, idx, word, phys),
                Found::Movable => true,
                Found::Failure(_) | Found::Free(_) => false,
            }
    }
}
