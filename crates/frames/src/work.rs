//! Counts of the work that the allocator does. It never prices its work: a cost model turns these counts into time.

/// Defines a struct of counts with [`core::ops::AddAssign`] and a constant without any.
#[macro_export]
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
    /// Work under a zone lock.
    pub struct ZoneLockWork {
        /// Sections under the lock: bulk refill or drain, or one block taken or freed directly.
        sections,
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
        /// Free blocks moved from one type's list to another's.
        blocks_retyped,
    }
}

/// Work of the allocator since it was last taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameWork {
    /// Zones whose watermark was checked.
    pub zones_checked: u64,
    /// Work under zone locks, but for what a watch has taken ([`Watch::zone_unlocked`](crate::Watch::zone_unlocked)).
    pub locked: ZoneLockWork,
    /// Blocks handed out by or put on a per-CPU list without touching the zone.
    pub pcp_hits: u64,
}

impl FrameWork {
    /// No work.
    pub const NONE: Self = Self { zones_checked: 0, locked: ZoneLockWork::NONE, pcp_hits: 0 };
}
