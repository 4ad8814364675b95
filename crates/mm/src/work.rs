//! What engine steps did, counted. The engine never prices its work: a cost model turns these counts into time.

/// Work done since it was last taken. Counts of list operations, splits, merges and scans happen under a zone lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Zones whose watermark was checked.
    pub zones_checked: u64,
    /// Blocks handed out by or put on a per-CPU list without touching the zone.
    pub pcp_hits: u64,
    /// Sections under a zone lock: bulk refill or drain, or one block taken or freed directly.
    pub zone_lock_sections: u64,
    /// Free-list insertions and removals.
    pub list_ops: u64,
    /// Blocks split in two.
    pub splits: u64,
    /// Pairs of buddies merged.
    pub merges: u64,
    /// Orders and types of free lists looked at in search of a fallback.
    pub fallback_lists_searched: u64,
    /// Frames looked at while a pageblock was counted or moved to other lists.
    pub frames_scanned: u64,
    /// Free blocks moved from one type's list to another's.
    pub blocks_retyped: u64,
}

impl Work {
    /// No work.
    pub const NONE: Self = Self {
        zones_checked: 0,
        pcp_hits: 0,
        zone_lock_sections: 0,
        list_ops: 0,
        splits: 0,
        merges: 0,
        fallback_lists_searched: 0,
        frames_scanned: 0,
        blocks_retyped: 0,
    };
}

impl core::ops::AddAssign for Work {
    fn add_assign(&mut self, other: Self) {
        self.zones_checked += other.zones_checked;
        self.pcp_hits += other.pcp_hits;
        self.zone_lock_sections += other.zone_lock_sections;
        self.list_ops += other.list_ops;
        self.splits += other.splits;
        self.merges += other.merges;
        self.fallback_lists_searched += other.fallback_lists_searched;
        self.frames_scanned += other.frames_scanned;
        self.blocks_retyped += other.blocks_retyped;
    }
}
