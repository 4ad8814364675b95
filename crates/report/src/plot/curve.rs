//! Values as paths of SVG, with as many points as pixels can show.

use std::fmt::Write as _;

use order9_units::Nanos;

use super::Line;
use super::axis::ValueAxis;

/// Area of a panel in pixels, and the values at its edges.
pub(super) struct Area<'a> {
    pub(super) left: f64,
    pub(super) width: f64,
    pub(super) top: f64,
    pub(super) height: f64,
    pub(super) span: (Nanos, Nanos),
    pub(super) axis: &'a ValueAxis,
}

/// The columns that the values of a line fall into.
#[derive(Clone, Copy)]
struct Point {
    x: f64,
    y: f64,
}

impl Area<'_> {
    fn point(&self, at: Nanos, value: f64) -> Point {
        Point { x: x_of(at, self.span, self.left, self.width), y: self.y(value) }
    }

    /// Position of a value.
    pub(super) fn y(&self, value: f64) -> f64 {
        self.top + self.height * (1.0 - (value - self.axis.low) / (self.axis.high - self.axis.low))
    }

    /// A line through all values; of those in one column of pixels, through the first, the extremes, and the last.
    pub(super) fn joined(&self, line: &Line) -> String {
        let mut path = String::new();
        for run in line.points.split(|(_, value)| value.is_nan()) {
            let points: Vec<_> = run.iter().map(|&(at, value)| self.point(at, value)).collect();
            let columns = points.chunk_by(|one, other| one.x.floor() == other.x.floor());
            let mut command = 'M';
            for point in columns.flat_map(outline) {
                let _ = write!(path, "{command}{:.1} {:.1}", point.x, point.y);
                command = 'L';
            }
            if let ([alone], 'L') = (points.as_slice(), command) {
                // A value between two gaps, as a short stroke.
                let _ = write!(path, "L{:.1} {:.1}", alone.x + 1.0, alone.y);
            }
        }
        path
    }

    /// A dot for every value; those that cover each other are one. `shape` is its path from its middle on.
    pub(super) fn dots(&self, line: &Line, shape: &str) -> String {
        let finite = line.points.iter().filter(|(_, value)| value.is_finite());
        let points = finite.map(|&(at, value)| self.point(at, value));
        let mut cells: Vec<_> = points.map(|point| (point.x.round() as i64, point.y.round() as i64)).collect();
        cells.sort_unstable();
        cells.dedup();
        cells.into_iter().fold(String::new(), |mut path, (x, y)| {
            let _ = write!(path, "M{x} {y}{shape}");
            path
        })
    }
}

/// The pixel of an instant.
pub(super) fn x_of(at: Nanos, (from, to): (Nanos, Nanos), left: f64, width: f64) -> f64 {
    let part = (at.get() as f64 - from.get() as f64) / (to.get() as f64 - from.get() as f64);
    left + width * part
}

/// The visible points of one column, in their order.
fn outline(column: &[Point]) -> Vec<Point> {
    if column.len() <= 4 {
        return column.to_vec();
    }
    let places = 0..column.len();
    let by_y = |one: &usize, other: &usize| column[*one].y.total_cmp(&column[*other].y);
    let extremes = [places.clone().min_by(by_y), places.clone().max_by(by_y)];
    let mut kept: Vec<usize> = extremes.into_iter().flatten().chain([0, column.len() - 1]).collect();
    kept.sort_unstable();
    kept.dedup();
    kept.into_iter().map(|place| column[place]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::{Quantity, Unit};

    fn with_area<T>(to: u64, values: &[f64], test: impl FnOnce(&Area<'_>, &Line) -> T) -> T {
        let axis = ValueAxis::new(values.iter().copied(), Unit::of(Quantity::Events), 4);
        let span = (Nanos::new(0), Nanos::new(to));
        let area = Area { left: 0.0, width: 100.0, top: 0.0, height: 100.0, span, axis: &axis };
        let points = (0..).map(Nanos::new).zip(values.iter().copied()).collect();
        test(&area, &Line { group: 0, seed: 1, points })
    }

    #[test]
    fn lines_break_where_there_is_no_value() {
        let path = with_area(4, &[0.0, 10.0, f64::NAN, 5.0, f64::NAN], |area, line| area.joined(line));
        assert_eq!(path, "M0.0 100.0L25.0 0.0M75.0 50.0L76.0 50.0");
    }

    #[test]
    fn many_values_keep_their_extremes() {
        let mut values: Vec<f64> = (0..100_000).map(|i| f64::from(i % 7)).collect();
        values[50_123] = 20.0;
        let path = with_area(100_000, &values, |area, line| area.joined(line));
        assert!(path.len() < 100 * 4 * 12, "{} bytes", path.len());
        assert!(path.contains("L50.1 0.0"), "the peak is there");
        assert_eq!(path, with_area(100_000, &values, |area, line| area.joined(line)));
    }

    #[test]
    fn dots_that_cover_each_other_are_one() {
        let dots = with_area(1_000_000, &[10.0; 1000], |area, line| area.dots(line, "h0"));
        assert_eq!(dots, "M0 0h0");
    }
}
