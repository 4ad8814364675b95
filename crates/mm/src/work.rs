//! What engine steps did, counted. The engine never prices its work: a cost model turns these counts into time.

macro_rules! counts {
    ($(#[$of:meta])* pub struct $name:ident { $($(#[$doc:meta])* $field:ident,)* }) => {
        $(#[$of])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            $($(#[$doc])* pub $field: u64,)*
        }

        impl $name {
            /// No work.
            pub const NONE: Self = Self { $($field: 0),* };
        }

        impl core::ops::AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                $(self.$field += other.$field;)*
            }
        }
    };
}

counts! {
    /// Work done since it was last taken. Counts of list operations, splits, merges and scans happen under a zone lock, those
    /// of LRU entries and isolated pages under an LRU lock.
    pub struct Work {
        /// Zones whose watermark was checked.
        zones_checked,
        /// Blocks handed out by or put on a per-CPU list without touching the zone.
        pcp_hits,
        /// Sections under a zone lock: bulk refill or drain, or one block taken or freed directly.
        zone_lock_sections,
        /// Free-list insertions and removals.
        list_ops,
        /// Blocks split in two.
        splits,
        /// Pairs of buddies merged.
        merges,
        /// Orders and types of free lists looked at in search of a fallback.
        fallback_lists_searched,
        /// Frames looked at while a pageblock was counted or moved to other lists.
        frames_scanned,
        /// Entries of free lists that compaction looked at.
        list_nodes_visited,
        /// Pageblocks whose place in the index was worked out again, and free blocks marked in it or no longer.
        index_updates,
        /// Frames that compaction or khugepaged looked at without the lock of their zone.
        scanned_unlocked,
        /// Pageblocks that compaction passed over, or asked for their hint, type and first frame.
        blocks_passed,
        /// Free blocks moved from one type's list to another's.
        blocks_retyped,
        /// Accesses of programs that the page table did not allow.
        faults,
        /// Searches for the mapping of an address or range.
        vma_lookups,
        /// Pages cleared, of 4096 bytes.
        pages_cleared,
        /// Pages copied, of 4096 bytes.
        pages_copied,
        /// Pages of 4096 bytes read to their end in search of something but zeros.
        pages_compared,
        /// Page table entries filled or changed.
        ptes_set,
        /// Page table entries that NUMA balancing looked at, to take their access away.
        prot_numa,
        /// Page table entries emptied.
        ptes_cleared,
        /// Page tables put in place.
        page_tables_allocated,
        /// Kernel objects allocated or freed.
        slab_objects,
        /// Sections under the LRU lock of a node: pages taken off lists by a run, put back by it, or a per-CPU batch.
        lru_lock_sections,
        /// Pages that went on, between or off LRU lists by way of a per-CPU batch.
        lru_batched,
        /// Entries of LRU lists looked at.
        lru_scanned,
        /// Pages taken off LRU lists for reclaim, each of which goes back or is freed.
        pages_isolated,
        /// Pages whose mappings were looked up and asked for accesses.
        rmap_walks,
        /// Unused kernel objects that a shrinker looked at.
        slab_objects_scanned,
        /// Flushes of cached translations, one for every step that took rights or pages away.
        tlb_flushes,
    }
}
