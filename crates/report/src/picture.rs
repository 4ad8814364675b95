//! A [`MemoryMap`](crate::map::MemoryMap) as a picture for bug reports: every pageblock is one cell.
//!
//! [`Picture`] is a list of shapes in pixels, laid out once; [`png`] and [`svg`] only draw it.

mod font;
mod layout;
pub mod png;
pub mod svg;

use anstyle::RgbColor;

use crate::look::Look;

pub use layout::{Caption, Figure};

/// A laid-out picture.
#[derive(Clone, Debug)]
pub struct Picture {
    /// Pixels.
    pub width: u32,
    /// Pixels.
    pub height: u32,
    /// Drawn in this order.
    shapes: Vec<Shape>,
}

#[derive(Clone, Debug)]
enum Shape {
    Rect { x: u32, y: u32, width: u32, height: u32, fill: RgbColor },
    Text { x: u32, y: u32, size: TextSize, anchor: Anchor, fill: RgbColor, text: String },
    Grid(GridShape),
}

/// Rows of square cells; `pitch` is the side of a cell with the gap to its neighbour.
#[derive(Clone, Debug)]
struct GridShape {
    x: u32,
    y: u32,
    pitch: u32,
    gap: u32,
    rows: Vec<Vec<Option<Look>>>,
}

/// Faces of the one typeface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TextSize {
    Small,
    Bold,
    Large,
}

/// Which end of a text stands at its x.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Anchor {
    Start,
    End,
}

const BACKGROUND: RgbColor = RgbColor(0x0e, 0x11, 0x17);
