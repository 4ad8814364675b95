//! A part of a plan: some of its points, so that several hosts have the whole.

use std::fmt;
use std::str::FromStr;

use crate::point::Point;

/// Part `part` of `of`, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    part: u32,
    of: u32,
}

impl Shard {
    /// The whole.
    pub const ALL: Self = Self { part: 1, of: 1 };

    /// The points of this part. Points are dealt out in the order of their names, which is as good as shuffled: no part gets all
    /// points of a large machine. Parts differ by one point at most.
    #[must_use]
    pub fn of(self, mut points: Vec<Point>) -> Vec<Point> {
        let mut names: Vec<_> = points.iter().map(Point::name).collect();
        names.sort_unstable();
        let is_mine = |point: &Point| {
            let rank = names.binary_search(&point.name()).expect("it is one of them");
            rank as u64 % u64::from(self.of) == u64::from(self.part - 1)
        };
        points.retain(is_mine);
        points
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
        match numbers {
            Some((part, of)) if 1 <= part && part <= of => Ok(Self { part, of }),
            _ => Err("expected a part and the number of parts, such as 7/64".to_owned()),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.part, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_one_of_the_parts() {
        assert_eq!("7/64".parse(), Ok(Shard { part: 7, of: 64 }));
        for text in ["", "7", "0/4", "5/4", "-1/4", "1/0", "1/2/3", "99999999999/99999999999"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }
}
