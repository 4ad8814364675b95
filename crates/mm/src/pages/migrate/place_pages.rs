//! Single pages go where somebody wants them: to a node, where a memory policy has them, or out of a range that is about to
//! be taken out.
//!
//! Huge pages move whole where the policy has that, else they are split first, as `FOLL_SPLIT` asks for; those of hugetlb pools
//! always move whole. move_pages(2),
//! mbind(2); Linux' Documentation/admin-guide/mm/memory-hotplug.rst.

use order9_frames::{Flag, FrameState, Idx};
use order9_units::{NodeId, Order, Pfn, PfnRange};

use crate::mempolicy::NodeChoice;
use crate::pages::UsedPages;
use crate::pages::migrate::{MigrateMode, MigrateReason};
use crate::phys::PhysMem;
use crate::space::{Errno, Owner};
use crate::trace::Event;

/// Nodes that a page may go to.
#[derive(Clone, Copy)]
pub(crate) struct Destination {
    pub(crate) choice: NodeChoice,
    /// No other node than the first will do.
    pub(crate) only: bool,
    pub(crate) reason: MigrateReason,
}

impl Destination {
    /// To `node` and no other.
    pub(crate) const fn only(node: NodeId, reason: MigrateReason) -> Self {
        Self { choice: NodeChoice::local(node), only: true, reason }
    }

    /// Place that a memory policy chooses.
    pub(crate) const fn chosen(choice: NodeChoice, reason: MigrateReason) -> Self {
        Self { choice, only: false, reason }
    }
}

/// Fate of a huge page that was to move.
pub(crate) enum HugeMove {
    /// The huge page is elsewhere, or nobody needs it any more.
    Moved,
    /// The huge page is base pages now, in its old place.
    Split,
    Failed(Errno),
}

impl PhysMem {
    /// Makes a fresh page a held frame: it counts as freed, and as one that was migrated to once it is.
    pub(crate) fn hold_fresh(&mut self, page: Pfn) -> Idx {
        let idx = self.fresh(page);
        self.frames.hold_fresh(idx);
        idx
    }

    /// Counts a huge page that moved whole, or did not. Counters of transparent huge pages are of those of 2 MiB.
    fn count_huge_migration(&mut self, order: Order, moved: bool, reason: MigrateReason) {
        let pages = order.pages().get();
        let (succeeded, failed) = if moved { (pages, 0) } else { (0, pages) };
        let is_thp = order == Order::PAGEBLOCK;
        self.counters.thp_migration_success += u64::from(is_thp && moved);
        self.counters.thp_migration_fail += u64::from(is_thp && !moved);
        self.counters.pgmigrate_success += succeeded;
        self.counters.pgmigrate_fail += failed;
        self.trace(|| Event::MigratePages { succeeded, failed, mode: MigrateMode::Sync, reason });
    }

    /// The first page from `from` on, below `end`, that can be moved.
    pub(crate) fn next_movable(&self, from: Pfn, end: Pfn) -> Option<Pfn> {
        PfnRange::new(from, end).iter().find(|&pfn| {
            let word = self.frames.live(pfn).map(|(_, word)| word);
            word.is_ok_and(|word| word.has(Flag::MovableContent) && !word.has(Flag::Isolated))
        })
    }

    /// The first page from `from` on, below `end`, that is neither free nor missing.
    pub(crate) fn next_used(&self, from: Pfn, end: Pfn) -> Option<Pfn> {
        PfnRange::new(from, end).iter().find(|&pfn| {
            !matches!(self.frames.frame(pfn), FrameState::Free { .. } | FrameState::Tail | FrameState::Hole)
        })
    }
}

impl UsedPages {
    /// The start of the huge page of a program, or the large folio of a file on disk, that the page at `pfn` is part of.
    pub(crate) fn moved_with(&self, pfn: Pfn, phys: &PhysMem) -> Option<Pfn> {
        let head = phys.page_of(phys.frames.idx(pfn)?);
        let moves = self.rmap.huge_head(head, phys).is_some() || self.is_large_folio(head, phys);
        moves.then(|| phys.frames.pfn(head))
    }

    /// Moves an isolated huge page or large folio to `target`; where there is none, or it cannot move, it is put back, and for want of a
    /// target split.
    pub(crate) fn settle_huge(
        &mut self,
        head: Pfn,
        target: Option<Pfn>,
        reason: MigrateReason,
        cpu: usize,
        phys: &mut PhysMem,
    ) -> HugeMove {
        let source = phys.frames.at(head);
        let order = phys.frames.word(source).order();
        let wanted = self.rmap.owner(source) == Owner::Huge || self.is_large_folio(source, phys);
        let done = match target {
            Some(target) if wanted => self.migrate_huge(source, target, cpu, phys).inspect_err(|_| {
                let target = phys.frames.at(target);
                phys.free_fresh(target, cpu);
            }),
            Some(target) => {
                let target = phys.frames.at(target);
                phys.free_fresh(target, cpu);
                Ok(())
            }
            None => Err(Errno::Enomem),
        };
        if wanted && done.is_ok() {
            phys.count_huge_migration(order, true, reason);
            return HugeMove::Moved;
        }
        self.putback_movable(source, cpu, phys);
        let Err(errno) = done else { return HugeMove::Moved };
        if errno == Errno::Enomem && self.split_huge_page(head, cpu, phys).is_ok() {
            phys.counters.thp_migration_split += u64::from(order == Order::PAGEBLOCK);
            return HugeMove::Split;
        }
        phys.count_huge_migration(order, false, reason);
        HugeMove::Failed(errno)
    }
}
