//! Layout of a picture: title, key figures, one grid per zone, legend.

use anstyle::RgbColor;

use super::{Anchor, GridShape, Picture, Shape, TextSize, tiles};
use crate::look::Look;
use crate::map::{MemoryMap, Row, Strip, blocks};
use crate::number::{gib_short, grouped, size};

/// The words of a picture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caption {
    /// Title in the first line.
    pub title: String,
    /// The line below it: which machine, which kernel.
    pub subtitle: String,
    /// Key figures, left to right; four at most.
    pub figures: Vec<Figure>,
}

/// A number worth large type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    /// The number, in the colour of this look.
    pub look: Look,
    /// The number with its unit.
    pub value: String,
    /// Name of the counted things, in a few words.
    pub label: String,
}

const BACKGROUND: RgbColor = RgbColor(0x0e, 0x11, 0x17);
const BRIGHT: RgbColor = RgbColor(0xf2, 0xf5, 0xf9);
const NORMAL: RgbColor = RgbColor(0xb4, 0xbd, 0xc9);
const DIM: RgbColor = RgbColor(0x7b, 0x86, 0x95);

const BORDER: u32 = 32;
/// Room for addresses left of the grids.
const LABELS: u32 = 84;
/// Narrowest grid that leaves room for four key figures and the legend.
const GRID_MIN: u32 = 832;
/// Widest grid, in pixels, while a cell still has a gap.
const GRID_MAX: u32 = 1152;

impl Picture {
    /// Lays out `map` under `caption`.
    #[must_use]
    pub fn new(map: &MemoryMap, caption: &Caption) -> Self {
        let per_tile = tiles::blocks_per_tile(map);
        let scale = per_tile.map_or_else(|| Scale::of(map), Scale::of_tiles);
        let grid_width = scale.columns as u32 * scale.pitch;
        let mut page = Page { y: BORDER, width: BORDER * 2 + LABELS + grid_width.max(GRID_MIN), shapes: Vec::new() };
        page.heading(caption, &scale);
        for strip in &map.strips {
            page.strip(strip, &scale);
        }
        page.legend(map);
        let height = page.y + BORDER - 8;
        Self { width: page.width, height, background: BACKGROUND, shapes: page.shapes }
    }
}

/// Number of cells side by side, and their size.
struct Scale {
    columns: u64,
    pitch: u32,
    gap: u32,
    /// Blocks that one stands for: more than one are a tile.
    blocks: u64,
}

impl Scale {
    /// A power of two of columns that makes the whole about 4:3.
    fn of(map: &MemoryMap) -> Self {
        let cells = map.counts().blocks().max(1) as f64;
        let columns = 1_u64 << ((cells * 4.0 / 3.0).log2() / 2.0).round().clamp(5.0, 10.0) as u32;
        let pitch = (GRID_MAX / columns as u32).clamp(2, 12);
        Self { columns, pitch, gap: u32::from(pitch >= 5), blocks: 1 }
    }

    fn of_tiles(blocks: u64) -> Self {
        Self { columns: tiles::COLUMNS, pitch: tiles::WIDTH, gap: 0, blocks }
    }

    /// The legend of a cell and a row.
    fn legend(&self) -> String {
        let (cell, row) = (size(blocks(self.blocks).bytes()), size(blocks(self.blocks * self.columns).bytes()));
        match self.blocks {
            1 => format!("one cell = {cell}, one row = {row}"),
            _ => format!("one tile = {cell}, filled by the shares of its blocks; one row = {row}"),
        }
    }
}

/// A picture in the making, filled downward.
struct Page {
    y: u32,
    width: u32,
    shapes: Vec<Shape>,
}

impl Page {
    fn text(&mut self, x: u32, y: u32, size: TextSize, fill: RgbColor, text: impl Into<String>) {
        self.shapes.push(Shape::Text { x, y, size, anchor: Anchor::Start, fill, text: text.into() });
    }

    fn text_to(&mut self, x: u32, y: u32, fill: RgbColor, text: impl Into<String>) {
        self.shapes.push(Shape::Text { x, y, size: TextSize::Small, anchor: Anchor::End, fill, text: text.into() });
    }

    fn heading(&mut self, caption: &Caption, scale: &Scale) {
        self.text(BORDER, self.y, TextSize::Large, BRIGHT, &caption.title);
        self.y += 32;
        self.text(BORDER, self.y, TextSize::Small, DIM, &caption.subtitle);
        self.text_to(self.width - BORDER, self.y, DIM, scale.legend());
        self.y += 40;
        let pitch = (self.width - 2 * BORDER) / 4;
        for (i, figure) in caption.figures.iter().take(4).enumerate() {
            let x = BORDER + i as u32 * pitch;
            self.shapes.push(Shape::Rect { x, y: self.y + 2, width: 4, height: 42, fill: figure.look.colour() });
            self.text(x + 14, self.y, TextSize::Large, figure.look.colour(), &figure.value);
            self.text(x + 14, self.y + 28, TextSize::Small, NORMAL, &figure.label);
        }
        if !caption.figures.is_empty() {
            self.y += 68;
        }
    }

    fn strip(&mut self, strip: &Strip, scale: &Scale) {
        let right = BORDER + LABELS + scale.columns as u32 * scale.pitch;
        self.text(BORDER + LABELS, self.y, TextSize::Bold, NORMAL, strip.title());
        let held = strip.looks.iter().filter(|&&look| look != Look::Hole).count() as u64;
        self.text_to(right, self.y, DIM, size(blocks(held).bytes()));
        self.y += 22;
        if scale.blocks > 1 {
            return self.tiled(strip, scale);
        }
        // A part is a run of rows without a hole between them.
        for part in strip.rows(scale.columns, 1).chunk_by(|a, b| a.start + scale.columns == b.start) {
            self.part(part, scale);
            self.y += 6;
        }
        self.y += 12;
    }

    /// A strip of a large machine. A part is a run of rows without a hole between them.
    fn tiled(&mut self, strip: &Strip, scale: &Scale) {
        let row_blocks = scale.columns * scale.blocks;
        for part in strip.tiles(scale.columns, scale.blocks).chunk_by(|a, b| a.start + row_blocks == b.start) {
            for (row, y) in part.iter().zip((self.y..).step_by(tiles::PITCH as usize)) {
                self.text_to(BORDER + LABELS - 12, y + 3, DIM, address(row.start));
            }
            self.shapes.extend(tiles::shapes(part, scale.blocks, BORDER + LABELS, self.y));
            self.y += part.len() as u32 * tiles::PITCH + 6;
        }
        self.y += 12;
    }

    fn part(&mut self, rows: &[Row], scale: &Scale) {
        let pitch = scale.pitch;
        let mut label_from = 0;
        for (i, row) in rows.iter().enumerate() {
            let y = self.y + i as u32 * pitch;
            if i == 0 || (y >= label_from && is_tidy(row, scale, rows.len())) {
                let middle = (y + pitch / 2).saturating_sub(8);
                self.text_to(BORDER + LABELS - 12, middle, DIM, address(row.start));
                label_from = y + 18;
            }
        }
        let cells = rows.iter().map(|row| row.cells.clone()).collect();
        self.shapes.push(Shape::Grid(GridShape { x: BORDER + LABELS, y: self.y, pitch, gap: scale.gap, rows: cells }));
        self.y += rows.len() as u32 * pitch;
    }

    fn legend(&mut self, map: &MemoryMap) {
        const COLUMNS: usize = 3;
        let entries: Vec<_> = map.counts().present().collect();
        let pitch = (self.width - BORDER * 2) / COLUMNS as u32;
        let lines = entries.len().div_ceil(COLUMNS);
        self.y += 4;
        for (i, &(look, n)) in entries.iter().enumerate() {
            let x = BORDER + (i / lines) as u32 * pitch;
            let y = self.y + (i % lines) as u32 * 22;
            self.shapes.push(Shape::Rect { x, y: y + 2, width: 12, height: 12, fill: look.colour() });
            self.text(x + 22, y, TextSize::Small, NORMAL, look.label());
            self.text_to(x + pitch - 24, y, BRIGHT, grouped(n));
        }
        self.y += lines as u32 * 22;
    }
}

fn address(block: u64) -> String {
    format!("{} GiB", gib_short(blocks(block).bytes()))
}

/// Whether a row's address is worth a label: the step between labels is the smallest power of two of rows that leaves
/// a line of text per label.
fn is_tidy(row: &Row, scale: &Scale, rows: usize) -> bool {
    let step = u64::from(18_u32.div_ceil(scale.pitch)).next_power_of_two().max(rows as u64 / 24).next_power_of_two();
    (row.start / scale.columns).is_multiple_of(step)
}
