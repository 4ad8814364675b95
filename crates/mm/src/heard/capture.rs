//! [`Capture`]: a block that a task which compacts waits for.

use order9_frames::ZoneId;
use order9_units::{Migratetype, Order};

/// Block that a task in direct compaction takes as soon as it frees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Capture {
    pub(crate) zone: ZoneId,
    pub(crate) order: Order,
}

impl Capture {
    /// Whether the task takes a block of `order` in a pageblock of type `mt` that is about to be merged further.
    pub(crate) fn takes(self, zone: ZoneId, order: Order, mt: Migratetype) -> bool {
        // Less than a pageblock of movable ones would mix types in it.
        let spares = matches!(mt, Migratetype::Cma | Migratetype::Isolate)
            || order < Order::PAGEBLOCK && mt == Migratetype::Movable;
        self.zone == zone && self.order == order && order < Order::MAX && !spares
    }
}
