//! A zone as a row of free blocks, compound pages and runs of single frames.

use order9_units::{Order, Pages, Pfn, PfnRange};

use super::state::Token;
use super::{FrameClass, Layout};
use crate::buddy::free_blocks;

/// Frames that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// A free block of the buddy allocator.
    Free {
        /// First frame of the block, aligned to its order.
        start: Pfn,
        /// Order of the block.
        order: Order,
    },
    /// A compound page: a power of two of frames, naturally aligned; gigantic ones are larger than any buddy block.
    Compound {
        /// Class of the compound page.
        class: FrameClass,
        /// Head and tails of the compound page.
        range: PfnRange,
    },
    /// Frames of one class that stand alone; also those of compound pages that were torn while the map was read.
    Frames {
        /// Class of each frame.
        class: FrameClass,
        /// Frames of the extent.
        range: PfnRange,
    },
}

impl Layout<'_> {
    /// Calls `each` with the extents of a zone, upward. Together they cover the zone's span, holes included.
    pub fn for_each_extent(&self, zone: usize, each: impl FnMut(Extent)) {
        let mut run = Run::new(each);
        let mut tokens = Vec::new();
        let span = self.zones()[zone].info().span;
        for piece in self.pieces(zone) {
            self.classify(&piece, &mut tokens);
            let part = piece.range.intersect(span);
            let skip = (part.start - piece.range.start).get() as usize;
            for (pfn, &token) in part.iter().zip(&tokens[skip..]) {
                run.push(pfn, token);
            }
        }
        run.close(span.end);
    }
}

/// The extent that is being read.
struct Run<F> {
    open: Option<Open>,
    each: F,
}

#[derive(Clone, Copy)]
struct Open {
    start: Pfn,
    class: FrameClass,
    is_compound: bool,
}

impl<F: FnMut(Extent)> Run<F> {
    fn new(each: F) -> Self {
        Self { open: None, each }
    }

    fn push(&mut self, pfn: Pfn, token: Token) {
        let class = token.class();
        let continues = self
            .open
            .is_some_and(|open| open.class == class && !token.is_head() && (token.is_tail() || !open.is_compound));
        if !continues {
            self.close(pfn);
            self.open = Some(Open { start: pfn, class, is_compound: token.is_head() });
        }
    }

    fn close(&mut self, end: Pfn) {
        let Some(Open { start, class, is_compound }) = self.open.take() else { return };
        let range = PfnRange::new(start, end);
        if class == FrameClass::Free {
            free_blocks(range).for_each(|(start, order)| (self.each)(Extent::Free { start, order }));
        } else if is_compound && is_aligned_power_of_two(start, range.len()) {
            (self.each)(Extent::Compound { class, range });
        } else {
            (self.each)(Extent::Frames { class, range });
        }
    }
}

fn is_aligned_power_of_two(start: Pfn, length: Pages) -> bool {
    length.get().is_power_of_two() && start.get().is_multiple_of(length.get())
}
