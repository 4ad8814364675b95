//! Limits of dirty memory: those at which writeback begins and at which writers wait, and how long.
//!
//! Key types: [`DirtyLimits`], [`PosRatio`] (how much slower than the disk a writer may be). Sources: Linux'
//! Documentation/admin-guide/sysctl/vm.rst; "IO-less dirty throttling" (LKML, 2011).

use order9_frames::Zone;
use order9_units::{Nanos, NodeId, NodeMask, PAGE_SIZE, Pages};

use crate::lru::LruState;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::settings::dirty::DirtySettings;

const NANOS_PER_CENTISEC: u64 = 10_000_000;

/// Largest numbers of dirty pages, those being written included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirtyLimits {
    /// `nr_dirty_threshold`: writers do not get beyond it.
    pub thresh: Pages,
    /// `nr_dirty_background_threshold`: beyond it the flusher writes back whatever its age.
    pub background: Pages,
}

impl DirtyLimits {
    /// The limits among `dirtyable` pages.
    fn new(dirtyable: u64, settings: &DirtySettings) -> Self {
        let limit = |bytes: u64, ratio: u64| match bytes {
            0 => ratio * PAGE_SIZE.get() / 100 * dirtyable / PAGE_SIZE.get(),
            bytes => bytes.div_ceil(PAGE_SIZE.get()),
        };
        let thresh = limit(settings.bytes, settings.ratio);
        let background = limit(settings.background_bytes, settings.background_ratio);
        let background = if background >= thresh { thresh / 2 } else { background };
        Self { thresh: Pages::new(thresh), background: Pages::new(background) }
    }

    /// Dirty pages up to which writers never wait.
    #[must_use]
    pub const fn free_run(&self) -> Pages {
        Pages::new((self.thresh.get() + self.background.get()) / 2)
    }

    /// Speed of writers with `dirty` pages dirty or being written; `None` where they need not wait.
    #[must_use]
    pub const fn pos_ratio(&self, dirty: Pages) -> Option<PosRatio> {
        let free_run = self.free_run();
        if dirty.get() <= free_run.get() { None } else { Some(PosRatio::new(dirty, free_run, self.thresh)) }
    }
}

/// The rate at which writers may make pages dirty, as a share of the rate at which the disk writes, in 1/1024: from 0, at the
/// limit, over 1024, halfway between free run and limit, to 2048.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PosRatio(pub u64);

impl PosRatio {
    /// 1 in this unit.
    const ONE: i128 = 1024;

    /// 1 + x³ with x = (setpoint − dirty) / (limit − setpoint), from 0 to 2.
    const fn new(dirty: Pages, free_run: Pages, limit: Pages) -> Self {
        let setpoint = (free_run.get() as i128 + limit.get() as i128) / 2;
        let room = limit.get() as i128 - setpoint;
        let x = (setpoint - dirty.get() as i128) * Self::ONE / if room > 0 { room } else { 1 };
        let x = if x < -Self::ONE { -Self::ONE } else { x };
        let ratio = Self::ONE + x * x * x / (Self::ONE * Self::ONE);
        Self(if ratio > 2 * Self::ONE { 2 * Self::ONE } else { ratio } as u64)
    }
}

impl LruState {
    /// Limits of dirty memory of the machine: shares of the memory that could be dirty, or what was set.
    #[must_use]
    pub(crate) fn dirty_limits(&self, phys: &PhysMem) -> DirtyLimits {
        DirtyLimits::new(self.dirtyable(None, phys) + 1, &phys.settings.dirty)
    }

    /// Dirty pages, those being written included, that `__GFP_WRITE` requests may give a node.
    #[must_use]
    pub fn node_dirty_limit(&self, node: NodeId, phys: &PhysMem) -> Pages {
        let DirtySettings { ratio, bytes, .. } = phys.settings.dirty;
        let dirtyable = self.dirtyable(Some(node), phys);
        Pages::new(match bytes {
            0 => ratio * dirtyable / 100,
            bytes => bytes.div_ceil(PAGE_SIZE.get()) * dirtyable / (self.dirtyable(None, phys) + 1),
        })
    }

    /// Pages that could be dirty: free ones that programs can count on, and those of files.
    fn dirtyable(&self, node: Option<NodeId>, phys: &PhysMem) -> u64 {
        let zones = || phys.frames.zones().iter().filter(|zone| node.is_none_or(|node| zone.node() == node));
        let sum = |of: fn(&Zone) -> u64| zones().map(of).sum::<u64>();
        let free = sum(|zone| zone.free()).saturating_sub(sum(Zone::reserved_from_programs));
        let of_files = |zone: &Zone| self.zone_lru(zone.id()).file_pages();
        free + zones().map(of_files).sum::<u64>()
    }
}

impl UsedPages {
    /// Whether a node has no more dirty pages than its share.
    #[must_use]
    pub fn node_dirty_ok(&self, node: NodeId, phys: &PhysMem) -> bool {
        self.cache.write_pending(Some(node), phys).total() <= self.lru.node_dirty_limit(node, phys).get()
    }

    /// Nodes with more dirty pages than their share.
    pub(crate) fn nodes_too_dirty(&self, phys: &PhysMem) -> NodeMask {
        let dirty = phys.frames.nodes().filter(|&node| !self.node_dirty_ok(node, phys));
        dirty.fold(NodeMask::EMPTY, |mask, node| mask | NodeMask::of(node))
    }
}

impl PhysMem {
    /// Pages being written above which reclaim starts no more writes, where the policy says so: a tenth more than could be
    /// dirty if memory were empty. Linux' limit starts there, and comes down only while programs make pages dirty.
    pub(crate) fn writeout_limit(&self) -> u64 {
        let memory =
            self.frames.zones().iter().map(|zone| zone.managed().saturating_sub(zone.reserved_from_programs())).sum();
        let thresh = DirtyLimits::new(memory, &self.settings.dirty).thresh.get();
        thresh + thresh / 10
    }

    /// Age at which dirty data is to be written back: `vm.dirty_expire_centisecs`.
    #[must_use]
    pub const fn dirty_expire(&self) -> Nanos {
        Nanos::new(self.settings.dirty.expire_centisecs * NANOS_PER_CENTISEC)
    }

    /// Interval at which the flusher looks for such data: `vm.dirty_writeback_centisecs`; `None` is never.
    #[must_use]
    pub const fn dirty_writeback_interval(&self) -> Option<Nanos> {
        match self.settings.dirty.writeback_centisecs {
            0 => None,
            centisecs => Some(Nanos::new(centisecs * NANOS_PER_CENTISEC)),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use order9_units::{Pfn, PfnRange, ZoneKind};

    use super::*;
    use crate::Mm;
    use crate::policy::Policy;
    use crate::{Layout, MmBuilder, NodeSpec, ZoneSpec};

    /// Two nodes with 64 and 32 MiB.
    fn two_nodes() -> Mm {
        let node = |distances| NodeSpec { distances };
        let zone = |node, start, pages| ZoneSpec {
            node: NodeId(node),
            kind: ZoneKind::Normal,
            span: PfnRange::of(Pfn::new(start), Pages::new(pages)),
        };
        let layout = Layout {
            nodes: vec![node(vec![10, 21]), node(vec![21, 10])],
            zones: vec![zone(0, 1 << 20, 1 << 14), zone(1, 1 << 21, 1 << 13)],
            cpus: vec![NodeId(0)],
            ..Layout::default()
        };
        MmBuilder::new(&layout, Policy::default()).expect("the layout is sound").boot()
    }

    fn limits(settings: DirtySettings) -> (u64, u64) {
        let DirtyLimits { thresh, background } = DirtyLimits::new(1_000_000, &settings);
        (thresh.get(), background.get())
    }

    #[test]
    fn limits_are_shares_or_bytes() {
        let default = DirtySettings::default();
        assert_eq!(limits(default), (199_951, 99_853), "the ratio is rounded to 1/4096");
        assert_eq!(
            limits(DirtySettings { bytes: 409_601, ..default }),
            (101, 50),
            "the background limit is at most half"
        );
        assert_eq!(limits(DirtySettings { background_bytes: 8_192, ..default }), (199_951, 2));
        assert_eq!(limits(DirtySettings { background_ratio: 20, ..default }), (199_951, 99_975));
    }

    #[test]
    fn writers_slow_down_towards_the_limit() {
        let limits = DirtyLimits { thresh: Pages::new(2_000), background: Pages::new(1_000) };
        let ratio = |dirty| limits.pos_ratio(Pages::new(dirty)).map(|ratio| ratio.0);
        assert_eq!((limits.free_run(), ratio(1_500)), (Pages::new(1_500), None));
        assert_eq!((ratio(1_501), ratio(1_750)), (Some(2_033), Some(1_024)), "nearly 2, and 1 at the setpoint");
        assert_eq!((ratio(1_625), ratio(1_875)), (Some(1_152), Some(896)), "1 + 1/8 and 1 - 1/8");
        assert_eq!((ratio(2_000), ratio(9_999)), (Some(0), Some(0)));
        let none = DirtyLimits { thresh: Pages::ZERO, background: Pages::ZERO };
        assert_eq!((none.pos_ratio(Pages::ZERO), none.pos_ratio(Pages::new(1))), (None, Some(PosRatio(0))));
    }

    #[test]
    fn free_pages_of_a_node_could_be_dirty_but_its_reserves_could_not() {
        let mm = two_nodes();
        let could_be = |zone: &Zone| {
            let reserve = zone.watermarks().high;
            assert!(reserve > 0 && reserve < zone.free());
            zone.free() - reserve
        };
        let [first, second] = [0, 1].map(|zone| could_be(&mm.phys.frames.zones()[zone]));
        let dirtyable = [Some(NodeId(0)), Some(NodeId(1)), None].map(|node| mm.pages.lru.dirtyable(node, &mm.phys));
        assert_eq!(dirtyable, [first, second, first + second]);
        assert_eq!(mm.pages.lru.node_dirty_limit(NodeId(1), &mm.phys), Pages::new(second / 5));
    }

    #[test]
    fn reclaim_starts_no_writes_beyond_a_tenth_more_than_may_be_dirty() {
        let mut mm = two_nodes();
        mm.phys.settings.dirty.bytes = 409_600;
        assert_eq!(mm.phys.writeout_limit(), 110, "of 100 pages");
    }

    #[test]
    fn dirty_data_expires_after_its_own_time() {
        let mut mm = two_nodes();
        let seconds = |n: u64| Nanos::new(n * 1_000_000_000);
        assert_eq!((mm.phys.dirty_expire(), mm.phys.dirty_writeback_interval()), (seconds(30), Some(seconds(5))));
        mm.phys.settings.dirty.expire_centisecs = 700;
        assert_eq!((mm.phys.dirty_expire(), mm.phys.dirty_writeback_interval()), (seconds(7), Some(seconds(5))));
    }
}
