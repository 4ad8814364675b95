//! Frames that the migration scanner may isolate: pages on LRU lists, and pages of drivers that move their own.

use order9_frames::{Flag, Gfp, Idx, Word};
use order9_units::Order;

use crate::compaction::run::control::CompactControl;
use crate::migrate_reason::MigrateMode;
use crate::page_cache::MigrateHandler;
use crate::page_flags::{PageFlag, PageWord};
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::Owner;

/// Kind of a frame, as the scan sees it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// A sequence of so many frames that cannot move.
    Failure(u64),
    /// A free block of so many frames.
    Free(u64),
    /// A page of a driver that moves its own pages.
    Movable,
    /// A page, or a huge page as one, that may be isolated under the lock of its LRU list.
    Lru(Word),
}

impl UsedPages {
    /// Kind of the frame at `idx`, whose state is `word`.
    pub(in crate::compaction) fn classify(&self, run: &CompactControl, idx: Idx, word: Word, phys: &PhysMem) -> Found {
        if word.is_free() {
            return Found::Free(word.frames());
        }
        if !word.is_allocated() {
            return Found::Failure(1);
        }
        if word.order() > Order::ZERO && !self.moves_whole(run, idx, word, phys) {
            return Found::Failure(word.frames());
        }
        if !word.has(PageFlag::Lru) {
            let drivers = word.has(Flag::MovableContent) && !word.is_held() && !word.has(Flag::Owned);
            return if drivers { Found::Movable } else { Found::Failure(1) };
        }
        let asks_owner = word.has(Flag::Pinned) || !run.gfp.has(Gfp::FS);
        if asks_owner {
            let unmapped = matches!(self.rmap.owner(idx), Owner::Anon(_) | Owner::Shared { .. } | Owner::Huge);
            let has_mapping = !unmapped || word.has(PageFlag::SwapCache);
            if word.has(Flag::Pinned) && !has_mapping || !run.gfp.has(Gfp::FS) && has_mapping {
                return Found::Failure(word.frames());
            }
        }
        Found::Lru(word)
    }

    /// Whether a block of several frames is a huge page or a large folio of a file that the run may move as one. Such a page is
    /// smaller than the block that the run makes.
    fn moves_whole(&self, run: &CompactControl, idx: Idx, word: Word, phys: &PhysMem) -> bool {
        let is_smaller = word.order() < run.order.unwrap_or(Order::PAGEBLOCK).min(Order::PAGEBLOCK);
        let moves = |owner| matches!(owner, Owner::Huge | Owner::File { .. });
        phys.policy.compaction.migrate_large_folios && is_smaller && moves(self.rmap.owner(idx))
    }

    /// Whether the run's mode and the settings let it isolate a page of an LRU list.
    pub(in crate::compaction) fn may_isolate_lru(
        &self,
        run: &CompactControl,
        idx: Idx,
        word: Word,
        phys: &PhysMem,
    ) -> bool {
        if word.has(PageFlag::Unevictable) && !phys.settings.compact_unevictable_allowed {
            return false;
        }
        if run.mode == MigrateMode::Sync {
            return true;
        }
        !word.has(PageFlag::Writeback)
            && (!word.has(PageFlag::Dirty) || !word.has(PageFlag::Locked) && self.moves_dirty(idx))
    }

    /// Whether a dirty page can be moved without writing it first.
    fn moves_dirty(&self, idx: Idx) -> bool {
        match self.rmap.owner(idx) {
            Owner::File { file, .. } => self.cache.files.migrate_handler(file) == MigrateHandler::Present,
            _ => true,
        }
    }
}
