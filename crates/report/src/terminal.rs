//! Draws a [`MemoryMap`] with characters: two rows of cells per line where colour is on, one letter per cell where not.

use std::fmt::Write as _;

use anstyle::{Ansi256Color, Color, Style};

use crate::look::Look;
use crate::map::{MemoryMap, Row, Strip, blocks};
use crate::number::{gib_short, grouped, size};

/// Colours that a terminal can show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColourDepth {
    /// No colour: letters stand for it.
    #[default]
    None,
    /// The palette of 256 colours.
    Ansi256,
    /// Colours of 24 bits.
    True,
}

/// The space to draw in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Canvas {
    /// Width in columns, labels included.
    pub width: usize,
    /// Lines the map may take before cells stand for more blocks.
    pub lines: usize,
    /// Colours that are used.
    pub colour: ColourDepth,
}

/// Colour of a cell that changed: white, in both palettes.
const CHANGED: Color = Color::Ansi256(Ansi256Color(231));

/// Columns left of the cells: an address in GiB and two spaces.
const MARGIN: usize = 10;

impl ColourDepth {
    /// The colour of a look on this terminal; `None` without colour.
    fn of(self, look: Look) -> Option<Color> {
        match self {
            Self::None => None,
            Self::Ansi256 => Some(Color::Ansi256(look.colour_256())),
            Self::True => Some(Color::Rgb(look.colour())),
        }
    }

    /// Rows of cells that one line of text shows: half blocks have a foreground and a background.
    fn rows_per_line(self) -> usize {
        if self == Self::None { 1 } else { 2 }
    }

    /// `text` in the colour of `look`.
    #[must_use]
    pub fn paint(self, look: Look, text: &str) -> String {
        let style = Style::new().fg_color(self.of(look));
        format!("{style}{text}{style:#}")
    }

    /// Sets `text` in bold.
    #[must_use]
    pub fn bold(self, text: &str) -> String {
        self.style(Style::new().bold(), text)
    }

    /// Sets `text` subdued.
    #[must_use]
    pub fn dim(self, text: &str) -> String {
        self.style(Style::new().dimmed(), text)
    }

    fn style(self, style: Style, text: &str) -> String {
        if self == Self::None { text.to_owned() } else { format!("{style}{text}{style:#}") }
    }
}

/// Draws the map: scale, strips with addresses, legend with counts.
#[must_use]
pub fn draw(map: &MemoryMap, canvas: Canvas) -> String {
    format!("{}\n{}", strips(map, None, canvas), legend(map, canvas))
}

/// Draws the map alone: scale, strips with addresses. Cells that differ from `before` are white where there is colour.
#[must_use]
pub fn strips(map: &MemoryMap, before: Option<&MemoryMap>, canvas: Canvas) -> String {
    let grid = Grid::fit(map, canvas);
    let mut out = String::new();
    let cell = size(blocks(grid.per_cell).bytes());
    let row = size(blocks(grid.per_cell * grid.columns).bytes());
    let _ = writeln!(out, "{:>8}  one cell = {cell}, one row = {row}", "GiB");
    for (i, strip) in map.strips.iter().enumerate() {
        let before = before.and_then(|map| map.strips.get(i));
        grid.draw_strip(&mut out, strip, before, canvas.colour);
    }
    out
}

/// Number of blocks in a cell, and number of cells in a row.
struct Grid {
    columns: u64,
    per_cell: u64,
}

impl Grid {
    /// The finest grid that keeps to the canvas: rows of 2^n or 3 x 2^n cells, cells of 2^n blocks.
    fn fit(map: &MemoryMap, canvas: Canvas) -> Self {
        let room = canvas.width.saturating_sub(MARGIN).max(8) as u64;
        let power = 1 << room.ilog2();
        let columns = if power * 3 / 2 <= room { power * 3 / 2 } else { power };
        let mut grid = Self { columns, per_cell: 1 };
        while grid.lines(map, canvas.colour) > canvas.lines && grid.per_cell < 1 << 40 {
            let coarser = Self { columns, per_cell: grid.per_cell * 2 };
            if coarser.lines(map, canvas.colour) == grid.lines(map, canvas.colour) {
                break;
            }
            grid = coarser;
        }
        grid
    }

    fn lines(&self, map: &MemoryMap, colour: ColourDepth) -> usize {
        map.strips.iter().map(|strip| usize::from(!self.is_short(strip)) + self.strip_lines(strip, colour)).sum()
    }

    fn strip_lines(&self, strip: &Strip, colour: ColourDepth) -> usize {
        strip.rows(self.columns, self.per_cell).len().div_ceil(colour.rows_per_line())
    }

    /// Whether the title of a strip fits beside its cells.
    fn is_short(&self, strip: &Strip) -> bool {
        let rows = strip.rows(self.columns, self.per_cell);
        let cells = rows.iter().map(|row| row.cells.iter().rposition(Option::is_some).map_or(0, |last| last + 1)).max();
        rows.len() <= 1 && cells.unwrap_or(0) + strip.title().len() + 1 < self.columns as usize
    }

    fn draw_strip(&self, out: &mut String, strip: &Strip, before: Option<&Strip>, colour: ColourDepth) {
        let rows = strip.rows(self.columns, self.per_cell);
        let title = colour.bold(&strip.title());
        let beside = if self.is_short(strip) { format!(" {title}") } else { String::new() };
        if beside.is_empty() {
            let _ = writeln!(out, "{:MARGIN$}{title}", "");
        }
        let ink = |row: &Row| self.ink(strip, before, row, colour);
        for pair in rows.chunks(colour.rows_per_line()) {
            let _ = write!(out, "{}  ", address(&pair[0]));
            if colour == ColourDepth::None {
                let letters: String = pair[0].cells.iter().map(|cell| cell.map_or(' ', Look::letter)).collect();
                out.push_str(letters.trim_end());
            } else {
                let lower = pair.get(1).map_or_else(|| vec![None; pair[0].cells.len()], ink);
                half_blocks(out, &ink(&pair[0]), &lower);
            }
            let _ = writeln!(out, "{beside}");
        }
    }

    /// Colour of each cell of a row; `None` where the background shows.
    fn ink(&self, strip: &Strip, before: Option<&Strip>, row: &Row, colour: ColourDepth) -> Vec<Option<Color>> {
        let starts = (row.start..).step_by(self.per_cell as usize);
        let ink = |(start, cell): (u64, &Option<Look>)| match cell {
            Some(_) if before.is_some_and(|before| strip.differs(before, start, self.per_cell)) => Some(CHANGED),
            None | Some(Look::Hole) => None,
            Some(look) => colour.of(*look),
        };
        starts.zip(&row.cells).map(ink).collect()
    }
}

fn address(row: &Row) -> String {
    format!("{:>8}", gib_short(blocks(row.start).bytes()))
}

/// One line of text showing two rows of cells; escapes only where the colour changes.
fn half_blocks(out: &mut String, upper: &[Option<Color>], lower: &[Option<Color>]) {
    let mut current = Style::new();
    let last = (0..upper.len()).rfind(|&i| upper[i].is_some() || lower[i].is_some());
    for i in 0..last.map_or(0, |last| last + 1) {
        let (glyph, fg, bg) = match (upper[i], lower[i]) {
            (None, None) => (' ', None, None),
            (Some(top), None) => ('\u{2580}', Some(top), None),
            (None, Some(bottom)) => ('\u{2584}', Some(bottom), None),
            (Some(top), Some(bottom)) => ('\u{2580}', Some(top), Some(bottom)),
        };
        let style = Style::new().fg_color(fg).bg_color(bg);
        if style != current {
            let _ = write!(out, "{current:#}{style}");
            current = style;
        }
        out.push(glyph);
    }
    let _ = write!(out, "{current:#}");
}

/// Swatch, label and count in blocks of every look, in two columns where they have room.
#[must_use]
pub fn legend(map: &MemoryMap, canvas: Canvas) -> String {
    const ENTRY: usize = 40;
    let counts = map.counts();
    let entries: Vec<String> = counts
        .present()
        .map(|(look, n)| {
            let swatch = match canvas.colour {
                ColourDepth::None => look.letter().to_string(),
                colour => colour.paint(look, "\u{2588}"),
            };
            format!("{swatch} {:<29}{:>8}", look.label(), grouped(n))
        })
        .collect();
    let lines = if canvas.width < 2 * ENTRY - 1 { entries.len() } else { entries.len().div_ceil(2) };
    let line = |i: usize| format!("{}  {}", entries[i], entries.get(lines + i).map_or("", String::as_str));
    (0..lines).map(|i| format!("{}\n", line(i).trim_end())).collect()
}

/// `values` as a line of bars, each between the smallest and the largest of them all.
#[must_use]
pub fn sparkline(values: &[u64]) -> String {
    const BARS: [char; 8] =
        ['\u{2581}', '\u{2582}', '\u{2583}', '\u{2584}', '\u{2585}', '\u{2586}', '\u{2587}', '\u{2588}'];
    let (low, high) = (values.iter().min().copied().unwrap_or(0), values.iter().max().copied().unwrap_or(0));
    let bar = |value: &u64| match high - low {
        0 => BARS[3],
        range => BARS[(u128::from(value - low) * 7 / u128::from(range)) as usize],
    };
    values.iter().map(bar).collect()
}

/// The part of a line that `width` columns show. Looks, which take no columns, are ended at the cut.
#[must_use]
pub fn clipped(line: &str, width: usize) -> String {
    let mut out = String::new();
    let (mut columns, mut in_look, mut cut) = (0, false, false);
    for c in line.chars() {
        let starts = c == '\u{1b}';
        if starts || in_look {
            in_look = starts || c != 'm';
            out.push(c);
        } else if columns < width {
            columns += 1;
            out.push(c);
        } else {
            cut = true;
        }
    }
    // Looks that were set behind the cut have been reset there, too: all of them were copied.
    if cut && out.contains('\u{1b}') {
        out.push_str("\u{1b}[0m");
    }
    out
}

#[cfg(test)]
mod tests {
    use order9_units::{NodeId, ZoneKind};

    use super::*;

    fn map() -> MemoryMap {
        let mut looks = vec![Look::FreeHuge; 100];
        looks[3] = Look::HeldByFew;
        MemoryMap { strips: vec![Strip { node: NodeId(0), zone: ZoneKind::Normal, first: 0, looks }] }
    }

    #[test]
    fn without_colour_there_is_no_escape() {
        let text = draw(&map(), Canvas { width: 80, lines: 24, colour: ColourDepth::None });
        assert!(!text.contains('\u{1b}'));
        assert!(text.contains("       0  ...x...."), "{text}");
    }

    #[test]
    fn a_line_fits_the_width() {
        for width in [20, 80, 133, 200] {
            let text = draw(&map(), Canvas { width, lines: 24, colour: ColourDepth::None });
            let cells = text.lines().filter(|line| line.contains("....")).map(str::len).max();
            assert!(cells.is_some_and(|cells| cells <= width), "{width} columns");
        }
    }

    #[test]
    fn changed_cells_are_white() {
        let mut after = map();
        after.strips[0].looks[50] = Look::HugeInUse;
        let canvas = Canvas { width: 80, lines: 24, colour: ColourDepth::True };
        assert!(strips(&after, Some(&map()), canvas).contains("38;5;231"));
        assert!(!strips(&after, Some(&after), canvas).contains("38;5;231"));
    }

    #[test]
    fn bars_span_their_values() {
        assert_eq!(sparkline(&[0, 7, 14]), "\u{2581}\u{2584}\u{2588}");
        assert_eq!(sparkline(&[5, 5]), "\u{2584}\u{2584}");
        assert_eq!(sparkline(&[u64::MAX, 0]), "\u{2588}\u{2581}");
        assert_eq!(sparkline(&[]), "");
    }

    #[test]
    fn a_line_is_cut_by_what_it_shows() {
        assert_eq!(clipped("abc", 3), "abc");
        assert_eq!(clipped("abcd", 3), "abc");
        assert_eq!(clipped("\u{1b}[1mabcd\u{1b}[0m", 3), "\u{1b}[1mabc\u{1b}[0m\u{1b}[0m");
    }

    #[test]
    fn a_narrow_legend_has_one_column() {
        let narrow = legend(&map(), Canvas { width: 50, lines: 24, colour: ColourDepth::None });
        assert_eq!(
            (
                narrow.lines().count(),
                legend(&map(), Canvas { width: 80, lines: 24, colour: ColourDepth::None }).lines().count()
            ),
            (2, 1)
        );
    }
}
