//! Pictures: a [`MemoryMap`](crate::map::MemoryMap) for bug reports, where every pageblock is one cell, or has its
//! share of a tile on large machines, and the [charts](crate::plot::Chart) of runs.
//!
//! [`Picture`] is a list of shapes in pixels, laid out once; [`png`] and [`svg`] only draw it.

mod font;
mod layout;
pub mod png;
pub mod svg;
mod tiles;

use anstyle::RgbColor;

use crate::look::Look;

pub use layout::{Caption, Figure};

/// A laid-out picture.
#[derive(Clone, Debug)]
pub struct Picture {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// Colour behind all shapes.
    pub(crate) background: RgbColor,
    /// Drawn in this order.
    pub(crate) shapes: Vec<Shape>,
}

#[derive(Clone, Debug)]
pub(crate) enum Shape {
    Rect {
        x: u32,
        y: u32,
        width: u32,
        height: u32,
        fill: RgbColor,
    },
    Text {
        x: u32,
        y: u32,
        size: TextSize,
        anchor: Anchor,
        fill: RgbColor,
        text: String,
    },
    /// Left, top, width and height of each.
    Rects {
        fill: RgbColor,
        rects: Vec<[u32; 4]>,
    },
    Grid(GridShape),
    /// `d` as in SVG; ends and corners are round.
    Path {
        d: String,
        stroke: Stroke,
    },
}

/// Width and colour with which a path is drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stroke {
    pub(crate) colour: RgbColor,
    /// Width in pixels.
    pub(crate) width: f32,
    /// Pixels on, pixels off, and so on; empty is a line without gaps.
    pub(crate) dashes: &'static [u32],
}

/// Rows of square cells; `pitch` is the side of a cell with the gap to its neighbour.
#[derive(Clone, Debug)]
pub(crate) struct GridShape {
    x: u32,
    y: u32,
    pitch: u32,
    gap: u32,
    rows: Vec<Vec<Option<Look>>>,
}

/// Faces of the one typeface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextSize {
    Small,
    Bold,
    Large,
}

/// Part of a text that stands at its x.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}
