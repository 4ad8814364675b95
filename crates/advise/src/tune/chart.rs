//! The trade-off as a picture: the goal over each price.

use order9_measures::Unit;
use order9_report::picture::Picture;
use order9_report::plot::{Pane, Quantity, Scatter, Spot, Unit as Axis};
use order9_units::PAGE_SIZE;

use super::answer::{Bound, Tried, Tuning};
use super::front::ranks;

/// Groups of spots, in the order of the legend.
const GROUPS: [&str; 4] = ["tried", "trade-off", "now", "found"];
/// Width of the picture in pixels.
const WIDTH: u32 = 900;

impl Tuning {
    /// The picture.
    #[must_use]
    pub fn picture(&self) -> Picture {
        let groups = GROUPS.iter().map(|name| (*name).to_owned()).collect();
        let subtitle = format!("{}; as {}", self.demand, self.policy);
        let panes = self.limits.iter().map(|price| self.pane(price)).collect();
        Scatter { title: "Settings tried on a copy of memory".to_owned(), subtitle, groups, panes }.draw(WIDTH)
    }

    fn pane(&self, price: &Bound) -> Pane {
        let ((quantity, factor), (of_price, price_factor)) = (axis(self.goal.unit), axis(price.unit));
        let spot = |group: usize, tried: &Tried| {
            let value = |bound: &Bound| tried.value(bound.measure).map_or(f64::NAN, |value| value.mean());
            Spot { group, right: value(price) * price_factor, upward: value(&self.goal) * factor }
        };
        let groups = [self.tried.as_slice(), &self.front, std::slice::from_ref(&self.now), self.best.as_slice()];
        let spots = groups.iter().enumerate().flat_map(|(group, of)| of.iter().map(move |tried| (group, tried)));
        Pane {
            upward: (self.goal.name.to_owned(), Axis::of(quantity)),
            right: (price.name.to_owned(), Axis::of(of_price)),
            bounds: (self.goal.bound.map(|bound| bound * factor), price.bound.map(|bound| bound * price_factor)),
            line: line(&self.front.iter().map(|tried| spot(0, tried)).collect::<Vec<_>>(), price, &self.goal),
            spots: spots.map(|(group, tried)| spot(group, tried)).collect(),
        }
    }
}

/// The trade-off between the two quantities of a pane: what is on the front for the sake of another price is left out.
fn line(spots: &[Spot], price: &Bound, goal: &Bound) -> Vec<(f64, f64)> {
    let less_is_better = |bound: &Bound, value: f64| if bound.is_most() { value } else { -value };
    let costs = |spot: &Spot| vec![less_is_better(price, spot.right), less_is_better(goal, spot.upward)];
    let ranks = ranks(&spots.iter().map(costs).collect::<Vec<_>>());
    let mut line: Vec<_> =
        spots.iter().zip(ranks).filter(|(_, rank)| *rank == 0).map(|(of, _)| (of.right, of.upward)).collect();
    line.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.total_cmp(&other.1)));
    line
}

/// Quantity of an axis, and the factor that values of a measure have there.
const fn axis(unit: Unit) -> (Quantity, f64) {
    match unit {
        Unit::Percent => (Quantity::Percent, 1.0),
        Unit::Nanoseconds => (Quantity::Seconds, 1e-9),
        Unit::Events => (Quantity::Events, 1.0),
        Unit::Pages => (Quantity::Bytes, PAGE_SIZE.get() as f64),
        Unit::HugePages => (Quantity::Blocks, 1.0),
    }
}
