//! A stream larger than memory, with bursts of kernel memory beside it: after its begin nothing grows and nothing runs dry,
//! whether watermarks are boosted or not.

use std::collections::BTreeMap;

use order9_machine::{Options, Outcome, Results};
use order9_units::{Bytes, Nanos, Pages, PfnRange, ZoneKind};
use order9_workloads::{Parameters, Value, Workload};

use crate::{NORMAL, disk, machine_of, mib};

const MEMORY: Bytes = mib(64);
const TIME: Nanos = Nanos::new(300_000_000_000);
/// Rows of one part of the run; the first part is its begin.
const PART: usize = 60;
/// How far parts may lie from their mean, in percent.
const BAND: u64 = 20;
/// Pages by which a level may lie from its mean all the same, 2 % of memory: a part of the stream that is found in use again becomes active at
/// once.
const LUMP: u64 = MEMORY.get() / 4096 / 50;

fn stream(boost_factor: u32) -> Results {
    let span = PfnRange::of(NORMAL, Pages::from_bytes_floor(MEMORY));
    let options =
        Options { disks: vec![disk(Pages::ZERO)], sample_every: Nanos::new(1_000_000_000), ..Options::new(1) };
    let mut policy = order9_policy::load("linux-5.3-shrinker").expect("it is built in").policy;
    policy.frames.watermark.boost_factor = Some(boost_factor);
    let machine = machine_of(&[(ZoneKind::Normal, span)], policy, 2, &options);
    let chosen = BTreeMap::from([
        ("size", Value::Bytes(mib(96))),
        ("file_size", Value::Bytes(mib(8))),
        ("rate", Value::Bytes(mib(8))),
        ("kernel", Value::Bytes(mib(4))),
        ("time", Value::Time(TIME)),
    ]);
    let parameters = Parameters::new(Workload::StreamReader, &chosen, &machine.facts()).expect("they are taken");
    machine.run(Workload::StreamReader, &parameters, |_| ())
}

/// A column of the series, without the begin.
fn column(results: &Results, name: &str) -> Vec<u64> {
    let at = results.series.position(name).expect("the engine counts it");
    results.series.rows.iter().skip(PART).map(|row| row[at]).take(4 * PART + 1).collect()
}

/// The median of a level over each part: a moment in which much is free is no drift.
fn levels(results: &Results, name: &str) -> Vec<u64> {
    let median = |part: &[u64]| {
        let mut part = part.to_vec();
        part.sort_unstable();
        part[PART / 2]
    };
    column(results, name).chunks_exact(PART).map(median).collect()
}

/// The growth of a counter in each part.
fn growth(results: &Results, name: &str) -> Vec<u64> {
    column(results, name).windows(PART + 1).step_by(PART).map(|part| part[PART] - part[0]).collect()
}

fn assert_steady(what: &str, parts: &[u64], lump: u64) {
    let mean = parts.iter().sum::<u64>() / parts.len() as u64;
    let steady = |&part: &u64| part.abs_diff(mean) <= lump.max(mean * BAND / 100);
    assert!(parts.len() == 4 && parts.iter().all(steady), "{what}: {parts:?}");
}

#[test]
fn a_stream_keeps_its_balance_with_and_without_boosts() {
    for boost_factor in [15_000, 0] {
        let results = stream(boost_factor);
        assert_eq!(results.outcome, Outcome::Completed);
        for level in ["nr_free_pages", "nr_inactive_file", "nr_active_file"] {
            assert_steady(level, &levels(&results, level), LUMP);
        }
        for counter in ["pgscan_kswapd", "pgsteal_kswapd", "pgpgin", "order9_kswapd_cpu_ns"] {
            assert_steady(counter, &growth(&results, counter), 0);
        }
        let all = |counter| growth(&results, counter).iter().sum::<u64>();
        assert!(all("pgscan_direct") * 100 < all("pgscan_kswapd"), "kswapd keeps up");
        assert_eq!(all("order9_boost_added") > 0, boost_factor > 0, "the kernel's memory fragments");
    }
}
