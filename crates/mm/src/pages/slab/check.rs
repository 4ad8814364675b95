//! Recounts the laws of slab caches: a slab counts its objects, is listed where it has room, and owns its frames.

use alloc::format;
use alloc::vec::Vec;

use order9_frames::{FrameState, Idx, Verdict, require};

use super::{CacheId, KmemCache, Slab, SlabBlocks, SlabLevels};
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::slab::SlabMemory;
use crate::space::Owner;
use crate::space::Rmap;

impl UsedPages {
    /// Checks every law of slab caches.
    pub(crate) fn check_slab(&self, phys: &PhysMem) -> Verdict {
        let mut levels: Vec<SlabLevels> = alloc::vec![SlabLevels::default(); phys.frames.nodes().len()];
        let mut blocks = SlabBlocks::new(phys.frames.blocks().len());
        for (id, cache) in (0..).map(CacheId).zip(&self.slab.caches) {
            let (mut slabs, mut objects) = (0, 0);
            for (number, slab) in cache.slabs() {
                self.rmap.check_one_slab(id, cache, number, slab, phys)?;
                blocks.add(slab.frame, slab.order);
                *levels[usize::from(slab.node)].of_mut(&cache.spec) += slab.order.pages().get();
                slabs += 1;
                objects += u64::from(slab.live);
            }
            let (name, counted) = (cache.spec.name, (cache.slab_count(), cache.objects()));
            require((slabs, objects) == counted, "a cache counts its slabs and objects", || {
                format!("{name}: {slabs} slabs with {objects} objects, {counted:?} counted")
            })?;
            (0..phys.frames.nodes().len()).try_for_each(|node| phys.check_partial(cache, node))?;
        }
        require(blocks == self.slab.blocks, "pageblocks count the frames of slabs in them", || {
            format!("{} by slabs, {} counted", blocks.used(), self.slab.blocks.used())
        })?;
        require(levels == self.slab.levels, "nr_slab_* are the frames of slabs", || {
            format!("{levels:?} by slabs, {:?} counted", self.slab.levels)
        })
    }
}

impl SlabMemory {
    /// Whether `owner`, as `idx` names it, knows that frame as its own.
    pub(crate) fn slab_has(&self, cache: CacheId, slab: u32, idx: Idx) -> bool {
        self.cache(cache).is_ok_and(|cache| cache.slab(slab).is_some_and(|slab| slab.frame == idx))
    }
}

impl Rmap {
    fn check_one_slab(&self, id: CacheId, cache: &KmemCache, number: u32, slab: &Slab, phys: &PhysMem) -> Verdict {
        let place = || format!("slab {number} of {}", cache.spec.name);
        let (state, owner) = (phys.frames.word(slab.frame).state(), self.owner(slab.frame));
        let owned = owner == Owner::Slab { cache: id, slab: number };
        require(
            state == FrameState::Allocated { order: slab.order } && owned,
            "a slab owns a block of its order",
            || format!("{} at {:?}, which is {state:?} of {owner:?}", place(), phys.frames.pfn(slab.frame)),
        )?;
        let recount = cache.recount(number);
        require(recount == (slab.live.into(), 0), "a slab counts its live objects", || {
            format!("{}: {recount:?} live inside and outside, {} counted", place(), slab.live)
        })?;
        let zone = phys.frames.blocks()[slab.frame.block()].zone;
        require(phys.frames.zones()[zone.index()].node().0 == slab.node, "a slab knows its node", place)
    }
}

impl PhysMem {
    /// The list of a node holds its slabs with room, few of them empty.
    fn check_partial(&self, cache: &KmemCache, node: usize) -> Verdict {
        let name = cache.spec.name;
        let on_node = |slab: &Slab| usize::from(slab.node) == node;
        let has_room = |slab: &Slab| u64::from(slab.live) < cache.capacity(slab.order);
        let wanted = cache.slabs().filter(|(_, slab)| on_node(slab) && has_room(slab)).count();
        let mut empty = 0;
        let mut listed = 0;
        for number in cache.partial_slabs(node).take(wanted + 1) {
            let slab = cache.slab(number).filter(|slab| on_node(slab) && has_room(slab));
            require(slab.is_some(), "a list holds slabs of its node with room", || format!("{name}: slab {number}"))?;
            empty += u32::from(slab.is_some_and(|slab| slab.live == 0));
            listed += 1;
        }
        let counted = cache.partial(node).count as usize;
        require(listed == wanted && counted == wanted, "every slab with room is listed once", || {
            format!("{name}, node {node}: {wanted} slabs, {listed} listed, {counted} counted")
        })?;
        require(empty <= cache.min_partial, "few slabs stay without objects", || {
            format!("{name}, node {node}: {empty}, at most {}", cache.min_partial)
        })
    }
}
