//! Patterns of freed pages: each leaves pages in a huge page's worth of memory that keep the huge page from coming
//! free.

use std::ops::Range;

use order9_units::{Bytes, PAGE_SIZE, PAGEBLOCK_PAGES};

use crate::dice::Dice;
use crate::parameters::{Kind, Parameter, Value};
use crate::sys::Area;

/// Base pages of a unit.
const PAGES: u64 = PAGEBLOCK_PAGES.get();

/// The parameter by which a pattern is chosen.
pub(crate) const PATTERN: Parameter = Parameter {
    key: "pattern",
    meaning: "pages of 2 MiB that are given back: the first, an even spread, or any",
    kind: Kind::Word(&["first", "stride", "random"]),
    default: |_| Value::Word("first"),
    default_text: "first",
};

/// The parameter for how much is given back.
pub(crate) const FREED_PERCENT: Parameter = Parameter {
    key: "freed_percent",
    meaning: "share of every 2 MiB that is given back",
    kind: Kind::Count { min: 0, max: 100 },
    default: |_| Value::Count(75),
    default_text: "75",
};

/// Draws runs of pages to give back, unit after unit.
pub(crate) struct Pattern {
    kind: &'static str,
    freed: u64,
    dice: Dice,
}

impl Pattern {
    /// The pattern that the parameters `pattern` and `freed_percent` name.
    pub(crate) fn new(kind: &'static str, freed_percent: u64, seed: u64) -> Self {
        Self { kind, freed: PAGES * freed_percent / 100, dice: Dice::new(seed) }
    }

    /// The longest runs of pages that the next unit gives back, upward.
    pub(crate) fn next_unit(&mut self) -> Vec<Range<u64>> {
        let mut runs: Vec<Range<u64>> = Vec::new();
        for page in 0..PAGES {
            if !self.gives_back(page) {
                continue;
            }
            match runs.last_mut() {
                Some(run) if run.end == page => run.end += 1,
                _ => runs.push(page..page + 1),
            }
        }
        runs
    }

    fn gives_back(&mut self, page: u64) -> bool {
        match self.kind {
            "first" => page < self.freed,
            "stride" => (page + 1) * self.freed / PAGES > page * self.freed / PAGES,
            _ => self.dice.below(PAGES) < self.freed,
        }
    }
}

/// Pages of a unit of memory.
pub(crate) fn part(unit: Area, pages: Range<u64>) -> Area {
    let bytes = |pages: u64| Bytes::new(pages * PAGE_SIZE.get());
    unit.part(bytes(pages.start), bytes(pages.end - pages.start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn freed(kind: &'static str, percent: u64) -> Vec<u64> {
        Pattern::new(kind, percent, 1).next_unit().into_iter().flatten().collect()
    }

    #[test]
    fn patterns_free_their_share() {
        assert_eq!(freed("first", 75), (0..384).collect::<Vec<_>>());
        let stride = freed("stride", 75);
        assert_eq!((stride.len(), &stride[..4]), (384, &[1, 2, 3, 5][..]));
        assert!((300..450).contains(&freed("random", 75).len()));
        for kind in ["first", "stride", "random"] {
            assert_eq!((freed(kind, 0).len(), freed(kind, 100).len()), (0, 512), "{kind}");
        }
    }

    #[test]
    fn neighbours_are_freed_together() {
        assert_eq!(Pattern::new("stride", 75, 1).next_unit()[..2], [1..4, 5..8]);
        let first = Pattern::new("first", 75, 1).next_unit();
        assert_eq!((first.len(), &first[0]), (1, &(0..384)));
    }
}
