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
use alloc::vec;
use alloc::vec::Vec;

use order9_units::NodeId;

use crate::fs_cache::FsCache;
use crate::hugetlb::Hugetlb;
use crate::lru::{LruBatch, LruState};
use crate::mempolicy::Mempolicies;
use crate::migrate::DriverPages;
use crate::numa_balancing::NumaBalancing;
use crate::page_cache::{FileTable, FlusherState, Orphans, Readahead, Throttle, WritePending};
use crate::settings::MapLimit;
use crate::shmem::Mounts;
use crate::shrinker::Shrinker;
use crate::slab::SlabMemory;
use crate::space::{Errno, Rmap, Space, SpaceId, UserLevels};
use crate::swap::SwapArea;
use crate::tags::Tags;
use crate::thp::{Filled, HugeMemory};

/// Pages in use: address spaces, files, swap, slab and huge pages, and whose page every frame is.
#[derive(Clone)]
pub struct UsedPages {
    /// By number; `None` where the space is gone.
    pub(crate) spaces: Vec<Option<Box<Space>>>,
    pub(crate) files: FileTable,
    /// Pages that files have lost while they were being read or written.
    pub(crate) orphans: Orphans,
    pub(crate) rmap: Rmap,
    /// `nr_mapped` by node: pages of files with a mapping, each once.
    pub(crate) mapped: Vec<u64>,
    /// By zone: pages that disks do not have yet.
    pub(crate) write_pending: Vec<WritePending>,
    /// How far readers of files are.
    pub(crate) readahead: Readahead,
    /// How fast programs may make pages dirty.
    pub(crate) throttle: Throttle,
    pub(crate) flusher: FlusherState,
    /// Movable pages that are neither programs' nor files'.
    pub(crate) drivers: DriverPages,
    pub(crate) huge: HugeMemory,
    pub(crate) hugetlb: Hugetlb,
    pub(crate) mounts: Mounts,
    pub(crate) mempolicies: Mempolicies,
    pub(crate) balancing: NumaBalancing,
    /// Those of `mapped` are with the nodes.
    pub(crate) levels: UserLevels,
    pub(crate) map_limit: MapLimit,
    pub(crate) tags: Option<Tags>,
    /// LRU lists.
    pub(crate) lru: LruState,
    /// Pages that wait for the LRU lock together.
    pub(crate) lru_batch: LruBatch,
    /// The node whose LRU lock was taken last.
    pub(crate) locked_lru: NodeId,
    /// Swap space.
    pub(crate) swap: SwapArea,
    /// Kernel objects.
    pub(crate) slab: SlabMemory,
    /// Dentries and inodes, once there is a filesystem.
    pub(crate) fs: Option<Box<FsCache>>,
    /// Who gives up kernel objects.
    pub(crate) shrinkers: Vec<Shrinker>,
    /// Pins beyond the first, by frame.
    pub(crate) more_pins: BTreeMap<u32, u32>,
}

impl UsedPages {
    /// Nobody uses a page yet, on a machine with so many nodes, zones and pageblocks.
    pub(crate) fn new(nodes: usize, zones: usize, blocks: usize, lru: LruState, filled: Option<Filled>) -> Self {
        Self {
            spaces: Vec::new(),
            files: FileTable::default(),
            orphans: Orphans::default(),
            rmap: Rmap::default(),
            mapped: vec![0; nodes],
            write_pending: vec![WritePending::default(); zones],
            readahead: Readahead::default(),
            throttle: Throttle::default(),
            flusher: FlusherState::default(),
            drivers: DriverPages::default(),
            huge: HugeMemory::new(filled),
            hugetlb: Hugetlb::default(),
            mounts: Mounts::default(),
            mempolicies: Mempolicies::default(),
            balancing: NumaBalancing::default(),
            levels: UserLevels::default(),
            map_limit: MapLimit::default(),
            tags: None,
            lru,
            lru_batch: LruBatch::default(),
            locked_lru: NodeId(0),
            swap: SwapArea::default(),
            slab: SlabMemory::new(nodes, blocks),
            fs: None,
            shrinkers: Vec::new(),
            more_pins: BTreeMap::new(),
        }
    }

    #[inline]
    pub(crate) fn space(&self, id: SpaceId) -> Result<&Space, Errno> {
        self.spaces.get(id.index()).and_then(Option::as_deref).ok_or(Errno::Esrch)
    }

    #[inline]
    pub(crate) fn space_mut(&mut self, id: SpaceId) -> Result<&mut Space, Errno> {
        self.spaces.get_mut(id.index()).and_then(Option::as_deref_mut).ok_or(Errno::Esrch)
    }

    /// Every living space.
    pub(crate) fn spaces(&self) -> impl Iterator<Item = (SpaceId, &Space)> {
        let spaces = self.spaces.iter().enumerate();
        spaces.filter_map(|(at, space)| Some((SpaceId(at as u32), space.as_deref()?)))
    }

    /// Bytes of metadata of the machine's frames; page tables and files are paid for by what they map.
    pub(crate) fn bytes(&self) -> usize {
        self.rmap.bytes() + self.huge.bytes() + self.balancing.bytes() + self.tags.as_ref().map_or(0, Tags::bytes)
    }
}
