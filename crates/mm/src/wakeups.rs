//! Daemons that engine steps have found work for: the caller wakes them, since the engine knows no tasks.

use order9_units::NodeId;

/// Daemons to be woken; daemons of nodes by a bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wakeups {
    /// Nodes whose kswapd has something to do.
    pub kswapd: u64,
    /// Nodes whose kcompactd has something to do.
    pub kcompactd: u64,
    /// Nodes of which enough pages were written for those who wait for that.
    pub written: u64,
    /// The flusher has something to do: there is too much dirty, or reclaim meets nothing but dirty pages that nobody writes.
    pub flushers: bool,
    /// khugepaged has somebody to visit, or other pauses to make.
    pub khugepaged: bool,
}

impl Wakeups {
    pub(crate) const NONE: Self = Self { kswapd: 0, kcompactd: 0, written: 0, flushers: false, khugepaged: false };

    /// The nodes named by the bits of `mask`.
    pub fn nodes(mask: u64) -> impl Iterator<Item = NodeId> {
        (0..u64::BITS as u16).filter(move |node| mask >> node & 1 != 0).map(NodeId)
    }
}
