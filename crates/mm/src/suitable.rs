//! Whether compaction can start in a zone: it needs free frames to move pages to, and fragmentation has to be what is
//! wrong.
//!
//! Source of the rules: the kernel's documentation of `vm.extfrag_threshold` and of compaction.

use order9_frames::{AllocFlags, Mark, Zone, ZoneId};
use order9_units::metrics::fragmentation_index;
use order9_units::{Order, ZoneKind};

use crate::phys::PhysMem;

/// Whether compaction can start in a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suitable {
    /// There is no need: a block is free.
    Success,
    /// Compaction can start.
    Continue,
    /// There are too few free frames.
    Skipped,
    /// There are, but lack of memory is the trouble and not fragmentation.
    NotSuitableZone,
}

/// Mark that a huge page leaves free. Any request of the slow path leaves this much, so that work ahead goes as far as requests
/// do.
pub(crate) const HUGE_LEAVES: Mark = Mark::Min;

/// Free pages that a huge page asks for, beside the lowmem reserve.
const fn huge_mark(zone: &Zone) -> u64 {
    zone.watermarks().of(HUGE_LEAVES) + Order::PAGEBLOCK.pages().get() - 1
}

impl PhysMem {
    /// Whether compaction for a block of `order` can start in `zone`, for requests up to `class`, with rights and mark as in
    /// `flags`.
    #[must_use]
    pub fn compaction_suitable(&self, zone: ZoneId, order: Order, class: ZoneKind, flags: &AllocFlags) -> Suitable {
        let zone = self.frames.zone(zone);
        match zone.watermark_ok(order, class, flags, &self.policy.frames) {
            true => Suitable::Success,
            false => self.room_to_compact(zone, order, class, flags),
        }
    }

    /// Whether a zone suits a run of kcompactd, which under `vm.defrag_mode` makes pageblocks until the high mark is free in
    /// them.
    pub(crate) fn suitable_for_kcompactd(&self, zone: &Zone, order: Order, class: ZoneKind) -> Suitable {
        match () {
            () if !self.frames.settings().defrag_mode => self.suitable_for_any(zone, order, class),
            () if self.is_high_in_blocks(zone, order, class) => Suitable::Success,
            () => self.room_to_compact(zone, order, class, &AllocFlags::plain(Mark::Min)),
        }
    }

    /// Whether the high mark, boost included, is free in whole pageblocks, and a block of `order` among them.
    pub(crate) fn is_high_in_blocks(&self, zone: &Zone, order: Order, class: ZoneKind) -> bool {
        let flags = AllocFlags::plain(Mark::High);
        zone.would_pass(zone.free_in_pageblocks(), order, zone.mark(Mark::High), class, &flags, &self.policy.frames)
    }

    /// Whether compaction can start where no block is free. By the index it can if pages are enough for a huge page.
    fn room_to_compact(&self, zone: &Zone, order: Order, class: ZoneKind, flags: &AllocFlags) -> Suitable {
        if order == Order::PAGEBLOCK
            && let Some(suitable) = self.suitable_by_index(zone, class, flags)
        {
            return suitable;
        }
        let with_cma = AllocFlags { cma: true, ..*flags };
        let mark = zone.mark(if order.is_costly() { Mark::Low } else { Mark::Min });
        if !zone.watermark_ok_at(
            Order::ZERO,
            mark + self.policy.compaction.gap.of(order),
            class,
            &with_cma,
            &self.policy.frames,
        ) {
            return Suitable::Skipped;
        }
        let index = fragmentation_index(&zone.areas().map(|area| area.total()), order);
        if order.is_costly() && (0..=self.settings.extfrag_threshold.cast_signed()).contains(&index) {
            return Suitable::NotSuitableZone;
        }
        Suitable::Continue
    }

    /// Answer of the index: whether some pageblock can be emptied, and whether pages are enough for a huge page.
    pub(crate) fn suitable_by_index(&self, zone: &Zone, class: ZoneKind, flags: &AllocFlags) -> Option<Suitable> {
        let index = self.frames.index().filter(|_| self.policy.compaction.uses_index())?;
        let mark = huge_mark(zone);
        Some(match () {
            () if index.is_hopeless(zone.id()) || zone.managed() <= mark + zone.lowmem_reserve()[class.index()] => {
                Suitable::NotSuitableZone
            }
            () if !zone.watermark_ok_at(Order::ZERO, mark, class, flags, &self.policy.frames) => Suitable::Skipped,
            () if index.cheapest(zone.id()).is_none() => Suitable::Skipped,
            () => Suitable::Continue,
        })
    }

    /// Whether `reclaimable` pages, once freed, make the difference for a huge page in `zone`. Where no index knows, they may.
    pub(crate) fn reclaim_makes_suitable(
        &self,
        zone: ZoneId,
        reclaimable: u64,
        class: ZoneKind,
        flags: &AllocFlags,
    ) -> bool {
        let zone = self.frames.zone(zone);
        let free = zone.free() + reclaimable;
        match self.suitable_by_index(zone, class, flags) {
            Some(Suitable::Skipped) => {
                zone.would_pass(free, Order::ZERO, huge_mark(zone), class, flags, &self.policy.frames)
            }
            Some(_) => false,
            None => true,
        }
    }

    /// Whether reclaim for a block of `order` has done its part in `zone`: compaction can start, or would fail however many
    /// pages were free.
    #[must_use]
    pub(crate) fn reclaim_is_done(&self, zone: &Zone, order: Order, class: ZoneKind) -> bool {
        match self.suitable_for_any(zone, order, class) {
            Suitable::Success | Suitable::Continue => true,
            Suitable::NotSuitableZone => order == Order::PAGEBLOCK && self.policy.compaction.uses_index(),
            Suitable::Skipped => false,
        }
    }

    /// Whether compaction can start in some of the zones, or reclaim helps it in none.
    pub(crate) fn compaction_can_start<'a>(
        &self,
        zones: impl Iterator<Item = &'a Zone> + Clone,
        order: Order,
        class: ZoneKind,
    ) -> bool {
        let ready = |suitable| matches!(suitable, Suitable::Success | Suitable::Continue);
        zones.clone().any(|zone| ready(self.suitable_for_any(zone, order, class)))
            || zones.into_iter().all(|zone| self.reclaim_is_done(zone, order, class))
    }

    /// Whether a zone suits a caller without rights of a request, as reclaim and daemons ask.
    #[must_use]
    pub(crate) fn suitable_for_any(&self, zone: &Zone, order: Order, class: ZoneKind) -> Suitable {
        let flags = AllocFlags::plain(Mark::Min);
        match zone.watermark_ok(order, class, &flags, &self.policy.frames) {
            true => Suitable::Success,
            false => self.room_to_compact(zone, order, class, &flags),
        }
    }
}
