//! [`UsedPages`]: everything that uses frames.

pub mod fs_cache;
pub mod hugetlb;
mod isolate;
pub(crate) mod lru;
pub mod mempolicy;
pub mod migrate;
pub mod numa_balancing;
mod page_alloc;
pub mod page_cache;
pub(crate) mod page_flags;
mod pin;
pub(crate) mod shmem;
pub mod shrinker;
pub mod slab;
pub mod space;
pub(crate) mod swap;
pub(crate) mod tags;
pub mod thp;
pub(crate) mod wake;
pub(crate) mod workingset;

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::fs_cache::FsCache;
use crate::hugetlb::Hugetlb;
use crate::lru::LruState;
use crate::mempolicy::Mempolicies;
use crate::migrate::DriverPages;
use crate::numa_balancing::NumaBalancing;
use crate::page_cache::PageCache;
use crate::shrinker::Shrinker;
use crate::slab::SlabMemory;
use crate::space::{Rmap, SpaceId, Spaces, UserLevels, VpnRange};
use crate::swap::SwapArea;
use crate::tags::Tags;
use crate::thp::{Filled, HugeMemory};

/// Pages in use: address spaces, files, swap, slab and huge pages, and whose page every frame is.
#[derive(Clone)]
pub struct UsedPages {
    /// Address spaces of programs.
    pub(crate) spaces: Spaces,
    /// Files in memory.
    pub(crate) cache: PageCache,
    /// Owner of every frame, and who maps it.
    pub(crate) rmap: Rmap,
    /// Movable pages that are neither programs' nor files'.
    pub(crate) drivers: DriverPages,
    /// Transparent huge pages.
    pub(crate) huge: HugeMemory,
    /// Pools of hugetlb.
    pub(crate) hugetlb: Hugetlb,
    /// Memory policies and cpusets.
    pub(crate) mempolicies: Mempolicies,
    /// NUMA balancing.
    pub(crate) balancing: NumaBalancing,
    /// Levels of the machine; the mapped pages of each node are with [`Rmap`].
    pub(crate) levels: UserLevels,
    /// Contents of all pages, where they are followed.
    pub(crate) tags: Option<Tags>,
    /// LRU lists.
    pub(crate) lru: LruState,
    /// Swap space.
    pub(crate) swap: SwapArea,
    /// Kernel objects.
    pub(crate) slab: SlabMemory,
    /// Dentries and inodes, once there is a filesystem.
    fs: Option<Box<FsCache>>,
    /// Callers that give up kernel objects.
    shrinkers: Vec<Shrinker>,
    /// Pins beyond the first, by frame.
    more_pins: BTreeMap<u32, u32>,
    /// Spaces of processes that a machine starts with, by number, and where their pages lie that are not locked.
    pub(crate) inherited: Vec<(SpaceId, VpnRange)>,
}

impl UsedPages {
    /// Nobody uses a page yet, on a machine with so many nodes, zones and pageblocks.
    pub(crate) fn new(nodes: usize, zones: usize, blocks: usize, lru: LruState, filled: Option<Filled>) -> Self {
        Self {
            spaces: Spaces::default(),
            cache: PageCache::new(zones),
            rmap: Rmap::new(nodes),
            drivers: DriverPages::default(),
            huge: HugeMemory::new(filled),
            hugetlb: Hugetlb::default(),
            mempolicies: Mempolicies::default(),
            balancing: NumaBalancing::default(),
            levels: UserLevels::default(),
            tags: None,
            lru,
            swap: SwapArea::default(),
            slab: SlabMemory::new(nodes, blocks),
            fs: None,
            shrinkers: Vec::new(),
            more_pins: BTreeMap::new(),
            inherited: Vec::new(),
        }
    }

    /// Address spaces of programs.
    #[must_use]
    pub const fn spaces(&self) -> &Spaces {
        &self.spaces
    }

    /// Address spaces of programs, to be changed.
    pub const fn spaces_mut(&mut self) -> &mut Spaces {
        &mut self.spaces
    }

    /// Files in memory.
    #[must_use]
    pub const fn cache(&self) -> &PageCache {
        &self.cache
    }

    /// Files in memory, to be changed.
    pub const fn cache_mut(&mut self) -> &mut PageCache {
        &mut self.cache
    }

    /// Movable pages of drivers.
    #[must_use]
    pub const fn drivers(&self) -> &DriverPages {
        &self.drivers
    }

    /// Movable pages of drivers, to be changed.
    pub const fn drivers_mut(&mut self) -> &mut DriverPages {
        &mut self.drivers
    }

    /// Transparent huge pages.
    #[must_use]
    pub const fn huge(&self) -> &HugeMemory {
        &self.huge
    }

    /// Transparent huge pages, to be changed.
    pub const fn huge_mut(&mut self) -> &mut HugeMemory {
        &mut self.huge
    }

    /// Pools of hugetlb.
    #[must_use]
    pub const fn hugetlb(&self) -> &Hugetlb {
        &self.hugetlb
    }

    /// Memory policies and cpusets.
    #[must_use]
    pub const fn mempolicies(&self) -> &Mempolicies {
        &self.mempolicies
    }

    /// Memory policies and cpusets, to be changed.
    pub const fn mempolicies_mut(&mut self) -> &mut Mempolicies {
        &mut self.mempolicies
    }

    /// NUMA balancing.
    #[must_use]
    pub const fn balancing(&self) -> &NumaBalancing {
        &self.balancing
    }

    /// LRU lists.
    #[must_use]
    pub const fn lru(&self) -> &LruState {
        &self.lru
    }

    /// Swap space.
    #[must_use]
    pub const fn swap(&self) -> &SwapArea {
        &self.swap
    }

    /// Swap space, to be changed.
    pub const fn swap_mut(&mut self) -> &mut SwapArea {
        &mut self.swap
    }

    /// Kernel objects.
    #[must_use]
    pub const fn slab(&self) -> &SlabMemory {
        &self.slab
    }

    /// Bytes of metadata of the machine's frames; page tables and files are paid for by what they map.
    pub(crate) fn bytes(&self) -> usize {
        let pins = self.more_pins.len() * 2 * size_of::<(u32, u32)>();
        self.rmap.bytes()
            + self.huge.bytes()
            + self.balancing.bytes()
            + self.tags.as_ref().map_or(0, Tags::bytes)
            + pins
    }
}
