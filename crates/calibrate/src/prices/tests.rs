//! Prices are what their measurements are made of.

use super::*;

#[test]
fn a_split_is_its_parts_their_mappings_and_what_they_have_prices_for() {
    let direct = Direct {
        unmap: 300.0,
        fork_page: 100.0,
        moves_per_flush: 1.0,
        discard_none: 1_000.0,
        discard_one: 1_900.0,
        discard_two: 2_500.0,
        discard_part: 1_600.0,
        discard_first_part: 11_900.0,
        ..Direct::default()
    };
    let unmapped = ["tlb_flush", "unmap_huge_part", "split_pmd", "discard"].map(|key| price(&direct, key).round());
    assert_eq!(unmapped, [300.0, 300.0, 10_000.0, 1_000.0]);
    let [split, remap, free] = [250.0, 400.0, 900.0];
    let parts = |mapped: f64| around_split(&direct, mapped) + PER_TABLE * split;
    let direct = Direct {
        huge_split_whole: parts(PER_TABLE) + split_pmd(&direct) + tlb_flush(&direct),
        huge_split_pages: parts(511.0) + 511.0 * remap,
        huge_split_half: parts(256.0) + 256.0 * (remap + free + pcp_hit(&direct)),
        ..direct
    };
    let found = ["split_huge_part", "remap_huge_part", "free_huge_part"].map(|key| price(&direct, key).round());
    assert_eq!(found, [split, remap, free]);
}

#[test]
fn a_collapse_is_its_range_its_pages_and_what_they_have_prices_for() {
    let [clear, copy, unmap] = [500.0, 400.0, 300.0];
    let slot = |range: f64, page: f64, present: f64| range + present * page + (PER_TABLE - present) * clear;
    let base = |present| slot(7_000.0, 1_000.0 + copy + unmap, present);
    let parts = |present| slot(7_000.0, 2_000.0 + copy + unmap, present);
    let direct = Direct {
        huge_populate: clear,
        memcpy: copy,
        unmap,
        discard_part: unmap,
        moves_per_flush: 1.0,
        collapse_few: base(64.0),
        collapse_half: base(256.0),
        collapse_full: base(512.0),
        collapse_few_parts: parts(64.0),
        collapse_half_parts: parts(256.0),
        ..Direct::default()
    };
    let found = ["collapse_range", "collapse_page", "collapse_part"].map(|key| price(&direct, key).round());
    assert_eq!(found, [7_000.0, 1_000.0, 2_000.0]);
}

#[test]
fn a_move_is_two_walks_its_entries_and_the_rest() {
    let [walk, rest, content, entries] = [200.0, 900.0, 400.0, 250.0];
    let direct = Direct {
        memcpy: content,
        unmap: 150.0,
        fork_page: entries - 150.0,
        moves_per_flush: 1.0,
        compact_file: content + rest + 50.0,
        compact_mapped_file: content + rest + 50.0 + entries + 2.0 * walk,
        compact_quarter: content + rest + entries + 2.0 * walk,
        ..Direct::default()
    };
    let found = ["rmap_walk", "migrate_folio"].map(|key| price(&direct, key).round());
    assert_eq!(found, [walk, rest]);
}
