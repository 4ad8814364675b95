//! Tells what every frame of a memory map holds, whatever kernel the map comes from.
//!
//! [`FrameClass`] is the answer for one frame, [`Mobility`] what compaction can do about it.

mod class;

pub use class::{FrameClass, Mobility};
