//! Work of engine steps, counted. The engine never prices its work: a cost model turns these counts into time.

order9_frames::counts! {
    /// Work of the layers above the allocator since it was last taken. Counts of LRU entries and isolated pages happen under an
    /// LRU lock. The allocator counts its own: [`order9_frames::FrameWork`].
    pub struct Work {
        /// Frames that compaction or khugepaged looked at without the lock of their zone.
        scanned_unlocked,
        /// Pageblocks that compaction passed over, or asked for their hint, type and first frame.
        blocks_passed,
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
