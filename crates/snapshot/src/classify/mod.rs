//! Tells what every frame of a memory map holds, whatever kernel the map comes from.
//!
//! [`FrameClass`] is the answer for one frame, [`Mobility`] what compaction can do about it. [`Layout`] goes through a
//! snapshot's zones: classes chunk by chunk, or as [`Extent`]s (free blocks, compound pages, runs of single frames) from
//! which a machine can be rebuilt. The work that depends on a frame's state alone is done once per palette entry.
//!
//! Kernels differ: free blocks flagged on every frame or on the first only, tails of compound pages with or without the
//! flags of their head, holes marked NOPAGE or not at all, memory that exists but is not initialised yet. The rules for
//! each are in docs/inspect.md.
//! Neither counts (that is [`crate::census`]) nor judges.

mod class;
mod compounds;
mod extents;
mod heads;
mod layout;
mod presence;
mod state;

pub use class::{FrameClass, Mobility};
pub use extents::Extent;
pub(crate) use layout::Piece;
pub use layout::{Layout, LayoutError, LayoutZone};
pub(crate) use state::Token;

#[cfg(test)]
mod tests;
