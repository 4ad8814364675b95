//! Guesses every pageblock's migratetype: Linux tells how many blocks of each type a zone has, but not which.
//!
//! Blocks are ranked by what they hold, and types are handed out so that the counts are met. What a block holds is good
//! evidence, since the allocator groups by type, but no proof: types change only when a block is stolen or claimed. Free
//! parts of a block say more where movable pages lie beside some of the kernel, or no flag says that the kernel has any: a block whose
//! parts are not on the lists of kernel memory is Movable.
//! Used by the census to estimate which slab is reclaimable and where compaction may put pages, and by importers.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use order9_units::{Migratetype, Order};

use crate::census::{BlockState, BlockSummary, FreeBlocks};
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

/// Free blocks of a zone: those of each pageblock, and those on the lists of each type (/proc/pagetypeinfo; none where nobody read it).
#[derive(Clone, Copy, Debug)]
pub struct FreeLists<'a> {
    /// Free blocks of each pageblock.
    pub of_blocks: &'a [FreeBlocks],
    /// Free blocks by type and order.
    pub by_type: &'a BTreeMap<Migratetype, [u64; Order::COUNT]>,
}

/// Assigns types to a zone's blocks so that `counts` (blocks by type, from /proc/pagetypeinfo) are met as far as there
/// are blocks; what is left is Movable. Without counts a block is Unmovable where kernel pages hold most of its used
/// frames.
#[must_use]
pub fn infer_types(blocks: &[BlockSummary], counts: &BTreeMap<Migratetype, u64>, free: FreeLists<'_>) -> Inferred {
    let mut types = vec![Migratetype::Movable; blocks.len()];
    let typed: Vec<usize> = (0..blocks.len()).filter(|&i| has_type(&blocks[i])).collect();
    if counts.is_empty() {
        for &i in typed.iter().filter(|&&i| Content::of(&blocks[i]).is_mostly_kernel()) {
            types[i] = Migratetype::Unmovable;
        }
    } else {
        hand_out(blocks, counts, free, typed.clone(), &mut types);
    }
    let contradicted = typed.iter().filter(|&&i| Content::of(&blocks[i]).contradicts(types[i])).count() as u64;
    Inferred { types, contradicted, typed: typed.len() as u64 }
}

/// Hands types out, most telling content first; `left` are the blocks without a type yet.
fn hand_out(
    blocks: &[BlockSummary],
    counts: &BTreeMap<Migratetype, u64>,
    free: FreeLists<'_>,
    mut left: Vec<usize>,
    types: &mut [Migratetype],
) {
    let content = |i: usize| Content::of(&blocks[i]);
    let count = |mt| counts.get(&mt).map_or(0, |&n| usize::try_from(n).unwrap_or(usize::MAX));
    let mut give = |chosen: Vec<usize>, mt| chosen.into_iter().for_each(|i| types[i] = mt);

    // Kernel memory lives in Unmovable and Reclaimable blocks; of these, the ones with slab and little else are Reclaimable.
    let kernel = [Migratetype::Unmovable, Migratetype::Reclaimable];
    let [mut unmovable, mut reclaimable] = kernel.map(count);
    for (mt, wanted) in kernel.into_iter().zip([&mut unmovable, &mut reclaimable]) {
        let whole = free.take_whole(mt, *wanted, &mut left);
        *wanted -= whole.len();
        give(whole, mt);
    }
    left.sort_by_key(|&i| (Reverse(content(i).kernel()), content(i).movable, i));
    // Frames without a flag may be free pages on per-CPU lists.
    let is_marked = |i: usize| content(i).slab + blocks[i].count(FrameClass::PageTable) > 0;
    let doubt = |i: usize| match () {
        () if u64::from(blocks[i].free()) == Order::PAGEBLOCK.pages().get() => Doubt::OnOtherLists,
        () if content(i).movable > 0 || !is_marked(i) => Doubt::BesideOthers,
        () => Doubt::None,
    };
    let mut kernel = free.take_fitting(unmovable.saturating_add(reclaimable), doubt, &mut left);
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

/// Doubt that a pageblock is one of kernel memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Doubt {
    /// The block holds kernel memory and nothing else.
    None,
    /// The block holds movable pages too, or nothing that a flag tells of.
    BesideOthers,
    /// The block is free, and no list of kernel memory has it.
    OnOtherLists,
}

impl FreeLists<'_> {
    /// Takes up to `wanted` free pageblocks, as many as lie on the lists of type `mt`, the lowest first: nothing tells one from another.
    fn take_whole(&self, mt: Migratetype, wanted: usize, left: &mut Vec<usize>) -> Vec<usize> {
        let mut listed = self.by_type.get(&mt).copied().unwrap_or_default();
        let mut whole = Vec::new();
        for &i in left.iter() {
            for order in Order::PAGEBLOCK.to(Order::MAX) {
                let pageblocks = 1 << (order.get() - Order::PAGEBLOCK.get());
                if self.of_blocks[i][order.index()] > 0
                    && listed[order.index()] > 0
                    && whole.len() + pageblocks <= wanted
                {
                    listed[order.index()] -= 1;
                    whole.extend(i..i + pageblocks);
                }
            }
        }
        left.retain(|i| whole.binary_search(i).is_err());
        whole
    }

    /// Takes the first `wanted` pageblocks for kernel memory, but those in doubt only where what is known of the lists of its types is no
    /// farther with the free parts of the block than without them. Where these do not suffice, the others follow.
    fn take_fitting(&self, wanted: usize, doubt: impl Fn(usize) -> Doubt, left: &mut Vec<usize>) -> Vec<usize> {
        let mut missing = [0_i64; Order::COUNT];
        for mt in [Migratetype::Unmovable, Migratetype::Reclaimable] {
            let listed = self.by_type.get(&mt).into_iter().flatten();
            missing.iter_mut().zip(listed).for_each(|(missing, &listed)| *missing += listed.cast_signed());
        }
        let mut taken = Vec::new();
        left.retain(|&i| {
            let rest: [i64; Order::COUNT] =
                std::array::from_fn(|order| missing[order] - i64::from(self.of_blocks[i][order]));
            let fits = self.by_type.is_empty()
                || match doubt(i) {
                    Doubt::None => true,
                    Doubt::BesideOthers => distance(&rest) <= distance(&missing),
                    Doubt::OnOtherLists => false,
                };
            let takes = taken.len() < wanted && fits;
            if takes {
                missing = rest;
                taken.push(i);
            }
            !takes
        });
        taken.extend(take(left, wanted - taken.len()));
        taken
    }
}

/// Pages in free blocks by order that are too few or too many.
fn distance(blocks: &[i64; Order::COUNT]) -> u64 {
    blocks.iter().enumerate().map(|(order, blocks)| blocks.unsigned_abs() << order).sum()
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

    /// Types by contents and counts alone.
    fn infer(blocks: &[BlockSummary], counts: &BTreeMap<Migratetype, u64>) -> Inferred {
        let of_blocks = vec![FreeBlocks::default(); blocks.len()];
        infer_types(blocks, counts, FreeLists { of_blocks: &of_blocks, by_type: &BTreeMap::new() })
    }

    #[test]
    fn free_parts_tell_blocks_of_kernel_memory_from_others() {
        use Migratetype::{Movable, Reclaimable, Unmovable};
        let parts = |of: &[(usize, u16)]| {
            let mut parts = FreeBlocks::default();
            of.iter().for_each(|&(order, n)| parts[order] = n);
            parts
        };
        let (blocks, of_blocks): (Vec<_>, Vec<_>) = [
            (block(&[(FrameClass::Unknown, 512)]), parts(&[])),
            (block(&[(FrameClass::Unknown, 300), (FrameClass::Anon, 84)]), parts(&[(7, 1)])),
            (block(&[(FrameClass::Slab, 494), (FrameClass::Unknown, 8)]), parts(&[(3, 1), (1, 1)])),
            (block(&[(FrameClass::Unknown, 300), (FrameClass::Anon, 204)]), parts(&[(3, 1)])),
            (block(&[(FrameClass::Unknown, 356), (FrameClass::Slab, 148)]), parts(&[(3, 1)])),
            (block(&[]), parts(&[(9, 1)])),
            (block(&[(FrameClass::Anon, 512)]), parts(&[])),
            (block(&[]), parts(&[(10, 1)])),
            (block(&[]), parts(&[])),
        ]
        .into_iter()
        .unzip();
        let list = |of: &[(usize, u16)]| parts(of).map(u64::from);
        let by_type = [
            (Unmovable, list(&[(3, 2), (10, 1)])),
            (Reclaimable, list(&[(1, 1), (3, 1), (9, 1)])),
            (Movable, list(&[(7, 1)])),
        ];
        let counts = [(Unmovable, 5), (Reclaimable, 2), (Movable, 2)].into();
        let lists = FreeLists { of_blocks: &of_blocks, by_type: &by_type.into() };
        let types = infer_types(&blocks, &counts, lists).types;
        let expected =
            [Unmovable, Movable, Reclaimable, Unmovable, Unmovable, Reclaimable, Movable, Unmovable, Unmovable];
        assert_eq!(types, expected);
        let by_contents = infer(&blocks, &counts).types;
        assert_ne!(by_contents[1], Movable, "contents alone do not tell");
    }

    #[test]
    fn halves_of_a_free_block_that_no_list_of_the_kernel_has_stay_movable() {
        use Migratetype::{Movable, Unmovable};
        let blocks = [block(&[]), block(&[]), block(&[(FrameClass::Reserved, 512)])];
        let mut of_blocks = [FreeBlocks::default(); 3];
        of_blocks[0][10] = 1;
        let mut movable = [0; Order::COUNT];
        movable[10] = 1;
        let by_type = [(Unmovable, [0; Order::COUNT]), (Movable, movable)].into();
        let counts = [(Unmovable, 1), (Movable, 2)].into();
        let types = infer_types(&blocks, &counts, FreeLists { of_blocks: &of_blocks, by_type: &by_type }).types;
        assert_eq!(types, [Movable, Movable, Unmovable]);
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
        let inferred = infer(&blocks, &counts);
        assert_eq!(inferred.types, [Movable, Reclaimable, Unmovable, HighAtomic, Movable, Movable]);
        assert_eq!((inferred.contradicted, inferred.typed), (0, 5));
        let more = [(Unmovable, 2), (Reclaimable, 1), (Movable, 2)].into();
        assert_eq!(infer(&blocks, &more).contradicted, 1);
        let unknown = infer(&blocks, &BTreeMap::new());
        assert_eq!(unknown.types, [Movable, Unmovable, Unmovable, Movable, Movable, Movable]);
    }

    proptest! {
        #[test]
        fn counts_are_met_wherever_there_are_blocks(
            slab in prop::collection::vec(0_u16..=512, 0..40),
            counts in prop::array::uniform6(0_u64..12),
            free in prop::collection::vec((0..Migratetype::ALL.len(), 0..Order::COUNT, 0_u64..9), 0..12),
        ) {
            let blocks: Vec<_> = slab.iter().map(|&frames| block(&[(FrameClass::Slab, frames)])).collect();
            let counts: BTreeMap<_, _> = Migratetype::ALL.into_iter().zip(counts).collect();
            let parts = |frames: u16| std::array::from_fn(|order| if order < 10 { (512 - frames) >> order & 1 } else { 0 });
            let of_blocks: Vec<FreeBlocks> = slab.into_iter().map(parts).collect();
            let mut by_type = BTreeMap::<_, [u64; Order::COUNT]>::new();
            for (mt, order, n) in free {
                by_type.entry(Migratetype::ALL[mt]).or_default()[order] += n;
            }
            let types = infer_types(&blocks, &counts, FreeLists { of_blocks: &of_blocks, by_type: &by_type }).types;
            let wanted: u64 = counts.values().sum();
            for (mt, &n) in counts.iter().filter(|&(&mt, _)| mt != Migratetype::Movable) {
                let got = types.iter().filter(|&&given| given == *mt).count() as u64;
                prop_assert!(got <= n);
                prop_assert!(got == n || wanted > blocks.len() as u64, "{mt}: {got} of {n}");
            }
        }
    }
}
