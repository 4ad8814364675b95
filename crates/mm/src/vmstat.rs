//! Event counters: those of /proc/vmstat by their Linux names, and a few that only the engine has.
//!
//! Levels (`nr_free_pages`, ...) are not counted here: they are read off the zones.

use order9_units::ZoneKind;

use crate::lru_list::LruType;
use crate::migrate_counts::MigrateFailures;
use crate::migrate_counts::MigrateWaits;
use crate::reclaimer::Reclaimer;

/// A counter of which Linux up to 4.7 has one for every kind of zone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByZone([u64; ZoneKind::COUNT]);

impl ByZone {
    /// Count for zones of a kind. Where nodes have LRU lists, a pass counts for the zone that it was begun with.
    #[must_use]
    pub const fn of(&self, kind: ZoneKind) -> u64 {
        self.0[kind.index()]
    }

    /// Count for all zones.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    pub(crate) const fn add(&mut self, kind: ZoneKind, count: u64) {
        self.0[kind.index()] += count;
    }
}

/// Counters since boot of the layers above the allocator, which has its own: [`order9_frames::FrameCounters`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// `pgfault`: faults of programs, those that end in a signal for an address without mapping excepted.
    pub pgfault: u64,
    /// `pgpgin`: KiB read from disks; whoever runs them counts.
    pub pgpgin: u64,
    /// `pgpgout`: KiB written to disks.
    pub pgpgout: u64,
    /// `pswpin`: pages read from swap.
    pub pswpin: u64,
    /// `pswpout`: pages written to swap, by when the write started.
    pub pswpout: u64,
    /// `swap_ra`: pages read from swap beside those that faults needed.
    pub swap_ra: u64,
    /// `swap_ra_hit`: of these, pages that a fault has found in memory.
    pub swap_ra_hit: u64,
    /// `pgmajfault`: faults that read from swap.
    pub pgmajfault: u64,
    /// `pgrotated`: pages moved to the old end of their list since the write that reclaim waited for is done.
    pub pgrotated: u64,
    /// `nr_dirtied`: pages of files on disk that became dirty.
    pub nr_dirtied: u64,
    /// `nr_written`: pages written, to files or swap, by when the write ended.
    pub nr_written: u64,
    /// `drop_pagecache`: times that all clean page cache was dropped on request.
    pub drop_pagecache: u64,
    /// `nr_vmscan_write`: pages that reclaim started to write.
    pub nr_vmscan_write: u64,
    /// `pgskip_dma`, ...: LRU pages passed over since their zone was of no use to the run, by zone.
    pub pgskip: [u64; ZoneKind::COUNT],
    /// `pgactivate`: inactive pages found in use and made active.
    pub pgactivate: u64,
    /// `pgdeactivate`: active pages made inactive.
    pub pgdeactivate: u64,
    /// `pglazyfree`: pages that programs can do without until they write to them (`MADV_FREE`).
    pub pglazyfree: u64,
    /// `pglazyfreed`: those that reclaim has freed.
    pub pglazyfreed: u64,
    /// `pgrefill`: active pages looked at to be made inactive.
    pub pgrefill: ByZone,
    /// `pgscan_kswapd`: inactive pages looked at by kswapd, those passed over included.
    pub pgscan_kswapd: ByZone,
    /// `pgscan_direct`: the same by tasks that need memory.
    pub pgscan_direct: ByZone,
    /// `pgsteal_kswapd`: pages of these that were freed.
    pub pgsteal_kswapd: ByZone,
    /// `pgsteal_direct`: the same by tasks that need memory.
    pub pgsteal_direct: ByZone,
    /// `pgscan_proactive`: inactive pages that reclaim of a node on request looked at.
    pub pgscan_proactive: ByZone,
    /// `pgsteal_proactive`: pages that reclaim of a node on request freed.
    pub pgsteal_proactive: ByZone,
    /// `allocstall_dma`, ..., `allocstall` up to 4.7: tasks that began to reclaim, by the class of their request.
    pub allocstall: ByZone,
    /// `pgscan_direct_throttle`: tasks that had to wait for kswapd before they reclaimed.
    pub pgscan_direct_throttle: u64,
    /// `pageoutrun`: balancing runs of kswapd.
    pub pageoutrun: u64,
    /// `kswapd_low_wmark_hit_quickly`: naps of kswapd that a request cut short.
    pub kswapd_low_wmark_hit_quickly: u64,
    /// `kswapd_high_wmark_hit_quickly`: naps after which the node was no longer balanced.
    pub kswapd_high_wmark_hit_quickly: u64,
    /// `zone_reclaim_failed`: times that reclaim of the local node before another one is used came to nothing.
    pub zone_reclaim_failed: u64,
    /// `zone_reclaim_success`: times that it brought what was asked for.
    pub zone_reclaim_success: u64,
    /// `nr_vmscan_immediate_reclaim`: dirty pages of files that are to be freed once they are written.
    pub nr_vmscan_immediate_reclaim: u64,
    /// `workingset_refault_anon`, `_file`: pages that came back after they were evicted, by type.
    pub workingset_refault: [u64; LruType::COUNT],
    /// `workingset_activate_anon`, `_file`: of these, pages that started active.
    pub workingset_activate: [u64; LruType::COUNT],
    /// `workingset_restore_anon`, `_file`: of these, pages that had been active before.
    pub workingset_restore: [u64; LruType::COUNT],
    /// `pginodesteal`: pages of page cache that tasks dropped with inodes.
    pub pginodesteal: u64,
    /// `slabs_scanned`: objects that shrinkers were told to look at.
    pub slabs_scanned: u64,
    /// `kswapd_inodesteal`: pages of page cache that kswapd dropped with inodes.
    pub kswapd_inodesteal: u64,
    /// `drop_slab`: times that all slab was dropped on request.
    pub drop_slab: u64,
    /// `oom_kill`: processes killed for memory.
    pub oom_kill: u64,
    /// `numa_pte_updates`: pages that NUMA balancing has taken the access from, 512 for a huge page.
    pub numa_pte_updates: u64,
    /// `numa_huge_pte_updates`: huge entries among them.
    pub numa_huge_pte_updates: u64,
    /// `numa_hint_faults`: faults since an access had been taken away.
    pub numa_hint_faults: u64,
    /// `numa_hint_faults_local`: those to pages of the CPU's own node.
    pub numa_hint_faults_local: u64,
    /// `numa_pages_migrated`: pages that moved after one.
    pub numa_pages_migrated: u64,
    /// `pgmigrate_success`: pages moved to another frame, or freed when they were about to.
    pub pgmigrate_success: u64,
    /// `pgmigrate_fail`: pages that could not be moved.
    pub pgmigrate_fail: u64,
    /// Failed attempts to move a page (engine only).
    pub migrate_failures: MigrateFailures,
    /// Waits of migration (engine only).
    pub migrate_waits: MigrateWaits,
    /// Frames that compaction held and that pages have moved to (engine only).
    pub held_used: u64,
    /// `compact_migrate_scanned`: frames, and entries of free lists, looked at in search of pages to move.
    pub compact_migrate_scanned: u64,
    /// `compact_free_scanned`: the same in search of free frames.
    pub compact_free_scanned: u64,
    /// `compact_isolated`: pages and free frames that scanners took out of circulation.
    pub compact_isolated: u64,
    /// `compact_daemon_wake`: times that kcompactd began to work.
    pub compact_daemon_wake: u64,
    /// `compact_daemon_migrate_scanned`: what it added to `compact_migrate_scanned`.
    pub compact_daemon_migrate_scanned: u64,
    /// `compact_daemon_free_scanned`: what it added to `compact_free_scanned`.
    pub compact_daemon_free_scanned: u64,
    /// Runs of proactive compaction over a node (engine only).
    pub proactive_runs: u64,
    /// Looks that proactive compaction let pass after a run in vain (engine only).
    pub proactive_deferred: u64,
    /// Pageblocks that compaction for blocks of their size or larger has emptied; counted with an account of compaction
    /// alone, as the next two (engine only).
    pub compact_blocks_emptied: u64,
    /// The least number of moves that could have emptied as many, each time as memory was when the run began (engine only).
    pub compact_least_moves: u64,
    /// Pages that these runs moved, those in vain included (engine only).
    pub compact_pages_moved: u64,
    /// Blocks that tasks captured from what they freed (engine only).
    pub compact_captured: u64,
    /// Pages that collapse added to programs: parts of huge pages that nobody had touched. Engine only.
    pub collapse_filled: u64,
    /// Pageblocks that were claimed by the index and emptied (engine only).
    pub index_emptied: u64,
    /// Pageblocks that could not be emptied, when or before they were claimed (engine only).
    pub index_failed: u64,
    /// `compact_stall`: direct compactions.
    pub compact_stall: u64,
    /// `compact_fail`: those after which there was still no page.
    pub compact_fail: u64,
    /// `compact_success`: those after which there was one.
    pub compact_success: u64,
    /// `thp_fault_alloc`: faults that got a huge page.
    pub thp_fault_alloc: u64,
    /// `thp_fault_fallback`: faults that might have had one and got none, nor the huge page of zeros.
    pub thp_fault_fallback: u64,
    /// `thp_collapse_alloc`: huge pages allocated to collapse base pages into, whatever came of it.
    pub thp_collapse_alloc: u64,
    /// `thp_collapse_alloc_failed`: times that there was none for that.
    pub thp_collapse_alloc_failed: u64,
    /// `thp_file_alloc`: huge pages added to tmpfs by faults and system calls.
    pub thp_file_alloc: u64,
    /// `thp_file_fallback`: times that there was none for that.
    pub thp_file_fallback: u64,
    /// `thp_file_mapped`: faults that mapped a huge page of tmpfs as such.
    pub thp_file_mapped: u64,
    /// `thp_split_page`: huge pages split into base pages.
    pub thp_split_page: u64,
    /// `thp_split_page_failed`: those that could not be split.
    pub thp_split_page_failed: u64,
    /// `thp_deferred_split_page`: huge pages put on the deferred split queue.
    pub thp_deferred_split_page: u64,
    /// `thp_underused_split_page`: huge pages split since most of them was zeros.
    pub thp_underused_split_page: u64,
    /// `thp_split_pmd`: huge mappings split into single ones.
    pub thp_split_pmd: u64,
    /// `thp_zero_page_alloc`: times that the huge page of zeros was allocated.
    pub thp_zero_page_alloc: u64,
    /// `thp_zero_page_alloc_failed`: times that it could not be.
    pub thp_zero_page_alloc_failed: u64,
    /// `thp_migration_success`: huge pages that moved whole.
    pub thp_migration_success: u64,
    /// `thp_migration_fail`: those that could not move.
    pub thp_migration_fail: u64,
    /// `thp_swpout`: huge pages written to swap in one piece.
    pub thp_swpout: u64,
    /// `thp_swpout_fallback`: those that were split since swap had no room in one piece.
    pub thp_swpout_fallback: u64,
    /// `thp_migration_split`: those that were split since there was no huge page for them to move to.
    pub thp_migration_split: u64,
    /// `thp_scan_exceed_none_pte`: slots left alone since too much of them is empty.
    pub thp_scan_exceed_none_pte: u64,
    /// `thp_scan_exceed_swap_pte`: since too much of them is in swap.
    pub thp_scan_exceed_swap_pte: u64,
    /// `thp_scan_exceed_share_pte`: since others map too much of them.
    pub thp_scan_exceed_share_pte: u64,
    /// `htlb_buddy_alloc_success`: pages that hugetlb pools got from the allocator.
    pub htlb_buddy_alloc_success: u64,
    /// `htlb_buddy_alloc_fail`: those that they did not get.
    pub htlb_buddy_alloc_fail: u64,
    /// Balancing runs of kswapd that began with boosted zones (engine only).
    pub gentle_runs: u64,
    /// Gentle runs that were given up since a pass freed nothing (engine only).
    pub gentle_aborts: u64,
    /// Gentle runs that became ordinary since the node was not balanced (engine only).
    pub gentle_switches: u64,
    /// Pages that gentle passes freed (engine only).
    pub gentle_reclaimed: u64,
    /// Pages that reclaim freed for requests of a pageblock or more (engine only).
    pub huge_reclaimed: u64,
    /// Reclaimed pages that the free scanner of their zone had passed already: of no use as room before the scanner starts anew
    /// (engine only).
    pub huge_reclaimed_behind: u64,
    /// Frames that went back with the last object of their slab (engine only).
    pub slab_pages_freed: u64,
}

impl Counters {
    /// `pgscan_*` of whoever reclaims.
    pub(crate) const fn pgscan_mut(&mut self, by: Reclaimer) -> &mut ByZone {
        match by {
            Reclaimer::Kswapd => &mut self.pgscan_kswapd,
            Reclaimer::Direct => &mut self.pgscan_direct,
            Reclaimer::Proactive => &mut self.pgscan_proactive,
        }
    }

    /// `pgsteal_*` of whoever reclaims.
    pub(crate) const fn pgsteal_mut(&mut self, by: Reclaimer) -> &mut ByZone {
        match by {
            Reclaimer::Kswapd => &mut self.pgsteal_kswapd,
            Reclaimer::Direct => &mut self.pgsteal_direct,
            Reclaimer::Proactive => &mut self.pgsteal_proactive,
        }
    }
}
