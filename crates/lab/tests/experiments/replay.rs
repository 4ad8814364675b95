//! Replays of recordings: what the lab counts is what was recorded.

use order9_lab::Plan;
use order9_record::{Outcome, Run};
use order9_units::Nanos;
use order9_workloads::{Interval, Recording, Requests, Value, Workload};

use crate::{on, plan};

/// Growth of counters whose names begin so, while the recording is replayed.
fn growth(run: &Run, name: &str) -> u64 {
    let phase = run.phases.iter().find(|phase| phase.name == "replay").expect("the phase is named");
    let columns = run.counters.columns.iter().enumerate().filter(|(_, column)| column.name.starts_with(name));
    columns.map(|(at, _)| phase.at_end[at] - phase.at_begin[at]).sum()
}

fn replayed(recording: &Recording, replayers: u64) -> Vec<Run> {
    let mut plan = Plan {
        seeds: vec![1],
        settings: vec![("thp/enabled".to_owned(), "madvise".to_owned())],
        ..plan(Workload::Trace)
    };
    plan.policies.push(order9_policy::load("linux-6.18").expect("it is built in"));
    plan.chosen.insert("recording", Value::Recording(recording.clone()));
    plan.chosen.insert("replayers", Value::Count(replayers));
    let runs = on(2, &plan).expect("it runs").runs;
    assert!(runs.iter().all(|run| run.outcome == Outcome::Completed));
    runs
}

/// Whether two counts are within some percent, and a few page tables.
fn is_close(found: u64, recorded: u64, percent: u64) -> bool {
    found.abs_diff(recorded) <= recorded * percent / 100 + 64
}

#[track_caller]
fn assert_totals(recording: &Recording, runs: &[Run]) {
    let total = |of: fn(&Interval) -> u64| recording.total(of);
    for run in runs {
        for (name, recorded, percent) in [
            ("pgfault", total(|interval| interval.faults), 0),
            ("thp_fault_alloc", total(|interval| interval.huge), 0),
            ("pgalloc_", total(|interval| interval.allocated), 2),
            ("pgfree", total(|interval| interval.freed), 3),
        ] {
            let found = growth(run, name);
            assert!(is_close(found, recorded, percent), "{} {name}: {found}, recorded {recorded}", run.policy);
        }
        assert!(run.notes.iter().any(|note| note == Recording::LIMITS), "{:?}", run.notes);
    }
}

/// A service that starts, works and stops, with events counted or not.
fn service(counts_requests: bool) -> Recording {
    let second = |at: u64| {
        let (grows, shrinks) = (u64::from(at < 4), u64::from(at >= 8));
        let movable = [9_000, 0, 0, 20, 0, 0, 0, 0, 0, 10 * grows, 0];
        let unmovable = [800, 90, 40, 25, 0, 0, 0, 0, 0, 0, 0];
        let reclaimable = [100, 30, 10, 5, 0, 0, 0, 0, 0, 0, 0];
        let pages = |of_type: [u64; 11]| of_type.iter().enumerate().map(|(order, count)| count << order).sum::<u64>();
        let allocated = pages(movable) + pages(unmovable) + pages(reclaimable);
        let anon = 7_000 * grows as i64 - 12_000 * shrinks as i64;
        let file = 1_500;
        let kernel = if counts_requests { 64 } else { 0 };
        Interval {
            length: Nanos::new(1_000_000_000),
            faults: 8_500,
            huge: 10 * grows,
            fallbacks: 0,
            allocated,
            freed: allocated.saturating_add_signed(-anon - file - kernel),
            anon,
            anon_huge: 10 * grows as i64 - 15 * shrinks as i64,
            file,
            evicted: 0,
            dirtied: 200,
            requests: if counts_requests { Requests { unmovable, movable, reclaimable } } else { Requests::default() },
        }
    };
    Recording::new((0..10).map(second).collect()).expect("a recording")
}

#[test]
fn totals_of_a_replay_are_those_recorded() {
    for recording in [service(true), service(false), Recording::example()] {
        assert_totals(&recording, &replayed(&recording, 1));
        assert_totals(&recording, &replayed(&recording, 3));
    }
}

#[test]
fn levels_follow_those_recorded() {
    let recording = service(true);
    let anon: i64 = recording.intervals().iter().take(5).map(|interval| interval.anon).sum();
    for run in replayed(&recording, 2) {
        let column = |name: &str| &run.counters.columns[run.counters.position(name).expect("it is counted")].values;
        let at =
            run.counters.times.iter().position(|at| *at >= Nanos::new(5_900_000_000)).expect("it lasts ten seconds");
        let found = column("nr_anon_pages")[at];
        assert!(is_close(found, anon.unsigned_abs(), 2), "{}: {found}, recorded {anon}", run.policy);
    }
}

#[test]
fn what_was_there_before_the_recording_stays_and_is_said() {
    let shrinks = Interval { length: Nanos::new(1_000_000_000), freed: 1000, anon: -1000, ..Interval::default() };
    let recording = Recording::new(vec![shrinks]).expect("a recording");
    for run in replayed(&recording, 2) {
        assert_eq!(run.values("not-held").collect::<Vec<_>>(), [1000.0]);
        assert!(growth(&run, "pgfree") < 64);
    }
}
