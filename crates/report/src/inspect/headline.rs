//! The findings in a few plain sentences.

use order9_snapshot::inspection::{Findings, Inspection, PriceView, View};
use order9_snapshot::prices::MovesOf;
use order9_units::{Nanos, PAGEBLOCK_PAGES, Pages};

use crate::number::{count_of, duration, grouped, percent, size};
use crate::table::wrap;
use crate::terminal::Canvas;

/// The findings for the whole machine in plain sentences; first of all what could not be read, where that is the map.
#[must_use]
pub fn headline(inspection: &Inspection, canvas: Canvas) -> String {
    let total = &inspection.total;
    let mut out = String::new();
    if total.findings.is_none() {
        let lack = format!(
            "No map: {}. Huge pages that compaction could recover, and the obstacles to them, are missing below.",
            missing_map(inspection)
        );
        out.push_str(&canvas.colour.bold(wrap(&lack, canvas.width).trim_end()));
        out.push_str("\n\n");
    }
    out.push_str(&wrap(&summary(total, &inspection.prices), canvas.width));
    out
}

/// Why there is no map of frames, and what to do about it, where something can be done.
#[must_use]
pub fn missing_map(inspection: &Inspection) -> String {
    let missing = inspection.missing.iter().find(|missing| missing.path == "/proc/kpageflags");
    match missing.map(|missing| missing.reason.as_str()) {
        None => "the memory map could not be read".to_owned(),
        Some(reason) if reason.contains("root") => {
            format!("the memory map could not be read (/proc/kpageflags: {reason}); `sudo order9 inspect` shows it")
        }
        Some(reason) => format!("the memory map could not be read (/proc/kpageflags: {reason})"),
    }
}

fn summary(total: &View, prices: &PriceView) -> String {
    let free = percent(total.free_in_huge_pages.get(), total.free.get());
    let mut clauses = vec![format!(
        "{free} of free memory ({} of {}) is in 2 MiB blocks",
        size(total.free_in_huge_pages.bytes()),
        size(total.free.bytes())
    )];
    let mut text = String::new();
    if let Some(findings) = &total.findings {
        clauses.push(compaction(findings, prices));
        if findings.lost.by_one_page > 0 {
            clauses.push(format!("{} held by a single unmovable page", are(findings.lost.by_one_page, "block")));
        }
        text = on_cpu_lists(findings) + &dropping(findings) + &deferred(findings);
    }
    format!("{}.{text}", clauses.join("; "))
}

fn compaction(findings: &Findings, prices: &PriceView) -> String {
    let gain = &findings.by_moving;
    if gain.huge_pages > 0 {
        return format!(
            "compaction could make {} more ({}) by moving {}, about {} of one CPU at {}",
            grouped(gain.huge_pages),
            size(huge_pages(gain.huge_pages).bytes()),
            count_of(gain.moves.get(), "page"),
            duration(gain.time),
            whose(prices)
        );
    }
    let why = match findings.blocks.evacuable {
        0 => "no block holds movable pages alone",
        _ => "the free pages outside 2 MiB blocks are too few to empty another one",
    };
    format!("compaction could make no more: {why}")
}

/// Words for the machine of the prices.
fn whose(prices: &PriceView) -> String {
    match prices.moves {
        MovesOf::Host => format!("the host's measured {} a page", duration(Nanos::new(prices.move_page_ns))),
        MovesOf::Machine => format!("the prices of {}", prices.machine.split(':').next().unwrap_or_default()),
    }
}

/// Gain from dropping caches, if there is any.
fn dropping(findings: &Findings) -> String {
    let drop = &findings.by_dropping;
    let more = drop.huge_pages.saturating_sub(findings.by_moving.huge_pages);
    if more == 0 {
        return String::new();
    }
    let dropped = drop.cache_dropped + drop.slab_freed;
    format!(
        " Dropping {} of clean page cache and reclaimable slab first would add {} ({}).",
        size(dropped.bytes()),
        grouped(more),
        size(huge_pages(more).bytes())
    )
}

fn deferred(findings: &Findings) -> String {
    match findings.blocks.deferred {
        0 => String::new(),
        n => format!(" {} have not been given to the page allocator yet.", size(huge_pages(n).bytes())),
    }
}

/// Free pages on per-CPU lists, where they may be what holds a good part of the blocks that seem lost.
fn on_cpu_lists(findings: &Findings) -> String {
    let listed = &findings.on_cpu_lists;
    let matter = listed.blocks > 0 && listed.blocks * 20 >= findings.lost.blocks;
    if !matter {
        return String::new();
    }
    format!(
        " Up to {} ({}) may be held only by the {} on per-CPU lists, which the kernel does not mark; it drains them \
         as the load falls, and before an allocation fails.",
        count_of(listed.blocks, "more block"),
        size(huge_pages(listed.blocks).bytes()),
        count_of(listed.pages.get(), "free page")
    )
}

fn are(n: u64, what: &str) -> String {
    format!("{} {}", count_of(n, what), if n == 1 { "is" } else { "are" })
}

/// The base pages of `n` huge pages.
pub(super) fn huge_pages(n: u64) -> Pages {
    PAGEBLOCK_PAGES * n
}
