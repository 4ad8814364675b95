//! Runs a sample of cells again: equal digests say that both hosts compute alike.

use std::fmt;
use std::str::FromStr;

use order9_record::Digest;

use crate::point::Point;
use crate::run::Done;

/// A share of all cells, in percent, above 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share(f64);

/// A cell that came out otherwise.
#[derive(Clone, Debug)]
pub struct Differs {
    /// The cell as it was kept.
    pub kept: Done,
    /// The cell as it is now.
    pub now: Done,
}

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let percent = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
        let percent = percent.filter(|percent| *percent > 0.0 && *percent <= 100.0);
        percent.map(Self).ok_or_else(|| "expected a share of cells up to 100%, such as 1%".to_owned())
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} %", self.0)
    }
}

/// The cells of a sample, at least one where there is any: those whose names come first when `seed` shuffles them.
#[must_use]
pub fn sample(cells: &[Done], share: Share, seed: u64) -> Vec<&Done> {
    let count = (cells.len() as f64 * share.0 / 100.0).ceil() as usize;
    let mut sample: Vec<&Done> = cells.iter().collect();
    sample.sort_by_key(|done| Digest::of_bytes(format!("{seed} {}", done.cell).as_bytes()));
    sample.truncate(count);
    sample
}

/// Runs a cell of `points` again; the difference, if there is one.
#[must_use]
pub fn verify(points: &[Point], kept: &Done) -> Option<Differs> {
    let point = points.iter().find(|point| point.cell_name(kept.seed) == kept.cell)?;
    let now = point.run(kept.seed);
    let is_same =
        (kept.digest, kept.end, &kept.message, &kept.measures) == (now.digest, now.end, &now.message, &now.measures);
    (!is_same).then(|| Differs { kept: kept.clone(), now })
}
