//! The counters of a made-up machine: /proc/zoneinfo, vmstat and meminfo as its frames add up to them.

use std::collections::BTreeMap;

use order9_units::{Migratetype, NodeId, Order, PAGEBLOCK_PAGES, Pages};

use super::CPUS_PER_NODE;
use super::content::Content;
use super::layout::{Layout, ZoneLayout};
use super::tally::ZoneTally;
use crate::{PcpInfo, Watermarks, ZoneInfo};

/// Frames of a zone, a node or the machine, by use.
#[derive(Default)]
pub(super) struct Levels {
    managed: u64,
    free: u64,
    /// Base pages and huge pages, pinned ones too.
    anon: u64,
    huge: u64,
    pinned: u64,
    file: u64,
    slab_reclaimable: u64,
    slab_unreclaimable: u64,
    page_tables: u64,
    /// Free frames in whole free pageblocks.
    free_in_blocks: u64,
}

/// Adds up the zones of one node, or of all.
pub(super) fn sum(layout: &Layout, tallies: &[ZoneTally], node: Option<NodeId>) -> Levels {
    let mut levels = Levels::default();
    for (zone, tally) in layout.zones.iter().zip(tallies) {
        if node.is_none_or(|node| node == zone.node) {
            levels.add(zone, tally);
        }
    }
    levels
}

impl Levels {
    fn add(&mut self, zone: &ZoneLayout, tally: &ZoneTally) {
        let of = |content| tally.count(content).get();
        let huge = of(Content::HugeHead) + of(Content::HugeTail);
        self.managed += zone.managed.len().get();
        self.free += of(Content::Free);
        self.anon += of(Content::Anon) + of(Content::Pinned) + huge;
        self.huge += huge;
        self.pinned += of(Content::Pinned);
        self.file += of(Content::CleanCache);
        self.slab_reclaimable += of(Content::SlabReclaimable);
        self.slab_unreclaimable += of(Content::Slab);
        self.page_tables += of(Content::PageTable);
        let whole = Order::PAGEBLOCK.to(Order::MAX);
        self.free_in_blocks += whole.map(|order| tally.free_blocks[order.index()] << order.get()).sum::<u64>();
    }

    /// Counters kept per zone.
    fn zone_counters(&self) -> [(&'static str, u64); 9] {
        [
            ("nr_free_pages", self.free),
            ("nr_free_pages_blocks", self.free_in_blocks),
            ("nr_zone_inactive_anon", self.anon),
            ("nr_zone_active_anon", 0),
            ("nr_zone_inactive_file", self.file),
            ("nr_zone_active_file", 0),
            ("nr_zone_unevictable", 0),
            ("nr_zone_write_pending", 0),
            ("nr_free_cma", 0),
        ]
    }

    /// Counters kept per node.
    fn node_counters(&self) -> [(&'static str, u64); 15] {
        [
            ("nr_inactive_anon", self.anon),
            ("nr_active_anon", 0),
            ("nr_inactive_file", self.file),
            ("nr_active_file", 0),
            ("nr_unevictable", 0),
            ("nr_slab_reclaimable", self.slab_reclaimable),
            ("nr_slab_unreclaimable", self.slab_unreclaimable),
            ("nr_anon_pages", self.anon),
            ("nr_mapped", 0),
            ("nr_file_pages", self.file),
            ("nr_dirty", 0),
            ("nr_writeback", 0),
            ("nr_shmem", 0),
            ("nr_page_table_pages", self.page_tables),
            ("nr_anon_transparent_hugepages", self.huge / PAGEBLOCK_PAGES.get()),
        ]
    }
}

/// `per-node stats` of /proc/zoneinfo.
pub(super) fn node_counters(node: &Levels) -> BTreeMap<String, u64> {
    named(node.node_counters())
}

/// /proc/vmstat: levels; nothing has happened on this machine, so events are left out.
pub(super) fn vmstat(machine: &Levels) -> BTreeMap<String, u64> {
    let pins = [("nr_foll_pin_acquired", machine.pinned), ("nr_foll_pin_released", 0)];
    named(machine.zone_counters().into_iter().chain(machine.node_counters()).chain(pins))
}

/// Contents of /proc/meminfo.
pub(super) fn meminfo(machine: &Levels, zones: &[ZoneInfo]) -> BTreeMap<String, u64> {
    let kib = |pages: u64| pages * 4;
    let slab = machine.slab_reclaimable + machine.slab_unreclaimable;
    named([
        ("MemTotal", kib(machine.managed)),
        ("MemFree", kib(machine.free)),
        ("MemAvailable", kib(available(machine, zones))),
        ("Buffers", 0),
        ("Cached", kib(machine.file)),
        ("SwapCached", 0),
        ("Active", 0),
        ("Inactive", kib(machine.anon + machine.file)),
        ("Active(anon)", 0),
        ("Inactive(anon)", kib(machine.anon)),
        ("Active(file)", 0),
        ("Inactive(file)", kib(machine.file)),
        ("Unevictable", 0),
        ("Mlocked", 0),
        ("SwapTotal", 0),
        ("SwapFree", 0),
        ("Dirty", 0),
        ("Writeback", 0),
        ("AnonPages", kib(machine.anon)),
        ("Mapped", 0),
        ("Shmem", 0),
        ("KReclaimable", kib(machine.slab_reclaimable)),
        ("Slab", kib(slab)),
        ("SReclaimable", kib(machine.slab_reclaimable)),
        ("SUnreclaim", kib(machine.slab_unreclaimable)),
        ("PageTables", kib(machine.page_tables)),
        ("AnonHugePages", kib(machine.huge)),
        ("ShmemHugePages", 0),
        ("FileHugePages", 0),
        ("HugePages_Total", 0),
        ("HugePages_Free", 0),
        ("HugePages_Rsvd", 0),
        ("HugePages_Surp", 0),
        ("Hugepagesize", 2048),
        ("Hugetlb", 0),
    ])
}

/// `MemAvailable` as the kernel documentation describes it: free memory above the reserves, and page cache and
/// reclaimable slab but for half of each, or the low watermarks where those are less.
fn available(machine: &Levels, zones: &[ZoneInfo]) -> u64 {
    let reserve = |zone: &ZoneInfo| {
        let protection = zone.protection.iter().copied().max().unwrap_or_default();
        zone.managed.min(protection + zone.watermarks.high).get()
    };
    let low: u64 = zones.iter().map(|zone| zone.watermarks.low.get()).sum();
    let usable = |pages: u64| pages - low.min(pages / 2);
    let above_reserves = machine.free.saturating_sub(zones.iter().map(reserve).sum());
    above_reserves + usable(machine.file) + usable(machine.slab_reclaimable)
}

/// One zone of the snapshot.
pub(super) fn zone_info(
    zone: &ZoneLayout,
    tally: &ZoneTally,
    watermarks: Watermarks,
    protection: Vec<Pages>,
    types: &[Migratetype],
) -> ZoneInfo {
    let mut levels = Levels::default();
    levels.add(zone, tally);
    let mut block_counts: BTreeMap<_, u64> = Migratetype::PCP.into_iter().map(|mt| (mt, 0)).collect();
    types.iter().for_each(|&mt| *block_counts.entry(mt).or_default() += 1);
    let mut free_by_type: BTreeMap<_, _> = Migratetype::PCP.into_iter().map(|mt| (mt, [0; Order::COUNT])).collect();
    // Kernel memory fills its own pageblocks, so free frames lie in movable ones only.
    free_by_type.insert(Migratetype::Movable, tally.free_blocks);
    ZoneInfo {
        node: zone.node,
        kind: zone.kind,
        span: zone.span,
        present: zone.present,
        managed: zone.managed.len(),
        cma: Pages::ZERO,
        free: Pages::new(levels.free),
        watermarks,
        protection,
        free_blocks: tally.free_blocks,
        free_by_type,
        block_counts,
        pcp: pcp(zone, watermarks.low),
        counters: named(levels.zone_counters()),
    }
}

/// Empty per-CPU lists, sized as Linux does from 4.19 (batch) and 5.14 (high) on.
fn pcp(zone: &ZoneLayout, low: Pages) -> Vec<PcpInfo> {
    let quarter = (zone.managed.len().get() / 1024).min(256) / 4;
    let batch = prev_power_of_two(quarter.max(1) * 3 / 2) - 1;
    let high = if batch == 0 { 0 } else { (low.get() / u64::from(CPUS_PER_NODE)).max(4 * batch) };
    let first_cpu = u32::from(zone.node.0) * CPUS_PER_NODE;
    let list = |cpu| PcpInfo { cpu, count: Pages::ZERO, high: Pages::new(high), batch: Pages::new(batch.max(1)) };
    (first_cpu..first_cpu + CPUS_PER_NODE).map(list).collect()
}

fn prev_power_of_two(n: u64) -> u64 {
    1 << n.ilog2()
}

fn named(counters: impl IntoIterator<Item = (&'static str, u64)>) -> BTreeMap<String, u64> {
    counters.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
