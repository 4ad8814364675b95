//! Inspection of every frame of a pageblock before it is claimed: no page moves in vain out of a pageblock with something
//! unmovable.

use order9_frames::{FrameState, Idx, Word, bits};

use crate::compaction::BLOCK;
use crate::compaction::run::control::CompactControl;
use crate::compaction::source::isolable::Found;
use crate::page_flags::PageFlag;
use crate::pages::UsedPages;
use crate::phys::PhysMem;

/// Set of frames of a pageblock, a bit for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FrameSet([u64; BLOCK.get() as usize / 64]);

impl FrameSet {
    fn insert(&mut self, frame: u32) {
        self.0[frame as usize / 64] |= 1 << (frame % 64);
    }

    /// Removes and returns the lowest frame.
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

/// Contents of a pageblock besides free frames.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Contents {
    /// Pages that the run may isolate.
    pub(super) pages: FrameSet,
    /// Free frames lie in per-CPU lists.
    pub(super) has_pcp: bool,
    /// A frame cannot move, or the run may not wait for it.
    pub(super) has_unmovable: bool,
}

impl UsedPages {
    /// Inspects the pageblock at `first` from end to end, or to the first unmovable frame.
    pub(super) fn inspect(&self, run: &mut CompactControl, first: Idx, phys: &mut PhysMem) -> Contents {
        let mut contents = Contents::default();
        let (mut at, mut scanned) = (0, 0);
        while at < BLOCK.get() as u32 && !contents.has_unmovable {
            let idx = first.plus(at);
            let word = phys.frames.word(idx);
            let may_isolate = self.may_isolate_frame(run, idx, word, phys);
            let frames = match word.state() {
                FrameState::Free { .. } | FrameState::Pcp { .. } => word.frames().min(BLOCK.get()),
                _ if may_isolate => word.frames(),
                _ => 1,
            };
            scanned += if phys.policy.compaction.scan_counts_jumps { frames } else { 1 };
            match word.state() {
                FrameState::Free { .. } => {}
                FrameState::Pcp { .. } => contents.has_pcp = true,
                _ if may_isolate => contents.pages.insert(at),
                _ => contents.has_unmovable = true,
            }
            at += frames as u32;
        }
        run.totals.migrate_scanned += scanned;
        phys.work.scanned_unlocked += scanned;
        contents
    }

    /// Whether the run may isolate the page at `idx` and can move it without a longer wait than its mode allows.
    pub(super) fn may_isolate_frame(&self, run: &CompactControl, idx: Idx, word: Word, phys: &PhysMem) -> bool {
        // Direct compaction never waits for a page lock.
        let busy = word.has(PageFlag::Locked) && (run.by.is_direct() || run.mode == crate::migrate::MigrateMode::Async);
        word.is_allocated()
            && !busy
            && match self.classify(run, idx, word, phys) {
                Found::Lru(word) => self.may_isolate_lru(run, idx, word, phys),
                Found::Movable => true,
                Found::Failure(_) | Found::Free(_) => false,
            }
    }
}
