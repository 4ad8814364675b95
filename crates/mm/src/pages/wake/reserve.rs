//! Wake-ups of kcompactd to fill the reserve of huge pages of a zone.

use order9_frames::{AllocFlags, Mark, Zone, ZoneId};
use order9_units::{Order, PAGEBLOCK_PAGES};

use crate::daemon_request::DaemonRequest;
use crate::phys::PhysMem;
use crate::suitable::{HUGE_LEAVES, Suitable};
use crate::thp::HugeMemory;
use crate::trace::{CompactEvent, Event};

impl HugeMemory {
    /// Wakes kcompactd if a request of `order` that was served from `zone` has left too few huge pages.
    #[inline]
    pub(crate) fn wake_to_fill_reserve(&self, zone: ZoneId, order: Order, phys: &mut PhysMem) {
        if order == Order::PAGEBLOCK && phys.policy.compaction.works_ahead {
            self.note_huge_page_taken(zone, phys);
        }
    }

    fn note_huge_page_taken(&self, zone: ZoneId, phys: &mut PhysMem) {
        phys.daemons.taken[zone.index()] += 1;
        let of = phys.frames.zone(zone);
        let left = free_huge_pages(of).min(huge_pages_above_mark(of));
        let (node, class, low) = (of.node(), of.kind(), left < phys.reserve(of).div_ceil(2));
        let has_work = || phys.may_fill_reserve(zone) || self.may_split_for_reserve(zone, phys);
        if !low || !phys.daemons.kcompactd[node.index()].asleep || !has_work() {
            return;
        }
        let order = Order::PAGEBLOCK;
        let of = &mut phys.daemons.kcompactd[node.index()];
        of.ask(DaemonRequest { order, class });
        of.asleep = false;
        phys.daemons.wakeups.kcompactd |= 1 << node.0;
        phys.trace(|| Event::Compaction(CompactEvent::WakeupKcompactd { node, order, class }));
    }

    /// Whether pages are too few to fill the reserve of the zone, and huge pages that are mapped in part hold some.
    pub(crate) fn may_split_for_reserve(&self, zone: ZoneId, phys: &PhysMem) -> bool {
        let of = phys.frames.zone(zone);
        phys.policy.compaction.works_ahead
            && huge_pages_above_mark(of) < phys.reserve(of)
            && self.has_split_that_frees(of.node(), phys)
    }
}

impl PhysMem {
    /// Whether the reserve of the zone is not full, and some pageblock is cheap enough to be emptied for it.
    pub(crate) fn may_fill_reserve(&self, zone: ZoneId) -> bool {
        let of = self.frames.zone(zone);
        let suitable =
            || self.suitable_by_index(of, of.kind(), &AllocFlags::plain(Mark::Min)) == Some(Suitable::Continue);
        let source = || self.frames.index().and_then(|index| index.cheapest(zone));
        self.policy.compaction.works_ahead
            && free_huge_pages(of) < self.reserve(of)
            && suitable()
            && source().is_some_and(|source| source.used < BACKGROUND_COST_MAX)
    }

    /// Huge pages that the zone keeps free while there is demand.
    fn reserve(&self, zone: &Zone) -> u64 {
        let least = (zone.watermarks().high - zone.watermarks().low).div_ceil(Order::PAGEBLOCK.pages().get());
        self.daemons.taken[zone.id().index()].max(least)
    }
}

/// Huge pages that are free in the zone, including those in larger blocks.
fn free_huge_pages(zone: &Zone) -> u64 {
    zone.free_in_pageblocks() / Order::PAGEBLOCK.pages().get()
}

/// Huge pages that the free pages above the mark make: blocks below the mark are of no use.
fn huge_pages_above_mark(zone: &Zone) -> u64 {
    let kept = zone.watermarks().of(HUGE_LEAVES) + zone.lowmem_reserve()[zone.kind().index()];
    zone.free().saturating_sub(kept) / Order::PAGEBLOCK.pages().get()
}

/// Pages beyond which emptying a pageblock in the background makes more work than it saves.
pub(crate) const BACKGROUND_COST_MAX: u16 = PAGEBLOCK_PAGES.get() as u16 / 2;
