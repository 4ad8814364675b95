//! Memory maps: what a machine's physical memory held at one instant, and what that says about huge pages.
//!
//! [`Snapshot`] is the plain model, filled by a capture of a real host, by the lab or by [`synth`]; [`mod@format`]
//! stores it as `.o9snap`; [`classify`] and [`census`] tell what every frame and pageblock is; [`bounds`] says how many
//! huge pages compaction could make of it and for how many moves. Knows neither the engine nor Linux system calls.
#![forbid(unsafe_code)]

mod anonymise;
pub mod bounds;
pub mod buddy;
pub mod calibration;
pub mod census;
pub mod classify;
pub mod flags;
pub mod format;
pub mod frames;
pub mod infer;
pub mod inspection;
pub mod limits;
pub mod maps;
pub mod model;
pub mod owners;
pub mod prices;
pub mod synth;
mod text;

pub use calibration::{Calibration, Measured};
pub use frames::{Chunk, FrameMap, FrameMapBuilder, FrameState};
pub use model::{
    CaptureCost, DaemonWork, Machine, Missing, NodeInfo, PcpInfo, Pressure, Snapshot, Source, Watermarks, ZoneInfo,
};
