//! State of a host at one moment, as far as decisions need it.

use order9_units::{Nanos, NodeId, PAGEBLOCK_PAGES, Pages};

/// State of a host at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// Time since an arbitrary beginning; never falls.
    pub at: Nanos,
    /// Nodes with memory.
    pub nodes: Vec<NodeSeen>,
    /// Stall time since the start of the kernel; `None` where the kernel does not tell it.
    pub stalled: Option<Stalled>,
    /// Pages that were freed since the start of the kernel (`pgfree`).
    pub freed: Pages,
}

/// State of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeSeen {
    /// The node.
    pub node: NodeId,
    /// Memory of the node.
    pub memory: Pages,
    /// Free pages.
    pub free: Pages,
    /// Free huge pages: free blocks of order 9, and those in larger blocks.
    pub huge: u64,
    /// Low watermarks of all zones together.
    pub low: Pages,
}

/// Time in which tasks waited for memory, since the start of the kernel (`total` of /proc/pressure/memory).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stalled {
    /// Some task did.
    pub some: Nanos,
    /// All tasks did that were not idle.
    pub full: Nanos,
}

impl Observation {
    /// Memory of all nodes.
    pub(crate) fn memory(&self) -> Pages {
        self.nodes.iter().map(|node| node.memory).sum()
    }
}

impl NodeSeen {
    /// Free pages outside free huge pages: what compaction can gather.
    pub(crate) fn loose(&self) -> Pages {
        self.free.saturating_sub(PAGEBLOCK_PAGES * self.huge)
    }

    /// Huge pages that compaction could add if every page in the way can be moved.
    pub(crate) fn possible(&self) -> u64 {
        self.loose().get() / PAGEBLOCK_PAGES.get()
    }
}
