//! Requests to a daemon of a node: the largest order and the zone class that somebody waits for.

use order9_units::{Order, ZoneKind};

/// Request to a daemon of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DaemonRequest {
    /// Largest order asked for.
    pub order: Order,
    /// Highest zone class asked for.
    pub class: ZoneKind,
}

impl DaemonRequest {
    /// The request that serves both an earlier request and this one.
    pub(crate) fn joined(self, earlier: Option<Self>) -> Self {
        let Some(earlier) = earlier else { return self };
        Self { order: self.order.max(earlier.order), class: self.class.max(earlier.class) }
    }
}
