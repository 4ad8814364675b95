//! One quantity over another: a mark for each thing that was tried, a line along the trade-off, and lines at bounds.

use std::fmt::Write as _;

use super::Unit;
use super::axis::ValueAxis;
use super::draw::{AXIS, DIM, GAP, GRID, INK, PANEL_HEAD, Page, fitting, look_of};
use crate::picture::{Anchor, Picture, Shape, Stroke, TextSize};

/// Panes with the same quantity upward.
#[derive(Clone, Debug, PartialEq)]
pub struct Scatter {
    /// Title of the picture.
    pub title: String,
    /// Line below the title.
    pub subtitle: String,
    /// Names of the groups of spots; the first one is drawn pale, and the line goes through the second.
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
}

/// Something that was tried.
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
/// Width of a mark of one point; other marks are drawn as shapes.
const POINT: f32 = 6.0;
/// Groups that the line and the pale marks belong to.
const PALE: usize = 0;
const LINE: usize = 1;

impl Scatter {
    /// Lays it out, so wide.
    #[must_use]
    pub fn draw(&self, width: u32) -> Picture {
        let mut page = Page::new(width);
        page.heading(&self.title, &self.subtitle, &self.groups);
        self.panes.iter().for_each(|pane| pane.draw(&mut page, self.groups.len()));
        let height = page.y;
        page.into_picture(height)
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
            let look = look_of(group);
            let colour = if group == PALE { look.pale() } else { look.colour };
            let spots: Vec<&Spot> = self.finite().filter(|spot| spot.group == group).collect();
            let d = spots.iter().fold(String::new(), |mut d, spot| {
                let _ = write!(d, "M{:.0} {:.0}{}", plane.x(spot.right), plane.y(spot.upward), look.dot);
                d
            });
            let width = if look.is_point() { POINT } else { 2.0 };
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
        let name = if plane.right.unit.is_empty() { self.right.0.clone() } else { format!("{}, {}", self.right.0, plane.right.unit) };
        page.text(left + width, top + HEIGHT + 24, TextSize::Small, Anchor::End, DIM, &fitting(&name, TextSize::Small, width));
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

    /// A line through the trade-off, from left to right.
    fn line(&self, page: &mut Page, plane: &Plane) {
        let mut spots: Vec<&Spot> = self.finite().filter(|spot| spot.group == LINE).collect();
        spots.sort_by(|one, other| one.right.total_cmp(&other.right).then(one.upward.total_cmp(&other.upward)));
        let mut d = String::new();
        for (nth, spot) in spots.iter().enumerate() {
            let command = if nth == 0 { 'M' } else { 'L' };
            let _ = write!(d, "{command}{:.1} {:.1}", plane.x(spot.right), plane.y(spot.upward));
        }
        if spots.len() > 1 {
            let stroke = Stroke { colour: look_of(LINE).pale(), width: 1.5, dashes: &[] };
            page.shapes.push(Shape::Path { d, stroke });
        }
    }
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
