//! Layout of a chart: title, legend, names of phases, panels, time axis.

use anstyle::RgbColor;

use super::axis::{ValueAxis, time_ticks};
use super::curve::{Area, x_of};
use super::{Chart, Mark, Panel, Style};
use crate::picture::{Anchor, Picture, Shape, Stroke, TextSize};

/// Pixels of a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Width of the picture in pixels.
    pub width: u32,
    /// Height of the picture in pixels; larger where its panels need more. `None` chooses a height that reads well.
    pub height: Option<u32>,
}

/// Colour and stroke of the lines, and dots, of a group.
pub(super) struct Look {
    pub(super) colour: RgbColor,
    /// Pixels on, pixels off, and so on; empty is a line without gaps.
    pub(super) dashes: &'static [u32],
    /// A dot, as a path from its middle on.
    pub(super) dot: &'static str,
}

impl Look {
    /// Whether a dot is a single point, as wide as its stroke.
    pub(super) fn is_point(&self) -> bool {
        self.dot == LOOKS[0].dot
    }

    /// The colour mixed with that of the paper.
    pub(super) fn pale(&self) -> RgbColor {
        pale(self.colour)
    }
}

/// The look of a group.
pub(super) fn look_of(group: usize) -> &'static Look {
    &LOOKS[group % LOOKS.len()]
}

const BLUE: RgbColor = RgbColor(0x00, 0x5f, 0x9e);
const ORANGE: RgbColor = RgbColor(0xe6, 0x7a, 0x00);
const GREEN: RgbColor = RgbColor(0x00, 0x9e, 0x73);
const PURPLE: RgbColor = RgbColor(0xb0, 0x4f, 0x8a);
const BLACK: RgbColor = RgbColor(0x1a, 0x1a, 0x1a);
const SKY: RgbColor = RgbColor(0x56, 0xb4, 0xe9);

/// Colours that stay apart for people who do not see all of them: after Okabe and Ito, "Color Universal Design" (2008).
/// Dashes and shapes tell them apart in grey. More groups than looks begin anew.
const LOOKS: [Look; 6] = [
    Look { colour: BLUE, dashes: &[], dot: "h.1" },
    Look { colour: ORANGE, dashes: &[7, 3], dot: "m-3-3l6 6m0-6l-6 6" },
    Look { colour: GREEN, dashes: &[2, 3], dot: "m-3 0h6m-3-3v6" },
    Look { colour: PURPLE, dashes: &[9, 3, 2, 3], dot: "m-3-3h6v6h-6z" },
    Look { colour: BLACK, dashes: &[14, 4], dot: "m-3 2h6l-3-5z" },
    Look { colour: SKY, dashes: &[4, 2], dot: "m-3 0h6" },
];

pub(super) const PAPER: RgbColor = RgbColor(0xff, 0xff, 0xff);
pub(super) const INK: RgbColor = RgbColor(0x1f, 0x24, 0x2b);
pub(super) const DIM: RgbColor = RgbColor(0x5c, 0x66, 0x73);
pub(super) const GRID: RgbColor = RgbColor(0xe4, 0xe8, 0xed);
pub(super) const AXIS: RgbColor = RgbColor(0xa8, 0xb0, 0xba);

pub(super) const BORDER: u32 = 24;
/// Room for the labels of values, left of the panels.
const LABELS: u32 = 76;
/// Above a panel: its name.
pub(super) const PANEL_HEAD: u32 = 24;
/// Distance between two panels.
pub(super) const GAP: u32 = 16;
/// Below the last panel: labels of times.
const FOOT: u32 = 44;
const PANEL_USUAL: u32 = 132;
const PANEL_MIN: u32 = 56;
/// Lines of names of phases; names that find no room there are left out, their marks stay.
const LANES_MAX: usize = 2;
const LANE: u32 = 18;

impl Chart {
    /// Lays it out.
    ///
    /// # Panics
    /// If the time axis has no length.
    #[must_use]
    pub fn draw(&self, size: Size) -> Picture {
        assert!(self.span.0 < self.span.1, "a time axis has a length");
        let mut page = Page::new(size.width);
        page.heading(&self.title, &self.subtitle, &self.groups);
        let marks = page.phases(self);
        let top = page.y;
        let count = self.panels.len() as u32;
        let spare = size.height.map(|height| height.saturating_sub(top + FOOT) / count.max(1));
        let height = spare.map_or(PANEL_USUAL, |room| room.saturating_sub(PANEL_HEAD + GAP).max(PANEL_MIN));
        for (x, colour) in marks {
            let height = count * (height + PANEL_HEAD + GAP) - GAP;
            page.shapes.push(Shape::Rect { x, y: top, width: 1, height, fill: pale(colour) });
        }
        for panel in &self.panels {
            page.panel(self, panel, height);
        }
        page.times(self);
        let height = size.height.unwrap_or(0).max(page.y - GAP + FOOT);
        page.into_picture(height)
    }
}

/// A chart in the making, filled downward.
pub(super) struct Page {
    pub(super) y: u32,
    width: u32,
    pub(super) shapes: Vec<Shape>,
}

impl Page {
    pub(super) const LEFT: u32 = BORDER + LABELS;

    pub(super) fn new(width: u32) -> Self {
        Self { y: BORDER - 4, width, shapes: Vec::new() }
    }

    /// The picture, so high.
    pub(super) fn into_picture(self, height: u32) -> Picture {
        Picture { width: self.width, height, background: PAPER, shapes: self.shapes }
    }

    /// Width of the panels.
    pub(super) fn plot(&self) -> u32 {
        self.width.saturating_sub(Self::LEFT + BORDER).max(1)
    }

    pub(super) fn text(&mut self, x: u32, y: u32, size: TextSize, anchor: Anchor, fill: RgbColor, text: &str) {
        self.shapes.push(Shape::Text { x, y, size, anchor, fill, text: text.to_owned() });
    }

    /// The words above the panels, and what the lines are.
    pub(super) fn heading(&mut self, title: &str, subtitle: &str, groups: &[String]) {
        let room = self.width - 2 * BORDER;
        self.text(BORDER, self.y, TextSize::Large, Anchor::Start, INK, &fitting(title, TextSize::Large, room));
        self.y += 32;
        let subtitle = fitting(subtitle, TextSize::Small, room);
        self.text(BORDER, self.y, TextSize::Small, Anchor::Start, DIM, &subtitle);
        self.y += 26;
        self.legend(groups);
        self.y += 28;
    }

    fn legend(&mut self, groups: &[String]) {
        const SWATCH: u32 = 36;
        let mut x = BORDER;
        for (group, name) in groups.iter().enumerate() {
            let name = fitting(name, TextSize::Small, self.width - 2 * BORDER - SWATCH - 8);
            let width = SWATCH + 8 + length(&name, TextSize::Small);
            if x > BORDER && x + width > self.width - BORDER {
                (x, self.y) = (BORDER, self.y + 22);
            }
            let d = format!("M{x} {}h{SWATCH}", self.y + 8);
            self.stroke(d, group, 2.5, true);
            self.text(x + SWATCH + 8, self.y, TextSize::Small, Anchor::Start, INK, &name);
            x += width + 28;
        }
    }

    fn stroke(&mut self, d: String, group: usize, width: f32, dashed: bool) {
        let look = look_of(group);
        let dashes = if dashed { look.dashes } else { &[] };
        self.shapes.push(Shape::Path { d, stroke: Stroke { colour: look.colour, width, dashes } });
    }

    /// Names of phases; where their marks stand, and in which colour.
    fn phases(&mut self, chart: &Chart) -> Vec<(u32, RgbColor)> {
        let marks = distinct(chart, f64::from(self.plot()));
        let mut ends: Vec<u32> = Vec::new();
        let mut written: Vec<(&str, u32)> = Vec::new();
        for &(x, colour, name) in &marks {
            let length = length(name, TextSize::Small);
            // Policies that come to a phase at about the same time share its name.
            if written.iter().any(|&(other, at)| other == name && x < at + length) {
                continue;
            }
            // A name stands right of its mark, or ends where the picture does.
            let start = (x + 4).min(self.width.saturating_sub(length + 4));
            let free = ends.iter().position(|&end| end + 6 <= start).or((ends.len() < LANES_MAX).then_some(ends.len()));
            let Some(lane) = free else { continue };
            written.push((name, x));
            ends.resize(ends.len().max(lane + 1), 0);
            ends[lane] = start + length;
            self.text(start, self.y + lane as u32 * LANE, TextSize::Small, Anchor::Start, colour, name);
        }
        self.y += ends.len() as u32 * LANE + 8;
        marks.into_iter().map(|(x, colour, _)| (x, colour)).collect()
    }

    fn panel(&mut self, chart: &Chart, panel: &Panel, height: u32) {
        let values = panel.lines.iter().flat_map(|line| line.points.iter().map(|(_, value)| *value));
        let axis = ValueAxis::new(values, panel.unit, (height / 30).clamp(2, 8) as usize);
        let width = self.plot();
        let unit = fitting(&axis.unit, TextSize::Small, LABELS + BORDER - 16);
        self.text(Self::LEFT - 10, self.y, TextSize::Small, Anchor::End, DIM, &unit);
        let title = fitting(&panel.title, TextSize::Bold, width);
        let length = length(&title, TextSize::Bold);
        // Marks of phases do not cross the name.
        self.shapes.push(Shape::Rect { x: Self::LEFT, y: self.y, width: length + 4, height: 18, fill: PAPER });
        self.text(Self::LEFT, self.y, TextSize::Bold, Anchor::Start, INK, &title);
        let top = self.y + PANEL_HEAD;
        let area = Area {
            left: f64::from(Self::LEFT),
            width: f64::from(width),
            top: f64::from(top),
            height: f64::from(height),
            span: chart.span,
            axis: &axis,
        };
        for (value, label) in &axis.ticks {
            let y = area.y(*value).round() as u32;
            let fill = if *value == 0.0 { AXIS } else { GRID };
            self.shapes.push(Shape::Rect { x: Self::LEFT, y, width, height: 1, fill });
            self.text(Self::LEFT - 10, y - 8, TextSize::Small, Anchor::End, DIM, label);
        }
        self.shapes.push(Shape::Rect { x: Self::LEFT, y: top, width: 1, height, fill: AXIS });
        for line in &panel.lines {
            let look = look_of(line.group);
            match panel.style {
                Style::Joined => self.stroke(area.joined(line), line.group, 1.75, true),
                Style::Dots => {
                    let width = if look.is_point() { 5.0 } else { 1.5 };
                    self.stroke(area.dots(line, look.dot), line.group, width, false);
                }
            }
        }
        self.y = top + height + GAP;
    }

    /// The time axis, below the last panel.
    fn times(&mut self, chart: &Chart) {
        let (ticks, unit) = time_ticks(chart.span, (self.plot() / 90).clamp(2, 12) as usize);
        let bottom = self.y - GAP;
        for (at, label) in ticks {
            let x = x_of(at, chart.span, f64::from(Self::LEFT), f64::from(self.plot())).round() as u32;
            self.shapes.push(Shape::Rect { x, y: bottom, width: 1, height: 6, fill: AXIS });
            self.text(x, bottom + 10, TextSize::Small, Anchor::Middle, DIM, &label);
        }
        self.text(Self::LEFT - 14, bottom + 10, TextSize::Small, Anchor::End, DIM, unit);
    }
}

/// Phases that begin at the same pixel under one name are one mark, in grey; the others have the colour of their group.
fn distinct(chart: &Chart, width: f64) -> Vec<(u32, RgbColor, &str)> {
    let (from, to) = chart.span;
    let x = |mark: &Mark| x_of(mark.at, chart.span, f64::from(Page::LEFT), width).round() as u32;
    let seen = |mark: &&Mark| from <= mark.at && mark.at < to;
    let mut marks: Vec<(u32, RgbColor, &str)> = Vec::new();
    let first: Vec<&Mark> = chart.marks.iter().filter(seen).collect();
    for mark in first {
        let place = x(mark);
        match marks.iter_mut().find(|(x, _, name)| x.abs_diff(place) <= 1 && *name == mark.name) {
            Some((_, colour, _)) => *colour = DIM,
            None => {
                let colour = if chart.groups.len() > 1 { look_of(mark.group).colour } else { DIM };
                marks.push((place, colour, &mark.name));
            }
        }
    }
    marks.sort_by_key(|&(x, ..)| x);
    marks
}

/// Close to the paper.
fn pale(RgbColor(r, g, b): RgbColor) -> RgbColor {
    let [r, g, b] = [r, g, b].map(|ink| ((u16::from(ink) + 2 * 255) / 3) as u8);
    RgbColor(r, g, b)
}

fn length(text: &str, size: TextSize) -> u32 {
    text.chars().count() as u32 * size.advance()
}

/// `text`, cut with three dots where it is longer than `room` pixels.
pub(super) fn fitting(text: &str, size: TextSize, room: u32) -> String {
    if length(text, size) <= room {
        return text.to_owned();
    }
    let kept = (room / size.advance()).saturating_sub(3) as usize;
    text.chars().take(kept).chain("...".chars()).collect()
}
