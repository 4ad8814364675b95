//! Guesses every pageblock's migratetype: Linux tells how many blocks of each type a zone has, but not which.
//!
//! Blocks are ranked by what they hold, and types are handed out so that the counts are met. What a block holds is good
//! evidence, since the allocator groups by type, but no proof: types change only when a block is stolen or claimed.
//! Used by the census to estimate which slab is reclaimable and where compaction may put pages, and by importers.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use order9_units::Migratetype;

use crate::census::{BlockState, BlockSummary};
use crate::classify::FrameClass;

/// A zone's pageblock types, as inferred.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inferred {
    /// Type of every block.
    pub types: Vec<Migratetype>,
    /// Blocks whose type contradicts what most of their used frames hold.
    pub contradicted: u64,
    /// Blocks that have a type in Linux: initialised, and with at least one frame.
    pub typed: u64,
}

/// Assigns types to a zone's blocks so that `counts` (blocks by type, from /proc/pagetypeinfo) are met as far as there
/// are blocks; what is left is Movable. Without counts a block is Unmovable where kernel pages hold most of its used
/// frames.
#[must_use]
pub fn infer_types(blocks: &[BlockSummary], counts: &BTreeMap<Migratetype, u64>) -> Inferred {
    let mut types = vec![Migratetype::Movable; blocks.len()];
    let typed: Vec<usize> = (0..blocks.len()).filter(|&i| has_type(&blocks[i])).collect();
    if counts.is_empty() {
        for &i in typed.iter().filter(|&&i| Content::of(&blocks[i]).is_mostly_kernel()) {
            types[i] = Migratetype::Unmovable;
        }
    } else {
        hand_out(blocks, counts, typed.clone(), &mut types);
    }
    let contradicted = typed.iter().filter(|&&i| Content::of(&blocks[i]).contradicts(types[i])).count() as u64;
    Inferred { types, contradicted, typed: typed.len() as u64 }
}

/// Hands types out, most telling content first; `left` are the blocks without a type yet.
fn hand_out(
    blocks: &[BlockSummary],
    counts: &BTreeMap<Migratetype, u64>,
    mut left: Vec<usize>,
    types: &mut [Migratetype],
) {
    let content = |i: usize| Content::of(&blocks[i]);
    let count = |mt| counts.get(&mt).map_or(0, |&n| usize::try_from(n).unwrap_or(usize::MAX));
    let mut give = |chosen: Vec<usize>, mt| chosen.into_iter().for_each(|i| types[i] = mt);

    // Kernel memory lives in Unmovable and Reclaimable blocks; of these, the ones with slab and little else are Reclaimable.
    let (unmovable, reclaimable) = (count(Migratetype::Unmovable), count(Migratetype::Reclaimable));
    left.sort_by_key(|&i| (Reverse(content(i).kernel()), content(i).movable, i));
    let mut kernel = take(&mut left, unmovable.saturating_add(reclaimable));
    kernel.sort_by_key(|&i| (Reverse(i32::from(content(i).slab) - i32::from(content(i).other_kernel)), i));
    give(take(&mut kernel, reclaimable), Migratetype::Reclaimable);
    give(kernel, Migratetype::Unmovable);

    // The atomic reserve is meant to stay free; contiguous areas hold user pages and usually lie high.
    left.sort_by_key(|&i| (Reverse(blocks[i].free()), i));
    give(take(&mut left, count(Migratetype::HighAtomic)), Migratetype::HighAtomic);
    left.sort_by_key(|&i| (content(i).kernel(), Reverse(i)));
    give(take(&mut left, count(Migratetype::Cma)), Migratetype::Cma);
    give(take(&mut left, count(Migratetype::Isolate)), Migratetype::Isolate);
}

/// Removes and returns the first `n`, or all.
fn take(from: &mut Vec<usize>, n: usize) -> Vec<usize> {
    let rest = from.split_off(n.min(from.len()));
    std::mem::replace(from, rest)
}

/// Whether Linux counts the block in /proc/pagetypeinfo.
fn has_type(block: &BlockSummary) -> bool {
    block.immovable() + block.movable() + block.free() > 0 && block.state() != BlockState::Deferred
}

/// Used frames of a block, as far as they say something about its type. Reserved memory says nothing: it was there first.
struct Content {
    movable: u16,
    slab: u16,
    other_kernel: u16,
}

impl Content {
    fn of(block: &BlockSummary) -> Self {
        let count = |class| block.count(class);
        let huge: u16 = FrameClass::ALL.into_iter().filter(|class| class.is_huge()).map(count).sum();
        Self {
            movable: block.movable() + huge + count(FrameClass::LargeFolio) + count(FrameClass::Pinned),
            slab: count(FrameClass::Slab) + count(FrameClass::SlabReclaimable),
            other_kernel: count(FrameClass::PageTable) + count(FrameClass::Unknown) + count(FrameClass::KernelMapped),
        }
    }

    fn kernel(&self) -> u16 {
        self.slab + self.other_kernel
    }

    fn is_mostly_kernel(&self) -> bool {
        self.kernel() > self.movable
    }

    fn contradicts(&self, mt: Migratetype) -> bool {
        match mt {
            Migratetype::Unmovable | Migratetype::Reclaimable => self.movable > self.kernel(),
            Migratetype::Movable | Migratetype::Cma => self.is_mostly_kernel(),
            Migratetype::HighAtomic | Migratetype::Isolate => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A block with these frames, the rest of it free.
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
    fn contents_decide_and_counts_are_met() {
        use Migratetype::{HighAtomic, Movable, Reclaimable, Unmovable};
        let blocks = [
            block(&[(FrameClass::Anon, 500), (FrameClass::Unknown, 1)]),
            block(&[(FrameClass::Slab, 400)]),
            block(&[(FrameClass::PageTable, 200), (FrameClass::Slab, 200)]),
            block(&[]),
            block(&[(FrameClass::FileClean, 10)]),
            BlockSummary::ABSENT,
        ];
        let counts = [(Unmovable, 1), (Reclaimable, 1), (HighAtomic, 1), (Movable, 2)].into();
        let inferred = infer_types(&blocks, &counts);
        assert_eq!(inferred.types, [Movable, Reclaimable, Unmovable, HighAtomic, Movable, Movable]);
        assert_eq!((inferred.contradicted, inferred.typed), (0, 5));
        let more = [(Unmovable, 2), (Reclaimable, 1), (Movable, 2)].into();
        assert_eq!(infer_types(&blocks, &more).contradicted, 1);
        let unknown = infer_types(&blocks, &BTreeMap::new());
        assert_eq!(unknown.types, [Movable, Unmovable, Unmovable, Movable, Movable, Movable]);
    }

    proptest! {
        #[test]
        fn counts_are_met_wherever_there_are_blocks(
            slab in prop::collection::vec(0_u16..=512, 0..40),
            counts in prop::array::uniform6(0_u64..12),
        ) {
            let blocks: Vec<_> = slab.iter().map(|&frames| block(&[(FrameClass::Slab, frames)])).collect();
            let counts: BTreeMap<_, _> = Migratetype::ALL.into_iter().zip(counts).collect();
            let types = infer_types(&blocks, &counts).types;
            let wanted: u64 = counts.values().sum();
            for (mt, &n) in counts.iter().filter(|&(&mt, _)| mt != Migratetype::Movable) {
                let got = types.iter().filter(|&&given| given == *mt).count() as u64;
                prop_assert!(got <= n);
                prop_assert!(got == n || wanted > blocks.len() as u64, "{mt}: {got} of {n}");
            }
        }
    }
}
