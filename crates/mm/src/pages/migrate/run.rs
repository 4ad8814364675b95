//! Moving a list of pages, in passes.

use crate::lru_list::LruType;
use crate::migrate_counts::Waits;
use crate::pages::migrate::page::HeldBy;
use crate::pages::migrate::{MigrateMode, MigrateReason};
use crate::phys::PhysMem;
use crate::trace::Event;

/// Passes over a list at most.
pub(crate) const PASSES: u32 = 10;
/// Result of a migration, in pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Migrated {
    /// In a new frame.
    pub moved: u64,
    /// Freed, since their owner had freed them while they were isolated.
    pub freed: u64,
    /// Neither, as Linux counts: of pages that were not tried since there was no target, one.
    pub failed: u64,
    /// The migration ended for lack of a target.
    pub out_of_targets: bool,
}

impl PhysMem {
    pub(crate) fn count_migrated(&mut self, done: &Migrated, mode: MigrateMode, reason: MigrateReason) {
        let (succeeded, failed) = (done.moved + done.freed, done.failed);
        self.counters.pgmigrate_success += succeeded;
        self.counters.pgmigrate_fail += failed;
        if succeeded + failed > 0 {
            self.trace(|| Event::MigratePages { succeeded, failed, mode, reason });
        }
    }

    pub(crate) const fn migrate_waits_of(&mut self, by: HeldBy) -> &mut Waits {
        let waits = &mut self.counters.migrate_waits;
        match by {
            HeldBy::Read => &mut waits.read,
            HeldBy::Write(LruType::File) => &mut waits.file_write,
            HeldBy::Write(LruType::Anon) => &mut waits.swap_write,
        }
    }
}
