//! A pass over a node: its lists, then the caches of the kernel, again while compaction needs more (`shrink_node`).

use order9_frames::ZoneId;

/// Zones and lists of a pass.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodePass {
    /// A zone that the lists serve.
    pub(crate) zone: ZoneId,
    /// Whether caches of the kernel are shrunk too.
    pub(crate) slab: bool,
}
