//! khugepaged: which address spaces it visits, how far it is, and what it does next.
//!
//! Key types: [`Khugepaged`] (its list and cursor), [`KhugepagedSettings`], [`KhugepagedStep`] (one bounded step of a scan),
//! [`KhugepagedPause`]. A space is registered once, by its first fault that may have a huge page or by `MADV_HUGEPAGE`, and
//! visited in that order. A pass looks at `pages_to_scan` pages and then sleeps. Its task ([`crate::tasks::khugepaged`])
//! takes the locks, allocates and sleeps; the slots that are found here are collapsed by the steps of [`super::collapse`], as
//! [`super::rules`] allow.
//! Linux' Documentation/admin-guide/mm/transhuge.rst.

use alloc::vec::Vec;

use order9_units::{Nanos, NodeId};

use super::NR;
use super::collapse::{Collapse, CollapseFailure, whole_slots};
use super::rules::Collapser;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::{Space, SpaceId, TASK_END, Vma, Vpn, VpnRange};
use crate::thp::HugeMemory;

/// Whom khugepaged visits, and how far it is.
#[derive(Clone, Default)]
pub(crate) struct Khugepaged {
    /// Registered spaces, the first registered first.
    spaces: Vec<SpaceId>,
    /// The space that is visited, and the next page to look at there. Outlives passes, and the end of huge pages.
    cursor: Option<(SpaceId, Vpn)>,
    /// The node of the last huge page it asked for: of equals, it takes the next one.
    pub(super) last_node: Option<NodeId>,
    /// `full_scans`.
    full_scans: u32,
    /// `pages_collapsed`.
    pages_collapsed: u32,
    pass: Pass,
}

/// One pass.
#[derive(Clone, Copy, Default)]
struct Pass {
    /// Cost of the pass, in base pages.
    progress: u64,
    /// Number of times that the pass came to the beginning of the list.
    heads: u32,
    /// The pass has come to a space and looked at nothing there yet.
    begins_visit: bool,
    /// There was no huge page once.
    refused: bool,
    over: bool,
}

/// Result of a look at the next part of a space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KhugepagedStep {
    /// Nothing to be done there; go on.
    Scanned,
    /// A slot to be collapsed, without the lock of the space. Report to [`Mm::khugepaged_done`](crate::Mm::khugepaged_done).
    Found(Collapse),
    /// The space is through, its lock was given back to look at a file, or the pass is over.
    Leave,
}

/// Sleep of khugepaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KhugepagedPause {
    /// Not at all.
    None,
    /// Sleep of this length, or until khugepaged is woken.
    For(Nanos),
    /// Until it is woken: huge pages are off, or there is nobody to visit.
    UntilWoken,
}

impl Khugepaged {
    pub(crate) fn is_registered(&self, space: SpaceId) -> bool {
        self.spaces.contains(&space)
    }

    /// Goes on with the space after the one that is visited.
    fn next_space(&mut self) {
        let Some((space, _)) = self.cursor else { return };
        let at = self.spaces.iter().position(|&other| other == space).expect("a visited space is registered");
        self.cursor = self.spaces.get(at + 1).map(|&next| (next, Vpn::new(0)));
        self.full_scans = self.full_scans.wrapping_add(u32::from(self.cursor.is_none()));
    }

    /// Forgets a space that has ended.
    pub(crate) fn forget(&mut self, space: SpaceId) {
        if self.cursor.is_some_and(|(visited, _)| visited == space) {
            self.next_space();
        }
        self.spaces.retain(|&other| other != space);
    }
}

impl HugeMemory {
    /// Registers a space of which a mapping may have huge pages. khugepaged is woken for the first one.
    pub(crate) fn khugepaged_register(&mut self, space: SpaceId, phys: &mut PhysMem) {
        let khugepaged = &mut self.khugepaged;
        if !khugepaged.is_registered(space) {
            phys.daemons.wakeups.khugepaged |= khugepaged.spaces.is_empty();
            khugepaged.spaces.push(space);
        }
    }

    /// Huge pages khugepaged has made: `pages_collapsed`.
    #[must_use]
    pub fn khugepaged_pages_collapsed(&self) -> u32 {
        self.khugepaged.pages_collapsed
    }

    /// Number of times that khugepaged has been through all spaces: `full_scans`.
    #[must_use]
    pub fn khugepaged_full_scans(&self) -> u32 {
        self.khugepaged.full_scans
    }

    /// Begins a pass.
    pub fn khugepaged_begin_pass(&mut self) {
        self.khugepaged.pass = Pass::default();
    }

    /// The space to visit next, of which its lock is to be tried: where it is busy, [`Mm::khugepaged_pass_by`]. `None` ends
    /// the pass: it has looked at enough, been through all spaces, or huge pages are off.
    pub(crate) fn khugepaged_next(&mut self, phys: &mut PhysMem) -> Option<SpaceId> {
        if self.khugepaged_is_over(phys) {
            return None;
        }
        let khugepaged = &mut self.khugepaged;
        if khugepaged.cursor.is_none() {
            khugepaged.pass.heads += 1;
            if khugepaged.pass.heads > 1 {
                return None;
            }
            khugepaged.cursor = khugepaged.spaces.first().map(|&space| (space, Vpn::new(0)));
        }
        khugepaged.pass.begins_visit = true;
        let (space, _) = khugepaged.cursor?;
        phys.work.vma_lookups += 1;
        Some(space)
    }

    /// Leaves the space that is visited for the next one.
    pub fn khugepaged_pass_by(&mut self) {
        self.khugepaged.next_space();
    }

    /// Takes note of what became of a slot that was to be collapsed. A pause is to be slept before the pass goes on: the
    /// first time that there is no huge page. The second time ends the pass.
    pub(crate) fn khugepaged_done(&mut self, end: Result<(), CollapseFailure>, phys: &PhysMem) -> KhugepagedPause {
        let has_budget = !self.khugepaged_is_over(phys);
        let khugepaged = &mut self.khugepaged;
        khugepaged.pages_collapsed = khugepaged.pages_collapsed.wrapping_add(u32::from(end.is_ok()));
        if end != Err(CollapseFailure::AllocHugePage) || !has_budget {
            return KhugepagedPause::None;
        }
        if core::mem::replace(&mut khugepaged.pass.refused, true) {
            khugepaged.pass.over = true;
            return KhugepagedPause::None;
        }
        pause(phys.settings.thp.khugepaged.alloc_sleep_ms)
    }

    /// Sleep after a pass.
    #[must_use]
    pub fn khugepaged_pause(&self, phys: &PhysMem) -> KhugepagedPause {
        if phys.settings.thp.is_off() || self.khugepaged.spaces.is_empty() {
            return KhugepagedPause::UntilWoken;
        }
        pause(phys.settings.thp.khugepaged.scan_sleep_ms)
    }

    fn khugepaged_is_over(&self, phys: &PhysMem) -> bool {
        let pass = &self.khugepaged.pass;
        phys.settings.thp.is_off() || pass.over || pass.progress >= phys.settings.thp.khugepaged.pages_to_scan
    }
}

impl UsedPages {
    /// Registers a space, if the mapping at `vpn` has a slot that may be huge, or one of tmpfs whose file may later have huge
    /// pages.
    pub(crate) fn khugepaged_register_at(&mut self, id: SpaceId, vpn: Vpn, phys: &mut PhysMem) {
        let vma = self.spaces.get(id).ok().and_then(|space| Some(space.seen_by_thp(space.vmas.find(vpn)?)));
        let may = |vma: &Vma| {
            phys.is_thp_eligible(vma) || phys.is_enabled_for(vma) && self.cache.is_congruent_shmem(vma, phys)
        };
        if vma.is_some_and(|vma| may(&vma) && whole_slots(vma.range).next().is_some()) {
            self.huge.khugepaged_register(id, phys);
        }
    }

    /// Looks at the next slot of the space that is visited, under its lock.
    pub(crate) fn khugepaged_scan(&mut self, phys: &mut PhysMem) -> KhugepagedStep {
        let Some((id, from)) = self.huge.khugepaged.cursor.filter(|_| !self.huge.khugepaged_is_over(phys)) else {
            return KhugepagedStep::Leave;
        };
        phys.work.vma_lookups += 1;
        let rest = VpnRange::new(from, TASK_END);
        let next = |space: &Space| Some(space.seen_by_thp(space.vmas.first_within(rest)?));
        let Some(vma) = self.spaces.get(id).ok().and_then(next) else {
            self.huge.khugepaged.next_space();
            return KhugepagedStep::Leave;
        };
        let slot = if self.cache.may_have_huge_pages(&vma, phys) {
            whole_slots(vma.range.intersect(rest)).next()
        } else {
            None
        };
        let khugepaged = &mut self.huge.khugepaged;
        khugepaged.pass.progress += u64::from(core::mem::take(&mut khugepaged.pass.begins_visit));
        let Some(slot) = slot else {
            khugepaged.pass.progress += u64::from(from <= vma.range.start);
            khugepaged.cursor = Some((id, vma.range.end));
            return KhugepagedStep::Scanned;
        };
        khugepaged.pass.progress += u64::from(NR);
        khugepaged.cursor = Some((id, slot.slot().end));
        match self.collapse_scan_by(id, slot, Collapser::Khugepaged, phys) {
            Ok(Some(collapse)) => KhugepagedStep::Found(collapse),
            // The lock is given back to look at a file.
            Ok(None) | Err(_) if vma.kind.file().is_some() => KhugepagedStep::Leave,
            Ok(None) | Err(_) => KhugepagedStep::Scanned,
        }
    }
}

impl PhysMem {
    /// Pause between two passes over spaces: `scan_sleep_millisecs`.
    #[must_use]
    pub const fn khugepaged_scan_sleep(&self) -> Nanos {
        Nanos::new(self.settings.thp.khugepaged.scan_sleep_ms * 1_000_000)
    }
}

const fn pause(ms: u64) -> KhugepagedPause {
    if ms == 0 { KhugepagedPause::None } else { KhugepagedPause::For(Nanos::new(ms * 1_000_000)) }
}
