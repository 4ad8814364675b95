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

const MACHINES: [Machine; 7] = [
    Machine::Tiny { blocks: 4, cpus: 0 },
    Machine::Tiny { blocks: 16, cpus: 0 },
    Machine::Tiny { blocks: 12, cpus: 2 },
    Machine::Tiny { blocks: 64, cpus: 1 },
    Machine::Ragged { blocks: 10, cpus: 0 },
    Machine::Ragged { blocks: 36, cpus: 2 },
    Machine::TwoNodes { cpus: 2 },
];

#[test]
fn every_profile_on_every_machine() {
    for (seed, (profile, _)) in ALL.into_iter().enumerate() {
        for machine in MACHINES {
            drive(Case { machine, profile, flip: None }, seed as u64, 400_000, 5_000);
        }
    }
}

#[test]
fn every_switch_flipped_alone_in_every_profile() {
    for (number, (flip, _)) in FLIPS.into_iter().enumerate() {
        for (at, (profile, _)) in ALL.into_iter().enumerate() {
            let (machine, seed) = (MACHINES[(number + at) % MACHINES.len()], (number * ALL.len() + at) as u64);
            drive(Case { machine, profile, flip: Some(flip) }, seed, 30_000, 2_000);
        }
    }
}
