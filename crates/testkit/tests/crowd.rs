//! Tasks of every kind at once: random steps under every kind of policy, and the inputs that the fuzzer starts from.

use std::fs;
use std::path::Path;

use order9_mm::policy::Policy;
use order9_testkit::crowd::{POLICIES, Tally, World, run_input};
use order9_testkit::nodes::Random;

/// Runs that a test makes; `PROPTEST_CASES` asks for more.
fn cases() -> u64 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(20)
}

fn policy(name: &str) -> Policy {
    order9_policy::load(name).expect("it is a preset").policy
}

/// Whatever happens between two steps of a task, every law holds after each, no content is lost, and nothing is left.
#[test]
fn no_task_relies_on_what_it_found_before_a_wait() {
    let mut sum = Tally::default();
    for seed in 0..cases() {
        let mut world = World::new(Random(seed + 1), policy(POLICIES[seed as usize % POLICIES.len()]));
        for _ in 0..600 {
            world.step();
        }
        let tally = world.tally();
        sum.pages.iter_mut().zip(tally.pages).for_each(|(sum, count)| *sum += count);
        sum.files.iter_mut().zip(tally.files).for_each(|(sum, count)| *sum += count);
        sum.balanced += tally.balanced;
        world.end();
    }
    assert!(
        sum.pages.iter().chain(&sum.files).chain([&sum.balanced]).all(|&count| count > 0),
        "everything happened: {sum:?}"
    );
}

#[test]
fn any_input_is_run_to_its_end() {
    for input in [&[][..], &[1], &[0xff; 100]] {
        run_input(input, policy);
    }
}

#[test]
fn inputs_that_the_fuzzer_starts_from_break_nothing() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/crowd");
    let files: Vec<_> = fs::read_dir(corpus).expect("there is a corpus").collect();
    assert!(files.len() >= 3);
    for file in files {
        run_input(&fs::read(file.expect("the folder is readable").path()).expect("inputs are readable"), policy);
    }
}
