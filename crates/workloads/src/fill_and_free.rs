//! `fill-and-free`: touches memory in order and gives part of it back by a pattern, so that what stays lies spread over all
//! pageblocks. Repeated, it ages memory.

use order9_units::{Bytes, Nanos, PAGE_SIZE};
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::Rng as _;

use crate::parameters::{Kind, Parameter, Parameters, Value};
use crate::sys::{Access, Advice, Area, Mapping, Stop, Sys};
use crate::workload::{Better, Family, Measure, Unit};

pub(crate) const PARAMETERS: &[Parameter] = &[
    Parameter {
        key: "size",
        meaning: "memory to fill",
        kind: Kind::Bytes { min: UNIT },
        default: |facts| Value::Bytes(Bytes::new(facts.memory.get() / 10 * 9)),
        default_text: "9/10 of memory",
    },
    Parameter {
        key: "freed_percent",
        meaning: "share of every 2 MiB that is given back",
        kind: Kind::Count { min: 0, max: 100 },
        default: |_| Value::Count(75),
        default_text: "75",
    },
    Parameter {
        key: "pattern",
        meaning: "which pages of 2 MiB are given back: the first, an even spread, or any",
        kind: Kind::Word(&["first", "stride", "random"]),
        default: |_| Value::Word("first"),
        default_text: "first",
    },
    Parameter {
        key: "rounds",
        meaning: "how often memory is filled and freed",
        kind: Kind::Count { min: 1, max: 1_000_000 },
        default: |_| Value::Count(1),
        default_text: "1",
    },
    Parameter {
        key: "hold",
        meaning: "how long what is left is kept in the end",
        kind: Kind::Time,
        default: |_| Value::Time(Nanos::ZERO),
        default_text: "0s",
    },
];

pub(crate) const MEASURES: &[Measure] = &[Measure {
    heading: "",
    operations: &["Fill", "Free"],
    family: Family::Samples,
    better: Better::Lower,
    unit: Unit::Seconds,
    decimals: 2,
}];

/// The section of memory in which the pattern repeats: one huge page.
const UNIT: Bytes = Bytes::new(2 << 20);
const UNIT_PAGES: u64 = UNIT.get() / PAGE_SIZE.get();

pub(crate) async fn run<S: Sys>(sys: &S, parameters: &Parameters) -> Result<(), Stop> {
    let length = Bytes::new(parameters.bytes("size").get() / UNIT.get() * UNIT.get());
    let freed = UNIT_PAGES * parameters.count("freed_percent") / 100;
    let pattern = parameters.word("pattern");
    let mut rng = Pcg64Mcg::new(u128::from(sys.seed("fill-and-free")) | 1);
    sys.phase("measure");
    let area = sys.mmap(Mapping::anon(length)).await?;
    for _ in 0..parameters.count("rounds") {
        let start = sys.now();
        sys.touch(area, Access::Write).await?;
        let filled = sys.now();
        for unit in (0..length.get()).step_by(UNIT.get() as usize) {
            let unit = area.part(Bytes::new(unit), UNIT);
            for run in runs(|page| gives_back(pattern, page, freed, &mut rng)) {
                sys.madvise(part(unit, run), Advice::DontNeed).await?;
            }
        }
        sys.sample("Fill", filled - start);
        sys.sample("Free", sys.now() - filled);
    }
    sys.phase("hold");
    sys.sleep(parameters.time("hold")).await
}

/// Whether `page` of a unit, of which `freed` pages go, is one of them.
fn gives_back(pattern: &str, page: u64, freed: u64, rng: &mut Pcg64Mcg) -> bool {
    match pattern {
        "first" => page < freed,
        "stride" => (page + 1) * freed / UNIT_PAGES > page * freed / UNIT_PAGES,
        _ => rng.next_u64() % UNIT_PAGES < freed,
    }
}

/// The longest runs of pages of a unit that are given back.
fn runs(mut gives_back: impl FnMut(u64) -> bool) -> Vec<std::ops::Range<u64>> {
    let mut runs: Vec<std::ops::Range<u64>> = Vec::new();
    for page in (0..UNIT_PAGES).filter(|&page| gives_back(page)) {
        match runs.last_mut() {
            Some(run) if run.end == page => run.end += 1,
            _ => runs.push(page..page + 1),
        }
    }
    runs
}

fn part(unit: Area, pages: std::ops::Range<u64>) -> Area {
    let bytes = |pages: u64| Bytes::new(pages * PAGE_SIZE.get());
    unit.part(bytes(pages.start), bytes(pages.end - pages.start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn freed(pattern: &str, share: u64) -> Vec<u64> {
        let mut rng = Pcg64Mcg::new(1);
        (0..UNIT_PAGES).filter(|&page| gives_back(pattern, page, share, &mut rng)).collect()
    }

    #[test]
    fn patterns_free_their_share() {
        assert_eq!(freed("first", 384), (0..384).collect::<Vec<_>>());
        let stride = freed("stride", 384);
        assert_eq!((stride.len(), &stride[..4]), (384, &[1, 2, 3, 5][..]));
        assert!((300..450).contains(&freed("random", 384).len()));
        for pattern in ["first", "stride", "random"] {
            assert_eq!((freed(pattern, 0).len(), freed(pattern, UNIT_PAGES).len()), (0, 512), "{pattern}");
        }
    }

    #[test]
    fn neighbours_are_freed_together() {
        assert_eq!(runs(|page| page % 4 != 0 && page < 9), [1..4, 5..8]);
    }
}
