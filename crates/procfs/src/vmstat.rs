//! /proc/vmstat: levels and events of the allocator.

use alloc::vec::Vec;
use core::fmt::{Result, Write};

use order9_mm::policy::{LazyFree, LruScope, NewAnon};
use order9_mm::{ByZone, Counters, LruList, LruType, Mm, NumaCounters, Zone};
use order9_units::{CounterMeaning, CounterUnit, Migratetype, ZoneKind};

use crate::by_kind::{by_list, by_type, by_zone};

/// A field of /proc/vmstat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Name of the field.
    pub name: &'static str,
    /// Unit of the value, and whether the value is a level.
    pub meaning: CounterMeaning,
    /// Value of the field.
    pub value: u64,
}

type Fields = Vec<Field>;

const fn field(name: &'static str, meaning: CounterMeaning, value: u64) -> Field {
    Field { name, meaning, value }
}

/// A level in base pages.
const fn level(name: &'static str, value: u64) -> Field {
    field(name, CounterMeaning::level(CounterUnit::Pages), value)
}

/// A level in huge pages.
const fn huge_level(name: &'static str, value: u64) -> Field {
    field(name, CounterMeaning::level(CounterUnit::Blocks), value)
}

/// A count of events.
const fn events(name: &'static str, value: u64) -> Field {
    field(name, CounterMeaning::event(CounterUnit::Events), value)
}

/// A count of base pages.
const fn pages(name: &'static str, value: u64) -> Field {
    field(name, CounterMeaning::event(CounterUnit::Pages), value)
}

/// A count of units of 1024 bytes.
const fn kibibytes(name: &'static str, value: u64) -> Field {
    field(name, CounterMeaning::event(CounterUnit::Kibibytes), value)
}

/// Writes the part of /proc/vmstat that the engine has.
///
/// # Errors
/// Those of `out`.
pub fn render_vmstat(mm: &Mm, out: &mut impl Write) -> Result {
    vmstat(mm).try_for_each(|(name, value)| writeln!(out, "{name} {value}"))
}

/// The fields of /proc/vmstat that the engine has, in the kernel's order, those of huge pages all, under today's names. Where zones have LRU lists, what reclaim does
/// is counted by kind of zone; where anonymous pages start inactive, refaults are counted by type.
pub fn vmstat(mm: &Mm) -> impl Iterator<Item = (&'static str, u64)> {
    vmstat_fields(mm).map(|field| (field.name, field.value))
}

/// The fields that [`vmstat`] names, with their meanings.
pub fn vmstat_fields(mm: &Mm) -> impl Iterator<Item = Field> {
    let mut fields = Vec::with_capacity(128);
    zone_levels(mm, &mut fields);
    node_levels(mm, &mut fields);
    allocation_events(mm, &mut fields);
    reclaim_events(mm, &mut fields);
    numa_balancing_events(mm, &mut fields);
    fields.extend([
        pages("pgmigrate_success", mm.counters().pgmigrate_success),
        pages("pgmigrate_fail", mm.counters().pgmigrate_fail),
        events("thp_migration_success", mm.counters().thp_migration_success),
        events("thp_migration_fail", mm.counters().thp_migration_fail),
        events("thp_migration_split", mm.counters().thp_migration_split),
        pages("compact_migrate_scanned", mm.counters().compact_migrate_scanned),
        pages("compact_free_scanned", mm.counters().compact_free_scanned),
        pages("compact_isolated", mm.counters().compact_isolated),
        events("compact_stall", mm.counters().compact_stall),
        events("compact_fail", mm.counters().compact_fail),
        events("compact_success", mm.counters().compact_success),
        events("compact_daemon_wake", mm.counters().compact_daemon_wake),
        pages("compact_daemon_migrate_scanned", mm.counters().compact_daemon_migrate_scanned),
        pages("compact_daemon_free_scanned", mm.counters().compact_daemon_free_scanned),
        events("htlb_buddy_alloc_success", mm.counters().htlb_buddy_alloc_success),
        events("htlb_buddy_alloc_fail", mm.counters().htlb_buddy_alloc_fail),
        events("thp_fault_alloc", mm.counters().thp_fault_alloc),
        events("thp_fault_fallback", mm.counters().thp_fault_fallback),
        // There are no memory cgroups that could refuse a page.
        events("thp_fault_fallback_charge", 0),
        events("thp_collapse_alloc", mm.counters().thp_collapse_alloc),
        events("thp_collapse_alloc_failed", mm.counters().thp_collapse_alloc_failed),
        events("thp_file_alloc", mm.counters().thp_file_alloc),
        events("thp_file_fallback", mm.counters().thp_file_fallback),
        events("thp_file_fallback_charge", 0),
        events("thp_file_mapped", mm.counters().thp_file_mapped),
        events("thp_split_page", mm.counters().thp_split_page),
        events("thp_split_page_failed", mm.counters().thp_split_page_failed),
        events("thp_deferred_split_page", mm.counters().thp_deferred_split_page),
        events("thp_underused_split_page", mm.counters().thp_underused_split_page),
        events("thp_split_pmd", mm.counters().thp_split_pmd),
        events("thp_scan_exceed_none_pte", mm.counters().thp_scan_exceed_none_pte),
        events("thp_scan_exceed_swap_pte", mm.counters().thp_scan_exceed_swap_pte),
        events("thp_scan_exceed_share_pte", mm.counters().thp_scan_exceed_share_pte),
        // Entries of 1 GiB do not exist.
        events("thp_split_pud", 0),
        events("thp_zero_page_alloc", mm.counters().thp_zero_page_alloc),
        events("thp_zero_page_alloc_failed", mm.counters().thp_zero_page_alloc_failed),
        events("thp_swpout", mm.counters().thp_swpout),
        events("thp_swpout_fallback", mm.counters().thp_swpout_fallback),
        events("swap_ra", mm.counters().swap_ra),
        events("swap_ra_hit", mm.counters().swap_ra_hit),
    ]);
    fields.into_iter()
}

/// Machines on which NUMA balancing was never on do without.
fn numa_balancing_events(mm: &Mm, fields: &mut Fields) {
    if mm.pages().balancing().numa_balancing_was_on() {
        fields.extend([
            events("numa_pte_updates", mm.counters().numa_pte_updates),
            events("numa_huge_pte_updates", mm.counters().numa_huge_pte_updates),
            events("numa_hint_faults", mm.counters().numa_hint_faults),
            events("numa_hint_faults_local", mm.counters().numa_hint_faults_local),
            pages("numa_pages_migrated", mm.counters().numa_pages_migrated),
        ]);
    }
}

fn zone_levels(mm: &Mm, fields: &mut Fields) {
    let sum = |of: fn(&Zone) -> u64| mm.frames().zones().iter().map(of).sum::<u64>();
    let numa = |of: fn(&NumaCounters) -> u64| mm.frames().numa_counters().iter().map(of).sum::<u64>();
    let lru =
        |list| mm.frames().zones().iter().map(|zone| mm.pages().lru().zone_lru(zone.id()).pages(list)).sum::<u64>();
    fields.extend([
        level("nr_free_pages", sum(|zone| zone.free())),
        level("nr_free_pages_blocks", sum(Zone::free_in_pageblocks)),
    ]);
    fields.extend(by_list!(level, "nr_zone", lru));
    fields.extend([
        level("nr_zone_write_pending", mm.write_pending(None).total()),
        level("nr_mlock", mm.mlocked(None)),
        level("nr_free_cma", sum(|zone| zone.free_of_type(Migratetype::Cma))),
        pages("numa_hit", numa(|node| node.hit)),
        pages("numa_miss", numa(|node| node.miss)),
        pages("numa_foreign", numa(|node| node.foreign)),
    ]);
    if mm.frames().nodes().len() > 1 {
        // With one node there are no turns.
        fields.push(pages("numa_interleave", numa(|node| node.interleave_hit)));
    }
    fields.extend([pages("numa_local", numa(|node| node.local)), pages("numa_other", numa(|node| node.other))]);
}

fn node_levels(mm: &Mm, fields: &mut Fields) {
    let (user, slab) = (mm.pages().user_levels(), mm.pages().slab().slab_total());
    let (pending, limits) = (mm.write_pending(None), mm.dirty_limits());
    let lru =
        |list| mm.frames().zones().iter().map(|zone| mm.pages().lru().zone_lru(zone.id()).pages(list)).sum::<u64>();
    let isolated =
        |of| mm.frames().zones().iter().map(|zone| mm.pages().lru().zone_lru(zone.id()).isolated(of)).sum::<u64>();
    fields.extend(by_list!(level, "nr", lru));
    fields.extend([
        level("nr_slab_reclaimable", slab.reclaimable),
        level("nr_slab_unreclaimable", slab.unreclaimable),
        level("nr_isolated_anon", isolated(LruType::Anon)),
        level("nr_isolated_file", isolated(LruType::File)),
    ]);
    workingset_events(mm, fields);
    fields.extend([
        level("nr_anon_pages", user.anon),
        level("nr_mapped", user.mapped),
        level("nr_file_pages", user.file + user.shmem + mm.pages().swap().swap_cached().get()),
        level("nr_dirty", pending.dirty),
        level("nr_writeback", pending.writeback),
        level("nr_shmem", user.shmem),
        level("nr_page_table_pages", user.page_tables),
        huge_level("nr_shmem_hugepages", user.shmem_thps),
        huge_level("nr_shmem_pmdmapped", user.shmem_pmdmapped),
        // Files on disk have base pages.
        huge_level("nr_file_hugepages", 0),
        huge_level("nr_file_pmdmapped", 0),
        huge_level("nr_anon_transparent_hugepages", user.anon_thps),
        pages("nr_vmscan_write", mm.counters().nr_vmscan_write),
        pages("nr_vmscan_immediate_reclaim", mm.counters().nr_vmscan_immediate_reclaim),
        pages("nr_dirtied", mm.counters().nr_dirtied),
        pages("nr_written", mm.counters().nr_written),
        level("nr_swapcached", mm.pages().swap().swap_cached().get()),
        level("nr_dirty_threshold", limits.thresh.get()),
        level("nr_dirty_background_threshold", limits.background.get()),
    ]);
}

/// Writes the events of refaults, which Linux also lists among the levels.
fn workingset_events(mm: &Mm, fields: &mut Fields) {
    let Counters { workingset_refault, workingset_activate, workingset_restore, .. } = mm.counters();
    if mm.policy().reclaim.new_anon == NewAnon::Inactive {
        fields.extend(by_type!(pages, "workingset_refault", |of: LruType| workingset_refault[of.index()]));
        fields.extend(by_type!(pages, "workingset_activate", |of: LruType| workingset_activate[of.index()]));
        fields.extend(by_type!(pages, "workingset_restore", |of: LruType| workingset_restore[of.index()]));
    } else {
        fields.extend([
            pages("workingset_refault", workingset_refault.iter().sum()),
            pages("workingset_activate", workingset_activate.iter().sum()),
            pages("workingset_restore", workingset_restore.iter().sum()),
        ]);
    }
}

fn allocation_events(mm: &Mm, fields: &mut Fields) {
    let counters = mm.counters();
    fields.extend([
        kibibytes("pgpgin", counters.pgpgin),
        kibibytes("pgpgout", counters.pgpgout),
        pages("pswpin", counters.pswpin),
        pages("pswpout", counters.pswpout),
    ]);
    fields.extend(by_zone!(pages, "pgalloc", |kind: ZoneKind| mm.frames().counters().pgalloc[kind.index()]));
    if mm.policy().reclaim.lru == LruScope::Node {
        fields.extend(by_zone!(events, "allocstall", |kind| counters.allocstall.of(kind)));
        fields.extend(by_zone!(pages, "pgskip", |kind: ZoneKind| counters.pgskip[kind.index()]));
    }
    fields.extend([
        pages("pgfree", mm.frames().counters().pgfree),
        pages("pgactivate", counters.pgactivate),
        pages("pgdeactivate", counters.pgdeactivate),
        events("pgfault", counters.pgfault),
        events("pgmajfault", counters.pgmajfault),
    ]);
    if mm.policy().reclaim.lazy_free == LazyFree::FileLists {
        fields.push(pages("pglazyfree", counters.pglazyfree));
    }
    if mm.policy().reclaim.lazy_free != LazyFree::None {
        fields.push(pages("pglazyfreed", counters.pglazyfreed));
    }
}

fn reclaim_events(mm: &Mm, fields: &mut Fields) {
    let (counters, rules) = (mm.counters(), &mm.policy().reclaim);
    let proactive = |name, counter: &ByZone| rules.node_file.then(|| pages(name, counter.total()));
    match rules.lru {
        LruScope::Node => {
            fields.extend([
                pages("pgrefill", counters.pgrefill.total()),
                pages("pgsteal_kswapd", counters.pgsteal_kswapd.total()),
                pages("pgsteal_direct", counters.pgsteal_direct.total()),
            ]);
            fields.extend(proactive("pgsteal_proactive", &counters.pgsteal_proactive));
            fields.extend([
                pages("pgscan_kswapd", counters.pgscan_kswapd.total()),
                pages("pgscan_direct", counters.pgscan_direct.total()),
            ]);
            fields.extend(proactive("pgscan_proactive", &counters.pgscan_proactive));
        }
        LruScope::Zone => {
            fields.extend(by_zone!(pages, "pgrefill", |kind| counters.pgrefill.of(kind)));
            fields.extend(by_zone!(pages, "pgsteal_kswapd", |kind| counters.pgsteal_kswapd.of(kind)));
            fields.extend(by_zone!(pages, "pgsteal_direct", |kind| counters.pgsteal_direct.of(kind)));
            fields.extend(by_zone!(pages, "pgscan_kswapd", |kind| counters.pgscan_kswapd.of(kind)));
            fields.extend(by_zone!(pages, "pgscan_direct", |kind| counters.pgscan_direct.of(kind)));
        }
    }
    fields.extend([
        events("pgscan_direct_throttle", counters.pgscan_direct_throttle),
        events("zone_reclaim_success", counters.zone_reclaim_success),
        events("zone_reclaim_failed", counters.zone_reclaim_failed),
        pages("pginodesteal", counters.pginodesteal),
        events("slabs_scanned", counters.slabs_scanned),
        pages("kswapd_inodesteal", counters.kswapd_inodesteal),
        events("kswapd_low_wmark_hit_quickly", counters.kswapd_low_wmark_hit_quickly),
        events("kswapd_high_wmark_hit_quickly", counters.kswapd_high_wmark_hit_quickly),
        events("pageoutrun", counters.pageoutrun),
    ]);
    if mm.policy().reclaim.lru == LruScope::Zone {
        fields.push(events("allocstall", counters.allocstall.total()));
    }
    fields.extend([
        pages("pgrotated", counters.pgrotated),
        events("drop_pagecache", counters.drop_pagecache),
        events("drop_slab", counters.drop_slab),
        events("oom_kill", counters.oom_kill),
    ]);
}
