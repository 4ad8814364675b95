//! Other orders of what nobody can know of a machine: which free block comes first, which page of a list is the oldest.
//!
//! A boot leaves both to chance, and no file of /proc tells them. Who repeats a run draws them anew; the numbers come from
//! outside, the engine has none of its own. Never changes which blocks are free, on which list a page is, or any counter.

use alloc::vec::Vec;

use order9_frames::{FrameTable, Idx, ZoneId};
use order9_units::{Migratetype, Order};

use crate::lru_list::LruList;
use crate::pages::UsedPages;
use crate::phys::PhysMem;

impl PhysMem {
    /// Draws another order of every free list but those of CPUs. `below(n)` gives a number under `n`, which is not zero.
    /// Neighbours on a list stay neighbours where they lie in one block of `2^together` frames.
    pub fn reorder_free_lists(&mut self, together: u32, mut below: impl FnMut(u64) -> u64) {
        for zone in 0..self.frames.zones().len() {
            for order in Order::all() {
                for mt in Migratetype::ALL {
                    let list = self.frames.zones()[zone].list(order, mt);
                    reorder(self.frames.table_mut(), list, together, &mut below);
                }
            }
            self.forget_skipped_entries(ZoneId(zone as u8));
        }
    }
}

impl UsedPages {
    /// Reorders every LRU list in the same way.
    pub(crate) fn reorder_lru_lists(&self, together: u32, mut below: impl FnMut(u64) -> u64, phys: &mut PhysMem) {
        let mut sets: Vec<Idx> = self.lru.zones.iter().map(|lru| lru.list(LruList::ALL[0])).collect();
        sets.dedup();
        for set in sets {
            for list in LruList::ALL {
                reorder(phys.frames.table_mut(), set.plus(list.index() as u32), together, &mut below);
            }
        }
    }
}

/// Cuts a list where the block of `2^together` frames changes, and joins the pieces in another order, of which all are as
/// likely (Fisher and Yates).
fn reorder(frames: &mut FrameTable, list: Idx, together: u32, below: &mut impl FnMut(u64) -> u64) {
    let entries: Vec<Idx> = frames.iter(list).collect();
    let mut pieces: Vec<&[Idx]> = entries.chunk_by(|one, next| one.0 >> together == next.0 >> together).collect();
    for last in (1..pieces.len()).rev() {
        pieces.swap(last, below(last as u64 + 1) as usize);
    }
    for &idx in pieces.into_iter().flatten() {
        frames.unlink(idx);
        frames.push_tail(list, idx);
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;

    use order9_units::{NodeId, Pages, Pfn, PfnRange, ZoneKind};

    use super::*;
    use crate::Mm;
    use crate::policy::Policy;
    use crate::{Layout, MmBuilder, NodeSpec, ZoneSpec};
    use order9_frames::Gfp;
    use order9_frames::Request;

    const ZONE: ZoneId = ZoneId(0);

    /// A zone of 96 MiB in which every other block of several orders was given back.
    fn used() -> Mm {
        let span = PfnRange::of(Pfn::new(1 << 18), Pages::new(48 * 512));
        let layout = Layout {
            nodes: alloc::vec![NodeSpec { distances: alloc::vec![10] }],
            zones: alloc::vec![ZoneSpec { node: NodeId(0), kind: ZoneKind::Normal, span }],
            cpus: alloc::vec![NodeId(0)],
            ..Layout::default()
        };
        let mut mm = MmBuilder::new(&layout, Policy::default()).expect("one zone is a layout").boot();
        let orders = [0, 3, 1, 9, 2].into_iter().cycle().take(600);
        let got: Vec<Pfn> = orders
            .map_while(|order| {
                let order = Order::new(order).expect("an order");
                mm.alloc_fast(&Request::new(order, Gfp::GFP_HIGHUSER_MOVABLE)).ok()
            })
            .collect();
        got.into_iter().step_by(2).for_each(|pfn| mm.free(pfn, 1).expect("it is in use"));
        mm
    }

    fn lists(mm: &Mm) -> Vec<Vec<Pfn>> {
        let types = || Migratetype::ALL.into_iter();
        let of = |order, mt| mm.phys.frames.free_list(ZONE, order, mt).collect();
        Order::all().flat_map(|order| types().map(move |mt| of(order, mt))).collect()
    }

    /// Numbers that look random.
    fn dice(seed: u64) -> impl FnMut(u64) -> u64 {
        let mut state = seed;
        move |limit| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % limit
        }
    }

    #[test]
    fn the_same_blocks_stand_in_another_order() {
        let plain = used();
        for seed in 0..32 {
            let mut mm = plain.clone();
            mm.phys.reorder_free_lists(0, dice(seed));
            mm.check().expect("all laws hold");
            let (before, after) = (lists(&plain), lists(&mm));
            assert_ne!(before, after);
            let sets = |lists: &[Vec<Pfn>]| lists.iter().map(|list| list.iter().copied().collect()).collect();
            let (before, after): (Vec<BTreeSet<Pfn>>, Vec<BTreeSet<Pfn>>) = (sets(&before), sets(&after));
            assert_eq!(before, after);
        }
    }

    #[test]
    fn neighbours_in_a_block_stay_neighbours() {
        let mut mm = used();
        let before = lists(&mm);
        mm.phys.reorder_free_lists(18, dice(1));
        assert_eq!(lists(&mm), before, "all of the zone lies in one block");
        mm.phys.reorder_free_lists(12, dice(1));
        let after = lists(&mm);
        assert_ne!(after, before);
        let block = |pfn: &Pfn| pfn.get() >> 12;
        for (before, after) in before.iter().zip(&after) {
            let pieces = |list: &[Pfn]| -> BTreeSet<Vec<Pfn>> {
                list.chunk_by(|one, next| block(one) == block(next)).map(<[Pfn]>::to_vec).collect()
            };
            let kept = pieces(before).into_iter().all(|piece| after.windows(piece.len()).any(|part| part == piece));
            assert!(kept, "{before:?}\n{after:?}");
        }
    }
}
