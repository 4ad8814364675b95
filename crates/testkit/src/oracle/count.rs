//! Counts that are never kept, only recounted.

use super::{Frame, Oracle, PAGEBLOCK};

/// Number of pages of a pageblock by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Pages on free lists.
    pub free: u16,
    /// Movable pages in use or cached, neither pinned nor isolated.
    pub movable: u16,
    /// Reserved, or in use or cached for requests that are not movable.
    pub immovable: u16,
    /// Movable pages that are pinned.
    pub pinned: u16,
    /// Pages that compaction holds.
    pub isolated: u16,
    /// Frames without memory.
    pub absent: u16,
}

impl Oracle {
    /// Recounts the pageblock of `pfn`.
    #[must_use]
    pub fn counts(&self, pfn: u64) -> Counts {
        let start = pfn / PAGEBLOCK * PAGEBLOCK;
        let mut counts = Counts::default();
        for frame in start..start + PAGEBLOCK {
            let count = match self.frame(frame) {
                Frame::Hole => &mut counts.absent,
                Frame::Free { .. } => &mut counts.free,
                Frame::Held { .. } | Frame::Live { isolated: true, .. } => &mut counts.isolated,
                Frame::Reserved | Frame::Cached { immovable: true, .. } | Frame::Live { immovable: true, .. } => {
                    &mut counts.immovable
                }
                Frame::Live { pins: 1.., .. } => &mut counts.pinned,
                Frame::Cached { .. } | Frame::Live { .. } => &mut counts.movable,
            };
            *count += 1;
        }
        counts
    }
}
