//! Objects are allocated and freed, and slabs come and go with them.

use order9_frames::{Flag, Gfp, Request};
use order9_units::{NodeId, Order, Pfn};

use super::cache::Freed;
use super::{CacheError, CacheId, CacheSpec, KmemCache, Object, SlabError, SlabLevels};
use crate::alloc_error::AllocError;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::slab::SlabMemory;
use crate::space::Owner;

/// Next step of the allocation of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectStep {
    /// Here it is.
    Done(Object),
    /// No slab has room: allocate [`NewSlab::request`] and pass the answer to [`Mm::kmem_cache_give`](crate::Mm::kmem_cache_give).
    NeedPage(NewSlab),
    /// The allocation failed.
    Failed(SlabError),
}

/// An allocation that waits for pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewSlab {
    cache: CacheId,
    asked: Request,
    order: Order,
    /// There is a smaller order to fall back to.
    may_shrink: bool,
}

/// Fill of a slab cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlabCacheUse {
    /// The cache.
    pub spec: CacheSpec,
    /// Live objects.
    pub objects: u64,
    /// Objects that its slabs have room for, live ones included.
    pub capacity: u64,
    /// Objects that a slab of the preferred order holds.
    pub objects_per_slab: u32,
    /// Slabs, full, with room and empty.
    pub slabs: u32,
}

impl NewSlab {
    /// Whether the allocation fails if this request does.
    pub(crate) const fn is_last_try(&self) -> bool {
        !self.may_shrink
    }

    /// The allocation to make. The preferred order is not worth any reclaim where a smaller one would do; only who may not reclaim
    /// wakes kswapd for it.
    #[must_use]
    pub fn request(&self) -> Request {
        let mut gfp = self.asked.gfp;
        if self.may_shrink {
            gfp = (gfp | Gfp::NORETRY | Gfp::NOWARN) - Gfp::NOFAIL;
            if gfp.has(Gfp::DIRECT_RECLAIM) {
                gfp = (gfp | Gfp::NOMEMALLOC) - Gfp::RECLAIM;
            }
        }
        if self.order > Order::ZERO {
            gfp = gfp | Gfp::COMP;
        }
        Request { order: self.order, gfp, ..self.asked }
    }
}

impl UsedPages {
    /// A cache without objects.
    pub(crate) fn kmem_cache_create(&mut self, spec: CacheSpec, phys: &PhysMem) -> Result<CacheId, CacheError> {
        let id = CacheId(u16::try_from(self.slab.caches.len()).map_err(|_| CacheError::TooMany)?);
        let cache = KmemCache::new(spec, phys.frames.nodes().len())?;
        self.rmap.make_room(phys.frames.table().len());
        self.slab.caches.push(cache);
        Ok(id)
    }

    /// The cache of this kind, which is made when it is asked for first: several users share those of `kmalloc`.
    pub(crate) fn kmem_cache(&mut self, spec: CacheSpec, phys: &PhysMem) -> Result<CacheId, CacheError> {
        match self.slab.caches.iter().position(|cache| cache.spec == spec) {
            Some(at) => Ok(CacheId(at as u16)),
            None => self.kmem_cache_create(spec, phys),
        }
    }

    /// Hands in what the allocation of [`NewSlab::request`] came to.
    pub(crate) fn kmem_cache_give(
        &mut self,
        need: &NewSlab,
        answer: Result<Pfn, AllocError>,
        phys: &mut PhysMem,
    ) -> ObjectStep {
        let min_order = self.slab.caches[need.cache.index()].min_order;
        match answer {
            Ok(page) => ObjectStep::Done(self.add_slab(need, page, phys)),
            Err(_) if need.may_shrink => ObjectStep::NeedPage(NewSlab { order: min_order, may_shrink: false, ..*need }),
            Err(error) => ObjectStep::Failed(SlabError::NoPage(error)),
        }
    }

    /// Allocates an object with pages straight from the fast path. Where that fails, the pages are what it needs: the slow
    /// path's turn.
    pub(crate) fn kmem_cache_alloc_fast(&mut self, cache: CacheId, asked: &Request, phys: &mut PhysMem) -> ObjectStep {
        let mut step = self.slab.kmem_cache_alloc(cache, asked, phys);
        while let ObjectStep::NeedPage(need) = step {
            match self.alloc_fast(&need.request(), phys) {
                Err(AllocError::NoneAboveWatermark) if need.is_last_try() => break,
                answer => step = self.kmem_cache_give(&need, answer, phys),
            }
        }
        step
    }

    /// Frees an object on behalf of `cpu`; returns the frames that went back with its slab.
    pub(crate) fn kmem_cache_free(&mut self, object: Object, cpu: usize, phys: &mut PhysMem) -> Result<u64, SlabError> {
        let node = usize::from(self.slab.slab_of(object)?.node);
        let cache = &mut self.slab.caches[object.cache.index()];
        phys.work.slab_objects += 1;
        let Freed::Empty(frame) = cache.give_back(object.number) else { return Ok(0) };
        let order = phys.frames.word(frame).order();
        let frames = order.pages().get();
        self.slab.blocks.remove(frame, order);
        *self.slab.levels[node].of_mut(&cache.spec) -= frames;
        phys.counters.slab_pages_freed += frames;
        self.disown(frame, cpu, phys);
        Ok(frames)
    }

    fn add_slab(&mut self, need: &NewSlab, page: Pfn, phys: &mut PhysMem) -> Object {
        let (frame, word) = phys.frames.live(page).unwrap_or_else(|error| panic!("a page was handed in, but {error}"));
        assert!(
            word.order() == need.order && !word.has(Flag::Owned),
            "{page:?} is not a block of {:?} without an owner",
            need.order
        );
        let node = phys.node_of(frame);
        let cache = &mut self.slab.caches[need.cache.index()];
        let (slab, number) = cache.add_slab(frame, need.order, node);
        *self.slab.levels[node.index()].of_mut(&cache.spec) += need.order.pages().get();
        self.slab.blocks.add(frame, need.order);
        self.rmap.adopt(frame, Owner::Slab { cache: need.cache, slab }, phys);
        Object { cache: need.cache, number }
    }
}

impl SlabMemory {
    /// Allocates an object: from a slab with room on the node of `asked`, then on the nearest other one, as with
    /// `remote_node_defrag_ratio` at its default. Where there is none, it says what it needs.
    pub(crate) fn kmem_cache_alloc(&mut self, cache: CacheId, asked: &Request, phys: &mut PhysMem) -> ObjectStep {
        let Some(found) = self.caches.get_mut(cache.index()) else {
            return ObjectStep::Failed(SlabError::NoSuchCache(cache));
        };
        if asked.node.index() >= phys.frames.nodes().len() {
            return ObjectStep::Failed(SlabError::NoPage(AllocError::NoSuchNode(asked.node)));
        }
        phys.work.slab_objects += 1;
        let mut near =
            core::iter::once(asked.node).chain(phys.frames.fallback_list(asked.node).iter().map(|zone| zone.node));
        if let Some(number) = near.find_map(|node| found.take(node)) {
            return ObjectStep::Done(Object { cache, number });
        }
        let CacheSpec { order, reclaimable, .. } = found.spec;
        let gfp = if reclaimable { asked.gfp | Gfp::RECLAIMABLE } else { asked.gfp };
        let may_shrink = order > found.min_order;
        ObjectStep::NeedPage(NewSlab { cache, asked: Request { gfp, ..*asked }, order, may_shrink })
    }

    /// Frames of slabs of a node; none of a node that does not exist.
    #[must_use]
    pub fn slab_levels(&self, node: NodeId) -> SlabLevels {
        self.levels.get(node.index()).copied().unwrap_or_default()
    }

    /// All slab levels of the machine.
    #[must_use]
    pub fn slab_total(&self) -> SlabLevels {
        self.total()
    }

    /// Slab caches, oldest first.
    pub fn slab_caches(&self) -> impl DoubleEndedIterator<Item = SlabCacheUse> {
        self.caches.iter().map(|cache| SlabCacheUse {
            spec: cache.spec,
            objects: cache.objects(),
            capacity: cache.slabs().map(|(_, slab)| cache.capacity(slab.order)).sum(),
            objects_per_slab: cache.per_slab,
            slabs: cache.slab_count(),
        })
    }
}
