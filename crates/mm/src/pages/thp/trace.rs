//! Trace events of collapse.

use order9_units::Pfn;

use super::NR;
use super::collapse::{Collapse, CollapseFailure};
use crate::page_cache::FileId;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::{PteFlag, PteKind, SpaceId, VpnRange};
use crate::trace::{CollapseEvent, Event};

/// Slot as its entries show it.
#[derive(Default)]
struct Seen {
    last: Option<order9_frames::Idx>,
    writable: bool,
    referenced: u32,
    none_or_zero: u32,
    unmapped: u32,
}

impl Seen {
    fn of(user: &UsedPages, id: SpaceId, slot: VpnRange) -> Self {
        let mut seen = Self::default();
        let Some(table) = user.spaces.get(id).ok().and_then(|space| space.table.table(slot.start)) else { return seen };
        for pte in slot.iter().map(|vpn| table.get(vpn)) {
            seen.last = pte.idx().or(seen.last);
            seen.writable |= pte.has(PteFlag::Write);
            seen.referenced += u32::from(pte.has(PteFlag::Young) && pte.idx().is_some());
            seen.none_or_zero += u32::from(matches!(pte.kind(), PteKind::None | PteKind::Zero));
            seen.unmapped += u32::from(pte.slot().is_some());
        }
        seen
    }
}

pub(super) fn status(failure: Option<CollapseFailure>) -> &'static str {
    failure.map_or("succeeded", CollapseFailure::name)
}

impl UsedPages {
    pub(super) fn trace_scan(
        &self,
        space: SpaceId,
        slot: VpnRange,
        failure: Option<CollapseFailure>,
        phys: &mut PhysMem,
    ) {
        let (user, (table, heard)) = (self, phys.frames.table_and_watch());
        heard.trace.event(|| {
            let Seen { last, writable, referenced, none_or_zero, unmapped } = Seen::of(user, space, slot);
            let (pfn, status) = (last.map(|idx| table.pfn(idx)), status(failure));
            Event::Collapse(CollapseEvent::ScanPmd { space, pfn, writable, referenced, none_or_zero, unmapped, status })
        });
    }

    /// Traces that a page had to be read back from swap.
    pub(super) fn trace_swapin(&self, collapse: &Collapse, phys: &mut PhysMem) {
        if collapse.swapped == 0 {
            return;
        }
        let (user, heard) = (self, phys.frames.watch_mut());
        heard.trace.event(|| {
            let Seen { referenced, unmapped, .. } = Seen::of(user, collapse.space, collapse.slot.slot());
            let swapped_in = collapse.swapped.saturating_sub(unmapped);
            Event::Collapse(CollapseEvent::Swapin { space: collapse.space, swapped_in, referenced, ret: unmapped == 0 })
        });
    }

    pub(super) fn trace_isolate(
        &self,
        collapse: &Collapse,
        pfn: Pfn,
        failure: Option<CollapseFailure>,
        phys: &mut PhysMem,
    ) {
        let (user, heard) = (self, phys.frames.watch_mut());
        heard.trace.event(|| {
            let Seen { writable, referenced, none_or_zero, .. } = Seen::of(user, collapse.space, collapse.slot.slot());
            let status = status(failure);
            Event::Collapse(CollapseEvent::Isolate { pfn, none_or_zero, referenced, writable, status })
        });
    }

    /// A range of a file was looked at, as it is traced since `MADV_COLLAPSE` knows files.
    pub(super) fn trace_file_scan(
        &self,
        space: SpaceId,
        (file, base): (FileId, u64),
        result: &'static str,
        phys: &mut PhysMem,
    ) {
        if !phys.policy.thp.madvise_collapse {
            return;
        }
        let (user, (table, heard)) = (self, phys.frames.table_and_watch());
        heard.trace.event(|| {
            let places = base..base + u64::from(NR);
            let of = user.cache.file(file).ok();
            let (mut present, mut swap, mut last) = (0, 0, None);
            for place in places {
                let page = of.and_then(|of| of.page(place));
                present += u32::from(page.is_some());
                swap += u32::from(of.is_some_and(|of| page.is_none() && of.swapped(place).is_some()));
                last = page.or(last);
            }
            let pfn = last.map(|idx| table.pfn(idx));
            Event::Collapse(CollapseEvent::ScanFile { space, pfn, file, present, swap, result })
        });
    }
}

impl PhysMem {
    /// A collapse is over, for which `page` was allocated.
    pub(super) fn trace_collapse(&mut self, collapse: &Collapse, page: Option<Pfn>, done: Result<(), CollapseFailure>) {
        let (space, result) = (collapse.space, status(done.err()));
        let traced = self.policy.thp.madvise_collapse || collapse.file.is_none();
        if traced {
            self.trace(|| {
                Event::Collapse(match collapse.file {
                    None => CollapseEvent::HugePage { space, isolated: done.is_ok(), status: result },
                    Some((file, index)) => {
                        let addr = collapse.slot.addr();
                        CollapseEvent::CollapseFile { space, pfn: page, file, index, addr, result }
                    }
                })
            });
        }
    }
}
