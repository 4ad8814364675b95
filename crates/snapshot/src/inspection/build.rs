//! Puts an inspection together.

use order9_units::{NodeId, Order, Pages, metrics};

use super::tally::{Tally, bounds_of};
use super::{
    AllocationView, Counters, FreeMemory, Inspection, MachineView, NodeView, OrderIndex, PriceView, ProactiveNode,
    ProactiveZone, View, ZoneView, free, settings,
};
use crate::Snapshot;
use crate::bounds::{Block, Zone, meeting_scanners};
use crate::census::{Census, ZoneCensus};
use crate::model::{NodeInfo, ZoneInfo};
use crate::owners::Holdings;
use crate::prices::Prices;

impl Inspection {
    /// Inspects a snapshot. Without a census (the map of frames could not be read) it says what the kernel's counters and
    /// lists tell.
    #[must_use]
    pub fn of(snapshot: &Snapshot, census: Option<&Census>, prices: &Prices) -> Self {
        let mut machine = Sum::new(census.is_some());
        let nodes: Vec<_> = snapshot
            .nodes
            .iter()
            .map(|node| {
                let (view, sum) = node_view(snapshot, node, census, prices);
                machine.add(&sum);
                view
            })
            .collect();
        Self {
            machine: machine_view(snapshot),
            total: machine.view(prices),
            nodes,
            owners: census.and_then(|census| Holdings::of(snapshot, census).ok()?),
            settings: settings::of(snapshot),
            counters: Counters::of(&snapshot.vmstat),
            inconsistencies: census.map(|census| census.problems.clone()).unwrap_or_default(),
            missing: snapshot.missing.clone(),
            prices: price_view(prices),
        }
    }
}

/// Sums over zones.
struct Sum {
    present: Pages,
    managed: Pages,
    free: Pages,
    free_in_huge_pages: Pages,
    tally: Option<Tally>,
}

impl Sum {
    fn new(with_map: bool) -> Self {
        let zero = Pages::ZERO;
        Self { present: zero, managed: zero, free: zero, free_in_huge_pages: zero, tally: with_map.then(Tally::empty) }
    }

    fn of(zone: &ZoneInfo, tally: Option<Tally>) -> Self {
        let huge = Order::PAGEBLOCK.to(Order::MAX);
        Self {
            present: zone.present,
            managed: zone.managed,
            free: zone.free,
            free_in_huge_pages: huge.map(|order| order.pages() * zone.free_blocks[order.index()]).sum(),
            tally,
        }
    }

    fn add(&mut self, other: &Self) {
        self.present += other.present;
        self.managed += other.managed;
        self.free += other.free;
        self.free_in_huge_pages += other.free_in_huge_pages;
        if let (Some(tally), Some(more)) = (&mut self.tally, &other.tally) {
            tally.add(more);
        }
    }

    fn view(&self, prices: &Prices) -> View {
        View {
            present: self.present,
            managed: self.managed,
            free: self.free,
            free_in_huge_pages: self.free_in_huge_pages,
            findings: self.tally.as_ref().map(|tally| tally.findings(prices)),
        }
    }
}

fn node_view(snapshot: &Snapshot, node: &NodeInfo, census: Option<&Census>, prices: &Prices) -> (NodeView, Sum) {
    let mut sum = Sum::new(census.is_some());
    let present = zones_of(snapshot, node.id).map(|zone| zone.present).sum();
    let zones: Vec<_> = zones_of(snapshot, node.id)
        .filter(|zone| zone.present > Pages::ZERO)
        .map(|zone| {
            let census = census.and_then(|census| census.zone(zone.node, zone.kind));
            let (view, zone_sum) = zone_view(zone, census, present, prices);
            sum.add(&zone_sum);
            view
        })
        .collect();
    let score = zones.iter().map(|zone| zone.proactive.weighted).sum();
    let view = NodeView { id: node.id, view: sum.view(prices), proactive: proactive(snapshot, score), zones };
    (view, sum)
}

fn zones_of(snapshot: &Snapshot, node: NodeId) -> impl Iterator<Item = &ZoneInfo> {
    snapshot.zones.iter().filter(move |zone| zone.node == node)
}

fn zone_view(zone: &ZoneInfo, census: Option<&ZoneCensus>, node: Pages, prices: &Prices) -> (ZoneView, Sum) {
    let found = census.map(|census| {
        let blocks = bounds_of(census);
        let bounds = Zone::new(blocks.iter().copied());
        (Tally::of(census, &bounds), allocation(zone, &bounds, &blocks))
    });
    let (tally, allocation) = found.unzip();
    let sum = Sum::of(zone, tally);
    let free = &zone.free_blocks;
    let view = ZoneView {
        name: zone.kind.name(),
        span: zone.span,
        view: sum.view(prices),
        watermarks: zone.watermarks,
        on_cpu_lists: zone.pcp.iter().map(|pcp| pcp.count).sum(),
        free_memory: FreeMemory { blocks: *free, by_type: free::by_type(zone), pageblocks: zone.block_counts.clone() },
        indexes: Order::all()
            .map(|order| OrderIndex {
                order,
                fragmentation: metrics::fragmentation_index(free, order),
                unusable: metrics::unusable_free_index(free, order),
            })
            .collect(),
        proactive: ProactiveZone {
            score: metrics::external_fragmentation(free, Order::PAGEBLOCK),
            weighted: metrics::weighted_score(free, zone.present, node),
        },
        allocation,
    };
    (view, sum)
}

fn allocation(zone: &ZoneInfo, bounds: &Zone, blocks: &[Block]) -> AllocationView {
    let (min, low) = (zone.watermarks.min, zone.watermarks.low);
    AllocationView {
        above_low: bounds.allocatable(low),
        above_min: bounds.allocatable(min),
        by_direct_compaction: bounds.allocatable_by_gated_compaction(low),
        binding: bounds.binding(low),
        reach: bounds.reach(low),
        by_scanners: meeting_scanners(Order::PAGEBLOCK.pages(), blocks),
    }
}

fn proactive(snapshot: &Snapshot, score: u64) -> ProactiveNode {
    let setting = snapshot.settings.get("/proc/sys/vm/compaction_proactiveness");
    let proactiveness = setting.and_then(|value| value.trim().parse().ok());
    let thresholds = proactiveness.map(metrics::proactive_thresholds);
    ProactiveNode {
        score,
        proactiveness,
        low: thresholds.map(|(low, _)| low),
        high: thresholds.map(|(_, high)| high),
        would_start: proactiveness != Some(0) && thresholds.is_some_and(|(_, high)| score > high),
    }
}

fn machine_view(snapshot: &Snapshot) -> MachineView {
    let machine = &snapshot.machine;
    MachineView {
        source: snapshot.source.clone(),
        kernel_release: machine.kernel_release.clone(),
        cpus: machine.cpus,
        uptime: machine.uptime,
        page_size: machine.page_size,
        huge_page_size: Order::PAGEBLOCK.pages().bytes(),
    }
}

fn price_view(prices: &Prices) -> PriceView {
    let ns = |price: &Option<crate::prices::Price>| price.as_ref().map(|price| price.ns);
    PriceView {
        machine: prices.machine.clone(),
        moves: prices.moves,
        move_page_ns: prices.move_page.ns,
        move_page_source: prices.move_page.source.clone(),
        drop_page_ns: ns(&prices.drop_page),
        drop_slab_page_ns: ns(&prices.drop_slab_page),
        reread_page_ns: ns(&prices.reread_page),
    }
}
