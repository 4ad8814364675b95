//! Phases of timers: a guest that is resumed from one state goes on in one phase of all that its kernel does periodically.

use std::time::Duration;

use order9_workloads::streams::spread;

/// Longest pause: 1 s, the longest period of what moves pages of itself (per-CPU lists by `vm.stat_interval`; kcompactd looks every 500 ms).
const LONGEST: u64 = 1_000_000_000;
/// Seed of the plain case, in which nothing varies, as in the lab.
const PLAIN: u64 = 1;

/// Pause before a run with this seed, so that runs which are resumed from one state differ as boots do; those of successive seeds are
/// evenly spread.
#[must_use]
pub fn pause_of_phase(seed: u64) -> Duration {
    if seed == PLAIN { Duration::ZERO } else { Duration::from_nanos(spread(seed, "phase of a guest", LONGEST)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_but_the_first_wait_each_for_its_own_part_of_a_second() {
        let pauses: Vec<_> = (1..=20).map(pause_of_phase).collect();
        assert_eq!(pauses[0], Duration::ZERO);
        assert!(pauses[1..].iter().all(|pause| pause.as_nanos() < LONGEST.into()));
        let early = pauses[1..].iter().filter(|pause| pause.as_millis() < 500).count();
        assert!((5..15).contains(&early), "{pauses:?}");
        assert_eq!(pause_of_phase(7), pause_of_phase(7));
    }
}
