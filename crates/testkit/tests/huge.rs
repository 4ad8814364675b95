//! Huge pages, whatever happens to them: random steps, and the inputs that the fuzzer starts from.

use std::fs;
use std::path::Path;

use order9_testkit::huge::{Random, Tally, World, run_input};

/// Everything in random order: whatever happens, every law holds after every step, and every page reads as what was last
/// written to it.
#[test]
fn nothing_is_lost_whatever_happens() {
    let mut sum = Tally::default();
    for seed in 1..=12 {
        let mut world = World::new(Random(seed));
        for _ in 0..600 {
            world.step();
        }
        let tally = world.tally();
        sum.collapsed += tally.collapsed;
        sum.by_khugepaged += tally.by_khugepaged;
        sum.lazily_freed += tally.lazily_freed;
        sum.pool += tally.pool;
        sum.full += tally.full;
        sum.balanced.iter_mut().zip(tally.balanced).for_each(|(sum, count)| *sum += count);
        sum.files.iter_mut().zip(tally.files).for_each(|(sum, count)| *sum += count);
        for (sums, counts) in [(&mut sum.thp[..], &tally.thp[..]), (&mut sum.moved, &tally.moved)] {
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        sum.swapped_whole.iter_mut().zip(tally.swapped_whole).for_each(|(sum, count)| *sum += count);
        sum.swapped.iter_mut().zip(tally.swapped).for_each(|(sum, count)| *sum += count);
        world.end();
    }
    let counts = [&sum.thp[..], &sum.moved, &sum.swapped, &sum.swapped_whole[..1]].concat();
    assert!(counts.iter().all(|&count| count > 0), "everything happened: {sum:?}");
    assert!(sum.collapsed > 1 && sum.by_khugepaged > 5 && sum.pool > 5, "{sum:?}");
    assert!(sum.files.iter().all(|&count| count > 5), "{sum:?}");
    assert!(sum.balanced.iter().all(|&count| count > 5), "{sum:?}");
    assert!(sum.lazily_freed > 100 && sum.full > 0, "{sum:?}");
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
