//! Page frames as Linux manages them: zones with mobility-grouped buddy lists, per-CPU lists, watermarks and fallback.
//!
//! Key type: [`Frames`], all frames of a machine. [`FramesBuilder`] sets it up, [`Frames::alloc`] and [`Frames::free`] use
//! it, `Frames::check` recounts every law it must obey. Behaviour that differs between Linux releases is a field of
//! [`policy::FramesPolicy`], never a version number. [`Watch`] is how layers above hear what happens. The allocator counts
//! its work ([`FrameWork`]) and never prices it; it does no I/O, has no clock, and depends on nothing but [`order9_units`].
//! Tables lie on the heap, or in memory that is lent before there is one ([`storage`]).
//!
//! ```
//! use order9_frames::{FramesBuilder, Gfp, Layout, Request, ZoneSpec, policy::FramesPolicy};
//! use order9_units::{NodeId, Order, Pages, Pfn, PfnRange, ZoneKind};
//!
//! let zone = ZoneSpec {
//!     node: NodeId(0),
//!     kind: ZoneKind::Normal,
//!     span: PfnRange::of(Pfn::new(1 << 20), Pages::new(1 << 18)),
//! };
//! let layout = Layout { distances: &[10], zones: &[zone], cpus: &[NodeId(0); 4], ..Layout::default() };
//! let mut frames = FramesBuilder::new(&layout, FramesPolicy::default(), ())?.boot();
//! let huge = frames.alloc(&Request::new(Order::PAGEBLOCK, Gfp::GFP_TRANSHUGE))?;
//! frames.free(huge, 0)?;
//! frames.check()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]

#[cfg(feature = "alloc")]
extern crate alloc;

mod block_types;
mod boot;
mod buddy;
#[cfg(feature = "alloc")]
mod check;
mod count;
mod counters;
mod deferred;
mod fallback;
mod frame;
mod frames;
mod free;
mod free_lists;
mod gfp;
mod highatomic;
mod index;
mod isolate;
mod layout;
mod nodes;
mod page_alloc;
mod pageblock;
mod pcp;
pub mod policy;
mod request;
mod settings;
pub mod storage;
mod tables;
#[cfg(test)]
mod testing;
mod watch;
mod watermark;
mod work;
mod zone;

pub use boot::{Contents, FramesBuilder};
#[cfg(feature = "alloc")]
pub use check::{Verdict, Violation, require};
pub use count::Class;
pub use counters::{Extfrag, ExtfragCounters, FrameCounters, NumaCounters};
pub use fallback::{BlockContents, fallbacks};
pub use frame::{Bits, Flag, FrameState, FrameTable, Idx, Link, Word};
pub use frames::Frames;
pub use free::FreeError;
pub use gfp::{AllocFlags, Gfp, Mark, Reserve};
pub use index::{Entry, Index, IndexTables, Set, Source, bits, is_whole};
pub use isolate::IsolateError;
pub use layout::{BuildError, Layout, ZoneSpec};
pub use nodes::{Distances, ZoneRef, Zonelists};
pub use pageblock::Pageblock;
pub use pcp::{Pcp, cached_as};
pub use request::{FrameError, NodeUse, Request, Search};
pub use settings::FrameSettings;
pub use tables::{Sizes, Tables};
pub use watch::{FrameEvent, Watch};
pub use watermark::{Watermarks, recommended_min_free};
pub use work::{FrameWork, ZoneLockWork};
#[cfg(feature = "testing")]
pub use zone::ZoneEdit;
pub use zone::{FreeArea, Zone, ZoneId, ZoneSet};

/// The tutorial, whose code is tested as it stands.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/tutorials/embed-the-allocator.md")]
pub struct Tutorial;
