//! Moving one page: what stands in the way, in the order in which Linux asks.

use order9_frames::{Flag, Idx, Word};

use super::{DriverAnswer, MigrateMode};
use crate::lru_list::LruType;
use crate::migrate::DriverPages;
use crate::migrate_counts::MigrateFailure;
use crate::page_cache::{FileWrite, MigrateHandler};
use crate::page_flags::{PageFlag, PageWord};
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::Owner;

/// Rights of one attempt to move a page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt {
    pub(crate) mode: MigrateMode,
    /// Enough was tried without waiting.
    pub(crate) may_wait: bool,
    /// The task is reclaiming or compacting for a request of its own: whoever has the page may wait for that.
    pub(crate) memalloc: bool,
    pub(crate) cpu: usize,
}

/// Outcome of an attempt. Unless the page moved, the target is as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The page is in the target now, and its old frame is free.
    Moved,
    /// Nobody needs the page any more: its frame is free.
    Freed,
    /// The page is as it was, still isolated; another pass may have more luck (`EAGAIN`).
    Again(MigrateFailure),
    /// The page can be tried again once this is written, which the caller begins.
    Write(FileWrite),
    /// The page is as it was, still isolated, and would fail in every pass (`EBUSY`).
    Failed(MigrateFailure),
    /// A huge page is base pages now, all still isolated; there was no block to move it to as one.
    Split,
    /// The page is as it was, still isolated; the caller waits for its holder and tries again.
    Wait(HeldBy),
}

/// Holder of a page that migration waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeldBy {
    /// A read, which has it locked.
    Read,
    /// A write.
    Write(LruType),
}

impl HeldBy {
    pub(crate) fn has(self, word: Word) -> bool {
        match self {
            Self::Read => word.has(PageFlag::Locked),
            Self::Write(_) => word.has(PageFlag::Writeback),
        }
    }
}

impl UsedPages {
    /// Tries to move the isolated page `source` to the held frame `target`.
    pub(crate) fn migrate_page(&mut self, source: Idx, target: Idx, attempt: &Attempt, phys: &mut PhysMem) -> Outcome {
        let (word, owner) = (phys.frames.word(source), self.rmap.owner(source));
        debug_assert!(word.has(Flag::Isolated) && word.frames() == 1, "single pages migrate, once they are isolated");
        if self.free_if_only_isolated(source, attempt.cpu, phys) {
            return Outcome::Freed;
        }
        if let Some(outcome) = phys.busy(word, attempt) {
            return outcome;
        }
        if let Some(outcome) = self.drivers.refused_by_driver(source, owner, phys) {
            return outcome;
        }
        let mappings = self.mappings_of(source, phys);
        let mapped = !mappings.is_empty();
        phys.work.rmap_walks += 2 * u64::from(mapped);
        phys.work.ptes_cleared += mappings.len() as u64;
        phys.work.ptes_set += mappings.len() as u64;
        phys.work.tlb_flushes += u64::from(mapped);
        if word.has(Flag::Pinned) {
            return phys.again(MigrateFailure::Pinned);
        }
        if let Some(outcome) = self.unhandled(source, owner, attempt, phys) {
            return outcome;
        }
        self.move_page(source, target, owner, &mappings, attempt.cpu, phys);
        Outcome::Moved
    }

    /// Tries to move `source`, an isolated huge page of less than 2 MiB or a large folio of a file, to the held frames from
    /// `target` on.
    pub(crate) fn migrate_folio(&mut self, source: Idx, target: Idx, attempt: &Attempt, phys: &mut PhysMem) -> Outcome {
        let word = phys.frames.word(source);
        if let Some(outcome) = phys.busy(word, attempt) {
            return outcome;
        }
        if word.has(Flag::Pinned) {
            return phys.again(MigrateFailure::Pinned);
        }
        if let Some(outcome) = self.unhandled(source, self.rmap.owner(source), attempt, phys) {
            return outcome;
        }
        phys.frames.use_held_frames(target, word.order());
        phys.counters.held_used += word.frames();
        let page = phys.frames.pfn(target);
        self.migrate_huge(source, page, attempt.cpu, phys).expect("nobody holds it");
        Outcome::Moved
    }

    /// Frees an isolated page that nobody needs any more; says whether it was one.
    pub(crate) fn free_if_only_isolated(&mut self, idx: Idx, cpu: usize, phys: &mut PhysMem) -> bool {
        let is_free =
            self.rmap.owner(idx) == Owner::Kept && !phys.frames.word(idx).with(Flag::Isolated, false).is_held();
        if is_free {
            self.lru.end_isolation(idx, phys);
            self.disown(idx, cpu, phys);
        }
        is_free
    }

    /// Puts an isolated page back, or frees it if only the isolation still kept it.
    pub(crate) fn putback_movable(&mut self, idx: Idx, cpu: usize, phys: &mut PhysMem) {
        self.lru.putback_lru(idx, phys);
        self.free_if_kept_by(idx, cpu, phys);
    }

    /// Outcome for a page whose file has no handler to move it; `None` if it can be moved like any other.
    fn unhandled(&mut self, source: Idx, owner: Owner, attempt: &Attempt, phys: &mut PhysMem) -> Option<Outcome> {
        let Owner::File { file, index } = owner else { return None };
        let handler = self.cache.files.migrate_handler(file);
        if handler == MigrateHandler::Present {
            return None;
        }
        let sync = attempt.mode == MigrateMode::Sync;
        if phys.frames.word(source).has(PageFlag::Dirty) {
            if !sync {
                return Some(phys.failed(MigrateFailure::Dirty));
            }
            let folio = phys.folio(index, source);
            if self.cache.waits_for_write(file, &folio, phys) {
                return Some(phys.again(MigrateFailure::Writeback));
            }
            phys.counters.migrate_failures.count(MigrateFailure::Dirty);
            return Some(Outcome::Write(self.start_writeout(file, &folio, phys)));
        }
        (handler == MigrateHandler::AbsentPrivate).then(|| match phys.policy.compaction.nohandler_fail_fast && !sync {
            true => phys.failed(MigrateFailure::PrivateData),
            false => phys.again(MigrateFailure::PrivateData),
        })
    }
}

impl DriverPages {
    /// Outcome for a page that its driver does not let move now; `None` if it does.
    fn refused_by_driver(&self, source: Idx, owner: Owner, phys: &mut PhysMem) -> Option<Outcome> {
        let is_driver_page = owner == Owner::Nobody;
        match is_driver_page.then(|| self.answer(source)).flatten()? {
            DriverAnswer::Moves => None,
            DriverAnswer::Busy => Some(phys.again(MigrateFailure::DriverBusy)),
            DriverAnswer::Refuses | DriverAnswer::Keeps => Some(phys.failed(MigrateFailure::DriverRefused)),
        }
    }
}

impl PhysMem {
    fn again(&mut self, why: MigrateFailure) -> Outcome {
        self.counters.migrate_failures.count(why);
        Outcome::Again(why)
    }

    fn failed(&mut self, why: MigrateFailure) -> Outcome {
        self.counters.migrate_failures.count(why);
        Outcome::Failed(why)
    }

    /// Outcome for a page that a disk is transferring; `None` for others.
    pub(crate) fn busy(&mut self, word: Word, attempt: &Attempt) -> Option<Outcome> {
        let Attempt { mode, may_wait, memalloc, .. } = *attempt;
        if word.has(PageFlag::Locked) {
            let waits = may_wait && mode > MigrateMode::Async && !memalloc;
            return Some(if waits { Outcome::Wait(HeldBy::Read) } else { self.again(MigrateFailure::Locked) });
        }
        if word.has(PageFlag::Writeback) {
            return Some(match mode {
                MigrateMode::Sync if may_wait => Outcome::Wait(HeldBy::Write(word.lru_type())),
                MigrateMode::Sync => self.again(MigrateFailure::Writeback),
                MigrateMode::Async | MigrateMode::SyncLight => self.failed(MigrateFailure::Writeback),
            });
        }
        None
    }
}
