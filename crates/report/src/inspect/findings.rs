//! Huge pages there are, could be and cannot be, by zone.

use order9_snapshot::inspection::{Findings, Inspection};
use order9_units::Pages;

use super::headline::huge_pages;
use super::{Page, Place, places};
use crate::number::{count_of, duration, gib, grouped, percent, size};
use crate::table::Table;
use crate::terminal::Canvas;

/// Adds the sections that need the map of frames.
pub(super) fn sections(inspection: &Inspection, page: &mut Page) {
    let places = places(inspection);
    let Some(total) = &inspection.total.findings else { return };
    page.section("Huge pages", &blocks(&places, page));
    page.section("Pages to move for the next huge pages", &moves(&places, total, page));
    page.section("Drop, then compact", &dropping(&places, page));
    page.section("Lost blocks", &lost(total, page));
    page.section("Huge pages in use", &in_use(total, page));
    page.section("Areas of 1 GiB", &gigabytes(&places, total, page));
}

/// Every block is in exactly one column.
fn blocks(places: &[Place<'_>], page: &Page) -> String {
    const COLUMNS: [(&str, &str); 9] = [
        ("all", ""),
        ("huge", "in use as such"),
        ("free", ""),
        ("gain", "moving pages frees them"),
        ("full", "movable pages only, but no room to move them to"),
        ("pcp", "perhaps held by free pages on per-CPU lists alone"),
        ("lost", "held by pages that stay"),
        ("part", "beside a hole or the end of a zone"),
        ("deferred", "not yet initialised"),
    ];
    let counts = |findings: &Findings| {
        let (tally, gain) = (&findings.blocks, findings.by_moving.huge_pages);
        [
            tally.total,
            tally.huge,
            tally.free,
            gain,
            tally.evacuable.saturating_sub(gain),
            tally.unmarked,
            tally.lost + tally.slab,
            tally.partial,
            tally.deferred,
        ]
    };
    let header = std::iter::once("zone").chain(COLUMNS.map(|(name, _)| name));
    let mut table = Table::with_header(header.map(str::to_owned).collect());
    for place in places.iter().filter(|place| place.says(|findings| findings.blocks.total > 0)) {
        table.row(std::iter::once(place.name.clone()).chain(counts(place.findings).map(grouped)).collect());
    }
    let total = places.last().map(|place| counts(place.findings)).unwrap_or_default();
    let shown = COLUMNS.iter().zip(total).filter(|&((_, meaning), n)| n > 0 && !meaning.is_empty());
    let notes: Vec<_> = shown.map(|((name, meaning), _)| format!("{name}: {meaning}")).collect();
    let table = table.without_empty_columns().render(page.canvas.width, page.canvas.colour);
    table + &page.note(&format!("{}.", notes.join("; ")))
}

fn moves(places: &[Place<'_>], total: &Findings, page: &Page) -> String {
    if total.by_moving.huge_pages == 0 {
        return if_drained(total, page);
    }
    let goals = total.goals.iter().map(|goal| goal.goal.to_owned());
    let header = std::iter::once("zone".to_owned()).chain(goals).chain(["time".to_owned(), "in Linux".to_owned()]);
    let mut table = Table::with_header(header.collect());
    for place in places.iter().filter(|place| place.says(|findings| findings.by_moving.huge_pages > 0)) {
        let Place { name, findings, .. } = place;
        let mut row = vec![name.clone()];
        row.extend(total.goals.iter().map(|goal| {
            let same = findings.goals.iter().find(|own| own.goal == goal.goal);
            same.map_or_else(String::new, |own| grouped(own.moves.get()))
        }));
        row.push(duration(findings.by_moving.time));
        row.push(grouped(findings.by_moving_in_linux.huge_pages));
        table.row(row);
    }
    let note = "Least number of pages to move for that many more huge pages, if every free page may receive one; time: \
                of one CPU for all of them; in Linux: huge pages to gain where only blocks of type Movable or CMA receive \
                pages.";
    table.render(page.canvas.width, page.canvas.colour) + &page.note(note) + &if_drained(total, page)
}

/// Largest possible gain, if the pages on per-CPU lists lay in the blocks where they hold most.
fn if_drained(total: &Findings, page: &Page) -> String {
    let drained = &total.by_moving_if_drained;
    if drained.huge_pages == total.by_moving.huge_pages {
        return String::new();
    }
    page.note(&format!(
        "With all per-CPU lists drained first: at best {}, by moving {}, {}.",
        count_of(drained.huge_pages, "more huge page"),
        count_of(drained.moves.get(), "page"),
        duration(drained.time)
    ))
}

fn dropping(places: &[Place<'_>], page: &Page) -> String {
    let mut table = Table::new(["zone", "gain", "cache", "slab", "moves", "CPU time", "rereading"]);
    let gains = |findings: &Findings| findings.by_dropping.huge_pages > findings.by_moving.huge_pages;
    for Place { name, findings, .. } in places.iter().filter(|place| place.says(gains)) {
        let drop = &findings.by_dropping;
        table.row(vec![
            name.clone(),
            grouped(drop.huge_pages),
            size(drop.cache_dropped.bytes()),
            size(drop.slab_freed.bytes()),
            grouped(drop.moves.get()),
            duration(drop.time),
            drop.reread_time.map_or_else(String::new, duration),
        ]);
    }
    if table.is_empty() {
        return String::new();
    }
    let note = "gain: huge pages beyond those free now if clean page cache and reclaimable slab went first (how much slab \
                really goes is an estimate); CPU time: of dropping and moving; rereading: of all that cache from its files.";
    table.without_empty_columns().render(page.canvas.width, page.canvas.colour) + &page.note(note)
}

fn lost(total: &Findings, page: &Page) -> String {
    let listed = &total.on_cpu_lists;
    if total.lost.blocks + listed.blocks == 0 {
        return String::new();
    }
    let mut holders = Table::new(["held mostly by", "blocks", "GiB", "by it alone", "its pages"]);
    for held in total.lost.by_holder.iter().filter(|held| held.blocks > 0) {
        holders.row(vec![
            held.class.describe().to_owned(),
            grouped(held.blocks),
            gib(huge_pages(held.blocks).bytes()),
            grouped(held.alone),
            grouped(held.pages.get()),
        ]);
    }
    if listed.blocks > 0 {
        holders.row(vec![
            "perhaps per-CPU free pages".to_owned(),
            grouped(listed.blocks),
            gib(huge_pages(listed.blocks).bytes()),
            grouped(listed.blocks),
            grouped(listed.pages_there.get()),
        ]);
    }
    let mut few = Table::new(["held by", "blocks", "share"]);
    for held in total.lost.by_pages.iter().filter(|held| held.blocks > 0) {
        let pages = if held.from == held.to { held.from.to_string() } else { format!("{}-{}", held.from, held.to) };
        let pages = format!("{pages} {}", if held.to == 1 { "page" } else { "pages" });
        few.row(vec![pages, grouped(held.blocks), percent(held.blocks, total.lost.blocks)]);
    }
    let Canvas { width, colour, .. } = page.canvas;
    let note = page.note(
        "held mostly by: what most of a block's staying pages are; by it alone: blocks without any other staying page; its \
         pages: in all these blocks.",
    );
    let few = if few.is_empty() { String::new() } else { format!("\n{}", few.render(width, colour)) };
    holders.render(width, colour) + &note + &few
}

fn in_use(total: &Findings, page: &Page) -> String {
    let huge = &total.huge_in_use;
    let kinds = [
        ("anonymous (THP)", huge.anon),
        ("files (THP)", huge.file),
        ("shared memory (THP)", huge.shmem),
        ("hugetlb", huge.hugetlb),
    ];
    let mut table = Table::new(["kind", "huge pages", "GiB"]);
    for (name, pages) in kinds.into_iter().filter(|(_, pages)| *pages > Pages::ZERO) {
        table.row(vec![name.to_owned(), grouped(pages.get() / huge_pages(1).get()), gib(pages.bytes())]);
    }
    let mut out =
        if table.is_empty() { "  none\n".to_owned() } else { table.render(page.canvas.width, page.canvas.colour) };
    if huge.anon_share.is_some() {
        let share = percent(huge.anon.get(), huge.anon_total.get());
        out.push_str(&page.note(&format!("{share} of {} of anonymous memory is huge.", size(huge.anon_total.bytes()))));
    }
    out
}

/// Every aligned area of 1 GiB is in exactly one column; gain is a part of clean.
fn gigabytes(places: &[Place<'_>], total: &Findings, page: &Page) -> String {
    if total.gigabytes.total == total.gigabytes.partial {
        return String::new();
    }
    let mut table = Table::new(["zone", "all", "hugetlb", "free", "clean", "gain", "moves", "tainted", "part"]);
    for place in places.iter().filter(|place| place.says(|findings| findings.gigabytes.total > 0)) {
        let areas = &place.findings.gigabytes;
        let counts = [areas.total, areas.hugetlb, areas.free, areas.clean, areas.recoverable, areas.moves.get()];
        let row = counts.into_iter().chain([areas.tainted, areas.partial]).map(grouped);
        table.row(std::iter::once(place.name.clone()).chain(row).collect());
    }
    let note = "clean: free and movable pages only, huge pages in use included; gain: clean areas that moving pages within the \
                zone could free, by that many moves; tainted: with pages that stay; part: with a hole, or beside the end of a \
                zone.";
    let tainted = total.gigabytes.tainted_by.iter().filter(|few| few.areas > 0).map(|few| {
        let blocks = if few.from == few.to { few.from.to_string() } else { format!("{} to {}", few.from, few.to) };
        format!("{} by {blocks} of its 512 pageblocks", grouped(few.areas))
    });
    let tainted: Vec<_> = tainted.collect();
    let by = if tainted.is_empty() { String::new() } else { format!(" Tainted: {}.", tainted.join(", ")) };
    let table = table.without_empty_columns().render(page.canvas.width, page.canvas.colour);
    table + &page.note(&format!("{note}{by}"))
}
