//! /proc/vmstat: levels and events of the allocator.

use alloc::vec::Vec;
use core::fmt::{Result, Write};

use order9_mm::policy::{LazyFree, LruScope, NewAnon};
use order9_mm::trace::Tracer;
use order9_mm::{ByZone, Counters, LruList, LruType, Mm, NumaCounters, Zone};
use order9_units::{Migratetype, ZoneKind};

/// Fields of a file: names with their values.
type Fields = Vec<(&'static str, u64)>;

/// The names of a counter that there is for every kind of zone.
macro_rules! by_zone {
    ($name:literal) => {
        [concat!($name, "_dma"), concat!($name, "_dma32"), concat!($name, "_normal"), concat!($name, "_movable")]
    };
}

/// Writes the part of /proc/vmstat that the engine has.
///
/// # Errors
/// Those of `out`.
pub fn render_vmstat<T: Tracer>(mm: &Mm<T>, out: &mut impl Write) -> Result {
    vmstat(mm).try_for_each(|(name, value)| writeln!(out, "{name} {value}"))
}

/// The fields of /proc/vmstat that the engine has, in the kernel's order, those of huge pages all, under today's names. Where zones have LRU lists, what reclaim does
/// is counted by kind of zone; where anonymous pages start inactive, refaults are counted by type.
pub fn vmstat<T: Tracer>(mm: &Mm<T>) -> impl Iterator<Item = (&'static str, u64)> {
    let mut fields = Vec::with_capacity(128);
    zone_levels(mm, &mut fields);
    node_levels(mm, &mut fields);
    allocation_events(mm, &mut fields);
    reclaim_events(mm, &mut fields);
    numa_balancing_events(mm, &mut fields);
    fields.extend([
        ("pgmigrate_success", mm.counters().pgmigrate_success),
        ("pgmigrate_fail", mm.counters().pgmigrate_fail),
        ("thp_migration_success", mm.counters().thp_migration_success),
        ("thp_migration_fail", mm.counters().thp_migration_fail),
        ("thp_migration_split", mm.counters().thp_migration_split),
        ("compact_migrate_scanned", mm.counters().compact_migrate_scanned),
        ("compact_free_scanned", mm.counters().compact_free_scanned),
        ("compact_isolated", mm.counters().compact_isolated),
        ("compact_stall", mm.counters().compact_stall),
        ("compact_fail", mm.counters().compact_fail),
        ("compact_success", mm.counters().compact_success),
        ("compact_daemon_wake", mm.counters().compact_daemon_wake),
        ("compact_daemon_migrate_scanned", mm.counters().compact_daemon_migrate_scanned),
        ("compact_daemon_free_scanned", mm.counters().compact_daemon_free_scanned),
        ("htlb_buddy_alloc_success", mm.counters().htlb_buddy_alloc_success),
        ("htlb_buddy_alloc_fail", mm.counters().htlb_buddy_alloc_fail),
        ("thp_fault_alloc", mm.counters().thp_fault_alloc),
        ("thp_fault_fallback", mm.counters().thp_fault_fallback),
        // There are no memory cgroups that could refuse a page.
        ("thp_fault_fallback_charge", 0),
        ("thp_collapse_alloc", mm.counters().thp_collapse_alloc),
        ("thp_collapse_alloc_failed", mm.counters().thp_collapse_alloc_failed),
        ("thp_file_alloc", mm.counters().thp_file_alloc),
        ("thp_file_fallback", mm.counters().thp_file_fallback),
        ("thp_file_fallback_charge", 0),
        ("thp_file_mapped", mm.counters().thp_file_mapped),
        ("thp_split_page", mm.counters().thp_split_page),
        ("thp_split_page_failed", mm.counters().thp_split_page_failed),
        ("thp_deferred_split_page", mm.counters().thp_deferred_split_page),
        ("thp_underused_split_page", mm.counters().thp_underused_split_page),
        ("thp_split_pmd", mm.counters().thp_split_pmd),
        ("thp_scan_exceed_none_pte", mm.counters().thp_scan_exceed_none_pte),
        ("thp_scan_exceed_swap_pte", mm.counters().thp_scan_exceed_swap_pte),
        ("thp_scan_exceed_share_pte", mm.counters().thp_scan_exceed_share_pte),
        // Entries of 1 GiB do not exist.
        ("thp_split_pud", 0),
        ("thp_zero_page_alloc", mm.counters().thp_zero_page_alloc),
        ("thp_zero_page_alloc_failed", mm.counters().thp_zero_page_alloc_failed),
        ("thp_swpout", mm.counters().thp_swpout),
        ("thp_swpout_fallback", mm.counters().thp_swpout_fallback),
        ("swap_ra", mm.counters().swap_ra),
        ("swap_ra_hit", mm.counters().swap_ra_hit),
    ]);
    fields.into_iter()
}

/// Machines on which NUMA balancing was never on do without.
fn numa_balancing_events<T: Tracer>(mm: &Mm<T>, fields: &mut Fields) {
    if mm.pages().numa_balancing_was_on() {
        fields.extend([
            ("numa_pte_updates", mm.counters().numa_pte_updates),
            ("numa_huge_pte_updates", mm.counters().numa_huge_pte_updates),
            ("numa_hint_faults", mm.counters().numa_hint_faults),
            ("numa_hint_faults_local", mm.counters().numa_hint_faults_local),
            ("numa_pages_migrated", mm.counters().numa_pages_migrated),
        ]);
    }
}

fn zone_levels<T: Tracer>(mm: &Mm<T>, fields: &mut Fields) {
    let sum = |of: fn(&Zone) -> u64| mm.zones().iter().map(of).sum::<u64>();
    let numa = |of: fn(&NumaCounters) -> u64| mm.frames().numa_counters().iter().map(of).sum::<u64>();
    let lru = |list| mm.zones().iter().map(|zone| mm.pages().zone_lru(zone.id()).pages(list)).sum::<u64>();
    fields.extend([
        ("nr_free_pages", sum(|zone| zone.free())),
        ("nr_free_pages_blocks", sum(Zone::free_in_pageblocks)),
        ("nr_zone_inactive_anon", lru(LruList::InactiveAnon)),
        ("nr_zone_active_anon", lru(LruList::ActiveAnon)),
        ("nr_zone_inactive_file", lru(LruList::InactiveFile)),
        ("nr_zone_active_file", lru(LruList::ActiveFile)),
        ("nr_zone_unevictable", lru(LruList::Unevictable)),
        ("nr_zone_write_pending", mm.write_pending(None).total()),
        ("nr_mlock", mm.mlocked(None)),
        ("nr_free_cma", sum(|zone| zone.free_of_type(Migratetype::Cma))),
        ("numa_hit", numa(|node| node.hit)),
        ("numa_miss", numa(|node| node.miss)),
        ("numa_foreign", numa(|node| node.foreign)),
    ]);
    if mm.nodes().len() > 1 {
        // With one node there are no turns.
        fields.push(("numa_interleave", numa(|node| node.interleave_hit)));
    }
    fields.extend([("numa_local", numa(|node| node.local)), ("numa_other", numa(|node| node.other))]);
}

fn node_levels<T: Tracer>(mm: &Mm<T>, fields: &mut Fields) {
    let (user, slab) = (mm.pages().user_levels(), mm.pages().slab_total());
    let (pending, limits) = (mm.write_pending(None), mm.dirty_limits());
    let lru = |list| mm.zones().iter().map(|zone| mm.pages().zone_lru(zone.id()).pages(list)).sum::<u64>();
    let isolated = |of| mm.zones().iter().map(|zone| mm.pages().zone_lru(zone.id()).isolated(of)).sum::<u64>();
    fields.extend([
        ("nr_inactive_anon", lru(LruList::InactiveAnon)),
        ("nr_active_anon", lru(LruList::ActiveAnon)),
        ("nr_inactive_file", lru(LruList::InactiveFile)),
        ("nr_active_file", lru(LruList::ActiveFile)),
        ("nr_unevictable", lru(LruList::Unevictable)),
        ("nr_slab_reclaimable", slab.reclaimable),
        ("nr_slab_unreclaimable", slab.unreclaimable),
        ("nr_isolated_anon", isolated(LruType::Anon)),
        ("nr_isolated_file", isolated(LruType::File)),
    ]);
    workingset_events(mm, fields);
    fields.extend([
        ("nr_anon_pages", user.anon),
        ("nr_mapped", user.mapped),
        ("nr_file_pages", user.file + user.shmem + mm.pages().swap_cached().get()),
        ("nr_dirty", pending.dirty),
        ("nr_writeback", pending.writeback),
        ("nr_shmem", user.shmem),
        ("nr_page_table_pages", user.page_tables),
        ("nr_shmem_hugepages", user.shmem_thps),
        ("nr_shmem_pmdmapped", user.shmem_pmdmapped),
        // Files on disk have base pages.
        ("nr_file_hugepages", 0),
        ("nr_file_pmdmapped", 0),
        ("nr_anon_transparent_hugepages", user.anon_thps),
        ("nr_vmscan_write", mm.counters().nr_vmscan_write),
        ("nr_vmscan_immediate_reclaim", mm.counters().nr_vmscan_immediate_reclaim),
        ("nr_dirtied", mm.counters().nr_dirtied),
        ("nr_written", mm.counters().nr_written),
        ("nr_swapcached", mm.pages().swap_cached().get()),
        ("nr_dirty_threshold", limits.thresh.get()),
        ("nr_dirty_background_threshold", limits.background.get()),
    ]);
}

/// Writes the events of refaults, which Linux also lists among the levels.
fn workingset_events<T: Tracer>(mm: &Mm<T>, fields: &mut Fields) {
    let Counters { workingset_refault, workingset_activate, workingset_restore, .. } = mm.counters();
    if mm.policy().reclaim.new_anon == NewAnon::Inactive {
        fields.extend(["workingset_refault_anon", "workingset_refault_file"].into_iter().zip(*workingset_refault));
        fields.extend(["workingset_activate_anon", "workingset_activate_file"].into_iter().zip(*workingset_activate));
        fields.extend(["workingset_restore_anon", "workingset_restore_file"].into_iter().zip(*workingset_restore));
    } else {
        fields.extend([
            ("workingset_refault", workingset_refault.iter().sum()),
            ("workingset_activate", workingset_activate.iter().sum()),
            ("workingset_restore", workingset_restore.iter().sum()),
        ]);
    }
}

fn allocation_events<T: Tracer>(mm: &Mm<T>, fields: &mut Fields) {
    let counters = mm.counters();
    fields.extend([
        ("pgpgin", counters.pgpgin),
        ("pgpgout", counters.pgpgout),
        ("pswpin", counters.pswpin),
        ("pswpout", counters.pswpout),
    ]);
    fields.extend(by_zone!("pgalloc").into_iter().zip(mm.frame_counters().pgalloc));
    if mm.policy().reclaim.lru == LruScope::Node {
        fields.extend(by_zone!("allocstall").into_iter().zip(kinds(&counters.allocstall)));
        fields.extend(by_zone!("pgskip").into_iter().zip(counters.pgskip));
    }
    fields.extend([
        ("pgfree", mm.frame_counters().pgfree),
        ("pgactivate", counters.pgactivate),
        ("pgdeactivate", counters.pgdeactivate),
        ("pgfault", counters.pgfault),
        ("pgmajfault", counters.pgmajfault),
    ]);
    if mm.policy().reclaim.lazy_free == LazyFree::FileLists {
        fields.push(("pglazyfree", counters.pglazyfree));
    }
    if mm.policy().reclaim.lazy_free != LazyFree::None {
        fields.push(("pglazyfreed", counters.pglazyfreed));
    }
}

fn reclaim_events<T: Tracer>(mm: &Mm<T>, fields: &mut Fields) {
    let counters = mm.counters();
    match mm.policy().reclaim.lru {
        LruScope::Node => fields.extend([
            ("pgrefill", counters.pgrefill.total()),
            ("pgsteal_kswapd", counters.pgsteal_kswapd.total()),
            ("pgsteal_direct", counters.pgsteal_direct.total()),
            ("pgscan_kswapd", counters.pgscan_kswapd.total()),
            ("pgscan_direct", counters.pgscan_direct.total()),
        ]),
        LruScope::Zone => {
            fields.extend(by_zone!("pgrefill").into_iter().zip(kinds(&counters.pgrefill)));
            fields.extend(by_zone!("pgsteal_kswapd").into_iter().zip(kinds(&counters.pgsteal_kswapd)));
            fields.extend(by_zone!("pgsteal_direct").into_iter().zip(kinds(&counters.pgsteal_direct)));
            fields.extend(by_zone!("pgscan_kswapd").into_iter().zip(kinds(&counters.pgscan_kswapd)));
            fields.extend(by_zone!("pgscan_direct").into_iter().zip(kinds(&counters.pgscan_direct)));
        }
    }
    fields.extend([
        ("pgscan_direct_throttle", counters.pgscan_direct_throttle),
        ("zone_reclaim_success", counters.zone_reclaim_success),
        ("zone_reclaim_failed", counters.zone_reclaim_failed),
        ("pginodesteal", counters.pginodesteal),
        ("slabs_scanned", counters.slabs_scanned),
        ("kswapd_inodesteal", counters.kswapd_inodesteal),
        ("kswapd_low_wmark_hit_quickly", counters.kswapd_low_wmark_hit_quickly),
        ("kswapd_high_wmark_hit_quickly", counters.kswapd_high_wmark_hit_quickly),
        ("pageoutrun", counters.pageoutrun),
    ]);
    if mm.policy().reclaim.lru == LruScope::Zone {
        fields.push(("allocstall", counters.allocstall.total()));
    }
    fields.extend([
        ("pgrotated", counters.pgrotated),
        ("drop_pagecache", counters.drop_pagecache),
        ("drop_slab", counters.drop_slab),
        ("oom_kill", counters.oom_kill),
    ]);
}

fn kinds(counter: &ByZone) -> impl Iterator<Item = u64> {
    ZoneKind::ALL.into_iter().map(|kind| counter.of(kind))
}
