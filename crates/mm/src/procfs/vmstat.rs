//! /proc/vmstat: levels and events of the allocator.

use core::fmt::{Result, Write};

use order9_units::{Migratetype, Order, ZoneKind};

use crate::Mm;
use crate::lru::{LruList, LruType};
use crate::trace::Tracer;
use crate::vmstat::NumaCounters;
use crate::zone::Zone;

impl<T: Tracer> Mm<T> {
    /// Writes the part of /proc/vmstat that the engine has.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn render_vmstat(&self, out: &mut impl Write) -> Result {
        self.vmstat().try_for_each(|(name, value)| writeln!(out, "{name} {value}"))
    }

    /// The fields of /proc/vmstat that the engine has, in the kernel's order.
    pub fn vmstat(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let sum = |of: fn(&Zone) -> u64| self.zones.iter().map(of).sum::<u64>();
        let numa = |of: fn(&NumaCounters) -> u64| self.counters.numa.iter().map(of).sum::<u64>();
        let (user, slab) = (self.user_levels(), self.slab.total());
        let (pending, limits) = (self.write_pending(None), self.dirty_limits());
        let lru = |list| self.zones.iter().map(|zone| zone.lru_pages(list)).sum::<u64>();
        let isolated = |of| self.zones.iter().map(|zone| zone.lru_isolated(of)).sum::<u64>();
        let pgskip = |kind: ZoneKind| self.counters.pgskip[kind.index()];
        let pgalloc = |kind: ZoneKind| self.counters.pgalloc[kind.index()];
        [
            ("nr_free_pages", sum(|zone| zone.free)),
            ("nr_free_pages_blocks", sum(Zone::free_in_pageblocks)),
            ("nr_zone_inactive_anon", lru(LruList::InactiveAnon)),
            ("nr_zone_active_anon", lru(LruList::ActiveAnon)),
            ("nr_zone_inactive_file", lru(LruList::InactiveFile)),
            ("nr_zone_active_file", lru(LruList::ActiveFile)),
            ("nr_zone_unevictable", lru(LruList::Unevictable)),
            ("nr_zone_write_pending", pending.total()),
            ("nr_mlock", self.mlocked()),
            ("nr_free_cma", sum(|zone| zone.free_of_type(Migratetype::Cma))),
            ("numa_hit", numa(|node| node.hit)),
            ("numa_miss", numa(|node| node.miss)),
            ("numa_foreign", numa(|node| node.foreign)),
            ("numa_local", numa(|node| node.local)),
            ("numa_other", numa(|node| node.other)),
            ("nr_inactive_anon", lru(LruList::InactiveAnon)),
            ("nr_active_anon", lru(LruList::ActiveAnon)),
            ("nr_inactive_file", lru(LruList::InactiveFile)),
            ("nr_active_file", lru(LruList::ActiveFile)),
            ("nr_unevictable", lru(LruList::Unevictable)),
            ("nr_slab_reclaimable", slab.reclaimable),
            ("nr_slab_unreclaimable", slab.unreclaimable),
            ("nr_isolated_anon", isolated(LruType::Anon)),
            ("nr_isolated_file", isolated(LruType::File)),
            ("nr_anon_pages", user.anon),
            ("nr_mapped", user.mapped),
            ("nr_file_pages", user.file + user.shmem + self.swap_cached().get()),
            ("nr_dirty", pending.dirty),
            ("nr_writeback", pending.writeback),
            ("nr_shmem", user.shmem),
            ("nr_page_table_pages", user.page_tables),
            ("nr_vmscan_write", self.counters.nr_vmscan_write),
            ("nr_dirtied", self.counters.nr_dirtied),
            ("nr_written", self.counters.nr_written),
            ("nr_swapcached", self.swap_cached().get()),
            ("nr_dirty_threshold", limits.thresh.get()),
            ("nr_dirty_background_threshold", limits.background.get()),
            ("pswpin", self.counters.pswpin),
            ("pswpout", self.counters.pswpout),
            ("pgalloc_dma", pgalloc(ZoneKind::Dma)),
            ("pgalloc_dma32", pgalloc(ZoneKind::Dma32)),
            ("pgalloc_normal", pgalloc(ZoneKind::Normal)),
            ("pgalloc_movable", pgalloc(ZoneKind::Movable)),
            ("pgskip_dma", pgskip(ZoneKind::Dma)),
            ("pgskip_dma32", pgskip(ZoneKind::Dma32)),
            ("pgskip_normal", pgskip(ZoneKind::Normal)),
            ("pgskip_movable", pgskip(ZoneKind::Movable)),
            ("pgfree", self.counters.pgfree),
            ("pgactivate", self.counters.pgactivate),
            ("pgdeactivate", self.counters.pgdeactivate),
            ("pgfault", self.counters.pgfault),
            ("pgmajfault", self.counters.pgmajfault),
            ("pgrefill", self.counters.pgrefill),
            ("pgsteal_kswapd", self.counters.pgsteal_kswapd),
            ("pgsteal_direct", self.counters.pgsteal_direct),
            ("pgscan_kswapd", self.counters.pgscan_kswapd),
            ("pgscan_direct", self.counters.pgscan_direct),
            ("pginodesteal", self.counters.pginodesteal),
            ("slabs_scanned", self.counters.slabs_scanned),
            ("kswapd_inodesteal", self.counters.kswapd_inodesteal),
            ("pgrotated", self.counters.pgrotated),
            ("drop_pagecache", self.counters.drop_pagecache),
            ("drop_slab", self.counters.drop_slab),
            ("compact_stall", self.counters.compact_stall),
            ("compact_fail", self.counters.compact_fail),
            ("compact_success", self.counters.compact_success),
        ]
        .into_iter()
    }
}

impl Zone {
    /// Free pages in blocks of at least a pageblock: `nr_free_pages_blocks` (6.15+).
    #[must_use]
    pub fn free_in_pageblocks(&self) -> u64 {
        let whole = Order::PAGEBLOCK.to(Order::MAX);
        whole.map(|order| self.areas[order.index()].total() * order.pages().get()).sum()
    }
}
