//! Gauges of a memory map in the text format of Prometheus, for the textfile collector of node_exporter.
//!
//! Names follow its conventions: a prefix of order9's own, base units at the end, labels for nodes and zones. Counters of
//! /proc/vmstat are left to node_exporter, which has them.

use order9_snapshot::inspection::{Findings, Inspection, NodeView, ZoneView};
use order9_units::Order;

use crate::metrics::{self, Kind, Metric, Sample};

/// All gauges of an inspection. Those without a value are left out.
#[must_use]
pub fn text(inspection: &Inspection) -> String {
    metrics::text(&gauges(inspection))
}

fn gauges(inspection: &Inspection) -> Vec<Metric> {
    let machine = &inspection.machine;
    let info = Sample { labels: vec![("kernel", machine.kernel_release.clone())], value: 1.0 };
    let bare = |value: f64| vec![Sample { labels: Vec::new(), value }];
    let gauge = |name, help, samples| Metric { name, help, kind: Kind::Gauge, samples };
    let page = machine.page_size.get() as f64;
    let zones = |value: &dyn Fn(&ZoneView) -> f64| of_zones(inspection, |zone| vec![(Vec::new(), value(zone))]);
    [
        gauge("order9_info", "Kernel of the host; always 1.", vec![info]),
        gauge(
            "order9_huge_page_size_bytes",
            "Size of a huge page: one pageblock.",
            bare(machine.huge_page_size.get() as f64),
        ),
        gauge(
            "order9_missing_files",
            "Files of /proc and /sys that could not be read; without root the map of frames is missing.",
            bare(inspection.missing.len() as f64),
        ),
        gauge(
            "order9_zone_managed_bytes",
            "Memory that the page allocator was given.",
            zones(&|zone| page * zone.view.managed.get() as f64),
        ),
        gauge("order9_zone_free_bytes", "Free memory.", zones(&|zone| page * zone.view.free.get() as f64)),
        gauge(
            "order9_zone_free_in_huge_pages_bytes",
            "Free memory in blocks of a huge page or more.",
            zones(&|zone| page * zone.view.free_in_huge_pages.get() as f64),
        ),
        gauge(
            "order9_zone_watermark_bytes",
            "Watermarks of the zone, boost included.",
            of_zones(inspection, |zone| {
                let marks = zone.watermarks;
                let marks = [("min", marks.min), ("low", marks.low), ("high", marks.high)];
                marks.map(|(mark, pages)| (vec![("mark", mark.to_owned())], page * pages.get() as f64)).to_vec()
            }),
        ),
        gauge(
            "order9_zone_unusable_free_ratio",
            "Share of the free memory in blocks too small for a huge page: the unusable free index.",
            at_huge_order(inspection, |index| index.unusable as f64 / 1000.0),
        ),
        gauge(
            "order9_zone_fragmentation_index",
            "Fragmentation index for a huge page: towards 1 an allocation fails for fragmentation, towards 0 for lack of \
             memory; -1 where it would succeed.",
            at_huge_order(inspection, |index| index.fragmentation as f64 / 1000.0),
        ),
    ]
    .into_iter()
    .chain(node_gauges(inspection))
    .collect()
}

/// Gauges of nodes: those from the map of frames, and the score of proactive compaction.
fn node_gauges(inspection: &Inspection) -> Vec<Metric> {
    let of_nodes = |values: &dyn Fn(&NodeView) -> Vec<Value>| -> Vec<Sample> {
        inspection.nodes.iter().flat_map(|node| labelled(&[("node", node.id.to_string())], values(node))).collect()
    };
    let found = |values: &dyn Fn(&Findings) -> Vec<Value>| {
        of_nodes(&|node| node.view.findings.as_ref().map(values).unwrap_or_default())
    };
    let gauge = |name, help, samples| Metric { name, help, kind: Kind::Gauge, samples };
    vec![
        gauge(
            "order9_node_pageblocks",
            "Pageblocks by what can be made of them; the states sum to all.",
            found(&|findings| {
                let blocks = findings.blocks;
                let states = [
                    ("free", blocks.free),
                    ("huge", blocks.huge),
                    ("evacuable", blocks.evacuable),
                    ("slab", blocks.slab),
                    ("unmarked", blocks.unmarked),
                    ("lost", blocks.lost),
                    ("partial", blocks.partial),
                    ("deferred", blocks.deferred),
                ];
                states.map(|(state, count)| (vec![("state", state.to_owned())], count as f64)).to_vec()
            }),
        ),
        gauge(
            "order9_node_recoverable_huge_pages",
            "Huge pages that compaction could add to those that are free.",
            found(&|findings| vec![(Vec::new(), findings.by_moving.huge_pages as f64)]),
        ),
        gauge(
            "order9_node_recovery_moves_pages",
            "Least number of pages to move for all recoverable huge pages.",
            found(&|findings| vec![(Vec::new(), findings.by_moving.moves.get() as f64)]),
        ),
        gauge(
            "order9_node_recovery_seconds",
            "CPU time of these moves.",
            found(&|findings| vec![(Vec::new(), findings.by_moving.time.get() as f64 / 1e9)]),
        ),
        gauge(
            "order9_node_compaction_score",
            "Score of proactive compaction, 0 to 100.",
            of_nodes(&|node| vec![(Vec::new(), node.proactive.score as f64)]),
        ),
    ]
}

/// A value with further labels.
type Value = (Vec<(&'static str, String)>, f64);

fn of_zones(inspection: &Inspection, values: impl Fn(&ZoneView) -> Vec<Value>) -> Vec<Sample> {
    let of_node = |node: &NodeView| {
        let of_zone =
            |zone: &ZoneView| labelled(&[("node", node.id.to_string()), ("zone", zone.name.to_owned())], values(zone));
        node.zones.iter().flat_map(of_zone).collect::<Vec<_>>()
    };
    inspection.nodes.iter().flat_map(of_node).collect()
}

/// An index of zones at the order of a huge page.
fn at_huge_order(
    inspection: &Inspection,
    value: impl Fn(&order9_snapshot::inspection::OrderIndex) -> f64,
) -> Vec<Sample> {
    of_zones(inspection, |zone| {
        let index = zone.indexes.iter().find(|index| index.order == Order::PAGEBLOCK);
        index.map(|index| (Vec::new(), value(index))).into_iter().collect()
    })
}

fn labelled(labels: &[(&'static str, String)], values: Vec<Value>) -> Vec<Sample> {
    let sample = |(further, value): Value| Sample { labels: [labels, further.as_slice()].concat(), value };
    values.into_iter().map(sample).collect()
}
