//! Levels: how much memory there is, and what it is used for, as far as somebody has to add that up or count it first.
//!
//! Key types: [`NodeLevels`] (what programs and files use of a node). Levels that the engine keeps count of are with their
//! owners: zones with [`Mm::frames`], the others with the parts of [`Mm::pages`] (LRU lists, files, kernel objects).

use alloc::vec::Vec;

use order9_frames::{Idx, Pageblock, Zone, ZoneId};
use order9_units::{Migratetype, NodeId, PAGEBLOCK_PAGES, Pages};

use crate::lru::ZoneLru;
use crate::page_flags::PageFlag;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::{Owner, UserLevels};

/// Pages of a node that programs and files use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeLevels {
    /// The levels that the engine otherwise counts for the whole machine.
    pub user: UserLevels,
    /// `nr_swapcached`: pages in the swap cache.
    pub swap_cached: u64,
}

impl PhysMem {
    /// Pages that nobody uses: `MemFree`.
    #[must_use]
    pub fn free_pages(&self) -> Pages {
        Pages::new(self.frames.zones().iter().map(Zone::free).sum()) + self.frames.deferred_pages()
    }

    /// Pageblocks of a zone, by migratetype. Takes a walk over the pageblocks.
    #[must_use]
    pub fn pageblocks_by_type(&self, zone: ZoneId) -> [u64; Migratetype::COUNT] {
        let mut counts = [0; Migratetype::COUNT];
        self.pageblocks_in(zone).for_each(|block| counts[block.migratetype.index()] += 1);
        counts
    }

    /// Frames of a zone that belong to contiguous memory areas: `cma` in /proc/zoneinfo. Takes a walk over the pageblocks.
    #[must_use]
    pub fn cma_pages(&self, zone: ZoneId) -> u64 {
        let cma = self.pageblocks_in(zone).filter(|block| block.migratetype == Migratetype::Cma);
        cma.map(|block| PAGEBLOCK_PAGES.get() - u64::from(block.absent)).sum()
    }

    fn pageblocks_in(&self, zone: ZoneId) -> impl Iterator<Item = &Pageblock> {
        self.frames.blocks().iter().filter(move |block| block.zone == zone)
    }
}

impl UsedPages {
    /// Pages that programs could get without swapping: `MemAvailable`. Half of the page cache, and of the slab that can be
    /// reclaimed, is taken for in use or fragmented, but never more than the low marks.
    #[must_use]
    pub(crate) fn available(&self, phys: &PhysMem) -> Pages {
        let sum = |of: fn(&Zone) -> u64| phys.frames.zones().iter().map(of).sum::<u64>();
        let low = sum(|zone| zone.watermarks().low);
        let unused_part = |pages: u64| pages - (pages / 2).min(low);
        let page_cache = self.lru.zones.iter().map(ZoneLru::file_pages).sum();
        let free = phys.free_pages().get().saturating_sub(sum(Zone::reserved_from_programs));
        Pages::new(free + unused_part(page_cache) + unused_part(self.slab.total().reclaimable))
    }

    /// Pages that an mlocked mapping maps, each once: `nr_mlock` of the machine, or of a node. Takes a walk over all page tables
    /// of such mappings.
    #[must_use]
    pub(crate) fn mlocked(&self, node: Option<NodeId>, phys: &PhysMem) -> u64 {
        let mut pages: Vec<Idx> = Vec::new();
        for (_, space) in self.spaces.iter() {
            for vma in space.vmas().filter(|vma| vma.locked) {
                let frames = space.entries(vma.range).filter_map(|pte| pte.idx());
                pages.extend(frames.filter(|&idx| node.is_none_or(|node| phys.node_of(idx) == node)));
            }
        }
        pages.sort_unstable();
        pages.dedup();
        pages.len() as u64
    }

    /// Pages of a node by their use, for programs and files. Takes a walk over the frames of the node.
    #[must_use]
    pub(crate) fn node_levels(&self, node: NodeId, phys: &PhysMem) -> NodeLevels {
        let mut found = NodeLevels::default();
        let zones = phys.frames.zones().iter().filter(|zone| zone.node() == node);
        for pfn in zones.flat_map(|zone| zone.span().iter()) {
            let idx = phys.frames.at(pfn);
            self.add_frame(&mut found.user, idx, phys);
            let word = phys.frames.word(idx);
            found.swap_cached += if word.has(PageFlag::SwapCache) { word.frames() } else { 0 };
        }
        found
    }

    fn add_frame(&self, levels: &mut UserLevels, idx: Idx, phys: &PhysMem) {
        let is_part = || phys.frames.word(idx).is_tail() && self.rmap.huge_head(idx, phys).is_some();
        match self.rmap.owner(idx) {
            Owner::Anon(_) | Owner::Shared { .. } => levels.anon += u64::from(!is_part()),
            Owner::File { file, .. } => {
                let on_disk = self.cache.files.is_on_disk(file);
                *(if on_disk { &mut levels.file } else { &mut levels.shmem }) += 1;
                levels.mapped += u64::from(self.mapcount(phys.frames.pfn(idx), phys) > 0);
                if !on_disk && self.rmap.file_folio_head(idx, phys) == Some(idx) {
                    levels.shmem_thps += 1;
                    levels.shmem_pmdmapped += u64::from(self.huge.is_pmd_mapped(idx));
                }
            }
            Owner::PageTable(_) => levels.page_tables += 1,
            Owner::Huge => {
                levels.anon += self.huge.huge_anon_pages(idx);
                levels.anon_thps += u64::from(self.huge.is_pmd_mapped(idx));
            }
            Owner::Slab { .. } | Owner::Kept | Owner::SwapCache | Owner::HugeZero | Owner::Hugetlb | Owner::Nobody => {}
        }
    }
}
