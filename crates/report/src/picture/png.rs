//! A picture as PNG.

use std::io::Write;

use anstyle::RgbColor;
use zeno::{Cap, Join, Mask};

use super::{Anchor, GridShape, Picture, Shape, Stroke, TextSize};
use crate::look::Look;

/// Writes `picture` as a PNG file.
///
/// # Errors
/// What writing to `out` gives.
pub fn write(picture: &Picture, out: impl Write) -> std::io::Result<()> {
    let mut canvas = Canvas::new(picture.width, picture.height, picture.background);
    for shape in &picture.shapes {
        match shape {
            Shape::Rect { x, y, width, height, fill } => canvas.rect(*x, *y, *width, *height, *fill),
            Shape::Rects { fill, rects } => {
                rects.iter().for_each(|&[x, y, width, height]| canvas.rect(x, y, width, height, *fill));
            }
            Shape::Text { x, y, size, anchor, fill, text } => canvas.text(*x, *y, *size, *anchor, *fill, text),
            Shape::Grid(grid) => canvas.grid(grid),
            Shape::Path { d, stroke } => canvas.path(d, *stroke),
        }
    }
    let mut encoder = png::Encoder::new(out, picture.width, picture.height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Balanced);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&canvas.pixels)?;
    Ok(writer.finish()?)
}

/// 24-bit pixels, row by row. Whatever lies outside is not drawn.
struct Canvas {
    width: u32,
    height: u32,
    pixels: Vec<u8>,
}

impl Canvas {
    fn new(width: u32, height: u32, RgbColor(r, g, b): RgbColor) -> Self {
        Self { width, height, pixels: [r, g, b].repeat((width * height) as usize) }
    }

    fn rect(&mut self, x: u32, y: u32, width: u32, height: u32, fill: RgbColor) {
        for y in y..(y + height).min(self.height) {
            for x in x..(x + width).min(self.width) {
                self.blend(x, y, fill, 255);
            }
        }
    }

    fn grid(&mut self, grid: &GridShape) {
        let side = grid.pitch - grid.gap;
        for (row, cells) in (0..).zip(&grid.rows) {
            for (column, cell) in (0..).zip(cells) {
                if let Some(look) = cell.filter(|&look| look != Look::Hole) {
                    self.rect(grid.x + column * grid.pitch, grid.y + row * grid.pitch, side, side, look.colour());
                }
            }
        }
    }

    fn text(&mut self, x: u32, y: u32, size: TextSize, anchor: Anchor, fill: RgbColor, text: &str) {
        let text = order9_escape::line(text);
        let length = text.chars().count() as u32 * size.advance();
        let start = match anchor {
            Anchor::Start => x,
            Anchor::Middle => x.saturating_sub(length / 2),
            Anchor::End => x.saturating_sub(length),
        };
        for (i, c) in (0..).zip(text.chars()) {
            for (dy, line) in (0..).zip(size.glyph(c).rows()) {
                for (dx, &cover) in (0..).zip(line) {
                    self.blend(start + i * size.advance() + dx, y + dy, fill, cover);
                }
            }
        }
    }

    fn path(&mut self, d: &str, stroke: Stroke) {
        let dashes: Vec<f32> = stroke.dashes.iter().map(|&dash| dash as f32).collect();
        let cap = if dashes.is_empty() { Cap::Round } else { Cap::Butt };
        let mut style = zeno::Stroke::new(stroke.width);
        style.join(Join::Round).cap(cap).dash(&dashes, 0.0);
        let (cover, at) = Mask::new(d).style(style).render();
        for (y, row) in (at.top..).zip(cover.chunks_exact(at.width.max(1) as usize)) {
            for (x, &cover) in (at.left..).zip(row) {
                if let (Ok(x), Ok(y)) = (u32::try_from(x), u32::try_from(y)) {
                    self.blend(x, y, stroke.colour, cover);
                }
            }
        }
    }

    /// Mixes `fill` into a pixel; `cover` 255 replaces it.
    fn blend(&mut self, x: u32, y: u32, fill: RgbColor, cover: u8) {
        if cover == 0 || x >= self.width || y >= self.height {
            return;
        }
        let at = (y * self.width + x) as usize * 3;
        let cover = u32::from(cover);
        for (pixel, ink) in self.pixels[at..at + 3].iter_mut().zip([fill.0, fill.1, fill.2]) {
            *pixel = ((u32::from(*pixel) * (255 - cover) + u32::from(ink) * cover) / 255) as u8;
        }
    }
}
