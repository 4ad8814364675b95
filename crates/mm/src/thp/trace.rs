//! Trace events of collapse.

use order9_units::Pfn;

use super::collapse::{Collapse, CollapseFailure};
use crate::Mm;
use crate::space::{PteFlag, PteKind, SpaceId, UserMemory, VpnRange};
use crate::trace::{CollapseEvent, Event, Tracer};

/// What a slot looks like from its entries.
#[derive(Default)]
struct Seen {
    last: Option<crate::frame::Idx>,
    writable: bool,
    referenced: u32,
    none_or_zero: u32,
    unmapped: u32,
}

impl Seen {
    fn of(user: &UserMemory, id: SpaceId, slot: VpnRange) -> Self {
        let mut seen = Self::default();
        let Some(table) = user.space(id).ok().and_then(|space| space.table.table(slot.start)) else { return seen };
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

fn status(failure: Option<CollapseFailure>) -> &'static str {
    failure.map_or("succeeded", CollapseFailure::name)
}

impl<T: Tracer> Mm<T> {
    pub(super) fn trace_scan(&mut self, space: SpaceId, slot: VpnRange, failure: Option<CollapseFailure>) {
        let (user, frames) = (&self.user, &self.frames);
        self.tracer.event(|| {
            let Seen { last, writable, referenced, none_or_zero, unmapped } = Seen::of(user, space, slot);
            let (pfn, status) = (last.map(|idx| frames.pfn(idx)), status(failure));
            Event::Collapse(CollapseEvent::ScanPmd { space, pfn, writable, referenced, none_or_zero, unmapped, status })
        });
    }

    /// Where something had to be read back from swap.
    pub(super) fn trace_swapin(&mut self, collapse: &Collapse) {
        if collapse.swapped == 0 {
            return;
        }
        let user = &self.user;
        self.tracer.event(|| {
            let Seen { referenced, unmapped, .. } = Seen::of(user, collapse.space, collapse.slot.slot());
            let swapped_in = collapse.swapped.saturating_sub(unmapped);
            Event::Collapse(CollapseEvent::Swapin { space: collapse.space, swapped_in, referenced, ret: unmapped == 0 })
        });
    }

    pub(super) fn trace_isolate(&mut self, collapse: &Collapse, pfn: Pfn, failure: Option<CollapseFailure>) {
        let user = &self.user;
        self.tracer.event(|| {
            let Seen { writable, referenced, none_or_zero, .. } = Seen::of(user, collapse.space, collapse.slot.slot());
            let status = status(failure);
            Event::Collapse(CollapseEvent::Isolate { pfn, none_or_zero, referenced, writable, status })
        });
    }

    pub(super) fn trace_collapse(&mut self, collapse: &Collapse, done: Result<(), CollapseFailure>) {
        let (space, isolated) = (collapse.space, done.is_ok());
        self.tracer.event(|| Event::Collapse(CollapseEvent::HugePage { space, isolated, status: status(done.err()) }));
    }
}
