//! Kernel objects.

use order9_frames::Request;
use order9_units::Pfn;

use crate::Mm;
use crate::alloc_error::AllocError;
use crate::slab::{CacheError, CacheId, CacheSpec, NewSlab, Object, ObjectStep, SlabError};

impl Mm {
    /// A cache without objects.
    ///
    /// # Errors
    /// [`CacheError`] where no slab could be as `spec` says.
    pub fn kmem_cache_create(&mut self, spec: CacheSpec) -> Result<CacheId, CacheError> {
        self.pages.kmem_cache_create(spec, &self.phys)
    }

    /// The cache of this kind, which is made when it is asked for first: several users share those of `kmalloc`.
    ///
    /// # Errors
    /// [`CacheError`] where no slab could be as `spec` says.
    pub fn kmem_cache(&mut self, spec: CacheSpec) -> Result<CacheId, CacheError> {
        self.pages.kmem_cache(spec, &self.phys)
    }

    /// Allocates an object: from a slab with room on the node of `asked`, then on the nearest other one, as with
    /// `remote_node_defrag_ratio` at its default. Where there is none, it says what it needs.
    pub fn kmem_cache_alloc(&mut self, cache: CacheId, asked: &Request) -> ObjectStep {
        self.pages.slab.kmem_cache_alloc(cache, asked, &mut self.phys)
    }

    /// Hands in what the allocation of [`NewSlab::request`] came to.
    ///
    /// # Panics
    /// If the page is not a block of that order that was just allocated.
    pub fn kmem_cache_give(&mut self, need: &NewSlab, answer: Result<Pfn, AllocError>) -> ObjectStep {
        self.pages.kmem_cache_give(need, answer, &mut self.phys)
    }

    /// Allocates an object with pages straight from the fast path. Where that fails, the pages are what it needs: the slow
    /// path's turn.
    pub fn kmem_cache_alloc_fast(&mut self, cache: CacheId, asked: &Request) -> ObjectStep {
        self.pages.kmem_cache_alloc_fast(cache, asked, &mut self.phys)
    }

    /// Frees an object on behalf of `cpu`; returns the frames that went back with its slab.
    ///
    /// # Errors
    /// [`SlabError::NoSuchCache`] or [`SlabError::NotLive`]; nothing has changed then.
    pub fn kmem_cache_free(&mut self, object: Object, cpu: usize) -> Result<u64, SlabError> {
        self.pages.kmem_cache_free(object, cpu, &mut self.phys)
    }
}
