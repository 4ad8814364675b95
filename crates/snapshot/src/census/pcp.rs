//! Free pages on per-CPU lists: the kernel says how many there are in a zone, but no flag says which.
//!
//! In the map they look like kernel memory, and since 6.7 the lists grow with the load, up to an eighth of a zone. A block
//! whose staying frames all lack a flag may be held by such pages alone. How many blocks that can be at once follows from
//! the number of pages: most, if the blocks with the fewest unmarked frames are the ones.

use order9_units::Pages;

use super::{BlockState, BlockSummary};
use crate::classify::FrameClass;

/// Marks the unmarked frames of as many blocks as `listed` pages can hold alone: fewest frames first, of equals those
/// with the fewest pages to move. Returns how many of the zone's unmarked frames may be pages on per-CPU lists at all.
pub(super) fn mark(blocks: &mut [BlockSummary], listed: Pages) -> Pages {
    let unknown = blocks.iter().map(|block| u64::from(block.count(FrameClass::Unknown))).sum();
    let listed = listed.min(Pages::new(unknown));
    let mut left = listed.get();
    let mut candidates: Vec<_> = (0..blocks.len()).filter(|&i| is_held_by_unmarked_frames(&blocks[i])).collect();
    candidates.sort_by_key(|&i| (blocks[i].count(FrameClass::Unknown), blocks[i].movable(), i));
    for i in candidates {
        let frames = u64::from(blocks[i].count(FrameClass::Unknown));
        if frames > left {
            break;
        }
        left -= frames;
        blocks[i].mark_pcp();
    }
    listed
}

fn is_held_by_unmarked_frames(block: &BlockSummary) -> bool {
    block.state() == BlockState::Lost && block.immovable() == block.count(FrameClass::Unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(contents: &[(FrameClass, u16)]) -> BlockSummary {
        let mut counts = [0; FrameClass::COUNT];
        counts[FrameClass::Free.index()] = 512;
        for &(class, frames) in contents {
            counts[class.index()] += frames;
            counts[FrameClass::Free.index()] -= frames;
        }
        BlockSummary::new(counts)
    }

    #[test]
    fn fewest_frames_first_as_far_as_the_pages_go() {
        use FrameClass::{Anon, Slab, Unknown};
        let mut blocks = [
            block(&[(Unknown, 4)]),
            block(&[(Unknown, 1), (Slab, 1)]),
            block(&[(Unknown, 2), (Anon, 300)]),
            block(&[(Unknown, 2), (Anon, 100)]),
            block(&[(Unknown, 1)]),
        ];
        assert_eq!(mark(&mut blocks, Pages::new(6)), Pages::new(6));
        let unmarked = blocks.each_ref().map(|block| block.state() == BlockState::Unmarked);
        assert_eq!(unmarked, [false, false, true, true, true]);
        assert_eq!(mark(&mut blocks, Pages::new(1000)), Pages::new(5));
    }
}
