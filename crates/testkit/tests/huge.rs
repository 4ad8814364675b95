//! Huge pages, whatever happens to them: random steps, and the inputs that the fuzzer starts from.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use order9_testkit::huge::{Tally, World, run_input};
use order9_testkit::nodes::Random;

/// Runs that a test makes; `PROPTEST_CASES` asks for more.
fn cases() -> u64 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(16)
}

/// Everything in random order: whatever happens, every law holds after every step, and every page reads as what was last
/// written to it.
#[test]
fn nothing_is_lost_whatever_happens() {
    let mut sum = Tally::default();
    let mut sizes = BTreeSet::new();
    for seed in 1..=cases() {
        let mut world = World::new(Random(seed));
        for _ in 0..600 {
            world.step();
        }
        sizes.insert(world.nodes());
        let tally = world.tally();
        sum.collapsed += tally.collapsed;
        sum.by_khugepaged += tally.by_khugepaged;
        sum.lazily_freed += tally.lazily_freed;
        sum.pool += tally.pool;
        sum.full += tally.full;
        sum.placed.iter_mut().zip(tally.placed).for_each(|(sum, count)| *sum += count);
        sum.balanced.iter_mut().zip(tally.balanced).for_each(|(sum, count)| *sum += count);
        sum.files.iter_mut().zip(tally.files).for_each(|(sum, count)| *sum += count);
        let small = (&mut sum.small[..], &tally.small[..]);
        for (sums, counts) in [(&mut sum.thp[..], &tally.thp[..]), (&mut sum.moved, &tally.moved), small] {
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        sum.swapped_whole.iter_mut().zip(tally.swapped_whole).for_each(|(sum, count)| *sum += count);
        sum.swapped.iter_mut().zip(tally.swapped).for_each(|(sum, count)| *sum += count);
        world.end();
    }
    let counts = [&sum.thp[..], &sum.small, &sum.moved, &sum.swapped, &sum.swapped_whole[..1]].concat();
    assert!(counts.iter().all(|&count| count > 0), "everything happened: {sum:?}");
    assert!(sum.collapsed > 1 && sum.by_khugepaged > 2 && sum.pool > 5, "{sum:?}");
    assert!(sum.files.iter().all(|&count| count > 5), "{sum:?}");
    assert!(sum.balanced.iter().all(|&count| count > 0), "{sum:?}");
    assert!(sum.lazily_freed > 50 && sum.full > 0, "{sum:?}");
    assert!(sum.placed.iter().all(|&count| count > 5), "{sum:?}");
    assert!(sizes.len() >= 5, "machines of {sizes:?} nodes");
}

/// A copy of a world goes on as the world itself does: whose turn it is among nodes is part of what is copied.
#[test]
fn a_copy_goes_on_as_the_original_does() {
    for seed in 1..=2 {
        let mut world = World::new(Random(seed));
        (0..200).for_each(|_| world.step());
        let mut copy = world.clone();
        for step in 0..100 {
            world.step();
            copy.step();
            assert_eq!(world.state(), copy.state(), "seed {seed}, {step} steps after the copy");
        }
        world.end();
        copy.end();
    }
}

#[test]
fn inputs_that_the_fuzzer_starts_from_break_nothing() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/thp_spaces");
    let files: Vec<_> = fs::read_dir(corpus).expect("there is a corpus").collect();
    assert!(files.len() >= 3);
    for file in files {
        run_input(&fs::read(file.expect("the folder is readable").path()).expect("inputs are readable"));
    }
}

#[test]
fn any_input_is_run_to_its_end() {
    run_input(&[]);
    run_input(&[1]);
    run_input(&[0xff; 100]);
}
