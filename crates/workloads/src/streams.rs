//! Random streams that belong to a name, not to a moment.
//!
//! A stream depends on the seed of the run, the name of its task (and how many tasks of that name came before) and the
//! name of the stream alone. A task that is added to a run leaves the numbers of all others as they were.

use rand_pcg::Pcg64Mcg;

/// The generator of a random stream; use it through the traits of `rand_core`.
pub type Stream = Pcg64Mcg;

/// Start of the random streams of the `nth` task called `name`.
#[must_use]
pub fn task_key(seed: u64, name: &str, nth: u64) -> u64 {
    mix(mix(seed ^ hash(name)) ^ nth)
}

/// The stream called `name` of the owner of `key`.
#[must_use]
pub fn stream(key: u64, name: &str) -> Stream {
    let high = mix(key ^ hash(name));
    let low = mix(high);
    Pcg64Mcg::new(u128::from(high) << 64 | u128::from(low))
}

/// The stream called `name` of an owner that is no task.
#[must_use]
pub fn named_stream(seed: u64, owner: &str, name: &str) -> Stream {
    stream(task_key(seed, owner, 0), name)
}

/// A number under `end`, which is not zero: the only one called `name` of the owner of `key`.
#[must_use]
pub fn drawn(key: u64, name: &str, end: u64) -> u64 {
    mix(key ^ hash(name)) % end
}

/// A number under `end`, called `name`, of the run with this seed, such that those of any few successive seeds lie evenly between 0 and
/// `end`: multiples of the golden ratio (Weyl's sequence; Knuth, "The Art of Computer Programming" 3, 6.4). A median over a few
/// runs is then that of all phases of a timer, and not of a few that chance drew.
#[must_use]
pub fn spread(seed: u64, name: &str, end: u64) -> u64 {
    let part = mix(hash(name)).wrapping_add(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    ((u128::from(part) * u128::from(end)) >> 64) as u64
}

/// FNV-1a, 64 bits: the same on every platform (draft-eastlake-fnv).
fn hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// One step of SplitMix64: every bit of the result depends on every bit of `x` (Steele, Lea, Flood: "Fast splittable
/// pseudorandom number generators", 2014).
#[must_use]
pub fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_pcg::rand_core::Rng;

    #[test]
    fn successive_seeds_are_spread_evenly() {
        for name in ["kcompactd0", "flusher"] {
            for first in [2, 9] {
                let mut spread: Vec<u64> = (first..first + 8).map(|seed| super::spread(seed, name, 1000)).collect();
                spread.sort_unstable();
                let gaps = spread.windows(2).map(|pair| pair[1] - pair[0]);
                assert!(gaps.clone().all(|gap| (50..=250).contains(&gap)), "{spread:?}");
            }
        }
        assert_ne!(super::spread(2, "kcompactd0", 1000), super::spread(2, "flusher", 1000));
    }

    #[test]
    fn streams_differ_by_seed_task_instance_and_name() {
        let first = |seed, task, nth, name| stream(task_key(seed, task, nth), name).next_u64();
        let base = first(1, "worker", 0, "touch");
        assert_eq!(base, first(1, "worker", 0, "touch"));
        for other in [
            first(2, "worker", 0, "touch"),
            first(1, "kswapd0", 0, "touch"),
            first(1, "worker", 1, "touch"),
            first(1, "worker", 0, "free"),
        ] {
            assert_ne!(base, other);
        }
    }

    #[test]
    fn the_hash_is_fnv_1a() {
        assert_eq!(hash("foobar"), 0x8594_4171_f739_67e8);
    }
}
