//! The kernel's side: settings, what it tried since boot, and how far the snapshot can be trusted.

use order9_snapshot::inspection::{Inspection, PriceView};
use order9_snapshot::prices::MovesOf;

use super::Page;
use crate::facts;
use crate::number::{grouped, percent};
use crate::table::{Table, wrap};

/// Adds the sections on settings and counters.
pub(super) fn sections(inspection: &Inspection, page: &mut Page) {
    page.section("Settings", &settings(inspection, page));
    page.section("Attempts since boot", &rates(inspection, page));
    page.section("Counters since boot", &counters(inspection, page));
}

/// Settings below the directory they share, so that a line holds a name, a value and no long path.
fn settings(inspection: &Inspection, page: &Page) -> String {
    let mut out = String::new();
    let mut directory = None;
    for setting in &inspection.settings {
        let below = directory.and_then(|directory| setting.path.strip_prefix(directory)?.strip_prefix('/'));
        let name = below.unwrap_or_else(|| {
            let (parent, name) = setting.path.rsplit_once('/').unwrap_or(("", &setting.path));
            directory = Some(parent);
            out.push_str(&page.note(parent));
            name
        });
        // The kernel writes tabs and line ends between the numbers of a list.
        let value = setting.value.split_whitespace().collect::<Vec<_>>().join(" ");
        out.push_str(&format!("    {name:<30} {value}\n"));
        if let Some(meaning) = &setting.meaning {
            let lines = wrap(meaning, page.canvas.width - 6);
            out.extend(lines.lines().map(|line| format!("      {}\n", page.canvas.colour.dim(line))));
        }
    }
    out
}

fn rates(inspection: &Inspection, page: &Page) -> String {
    let mut table = Table::new(["attempts", "succeeded", "failed", "success rate"]);
    let mut untried = Vec::new();
    for rate in &inspection.counters.rates {
        match rate.succeeded + rate.failed {
            0 => untried.push(rate.what),
            attempts => table.row(vec![
                rate.what.to_owned(),
                grouped(rate.succeeded),
                grouped(rate.failed),
                percent(rate.succeeded, attempts),
            ]),
        }
    }
    let mut out = String::new();
    if !table.is_empty() {
        out += &table.render(page.canvas.width, page.canvas.colour);
    }
    if table.is_empty() && !untried.is_empty() {
        out += &page.note("Nothing was compacted or migrated, and no huge page was asked for.");
    } else if !untried.is_empty() {
        out += &page.note(&format!("Never tried: {}.", untried.join(", ")));
    }
    out
}

/// The counters that moved, two per line where that fits.
fn counters(inspection: &Inspection, page: &Page) -> String {
    let moved = inspection.counters.vmstat.iter().filter(|(_, count)| **count > 0);
    let cells: Vec<String> = moved.map(|(name, &count)| format!("{name:<28}{:>13}", grouped(count))).collect();
    let columns = (page.canvas.width.saturating_sub(2) / 45).clamp(1, 4);
    let lines = cells.len().div_ceil(columns);
    let line = |i: usize| cells.iter().skip(i).step_by(lines.max(1)).cloned().collect::<Vec<_>>().join("    ");
    (0..lines).map(|i| format!("  {}\n", line(i))).collect()
}

/// Source of the figures, and limits of their accuracy.
pub(super) fn about(inspection: &Inspection, page: &Page) -> String {
    let prices = &inspection.prices;
    let source = facts::source(&inspection.machine.source);
    let machine = format!("Linux {}: {source}", inspection.machine.kernel_release);
    let mut out = indent(&wrap(&machine, page.canvas.width - 2));
    out += &page.note(&price_list(prices));
    for doubt in &inspection.inconsistencies {
        out += &indent(&wrap(doubt, page.canvas.width - 2));
    }
    for missing in facts::missing(&inspection.missing).lines() {
        out += &indent(&wrap(missing, page.canvas.width - 2));
    }
    out
}

/// Prices from which times are computed.
fn price_list(prices: &PriceView) -> String {
    let more = [
        (prices.drop_page_ns, "dropped page of cache"),
        (prices.drop_slab_page_ns, "page of slab freed"),
        (prices.reread_page_ns, "page read again"),
    ];
    let more = more.into_iter().filter_map(|(ns, what)| Some(format!(", {} per {what}", grouped(ns?))));
    let (moved, more) = (grouped(prices.move_page_ns), more.collect::<String>());
    match prices.moves {
        MovesOf::Machine => format!("Times are {moved} ns per moved page{more} (machine {}).", prices.machine),
        MovesOf::Host => format!(
            "Times are {moved} ns per moved page, from what was measured on the host when it was captured ({}){more} \
             (machine {}).",
            prices.move_page_source.trim_end_matches('.'),
            prices.machine
        ),
    }
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}
