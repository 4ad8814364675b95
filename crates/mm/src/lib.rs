//! The memory-management engine: what Linux does with physical frames, as plain data and synchronous steps.
//!
//! Key type: [`Mm`], all state of one machine's memory. [`MmBuilder`] sets it up, [`Mm::alloc_fast`] and [`Mm::free`] use
//! it, [`space`] maps it for programs, [`Tunables`] are its settings, [`Mm::check`] recounts every law it must obey.
//! Behaviour that differs between Linux releases is a field of [`policy::Policy`], never a version number.
//! The engine counts its work ([`Work`]) and never prices it; it does no I/O, has no clock, knows no text, and depends on nothing
//! but [`order9_units`]. Behaviour and sources: docs/allocator.md.
//!
//! ```
//! use order9_mm::{Gfp, Layout, MmBuilder, NodeSpec, Request, ZoneSpec, policy::Policy};
//! use order9_units::{NodeId, Order, Pages, Pfn, PfnRange, ZoneKind};
//!
//! let layout = Layout {
//!     nodes: vec![NodeSpec { distances: vec![10] }],
//!     zones: vec![ZoneSpec {
//!         node: NodeId(0),
//!         kind: ZoneKind::Normal,
//!         span: PfnRange::of(Pfn::new(1 << 20), Pages::new(1 << 18)),
//!     }],
//!     cpus: vec![NodeId(0); 4],
//!     ..Layout::default()
//! };
//! let mut mm = MmBuilder::new(&layout, Policy::default())?.boot();
//! let huge = mm.alloc_fast(&Request::new(Order::PAGEBLOCK, Gfp::GFP_TRANSHUGE))?;
//! mm.free(huge, 0)?;
//! mm.check()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod access_level;
mod addr;
mod alloc_error;
mod boot;
mod check;
mod compact_result;
pub mod compaction;
mod daemon_request;
mod daemons;
pub mod env;
mod errno;
mod heard;
mod ids;
pub mod kswapd;
mod layout;
mod levels;
mod lru_list;
mod migrate_counts;
mod migrate_reason;
mod mm;
mod outlook;
mod page_view;
mod pages;
mod phys;
pub mod policy;
pub mod reclaim;
mod reclaimer;
mod reorder;
mod runs;
mod settings;
mod suitable;
pub mod tasks;
pub mod trace;
mod tunables;
mod vmstat;
mod wakeups;
mod work;

pub use access_level::AccessLevels;
pub use alloc_error::{AllocError, GaveUp};
pub use boot::{MmBuilder, UserPage, UserPageUse};
pub use compaction::Compaction;
pub use daemon_request::DaemonRequest;
pub use layout::{Layout, NodeSpec};
pub use levels::NodeLevels;
pub use lru::{LruState, ZoneLru};
pub use lru_list::{LruList, LruType};
pub use mm::{Metadata, Mm};
pub use order9_frames::{
    AllocFlags, BuildError, Contents, Distances, Extfrag, ExtfragCounters, FrameCounters, FrameEvent, FrameState,
    FrameWork, FreeArea, FreeError, Gfp, IsolateError, Mark, NodeUse, NumaCounters, Pageblock, Pcp, Request, Reserve,
    Violation, Watermarks, Zone, ZoneId, ZoneLockWork, ZoneRef, ZoneSpec,
};
pub use outlook::{GigabyteOutlook, HugeOutlook, ZoneFragmentation};

pub use page_cache::{File, FileId};
pub use page_view::{BlockUser, BlockView};
pub use pages::{
    UsedPages, fs_cache, hugetlb, mempolicy, migrate, numa_balancing, page_cache, shrinker, slab, space, thp,
};
pub(crate) use pages::{lru, page_flags, shmem, swap, tags, workingset};
pub use phys::{PhysMem, ReportedBlocks};
pub use reclaim::Reclaim;
pub use shmem::{MountId, MountPolicy, ShmemEnabled, ShmemHole, ShmemHuge, ShmemPage, Statfs, TmpfsOptions, TmpfsSize};
pub use space::{Errno, Space, SpaceId};
pub use suitable::Suitable;
pub use swap::{SWAP_MAX, SlotId, SwapArea, SwapWrite};
pub use tags::Tag;
pub use tasks::{Effort, Pressure, alloc_pages, alloc_slow};
pub use tunables::Tunables;
pub use vmstat::{ByZone, Counters};
pub use wakeups::Wakeups;
pub use work::{LruLockWork, Work, WorkDone};
