//! The kernel's side: settings, counters, and how far the snapshot can be trusted.

use order9_snapshot::inspection::Inspection;

use super::Page;
use crate::facts;
use crate::number::{grouped, percent};
use crate::table::{Table, wrap};

/// Adds the sections on the kernel and on the snapshot itself.
pub(super) fn sections(inspection: &Inspection, page: &mut Page) {
    page.section("Settings", &settings(inspection, page));
    page.section("Since boot", &rates(inspection, page));
    page.section("Counters since boot", &counters(inspection, page));
    page.section("About this snapshot", &about(inspection, page));
}

fn settings(inspection: &Inspection, page: &Page) -> String {
    let mut out = String::new();
    for setting in &inspection.settings {
        out.push_str(&format!("  {} = {}\n", setting.path, setting.value));
        if let Some(meaning) = &setting.meaning {
            let lines = wrap(meaning, page.canvas.width - 6);
            out.extend(lines.lines().map(|line| format!("      {}\n", page.canvas.colour.dim(line))));
        }
    }
    out
}

fn rates(inspection: &Inspection, page: &Page) -> String {
    let mut table = Table::new(["attempts", "succeeded", "failed", "success rate"]);
    for rate in &inspection.counters.rates {
        let attempts = rate.succeeded + rate.failed;
        table.row(vec![
            rate.what.to_owned(),
            grouped(rate.succeeded),
            grouped(rate.failed),
            if attempts == 0 { "no attempt".to_owned() } else { percent(rate.succeeded, attempts) },
        ]);
    }
    if table.is_empty() { String::new() } else { table.render(page.canvas.width, page.canvas.colour) }
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

fn about(inspection: &Inspection, page: &Page) -> String {
    let prices = &inspection.prices;
    let mut out =
        format!("  Linux {}: {}\n", inspection.machine.kernel_release, facts::source(&inspection.machine.source));
    out += &page.note(&format!("Times are {} ns per moved page ({}).", grouped(prices.move_page_ns), prices.machine));
    for doubt in &inspection.inconsistencies {
        out += &indent(&wrap(doubt, page.canvas.width - 2));
    }
    out += &indent(&facts::missing(&inspection.missing));
    out
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}
