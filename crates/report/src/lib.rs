//! Turns results into text, colour, PNG and SVG.
//!
//! [`MemoryMap`] is physical memory as one [`Look`] per pageblock; [`terminal`] and [`picture`] draw it. [`plot`]: what
//! runs measured over time.
//! Holds no rules of its own: what a block is, and what could be made of it, is decided in `order9-snapshot`.
#![forbid(unsafe_code)]

pub mod ablation;
pub mod claims;
pub mod compare;
pub mod facts;
pub mod inspect;
pub mod look;
pub mod map;
pub mod number;
pub mod picture;
pub mod plot;
pub mod stats;
pub mod table;
pub mod terminal;

pub use look::Look;
pub use map::{MemoryMap, Strip};
