//! The findings in a few plain sentences.

use order9_snapshot::inspection::{Findings, Inspection, View};
use order9_units::{PAGEBLOCK_PAGES, Pages};

use crate::number::{count_of, duration, grouped, percent, size};
use crate::table::wrap;
use crate::terminal::Canvas;

/// The findings for the whole machine in plain sentences; first of all what could not be read, where that is the map.
#[must_use]
pub fn headline(inspection: &Inspection, canvas: Canvas) -> String {
    let total = &inspection.total;
    let mut out = String::new();
    if total.findings.is_none() {
        out.push_str(&canvas.colour.bold(wrap(&missing_map(inspection), canvas.width).trim_end()));
        out.push_str("\n\n");
    }
    out.push_str(&wrap(&summary(total), canvas.width));
    out
}

/// What is missing where there is no map of frames, and what to do about it.
#[must_use]
pub fn missing_map(inspection: &Inspection) -> String {
    let missing = inspection.missing.iter().find(|missing| missing.path == "/proc/kpageflags");
    let reason = missing.map_or("", |missing| missing.reason.as_str());
    let advice = if reason.contains("root") { " `sudo order9 inspect` shows them." } else { "" };
    let reason = if reason.is_empty() { String::new() } else { format!(" (/proc/kpageflags: {reason})") };
    format!(
        "The memory map could not be read{reason}: what compaction could recover, what blocks it and the map itself are \
         missing below.{advice}"
    )
}

fn summary(total: &View) -> String {
    let free = percent(total.free_in_huge_pages.get(), total.free.get());
    let mut clauses = vec![format!(
        "{free} of free memory ({} of {}) is in 2 MiB blocks",
        size(total.free_in_huge_pages.bytes()),
        size(total.free.bytes())
    )];
    let mut text = String::new();
    if let Some(findings) = &total.findings {
        clauses.push(compaction(findings));
        if findings.lost.by_one_page > 0 {
            clauses.push(format!("{} held by a single unmovable page", are(findings.lost.by_one_page, "block")));
        }
        text = dropping(findings) + &deferred(findings);
    }
    format!("{}.{text}", clauses.join("; "))
}

fn compaction(findings: &Findings) -> String {
    let gain = &findings.by_moving;
    if gain.huge_pages > 0 {
        return format!(
            "compaction could make {} more ({}) by moving {}, about {} of one CPU",
            grouped(gain.huge_pages),
            size(huge_pages(gain.huge_pages).bytes()),
            count_of(gain.moves.get(), "page"),
            duration(gain.time)
        );
    }
    let why = match findings.blocks.evacuable {
        0 => "no block holds movable pages alone",
        _ => "there is no room to move pages to",
    };
    format!("compaction could make no more: {why}")
}

/// What dropping caches adds, where it adds anything.
fn dropping(findings: &Findings) -> String {
    let drop = &findings.by_dropping;
    let more = drop.huge_pages.saturating_sub(findings.by_moving.huge_pages);
    if more == 0 {
        return String::new();
    }
    let dropped = drop.cache_dropped + drop.slab_freed;
    format!(
        " Dropping {} of clean page cache and reclaimable slab first would make {} more.",
        size(dropped.bytes()),
        count_of(more, "block")
    )
}

fn deferred(findings: &Findings) -> String {
    match findings.blocks.deferred {
        0 => String::new(),
        n => format!(" {} have not been given to the page allocator yet.", size(huge_pages(n).bytes())),
    }
}

fn are(n: u64, what: &str) -> String {
    format!("{} {}", count_of(n, what), if n == 1 { "is" } else { "are" })
}

/// The base pages of `n` huge pages.
pub(super) fn huge_pages(n: u64) -> Pages {
    PAGEBLOCK_PAGES * n
}
