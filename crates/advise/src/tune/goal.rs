//! Goals and limits: a measure by its word, and a value in the unit of the measure.

use std::fmt;
use std::str::FromStr;

use order9_lab::scenario::length_of_time;
use order9_measures::{Measure, Unit, find};
use order9_report::stats::Direction;
use order9_units::{Bytes, Pages};

use crate::what_if::number;

/// A measure that is to reach a value, or to be as good as it can be.
#[derive(Clone, Copy, Debug)]
pub struct Goal {
    pub(super) measure: &'static Measure,
    /// Value to reach, in the unit of the measure; `None` is the best there is.
    pub(super) reach: Option<f64>,
}

/// A measure that settings must keep within a bound: at most that much where less is better, else at least.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    pub(super) measure: &'static Measure,
    /// The bound, in the unit of the measure.
    pub(super) bound: f64,
}

impl FromStr for Goal {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            None => Ok(Self { measure: find(text)?, reach: None }),
            Some((word, value)) => {
                let measure = find(word)?;
                Ok(Self { measure, reach: Some(parse(measure.unit, value)?) })
            }
        }
    }
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (word, value) = text.split_once('=').ok_or("expected NAME=VALUE, such as p99=1ms or kcompactd=5%")?;
        let measure = find(word)?;
        Ok(Self { measure, bound: parse(measure.unit, value)? })
    }
}

/// A value as the measure has it.
fn parse(unit: Unit, text: &str) -> Result<f64, String> {
    let finite = |text: &str| text.parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0);
    let (value, expected) = match unit {
        Unit::Percent => (text.strip_suffix('%').and_then(finite), "a share in percent, such as 95%"),
        Unit::Nanoseconds => (length_of_time(text).map(|time| time.get() as f64), "a length of time, such as 1ms"),
        Unit::Events => (text.parse::<u32>().ok().map(f64::from), "a number of events, such as 100"),
        Unit::HugePages => (text.parse::<u32>().ok().map(f64::from), "a number of huge pages, such as 500"),
        Unit::Pages => {
            let pages = |bytes: Bytes| Pages::from_bytes_ceil(bytes).get() as f64;
            (text.parse().ok().map(pages), "an amount of memory, such as 1G")
        }
    };
    value.ok_or_else(|| format!("'{}' is no value of it, expected {expected}", order9_toml::shown(text)))
}

impl Goal {
    /// Distance from the value to reach as a share of it; 0 where it is reached or there is none to reach.
    pub(super) fn short(&self, value: f64) -> f64 {
        self.reach.map_or(0.0, |reach| beyond(self.measure.direction, value, reach))
    }
}

impl Limit {
    /// Excess over the bound as a share of it; 0 within.
    pub(super) fn excess(&self, value: f64) -> f64 {
        beyond(self.measure.direction, value, self.bound)
    }
}

/// Distance of `value` on the worse side of `bound`, as a share of that; of a bound of 0, the value itself.
fn beyond(direction: Direction, value: f64, bound: f64) -> f64 {
    let worse = match direction {
        Direction::LowerIsBetter => value - bound,
        Direction::HigherIsBetter => bound - value,
    };
    if worse > 0.0 { worse / if bound > 0.0 { bound } else { 1.0 } } else { 0.0 }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.reach, self.measure.direction) {
            (None, _) => write!(f, "{} as good as can be", self.measure.name),
            (Some(reach), direction) => {
                write!(f, "{} {}", self.measure.name, bounded(direction, reach, self.measure.unit))
            }
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.measure.name, bounded(self.measure.direction, self.bound, self.measure.unit))
    }
}

fn bounded(direction: Direction, bound: f64, unit: Unit) -> String {
    let side = if direction == Direction::LowerIsBetter { "at most" } else { "at least" };
    format!("{side} {}", number(bound, unit))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_text_is_taken_or_refused(text in "\\PC*", word in "(huge|p99|stalls|moved|free-huge)=", value in "[0-9.eE%a-zM-]*") {
            let is_sound = |value: Option<f64>| value.is_none_or(|value| value.is_finite() && value >= 0.0);
            for text in [text, word + &value] {
                prop_assert!(text.parse::<Goal>().is_ok_and(|goal| is_sound(goal.reach)) || text.parse::<Goal>().is_err());
                prop_assert!(text.parse::<Limit>().is_ok_and(|limit| is_sound(Some(limit.bound))) || text.parse::<Limit>().is_err());
            }
        }
    }

    #[test]
    fn values_have_the_unit_of_the_measure() {
        let goal = |text: &str| text.parse::<Goal>().map(|goal| (goal.measure.word, goal.reach));
        assert_eq!(goal("huge"), Ok(("huge", None)));
        assert_eq!(goal("huge=95%"), Ok(("huge", Some(95.0))));
        assert_eq!(goal("p99=1ms"), Ok(("p99", Some(1e6))));
        assert_eq!(goal("free-huge=500"), Ok(("free-huge", Some(500.0))));
        assert_eq!(goal("moved=1M"), Ok(("moved", Some(256.0))));
        let limit = "kcompactd=5%".parse::<Limit>().expect("it is sound");
        assert_eq!((limit.measure.word, limit.bound), ("kcompactd", 5.0));
    }

    #[test]
    fn what_is_no_goal_is_refused_with_what_was_expected() {
        let refused = |text: &str| text.parse::<Goal>().expect_err("it is wrong");
        assert!(refused("hug=95%").ends_with("; did you mean huge?"), "{}", refused("hug=95%"));
        assert_eq!(refused("huge=95"), "'95' is no value of it, expected a share in percent, such as 95%");
        assert_eq!(refused("huge=nan%"), "'nan%' is no value of it, expected a share in percent, such as 95%");
        assert_eq!(refused("p99=1"), "'1' is no value of it, expected a length of time, such as 1ms");
        let limit = "p99".parse::<Limit>().expect_err("it is wrong");
        assert_eq!(limit, "expected NAME=VALUE, such as p99=1ms or kcompactd=5%");
    }

    #[test]
    fn a_limit_is_at_most_or_at_least() {
        let limit = |text: &str| text.parse::<Limit>().expect("it is sound");
        assert_eq!(limit("p99=1ms").excess(1.5e6), 0.5);
        assert_eq!(limit("p99=1ms").excess(1e6), 0.0);
        assert_eq!(limit("free-huge=500").excess(250.0), 0.5);
        assert_eq!(limit("free-huge=500").excess(600.0), 0.0);
        assert_eq!(limit("swapped=0").excess(3.0), 3.0);
        assert_eq!(limit("free-huge=500").to_string(), "huge pages free then at least 500");
    }
}
