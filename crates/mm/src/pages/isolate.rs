//! Isolation of frames and pageblocks on behalf of those outside the engine, and of pages off their LRU lists.

use order9_frames::{Flag, FreeError, IsolateError};
use order9_units::{Migratetype, NodeId, Order, Pfn};

use crate::pages::UsedPages;
use crate::phys::PhysMem;

impl PhysMem {
    /// As [`Frames::isolate_free_block`](order9_frames::Frames::isolate_free_block).
    ///
    /// # Errors
    /// [`IsolateError`] where that is no free block, or the zone cannot spare it.
    pub fn isolate_free_block(&mut self, pfn: Pfn, boosted: bool) -> Result<Order, IsolateError> {
        self.frames.isolate_free_block(pfn, boosted)
    }

    /// Puts a block taken by `PhysMem::isolate_free_block` back on the free lists.
    ///
    /// # Errors
    /// [`IsolateError::WrongState`] where no held block starts.
    pub fn release_free_block(&mut self, pfn: Pfn) -> Result<(), IsolateError> {
        self.frames.release_free_block(pfn)
    }

    /// As [`Frames::isolate_pageblock`](order9_frames::Frames::isolate_pageblock).
    ///
    /// # Errors
    /// [`IsolateError::WrongBlock`] for a block that does not lie in a zone as a whole, or if it is isolated already.
    pub fn isolate_pageblock(&mut self, pfn: Pfn) -> Result<Migratetype, IsolateError> {
        self.frames.isolate_pageblock(pfn)
    }

    /// Ends `PhysMem::isolate_pageblock`: the block becomes `mt`.
    ///
    /// # Errors
    /// [`IsolateError::WrongBlock`] if it is not isolated, or would still be.
    pub fn unisolate_pageblock(&mut self, pfn: Pfn, mt: Migratetype) -> Result<(), IsolateError> {
        self.frames.unisolate_pageblock(pfn, mt)
    }

    /// As [`Frames::unreserve_highatomic`](order9_frames::Frames::unreserve_highatomic).
    pub fn unreserve_highatomic(&mut self, node: NodeId, mt: Migratetype, force: bool) -> bool {
        self.frames.unreserve_highatomic(node, mt, force)
    }
}

impl UsedPages {
    /// Marks the allocation at `pfn` as off its LRU (`on`) or back on it. A page that nothing else keeps is freed then,
    /// straight to the buddy lists.
    pub(crate) fn set_isolated(&mut self, pfn: Pfn, on: bool, phys: &mut PhysMem) -> Result<(), FreeError> {
        let (idx, word) = phys.frames.live(pfn)?;
        match (word.has(Flag::Isolated), on) {
            (false, true) => self.lru.isolate_lru(idx, phys),
            (true, false) => self.lru.putback_lru(idx, phys),
            _ => {}
        }
        self.free_if_kept(idx, phys);
        Ok(())
    }
}
