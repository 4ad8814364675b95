//! Memory that the trees of files on disk take: a node for each 64 places of a file of which one holds a page or a shadow.
//!
//! Nodes are objects of `radix_tree_node`. A new one is asked for without waiting, so that a page never waits for its place: kswapd is
//! woken where memory is short, from 4.20 on for a block of the slab's preferred order (`reclaim.xarray`). Where there is no memory for
//! one, the places go without. A node whose places are empty comes free with the next step that adds or drops pages, as on Linux after a
//! grace period. A file of one page has none, nor have places of folios of 64 pages and more, nor has a file of tmpfs. Behaviour: docs/page-cache.md.

use alloc::vec::Vec;

use order9_frames::{AllocFlags, Gfp, Mark, Request, Verdict, require};
use order9_units::{Order, Pfn};

use super::FileId;
use super::chunks::CHUNK;
use crate::alloc_error::AllocError;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::slab::{CacheId, CacheSpec, NewSlab, Object, ObjectStep};

/// Nodes of the trees of all files.
#[derive(Clone, Default)]
pub(super) struct TreeNodes {
    /// Cache of the nodes, once there was one.
    cache: Option<CacheId>,
    /// Nodes that no file needs any more.
    pub(super) freed: Vec<u32>,
}

impl UsedPages {
    /// Gives the places of `pages` pages of a file from `index` on, which were just added, the node that they lack.
    pub(crate) fn take_tree_node(&mut self, id: FileId, index: u64, pages: u64, cpu: usize, phys: &mut PhysMem) {
        let lacks = |file: &super::File| file.tree.lacks_node(index);
        if pages >= CHUNK || !self.cache.file(id).is_ok_and(lacks) {
            return;
        }
        self.free_tree_nodes(cpu, phys);
        if let Some(node) = self.new_tree_node(cpu, phys) {
            self.cache.file_mut(id).tree.set_node(index, node);
        }
    }

    /// Frees the nodes that no file needs any more, on behalf of `cpu`.
    pub(crate) fn free_tree_nodes(&mut self, cpu: usize, phys: &mut PhysMem) {
        let nodes = &mut self.cache.files.nodes;
        let Some(cache) = nodes.cache.filter(|_| !nodes.freed.is_empty()) else { return };
        for number in core::mem::take(&mut nodes.freed) {
            self.kmem_cache_free(Object { cache, number }, cpu, phys).expect("the node of a tree lives");
        }
    }

    fn new_tree_node(&mut self, cpu: usize, phys: &mut PhysMem) -> Option<u32> {
        if self.cache.files.nodes.cache.is_none() {
            self.cache.files.nodes.cache = self.kmem_cache(CacheSpec::RADIX_TREE_NODE, phys).ok();
        }
        let cache = self.cache.files.nodes.cache?;
        let gfp = if phys.policy.reclaim.xarray { Gfp::GFP_NOWAIT } else { Gfp::GFP_NOFS } | Gfp::NOWARN;
        let asked = Request { node: phys.node_of_cpu(cpu), cpu, ..Request::new(Order::ZERO, gfp) };
        let mut step = self.slab.kmem_cache_alloc(cache, &asked, phys);
        loop {
            match step {
                ObjectStep::Done(Object { number, .. }) => return Some(number),
                ObjectStep::Failed(_) => return None,
                ObjectStep::NeedPage(need) => {
                    let answer = self.page_at_once(&need, phys);
                    step = self.kmem_cache_give(&need, answer, phys);
                }
            }
        }
    }

    /// Pages for a slab, down to the min mark; kswapd is woken where fewer than the low mark are left, as far as the request says.
    fn page_at_once(&self, need: &NewSlab, phys: &mut PhysMem) -> Result<Pfn, AllocError> {
        let request = need.request();
        self.alloc_fast(&request, phys).or_else(|_| {
            let kswapd = request.gfp.has(Gfp::KSWAPD_RECLAIM);
            if kswapd {
                self.wake_all_kswapds(&phys.frames.search_for(&request)?, phys);
            }
            self.alloc_with(&request, AllocFlags { kswapd, ..AllocFlags::plain(Mark::Min) }, phys)
        })
    }

    /// Checks that each live node belongs to one file, or is about to be freed.
    pub(super) fn check_tree_nodes(&self) -> Verdict {
        let nodes = &self.cache.files.nodes;
        let mut used: Vec<u32> = nodes.freed.clone();
        used.extend(self.cache.files.iter().flat_map(|(_, file)| file.tree.nodes()));
        used.sort_unstable();
        let (all, live) = (used.len() as u64, nodes.cache.map_or(0, |cache| self.slab.caches[cache.index()].objects()));
        used.dedup();
        let lives =
            |&number: &u32| nodes.cache.is_some_and(|cache| self.slab.slab_of(Object { cache, number }).is_ok());
        require(
            used.len() as u64 == all && all == live && used.iter().all(lives),
            "each node of a tree belongs to one file",
            || alloc::format!("{all} nodes of files, {} of them different, {live} live", used.len()),
        )
    }
}
