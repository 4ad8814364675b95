//! Details for kernel developers: possible allocations, indexes, frames by class, free lists.

use order9_snapshot::bounds::Binding;
use order9_snapshot::classify::FrameClass;
use order9_snapshot::inspection::{Findings, FreeOfType, Inspection, NodeView, ZoneView};
use order9_units::{Order, Pages};

use super::{Page, zone_name, zones};
use crate::number::{grouped, percent, size};
use crate::table::Table;

/// Adds the sections with the details of every zone.
pub(super) fn sections(inspection: &Inspection, page: &mut Page) {
    page.section("Huge pages that can be allocated", &allocation(inspection, page));
    page.section("Fragmentation and proactive compaction", &scores(inspection, page));
    page.section("Frames by class", &census(inspection, page));
    for (node, zone) in zones(inspection).filter(|(_, zone)| zone.view.free > Pages::ZERO) {
        let title = format!("Free blocks of {}, by order", zone_name(node, zone));
        page.section(&title, &by_order(zone, page));
    }
}

fn allocation(inspection: &Inspection, page: &Page) -> String {
    let mut table = Table::new(["zone", "free now", "above low", "above min", "direct", "scanners", "limited by"]);
    for (node, zone) in zones(inspection) {
        let Some(view) = &zone.allocation else { continue };
        if zone.view.free == Pages::ZERO {
            continue;
        }
        let free_now = zone.view.findings.as_ref().map_or(0, |findings| findings.blocks.free);
        table.row(vec![
            zone_name(node, zone),
            grouped(free_now),
            grouped(view.above_low),
            grouped(view.above_min),
            grouped(view.by_direct_compaction),
            grouped(view.by_scanners),
            binding(view.binding).to_owned(),
        ]);
    }
    if table.is_empty() {
        return String::new();
    }
    let note = "One after the other, without reclaim, if pages move as needed: until free memory comes down to the low or the \
                min watermark; direct: while direct compaction agrees to start, which takes 4 MiB above the low watermark; \
                scanners: the most free ones that one run of compaction's two scanners can leave.";
    table.render(page.canvas.width, page.canvas.colour) + &page.note(note)
}

fn binding(binding: Binding) -> &'static str {
    match binding {
        Binding::Frames => "free pages",
        Binding::Blocks => "held blocks",
        Binding::Watermark => "watermark",
    }
}

fn scores(inspection: &Inspection, page: &Page) -> String {
    let mut table = Table::new(["zone", "free in 2 MiB", "fragm.", "unusable", "score", "min", "low", "high"]);
    for (node, zone) in zones(inspection) {
        let index = zone.indexes.iter().find(|index| index.order == Order::PAGEBLOCK);
        let marks = &zone.watermarks;
        let mut row = vec![
            zone_name(node, zone),
            percent(zone.view.free_in_huge_pages.get(), zone.view.free.get()),
            index.map_or_else(String::new, |index| thousandths(index.fragmentation)),
            index.map_or_else(String::new, |index| thousandths(index.unusable.cast_signed())),
            zone.proactive.score.to_string(),
        ];
        row.extend([marks.min, marks.low, marks.high].map(|mark| grouped(mark.get())));
        table.row(row);
    }
    let mut out = table.without_empty_columns().render(page.canvas.width, page.canvas.colour);
    out += &page.note(
        "unusable: the kernel's index for order 9, and fragm. where such an allocation would fail; score: what proactive \
         compaction goes by; min, low, high: watermarks in pages.",
    );
    for node in &inspection.nodes {
        let proactive = &node.proactive;
        if let (Some(low), Some(high)) = (proactive.low, proactive.high) {
            let then =
                if proactive.would_start { "kcompactd would start now" } else { "kcompactd has no reason to start" };
            let score = proactive.score;
            out +=
                &page.note(&format!("Node {}: score {score}, starts above {high}, stops at {low}: {then}.", node.id));
        }
    }
    out
}

/// Orders down, migratetypes across, and the indexes of each order.
fn by_order(zone: &ZoneView, page: &Page) -> String {
    let memory = &zone.free_memory;
    let types = memory.by_type.iter().map(|free| free.migratetype.name().to_owned());
    let mut header = vec!["order".to_owned(), "size".to_owned()];
    header.extend(types);
    header.extend(["all", "fragm.", "unusable"].map(str::to_owned));
    let mut table = Table::with_header(header);
    for order in Order::all() {
        let all = memory.blocks[order.index()];
        let index = zone.indexes.iter().find(|index| index.order == order);
        let fails = index.is_some_and(|index| index.fragmentation != SUCCEEDS);
        if all == 0 && !fails {
            continue;
        }
        let mut row = vec![format!("{order:>5}"), size(order.pages().bytes())];
        row.extend(memory.by_type.iter().map(|free| grouped(free.blocks[order.index()])));
        row.push(grouped(all));
        row.push(index.map_or_else(String::new, |index| thousandths(index.fragmentation)));
        row.push(index.map_or_else(String::new, |index| thousandths(index.unusable.cast_signed())));
        table.row(row);
    }
    if !memory.pageblocks.is_empty() {
        let mut row = vec!["pageblocks".to_owned(), String::new()];
        let of = |free: &FreeOfType| memory.pageblocks.get(&free.migratetype);
        row.extend(memory.by_type.iter().map(|free| of(free).map_or_else(String::new, |&n| grouped(n))));
        row.push(grouped(memory.pageblocks.values().sum()));
        table.row(row);
    }
    table.without_empty_columns().render(page.canvas.width, page.canvas.colour)
}

/// Classes down, zones across; every present frame is counted once.
fn census(inspection: &Inspection, page: &Page) -> String {
    let short = |node: &NodeView, zone: &ZoneView| match inspection.nodes.len() {
        1 => zone.name.to_owned(),
        _ => format!("{}/{}", node.id, zone.name),
    };
    let zones = zones(inspection).map(|(node, zone)| (short(node, zone), &zone.view));
    let places = zones.chain([("Total".to_owned(), &inspection.total)]);
    let places: Vec<_> = places.filter_map(|(name, view)| Some((name, view.findings.as_ref()?))).collect();
    if places.is_empty() {
        return String::new();
    }
    let header = std::iter::once("pages").chain(places.iter().map(|(name, _)| name.as_str()));
    let mut table = Table::with_header(header.map(str::to_owned).collect());
    let row = |name: &str, count: &dyn Fn(&Findings) -> u64| {
        std::iter::once(name.to_owned()).chain(places.iter().map(|(_, findings)| grouped(count(findings)))).collect()
    };
    for class in FrameClass::ALL.into_iter().filter(|class| class.is_present()) {
        let count = |findings: &Findings| findings.census.get(&class).map_or(0, |pages| pages.get());
        if places.iter().any(|(_, findings)| count(findings) > 0) {
            table.row(row(class.describe(), &count));
        }
    }
    table.row(row("all present", &|findings| findings.census.values().map(|pages| pages.get()).sum()));
    table.render(page.canvas.width, page.canvas.colour)
}

/// Value of the fragmentation index where an allocation would succeed.
const SUCCEEDS: i64 = -1000;

/// An index in thousandths, as the kernel prints it: `0.987`; nothing where it says that all is well.
fn thousandths(n: i64) -> String {
    if n == SUCCEEDS || n == 0 { "0".to_owned() } else { format!("{:.3}", n as f64 / 1000.0) }
}
