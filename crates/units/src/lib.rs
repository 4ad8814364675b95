//! Units of memory management as types, so that a point is never taken for a length or an order for a count.
//!
//! A [`Pfn`] and a [`Vpn`] are places, [`Pages`] and [`Bytes`] are lengths, an [`Order`] is a power of two of pages. Conversions say how
//! they round. Names of zones, migratetypes and modes of huge pages are spelled as Linux prints them.
//! Knows nothing of allocators, snapshots or clocks.
#![no_std]
#![forbid(unsafe_code)]

mod addr;
mod counter;
mod huge_size;
mod length;
pub mod metrics;
mod migratetype;
mod nodemask;
mod order;
mod pfn;
mod point;
mod thp;
mod zone;

pub use addr::{VirtAddr, Vpn, VpnRange};
pub use counter::{CounterKind, CounterMeaning, CounterMeaningError, CounterUnit};
pub use huge_size::HugeSize;
pub use length::{Bytes, BytesError, Nanos, Pages};
pub use migratetype::{Migratetype, MigratetypeError};
pub use nodemask::{NodeMask, write_list};
pub use order::{Order, OrderError};
pub use pfn::{Pfn, PfnRange};
pub use thp::{HugeDefrag, HugeEnabled, SizeEnabled};
pub use zone::{NodeId, ZoneKind, ZoneKindError};

/// Bytes in one frame: the x86-64 base page.
pub const PAGE_SIZE: Bytes = Bytes::new(4096);

/// Frames in one pageblock, the unit of mobility grouping and, on x86-64, one 2 MiB huge page.
pub const PAGEBLOCK_PAGES: Pages = Order::PAGEBLOCK.pages();
