//! Use of frames as an observer sees it: enough to write /proc/kpageflags and kpagecount.

use order9_frames::{Flag, FrameState};
use order9_units::Pfn;

use crate::lru_list::LruList;
use crate::page_flags::{PageFlag, PageWord};
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::Owner;

/// Use of the block that starts at a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockView {
    /// State of the first frame.
    pub state: FrameState,
    /// Owner of the block.
    pub user: BlockUser,
    /// The LRU list that it is on.
    pub lru: Option<LruList>,
    /// Number of page table entries that map the block.
    pub mapcount: u32,
    /// An LRU page that was accessed once since it was last looked at.
    pub referenced: bool,
    /// A long-term pin holds the block.
    pub pinned: bool,
    /// Changed since it was last written back.
    pub dirty: bool,
    /// Being written back.
    pub writeback: bool,
}

/// Owner of a block in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockUser {
    /// The kernel's, which cannot move it, or nobody's.
    Kernel,
    /// Of something else than programs, that can be moved.
    Movable,
    /// Private memory of programs.
    Anon,
    /// A page of a file.
    File,
    /// A page table.
    PageTable,
    /// A huge page of a hugetlb pool, free or in use.
    Hugetlb,
    /// A slab.
    Slab {
        /// A shrinker can free its objects.
        reclaimable: bool,
    },
}

impl UsedPages {
    /// Use of the block that starts at `pfn`; a hole outside the machine's memory.
    #[must_use]
    pub(crate) fn block_view(&self, pfn: Pfn, phys: &PhysMem) -> BlockView {
        let Some(idx) = phys.frames.idx(pfn) else {
            return BlockView {
                state: FrameState::Hole,
                user: BlockUser::Kernel,
                lru: None,
                mapcount: 0,
                referenced: false,
                pinned: false,
                dirty: false,
                writeback: false,
            };
        };
        let word = phys.frames.word(idx);
        let in_use = word.is_allocated();
        let owner = if word.has(Flag::Owned) { self.rmap.owner(idx) } else { Owner::Nobody };
        BlockView {
            state: word.state(),
            user: match owner {
                Owner::Anon(_) | Owner::Shared { .. } | Owner::SwapCache | Owner::Huge => BlockUser::Anon,
                Owner::File { .. } => BlockUser::File,
                Owner::PageTable(_) => BlockUser::PageTable,
                Owner::Hugetlb => BlockUser::Hugetlb,
                Owner::Slab { cache, .. } => {
                    BlockUser::Slab { reclaimable: self.slab.cache(cache).is_ok_and(|cache| cache.spec.reclaimable) }
                }
                Owner::Nobody | Owner::Kept if word.has(Flag::MovableContent) => BlockUser::Movable,
                Owner::Nobody | Owner::Kept | Owner::HugeZero => BlockUser::Kernel,
            },
            lru: word.has(PageFlag::Lru).then(|| word.lru_list()),
            mapcount: if in_use { self.mapcount(pfn, phys) } else { 0 },
            referenced: word.has(PageFlag::Referenced),
            pinned: word.has(Flag::Pinned),
            dirty: word.has(PageFlag::Dirty),
            writeback: word.has(PageFlag::Writeback),
        }
    }
}
