//! A picture as SVG.
//!
//! Cells are strokes one cell high, one path per look, and neighbours of one look are one stroke: a map of a 1 TiB
//! machine stays small enough for a bug tracker. Gaps between cells are lines drawn over them.

use std::fmt::Write as _;
use std::io::Write;

use anstyle::RgbColor;

use super::{Anchor, GridShape, Picture, Shape, Stroke, TextSize};
use crate::look::Look;

/// Writes `picture` as an SVG file.
///
/// # Errors
/// What writing to `out` gives.
pub fn write(picture: &Picture, mut out: impl Write) -> std::io::Result<()> {
    let (width, height) = (picture.width, picture.height);
    writeln!(
        out,
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" font-family="'Noto Sans Mono','DejaVu Sans Mono',Menlo,Consolas,monospace">"#
    )?;
    writeln!(out, r#"<rect width="100%" height="100%" fill="{}"/>"#, hex(picture.background))?;
    for shape in &picture.shapes {
        match shape {
            Shape::Rect { x, y, width, height, fill } => {
                let fill = hex(*fill);
                writeln!(out, r#"<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="{fill}"/>"#)?;
            }
            Shape::Rects { fill, rects } => {
                let rect = |[x, y, width, height]: &[u32; 4]| format!("M{x} {y}h{width}v{height}h-{width}z");
                let d: String = rects.iter().map(rect).collect();
                writeln!(out, r#"<path fill="{}" shape-rendering="crispEdges" d="{d}"/>"#, hex(*fill))?;
            }
            Shape::Text { x, y, size, anchor, fill, text } => {
                writeln!(out, "{}", text_element(*x, *y, *size, *anchor, *fill, text))?;
            }
            Shape::Grid(grid) => write_grid(grid, picture.background, &mut out)?,
            Shape::Path { d, stroke } => writeln!(out, "{}", path_element(d, *stroke))?,
        }
    }
    writeln!(out, "</svg>")
}

fn text_element(x: u32, y: u32, size: TextSize, anchor: Anchor, fill: RgbColor, text: &str) -> String {
    let text = order9_escape::line(text);
    // Fixes the length, so that a browser with another typeface keeps the layout of the PNG.
    let length = text.chars().count() as u32 * size.advance();
    let font = size.height() - 3;
    let baseline = y + size.height() * 13 / 16;
    let weight = if size == TextSize::Small { "" } else { r#" font-weight="bold""# };
    let anchor = match anchor {
        Anchor::Start => "",
        Anchor::Middle => r#" text-anchor="middle""#,
        Anchor::End => r#" text-anchor="end""#,
    };
    format!(
        r#"<text x="{x}" y="{baseline}" font-size="{font}" textLength="{length}" lengthAdjust="spacingAndGlyphs"{weight}{anchor} fill="{}">{}</text>"#,
        hex(fill),
        escape(&text)
    )
}

fn path_element(d: &str, stroke: Stroke) -> String {
    let dashes = stroke.dashes.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
    // Round ends would close short gaps.
    let (cap, dashes) =
        if dashes.is_empty() { ("round", String::new()) } else { ("butt", format!(r#" stroke-dasharray="{dashes}""#)) };
    let (colour, width) = (hex(stroke.colour), stroke.width);
    format!(
        r#"<path fill="none" stroke="{colour}" stroke-width="{width}" stroke-linejoin="round" stroke-linecap="{cap}"{dashes} d="{d}"/>"#
    )
}

fn write_grid(grid: &GridShape, background: RgbColor, out: &mut impl Write) -> std::io::Result<()> {
    let (x, y, pitch) = (grid.x, grid.y, grid.pitch);
    writeln!(
        out,
        r#"<g transform="translate({x} {y}) scale({pitch}) translate(0 .5)" fill="none" stroke-width="1" shape-rendering="crispEdges">"#
    )?;
    let order = by_frequency(&grid.rows);
    for (i, &look) in order.iter().enumerate() {
        let strokes = strokes(&grid.rows, look, &order[i + 1..]);
        writeln!(out, r#"<path stroke="{}" d="{strokes}"/>"#, hex(look.colour()))?;
    }
    writeln!(out, "</g>")?;
    if grid.gap > 0 {
        let columns = grid.rows.first().map_or(0, Vec::len) as u32;
        let (width, height) = (columns * pitch, grid.rows.len() as u32 * pitch);
        let mut lines = String::new();
        for column in 1..=columns {
            let _ = write!(lines, "M{} 0v{height}", column * pitch - grid.gap);
        }
        for row in 1..=grid.rows.len() as u32 {
            let _ = write!(lines, "M0 {}h{width}", row * pitch - grid.gap);
        }
        writeln!(
            out,
            r#"<path transform="translate({x}.5 {y}.5)" fill="none" stroke="{}" stroke-width="{}" shape-rendering="crispEdges" d="{lines}"/>"#,
            hex(background),
            grid.gap
        )?;
    }
    Ok(())
}

/// The looks of a grid, most frequent first, without holes.
fn by_frequency(rows: &[Vec<Option<Look>>]) -> Vec<Look> {
    let mut counts = [0_usize; Look::COUNT];
    rows.iter().flatten().flatten().for_each(|look| counts[look.index()] += 1);
    let mut looks: Vec<_> =
        Look::ALL.into_iter().filter(|&look| look != Look::Hole && counts[look.index()] > 0).collect();
    looks.sort_by_key(|look| std::cmp::Reverse(counts[look.index()]));
    looks
}

/// Every run of cells that look like `look` as a stroke through their middle. A stroke may cross cells of the looks that
/// are drawn `later`, on top of it: that takes far fewer strokes where looks are mixed.
fn strokes(rows: &[Vec<Option<Look>>], look: Look, later: &[Look]) -> String {
    let mut path = String::new();
    let may_cross = |cell: &Option<Look>| cell.is_some_and(|cell| cell == look || later.contains(&cell));
    for (y, row) in rows.iter().enumerate() {
        let mut pen = None;
        let mut x = 0;
        for part in row.chunk_by(|a, b| may_cross(a) == may_cross(b)) {
            let is_it = |cell: &Option<Look>| *cell == Some(look);
            if let (Some(first), Some(last)) = (part.iter().position(is_it), part.iter().rposition(is_it)) {
                let (from, to) = (x + first, x + last + 1);
                let _ = match pen {
                    None => write!(path, "M{from} {y}h{}", to - from),
                    Some(pen) => write!(path, "m{} 0h{}", from - pen, to - from),
                };
                pen = Some(to);
            }
            x += part.len();
        }
    }
    path
}

fn hex(RgbColor(r, g, b): RgbColor) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_of_one_look_are_one_stroke() {
        let cells = |text: &str| text.chars().map(|c| Look::ALL.into_iter().find(|look| look.letter() == c)).collect();
        let rows = vec![cells("..x..x"), cells("xxx...")];
        assert_eq!(strokes(&rows, Look::FreeHuge, &[]), "M0 0h2m1 0h2M3 1h3");
        assert_eq!(strokes(&rows, Look::HeldByFew, &[]), "M2 0h1m2 0h1M0 1h3");
        assert_eq!(strokes(&rows, Look::HugeInUse, &[]), "");
    }

    #[test]
    fn a_stroke_crosses_what_is_drawn_on_top_of_it() {
        let rows =
            vec![vec![Some(Look::FreeHuge), Some(Look::HeldByFew), Some(Look::FreeHuge), None, Some(Look::FreeHuge)]];
        assert_eq!(by_frequency(&rows), [Look::FreeHuge, Look::HeldByFew]);
        assert_eq!(strokes(&rows, Look::FreeHuge, &[Look::HeldByFew]), "M0 0h3m1 0h1");
    }

    #[test]
    fn no_text_breaks_the_document() {
        let odd = "<\u{1b}]8;;\u{7}\u{9b}\u{202e}\u{ffff}\n";
        let element = text_element(0, 0, TextSize::Small, Anchor::Start, RgbColor(0, 0, 0), odd);
        assert!(element.ends_with(r">&lt;\u{1b}]8;;\u{7}\u{9b}\u{202e}\u{ffff}\n</text>"), "{element}");
    }

    #[test]
    fn text_is_escaped() {
        assert_eq!(escape("a <= b & c"), "a &lt;= b &amp; c");
    }
}
