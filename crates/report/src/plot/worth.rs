//! Worth of single switches: two bars for each switch show by how much it changes one measured quantity.
//!
//! One bar is of the starting point with this switch alone, the other of the whole other policy without it. Where there are
//! several seeds a bar is the mean of their changes, and a line over it reaches from the smallest to the largest.

use anstyle::RgbColor;

use super::axis::ValueAxis;
use super::draw::{AXIS, BORDER, DIM, GRID, INK, Page, fitting, look_of};
use super::{Quantity, Unit};
use crate::picture::{Anchor, Picture, Shape, TextSize};

/// Bars that are to be drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Worth {
    /// Name of the workload.
    pub title: String,
    /// Machine of the runs, and measured quantity.
    pub subtitle: String,
    /// Meaning of the two bars of a switch.
    pub kinds: [String; 2],
    /// Switches from top to bottom.
    pub switches: Vec<SwitchWorth>,
}

/// The bars of one switch.
#[derive(Clone, Debug, PartialEq)]
pub struct SwitchWorth {
    /// Key of the switch.
    pub switch: String,
    /// Changes in percent, one for each seed, by kind; none where there is nothing to compare.
    pub changes: [Vec<f64>; 2],
}

/// Pixels of a switch, and of one of its bars.
const ROW: u32 = 26;
const BAR: u32 = 9;
/// Room for the names of switches.
const NAMES: u32 = 300;

impl Worth {
    /// Lays it out, so wide.
    #[must_use]
    pub fn draw(&self, width: u32) -> Picture {
        let mut page = Page::new(width);
        page.heading(&self.title, &self.subtitle, &self.kinds);
        let left = BORDER + NAMES.min(width / 2);
        let plot = f64::from(width - left - BORDER);
        let values = self.switches.iter().flat_map(|switch| switch.changes.iter().flatten().copied());
        let axis = ValueAxis::new(values, Unit::of(Quantity::Percent), (plot / 90.0).clamp(2.0, 8.0) as usize);
        let place = |value: f64| left + ((value - axis.low) / (axis.high - axis.low) * plot).round() as u32;
        let (top, height) = (page.y, self.switches.len() as u32 * ROW);
        for (value, label) in &axis.ticks {
            let fill = if *value == 0.0 { AXIS } else { GRID };
            page.shapes.push(Shape::Rect { x: place(*value), y: top, width: 1, height, fill });
            page.text(place(*value), top + height + 8, TextSize::Small, Anchor::Middle, DIM, label);
        }
        page.text(left - 48, top + height + 8, TextSize::Small, Anchor::End, DIM, "change, %");
        for (row, y) in self.switches.iter().zip((top..).step_by(ROW as usize)) {
            let name = fitting(&row.switch, TextSize::Small, left - BORDER - 12);
            page.text(left - 12, y + 5, TextSize::Small, Anchor::End, INK, &name);
            for (kind, changes) in row.changes.iter().enumerate() {
                bar(&mut page, changes, place, y + 3 + kind as u32 * (BAR + 1), look_of(kind).colour);
            }
        }
        page.into_picture(top + height + 40)
    }
}

/// A bar from 0 to the mean of `changes`, and the range of them where there are several.
fn bar(page: &mut Page, changes: &[f64], place: impl Fn(f64) -> u32, y: u32, fill: RgbColor) {
    if changes.is_empty() {
        return;
    }
    let mean = changes.iter().sum::<f64>() / changes.len() as f64;
    let (zero, end) = (place(0.0), place(mean));
    let (x, width) = (zero.min(end), zero.abs_diff(end).max(1));
    page.shapes.push(Shape::Rect { x, y, width, height: BAR, fill });
    if changes.len() > 1 {
        let (low, high) = changes.iter().fold((mean, mean), |(low, high), &value| (low.min(value), high.max(value)));
        let (low, high) = (place(low), place(high));
        page.shapes.push(Shape::Rect { x: low, y: y + BAR / 2, width: (high - low).max(1), height: 1, fill: INK });
        for x in [low, high] {
            page.shapes.push(Shape::Rect { x, y: y + 2, width: 1, height: BAR - 4, fill: INK });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_switch_has_its_bars() {
        let switch = |name: &str, changes| SwitchWorth { switch: name.to_owned(), changes };
        let worth = Worth {
            title: "hugealloc".to_owned(),
            subtitle: String::new(),
            kinds: ["alone".to_owned(), "without".to_owned()],
            switches: vec![switch("a", [vec![10.0, 30.0], vec![-20.0]]), switch("b", [Vec::new(), vec![0.0]])],
        };
        let picture = worth.draw(1000);
        let rects = |wanted: RgbColor| {
            let of = |shape: &Shape| match shape {
                Shape::Rect { x, width, height, fill, .. } if *fill == wanted && *height == BAR => Some((*x, *width)),
                _ => None,
            };
            picture.shapes.iter().filter_map(of).collect::<Vec<_>>()
        };
        let (alone, without) = (rects(look_of(0).colour), rects(look_of(1).colour));
        assert_eq!((alone.len(), without.len()), (1, 2));
        assert_eq!(alone[0].0, without[0].0 + without[0].1, "both begin at 0");
        assert_eq!(alone[0].1, without[0].1, "20 % one way are as long as 20 % the other way");
        let lines = picture.shapes.iter().filter(|shape| matches!(shape, Shape::Rect { height: 1, fill: INK, .. }));
        assert_eq!(lines.count(), 1, "a range where there are several seeds");
    }
}
