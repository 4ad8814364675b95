//! Thread counts of a benchmark that sweeps them.

/// The thread counts of a sweep from `min` to `max`, as mmtests takes them: every second or third up to 8, then every
/// sixth, ninth or 31st, and `max` itself.
#[must_use]
pub fn thread_ladder(min: u64, max: u64) -> Vec<u64> {
    let small = if max <= 32 { 2 } else { 3 };
    let below = |from: u64, to: u64, by: u64| (from..=to).step_by(by as usize);
    let steps: Vec<u64> = match max {
        0..=8 => below(min, max, small).collect(),
        9..=32 => below(min, 8, small).chain(below(12, max, 6)).collect(),
        _ => below(min, 8, small).chain(below(12, max.min(30), 9)).chain(below(48, max, 31)).collect(),
    };
    let mut ladder: Vec<u64> = steps.into_iter().filter(|&threads| threads >= min).collect();
    if ladder.last() != Some(&max) {
        ladder.push(max);
    }
    ladder
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ladders_are_those_of_published_tables() {
        for (min, max, ladder) in [
            (1, 1, &[1][..]),
            (1, 2, &[1, 2]),
            (1, 4, &[1, 3, 4]),
            (1, 8, &[1, 3, 5, 7, 8]),
            (1, 16, &[1, 3, 5, 7, 12, 16]),
            (1, 32, &[1, 3, 5, 7, 12, 18, 24, 30, 32]),
            (1, 48, &[1, 4, 7, 12, 21, 30, 48]),
            (1, 80, &[1, 4, 7, 12, 21, 30, 48, 79, 80]),
            (5, 5, &[5]),
        ] {
            assert_eq!(thread_ladder(min, max), ladder, "{min}..{max}");
        }
    }
}
