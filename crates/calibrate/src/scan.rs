//! Price of a look at a frame by compaction, from its own tracepoint: the time from one pageblock to the next where no frame can move.
//!
//! Counters do not tell it: from 6.3 on they also count frames of free blocks, over which the scanner jumps.

use std::io;
use std::path::Path;

use order9_trace::{Instance, Seen};

use crate::compaction::compact_all;

/// Name of the instance of tracefs.
const INSTANCE: &str = "order9-calibrate";
const TRACEPOINT: &str = "compaction:mm_compaction_isolate_migratepages";
/// Frames of a pageblock.
const BLOCK: u64 = 512;
/// Frames of the largest free block, whose first one stands for all: the rest of its first pageblock is jumped over, and the frames of its
/// second pageblock are looked at one by one.
const LARGEST: u64 = 1024;
/// Pageblocks without which nothing can be said.
const BLOCKS_MIN: usize = 100;

/// Pageblock that the scanner has gone through without taking a page, and the time since the one before, in ns.
#[derive(Clone, Copy, Debug)]
struct Passed {
    scanned: u64,
    time: u64,
}

/// Time of compaction for each frame that it looks at, above what a pageblock costs as such; not a number where events cannot be had or too
/// few pageblocks tell.
pub(crate) fn measure(tracefs: Option<&Path>) -> io::Result<f64> {
    // What can move is moved beforehand.
    compact_all()?;
    let Some(Ok(mut instance)) = tracefs.map(|folder| Instance::new(folder, INSTANCE, &[TRACEPOINT.to_owned()])) else {
        return Ok(f64::NAN);
    };
    compact_all()?;
    let (mut passed, mut before) = (Vec::new(), None);
    instance.look(|seen| {
        let scanned = in_vain(seen);
        let since = before.replace(seen.raw.at).map(|before| seen.raw.at - before);
        passed.extend(since.zip(scanned).map(|(time, scanned)| Passed { scanned, time }));
    });
    Ok(per_frame(&passed))
}

/// Scanned frames of a whole pageblock none of whose pages was taken.
fn in_vain(seen: &Seen<'_>) -> Option<u64> {
    let number = |name| seen.format.number(name, seen.raw.data).and_then(|number| u64::try_from(number).ok());
    let is_whole = number("end_pfn")? - number("start_pfn")? == BLOCK;
    (is_whole && number("nr_taken")? == 0).then(|| number("nr_scanned"))?
}

/// Time for each frame, from pageblocks of which every frame was looked at and pageblocks of which one was.
fn per_frame(passed: &[Passed]) -> f64 {
    let every = middle(passed, |scanned| scanned == BLOCK);
    let one = middle(passed, |scanned| scanned == 1 || scanned == LARGEST);
    (every - one) / (BLOCK - 1) as f64
}

/// Mean time of the middle half of those pageblocks: free blocks of their size, and whoever interrupts, are outside of it.
fn middle(passed: &[Passed], are: impl Fn(u64) -> bool) -> f64 {
    let mut times: Vec<u64> = passed.iter().filter(|passed| are(passed.scanned)).map(|passed| passed.time).collect();
    if times.len() < BLOCKS_MIN {
        return f64::NAN;
    }
    times.sort_unstable();
    let half = &times[times.len() / 4..times.len() * 3 / 4];
    half.iter().sum::<u64>() as f64 / half.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pageblocks that were gone through: scanned frames and time of each kind, and how many there are.
    fn passed(kinds: &[(u64, u64, usize)]) -> Vec<Passed> {
        kinds.iter().flat_map(|&(scanned, time, times)| std::iter::repeat_n(Passed { scanned, time }, times)).collect()
    }

    #[test]
    fn a_frame_costs_what_a_pageblock_costs_above_one_that_is_jumped_over() {
        let of =
            |largest| per_frame(&passed(&[(512, 8_176, 300), (largest, 511, 300), (512, 700, 40), (512, 90_000, 20)]));
        assert_eq!([of(1024), of(1)], [15.0; 2]);
    }

    #[test]
    fn few_pageblocks_say_nothing() {
        assert!(per_frame(&passed(&[(512, 8_176, 300), (1024, 511, 99)])).is_nan());
        assert!(per_frame(&[]).is_nan());
    }
}
