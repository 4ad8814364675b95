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
mod block_types;
mod boot;
mod buddy;
mod check;
pub mod compaction;
mod count;
mod daemon_request;
mod deferred;
pub mod env;
mod fallback;
mod frame;
pub mod fs_cache;
mod gfp;
mod highatomic;
pub mod hugetlb;
mod index;
mod isolate;
pub mod kswapd;
mod layout;
mod levels;
mod lru;
pub mod mempolicy;
pub mod migrate;
mod mm;
mod node;
pub mod numa_balancing;
mod outlook;
mod page_alloc;
pub mod page_cache;
mod page_view;
mod pageblock;
mod pcp;
mod pin;
pub mod policy;
pub mod reclaim;
mod reorder;
mod runs;
mod settings;
mod shmem;
pub mod shrinker;
pub mod slab;
mod slow_path;
pub mod space;
mod split_page;
mod suitable;
mod swap;
mod tags;
pub mod thp;
pub mod trace;
mod tunables;
mod vmstat;
mod wakeups;
mod watermark;
mod work;
mod workingset;
mod zone;

pub use access_level::AccessLevels;
pub use boot::{Contents, MmBuilder};
pub use check::Violation;
pub use daemon_request::DaemonRequest;
pub use frame::FrameState;
pub use gfp::{AllocFlags, Gfp, Mark, Reserve};
pub use isolate::IsolateError;
pub use layout::{BuildError, Layout, NodeSpec, ZoneSpec};
pub use levels::NodeLevels;
pub use lru::{Locked, LruList, LruType, ZoneLru};
pub use mm::{FreeError, Metadata, Mm};
pub use node::{Node, ZoneRef};
pub use outlook::{HugeOutlook, ZoneFragmentation};
pub use page_alloc::{AllocError, GaveUp, NodeUse, Request};
pub use page_cache::{File, FileId};
pub use page_view::{BlockUser, BlockView};
pub use pageblock::Pageblock;
pub use pcp::Pcp;
pub use shmem::{MountId, MountPolicy, ShmemEnabled, ShmemHole, ShmemHuge, ShmemPage, Statfs, TmpfsOptions, TmpfsSize};
pub use slow_path::{Effort, Pressure, alloc_pages, alloc_slow};
pub use space::{Errno, Space, SpaceId, UserPage, UserPageUse};
pub use suitable::{Suitable, compact_gap};
pub use swap::{SWAP_MAX, SlotId, SwapWrite};
pub use tags::Tag;
pub use tunables::Tunables;
pub use vmstat::{ByZone, Counters, ExtfragCounters, NumaCounters};
pub use wakeups::Wakeups;
pub use watermark::Watermarks;
pub use work::Work;
pub use zone::{FreeArea, Zone, ZoneId};
