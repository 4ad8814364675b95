//! One quantity over another: a mark for each thing that was tried, a line along the trade-off, and lines at bounds.

use std::fmt::Write as _;

use anstyle::RgbColor;

use super::Unit;
use super::axis::ValueAxis;
use super::draw::{AXIS, BORDER, DIM, GAP, GRID, INK, PANEL_HEAD, Page, fitting, look_of};
use crate::picture::{Anchor, Picture, Shape, Stroke, TextSize};

/// Panes with the same quantity upward.
#[derive(Clone, Debug, PartialEq)]
pub struct Scatter {
    /// Title of the picture.
    pub title: String,
    /// Line below the title.
    pub subtitle: String,
    /// Names of the groups of spots; the first one is drawn pale.
    pub groups: Vec<String>,
    /// Panes from top to bottom.
    pub panes: Vec<Pane>,
}

/// A pane: one quantity over another.
#[derive(Clone, Debug, PartialEq)]
pub struct Pane {
    /// Name of the quantity that grows upward, and its unit.
    pub upward: (String, Unit),
    /// Name of the quantity that grows to the right, and its unit.
    pub right: (String, Unit),
    /// Bound of the quantity that grows upward, and of the other.
    pub bounds: (Option<f64>, Option<f64>),
    /// Things that were tried; those with a value that is not finite are left out.
    pub spots: Vec<Spot>,
    /// Points that a line goes through, from left to right: each a value to the right and one upward.
    pub line: Vec<(f64, f64)>,
}

/// A thing that was tried.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spot {
    /// Index into [`Scatter::groups`].
    pub group: usize,
    /// Value to the right.
    pub right: f64,
    /// Value upward.
    pub upward: f64,
}

/// Pixels of a pane, and of the room below it.
const HEIGHT: u32 = 260;
const FOOT: u32 = 48;
/// Room that a heading leaves for the legend.
const LEGEND: u32 = 28;
/// Width of a mark of one point, and of the stroke of marks that are shapes.
const POINT: f32 = 6.0;
const STROKE: f32 = 2.0;
/// Group whose marks are pale.
const PALE: usize = 0;

impl Scatter {
    /// Lays it out, so wide.
    #[must_use]
    pub fn draw(&self, width: u32) -> Picture {
        let mut page = Page::new(width);
        page.heading(&self.title, &self.subtitle, &[]);
        self.legend(&mut page);
        self.panes.iter().for_each(|pane| pane.draw(&mut page, self.groups.len()));
        let height = page.y;
        page.into_picture(height)
    }

    /// A mark and a name for each group, in the line that the heading leaves.
    fn legend(&self, page: &mut Page) {
        let (mut x, y) = (BORDER + 6, page.y - LEGEND);
        for (group, name) in self.groups.iter().enumerate() {
            let (colour, width) = mark(group);
            let d = format!("M{x} {}{}", y + 8, look_of(group).dot);
            page.shapes.push(Shape::Path { d, stroke: Stroke { colour, width, dashes: &[] } });
            page.text(x + 12, y, TextSize::Small, Anchor::Start, INK, name);
            x += 12 + name.chars().count() as u32 * TextSize::Small.advance() + 28;
        }
    }
}

/// Area of a pane, with both axes.
struct Plane {
    left: f64,
    top: f64,
    width: f64,
    upward: ValueAxis,
    right: ValueAxis,
}

impl Plane {
    fn x(&self, value: f64) -> f64 {
        self.left + self.width * share(&self.right, value)
    }

    fn y(&self, value: f64) -> f64 {
        self.top + f64::from(HEIGHT) * (1.0 - share(&self.upward, value))
    }
}

fn share(axis: &ValueAxis, value: f64) -> f64 {
    (value - axis.low) / (axis.high - axis.low)
}

impl Pane {
    fn draw(&self, page: &mut Page, groups: usize) {
        let plane = self.plane(page);
        self.grid(page, &plane);
        self.bounds(page, &plane);
        self.line(page, &plane);
        for group in 0..groups {
            let spots: Vec<&Spot> = self.finite().filter(|spot| spot.group == group).collect();
            let d = spots.iter().fold(String::new(), |mut d, spot| {
                let _ = write!(d, "M{:.0} {:.0}{}", plane.x(spot.right), plane.y(spot.upward), look_of(group).dot);
                d
            });
            let (colour, width) = mark(group);
            page.shapes.push(Shape::Path { d, stroke: Stroke { colour, width, dashes: &[] } });
        }
        page.y = plane.top as u32 + HEIGHT + FOOT + GAP;
    }

    fn finite(&self) -> impl Iterator<Item = &Spot> {
        self.spots.iter().filter(|spot| spot.right.is_finite() && spot.upward.is_finite())
    }

    fn plane(&self, page: &Page) -> Plane {
        let width = page.plot();
        let upward = self.finite().map(|spot| spot.upward).chain(self.bounds.0);
        let right = self.finite().map(|spot| spot.right).chain(self.bounds.1);
        Plane {
            left: f64::from(Page::LEFT),
            top: f64::from(page.y + PANEL_HEAD),
            width: f64::from(width),
            upward: ValueAxis::over(upward, self.upward.1, 5),
            right: ValueAxis::new(right, self.right.1, (width / 100).clamp(2, 8) as usize),
        }
    }

    /// Titles, lines at ticks, and their labels.
    fn grid(&self, page: &mut Page, plane: &Plane) {
        let (left, top, width) = (Page::LEFT, plane.top as u32, page.plot());
        page.text(left - 10, page.y, TextSize::Small, Anchor::End, DIM, &plane.upward.unit);
        let title = format!("{} over {}", self.upward.0, self.right.0);
        page.text(left, page.y, TextSize::Bold, Anchor::Start, INK, &fitting(&title, TextSize::Bold, width));
        for (value, label) in &plane.upward.ticks {
            let y = plane.y(*value).round() as u32;
            page.shapes.push(Shape::Rect { x: left, y, width, height: 1, fill: GRID });
            page.text(left - 10, y.saturating_sub(8), TextSize::Small, Anchor::End, DIM, label);
        }
        for (value, label) in &plane.right.ticks {
            let x = plane.x(*value).round() as u32;
            page.shapes.push(Shape::Rect { x, y: top, width: 1, height: HEIGHT, fill: GRID });
            page.text(x, top + HEIGHT + 6, TextSize::Small, Anchor::Middle, DIM, label);
        }
        page.shapes.push(Shape::Rect { x: left, y: top, width: 1, height: HEIGHT, fill: AXIS });
        page.shapes.push(Shape::Rect { x: left, y: top + HEIGHT, width, height: 1, fill: AXIS });
        let name = if plane.right.unit.is_empty() {
            self.right.0.clone()
        } else {
            format!("{}, {}", self.right.0, plane.right.unit)
        };
        page.text(
            left + width,
            top + HEIGHT + 24,
            TextSize::Small,
            Anchor::End,
            DIM,
            &fitting(&name, TextSize::Small, width),
        );
    }

    /// Dashed lines at the bounds.
    fn bounds(&self, page: &mut Page, plane: &Plane) {
        let (left, bottom) = (plane.left, plane.top + f64::from(HEIGHT));
        let across = self.bounds.0.map(|value| format!("M{left:.0} {:.0}H{:.0}", plane.y(value), left + plane.width));
        let down = self.bounds.1.map(|value| format!("M{:.0} {:.0}V{bottom:.0}", plane.x(value), plane.top));
        for d in across.into_iter().chain(down) {
            page.shapes.push(Shape::Path { d, stroke: Stroke { colour: INK, width: 1.0, dashes: &[6, 4] } });
        }
    }

    /// The line through the trade-off, in the colour of the second group.
    fn line(&self, page: &mut Page, plane: &Plane) {
        let mut d = String::new();
        for (nth, (right, upward)) in self.line.iter().enumerate() {
            let command = if nth == 0 { 'M' } else { 'L' };
            let _ = write!(d, "{command}{:.1} {:.1}", plane.x(*right), plane.y(*upward));
        }
        if self.line.len() > 1 {
            page.shapes.push(Shape::Path { d, stroke: Stroke { colour: look_of(1).pale(), width: 1.5, dashes: &[] } });
        }
    }
}

/// The look of the marks of a group: their colour, and the width of their stroke.
fn mark(group: usize) -> (RgbColor, f32) {
    let look = look_of(group);
    (if group == PALE { look.pale() } else { look.colour }, if look.is_point() { POINT } else { STROKE })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::svg;
    use crate::plot::Quantity;

    fn drawn(spots: Vec<Spot>) -> String {
        let unit = Unit::of(Quantity::Percent);
        let pane = Pane {
            upward: ("huge".to_owned(), unit),
            right: ("kcompactd".to_owned(), unit),
            bounds: (Some(95.0), None),
            spots,
            line: vec![(0.0, 95.0), (4.0, 100.0)],
        };
        let groups = ["tried", "trade-off", "now"].map(str::to_owned).to_vec();
        let scatter = Scatter { title: "a".to_owned(), subtitle: "b".to_owned(), groups, panes: vec![pane] };
        let mut out = Vec::new();
        svg::write(&scatter.draw(600), &mut out).expect("memory takes it");
        String::from_utf8(out).expect("it is text")
    }

    #[test]
    fn spots_stand_at_their_values_and_the_line_goes_through_the_trade_off() {
        let spot = |group, right, upward| Spot { group, right, upward };
        let svg = drawn(vec![spot(0, 0.0, 90.0), spot(1, 4.0, 100.0), spot(1, 0.0, 95.0), spot(2, f64::NAN, 1.0)]);
        let bottom = 24 - 4 + 32 + 26 + 28 + PANEL_HEAD + HEIGHT;
        assert!(svg.contains(&format!("M100 {bottom}h.1")), "the least values are in the corner: {svg}");
        assert!(svg.contains(&format!("M100.0 {}.0L576.0 {}.0", bottom - HEIGHT / 2, bottom - HEIGHT)), "{svg}");
    }

    #[test]
    fn nothing_to_draw_is_drawn_as_such() {
        assert!(drawn(Vec::new()).ends_with("</svg>\n"));
    }
}
