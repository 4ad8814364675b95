//! A block of the kernel becomes single pages, each of which is freed by itself (`split_page`).

use order9_units::Pfn;

use crate::Mm;
use crate::mm::FreeError;
use crate::trace::Tracer;

impl<T: Tracer> Mm<T> {
    /// Makes every page of the allocation at `pfn` an allocation of its own.
    ///
    /// # Errors
    /// [`FreeError`] where no allocation starts there, or somebody pins, isolates or owns it.
    pub fn split_page(&mut self, pfn: Pfn) -> Result<(), FreeError> {
        let (idx, word) = self.releasable(pfn)?;
        self.forget_huge_block(idx, word.order());
        for page in 0..word.frames() as u32 {
            self.frames.set(idx.plus(page), word.single());
        }
        self.touch_blocks(idx.block(), 1);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use order9_units::{NodeId, Order, PAGEBLOCK_PAGES, Pages, Pfn, PfnRange, ZoneKind};

    use crate::policy::Policy;
    use crate::{FrameState, FreeError, Gfp, Layout, MmBuilder, NodeSpec, Request, ZoneSpec};

    #[test]
    fn pages_of_a_block_are_freed_one_by_one_and_merge_again() {
        let layout = Layout {
            nodes: alloc::vec![NodeSpec { distances: alloc::vec![10] }],
            zones: alloc::vec![ZoneSpec {
                node: NodeId(0),
                kind: ZoneKind::Normal,
                span: PfnRange::of(Pfn::new(1 << 20), Pages::new(1 << 15)),
            }],
            cpus: alloc::vec![NodeId(0)],
            ..Layout::default()
        };
        let mut mm = MmBuilder::new(&layout, Policy::default()).expect("a sound layout").boot();
        let before = mm.zones()[0].free();
        for gfp in [Gfp::GFP_KERNEL, Gfp::GFP_HIGHUSER_MOVABLE] {
            let block = mm.alloc_fast(&Request::new(Order::PAGEBLOCK, gfp)).expect("memory is free");
            mm.split_page(block).expect("a block of the kernel");
            mm.check().expect("no frame is counted otherwise");
            assert_eq!(mm.frame(Pfn::new(block.get() + 511)), FrameState::Allocated { order: Order::ZERO });
            for page in 0..PAGEBLOCK_PAGES.get() {
                mm.free(Pfn::new(block.get() + page), 0).expect("every page is an allocation");
            }
            mm.drain_all();
            mm.check().expect("the block is whole again");
            assert_eq!((mm.zones()[0].free(), mm.split_page(block).is_err()), (before, true));
        }
        assert!(matches!(mm.split_page(Pfn::new(0)), Err(FreeError::NoSuchFrame(_))));
    }
}
