//! The engine against the naive allocator.

use order9_testkit::generate::{Stream, case, op};
use order9_testkit::profiles::{ALL, FLIPS};
use order9_testkit::run::{as_code, fail, run, step};
use order9_testkit::{Case, Machine, Op, Pair};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_few_operations_agree(case in case(), ops in prop::collection::vec(op(), 1..80)) {
        if let Err((_, difference)) = run(&case, &ops, 1) {
            return Err(TestCaseError::fail(format!("{difference}\n{}", as_code(&case, &ops))));
        }
    }
}

/// Drives both for `steps` operations, comparing answers at every step and everything every `every` steps.
fn drive(case: Case, seed: u64, steps: usize, every: usize) {
    let mut pair = Pair::boot(&case);
    let mut ops: Vec<Op> = Vec::with_capacity(steps);
    for (at, op) in Stream::new(case.machine, seed).take(steps).enumerate() {
        ops.push(op);
        if step(&mut pair, op, (at + 1).is_multiple_of(every)).is_err() {
            fail(&case, &ops);
        }
    }
}

#[test]
fn every_profile_on_every_machine() {
    let machines = [
        Machine::Tiny { blocks: 4, cpus: 0 },
        Machine::Tiny { blocks: 16, cpus: 0 },
        Machine::Tiny { blocks: 12, cpus: 2 },
        Machine::Ragged { cpus: 1 },
        Machine::TwoNodes { cpus: 2 },
    ];
    for (seed, (profile, _)) in ALL.into_iter().enumerate() {
        for machine in machines {
            drive(Case { machine, profile, flip: None }, seed as u64, 400_000, 5_000);
        }
    }
}

#[test]
fn every_switch_flipped_alone() {
    for (seed, (flip, _)) in FLIPS.into_iter().enumerate() {
        let (profile, _) = ALL[seed % ALL.len()];
        drive(Case { machine: Machine::Ragged { cpus: 2 }, profile, flip: Some(flip) }, seed as u64, 40_000, 1_000);
    }
}
