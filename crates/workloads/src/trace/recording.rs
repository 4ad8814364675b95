//! A recording: what a kernel counted, interval by interval, as far as a program can do it again.
//!
//! Key types: [`Recording`] (some intervals, at least one), [`Interval`] (what was counted in one). Both print as text that is read back,
//! `recording 1; ns=1000000000 faults=812 allocated=900`, so that the inputs of a run hold all of it. Never reads a file.

use std::fmt;
use std::sync::Arc;

use order9_units::{Migratetype, Nanos, Order};

use crate::parameters::Kind;

/// Begin of the text of a recording.
const HEAD: &str = "recording 1";
/// Largest count of an interval: 16 TiB of pages.
const COUNT_MAX: u64 = 1 << 32;
/// Most intervals: a week of seconds.
const INTERVALS_MAX: usize = 7 * 24 * 3600;

/// Counts of a kernel over time. A clone shares them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording(Arc<[Interval]>);

/// Growth of counters and levels in an interval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interval {
    /// Length of the interval; not zero.
    pub length: Nanos,
    /// Faults of programs: `pgfault`.
    pub faults: u64,
    /// Faults that got a huge page: `thp_fault_alloc`.
    pub huge: u64,
    /// Faults that might have had a huge page and got none: `thp_fault_fallback`.
    pub fallbacks: u64,
    /// Pages that were allocated: `pgalloc_*` of all zones, without those of khugepaged.
    pub allocated: u64,
    /// Pages that were freed: `pgfree`.
    pub freed: u64,
    /// Growth of programs' memory in pages: `nr_anon_pages` and `nr_shmem`.
    pub anon: i64,
    /// Growth of the number of huge pages in that memory: `nr_anon_transparent_hugepages`.
    pub anon_huge: i64,
    /// Growth of the page cache in pages: `nr_file_pages` without `nr_shmem`.
    pub file: i64,
    /// Pages of files that reclaim freed: `pgsteal_file`.
    pub evicted: u64,
    /// Pages of files that became dirty: `nr_dirtied`.
    pub dirtied: u64,
    /// Requests of the page allocator; all zero where events were not counted.
    pub requests: Requests,
}

/// Requests of the page allocator, by migratetype and order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    /// Unmovable ones.
    pub unmovable: [u64; Order::COUNT],
    /// Movable ones.
    pub movable: [u64; Order::COUNT],
    /// Reclaimable ones.
    pub reclaimable: [u64; Order::COUNT],
}

/// Reason for which a text is no recording.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RecordingError(String);

fn refused<T>(why: impl Into<String>) -> Result<T, RecordingError> {
    Err(RecordingError(why.into()))
}

impl Requests {
    /// Names of counters with such requests, in the order of [`counts`](Self::counts): `order9_alloc_movable_order_9`.
    pub fn names() -> impl Iterator<Item = String> {
        let of_type =
            |word: &'static str| (0..Order::COUNT).map(move |order| format!("order9_alloc_{word}_order_{order}"));
        ["unmovable", "movable", "reclaimable"].into_iter().flat_map(of_type)
    }

    /// Counts in the order of [`names`](Self::names).
    pub fn counts(&self) -> impl Iterator<Item = u64> {
        [self.unmovable, self.movable, self.reclaimable].into_iter().flatten()
    }

    /// Requests with the counts that `count` tells, by the names of counters.
    #[must_use]
    pub fn of_counters(count: impl Fn(&str) -> u64) -> Self {
        let mut requests = Self::default();
        let Self { unmovable, movable, reclaimable } = &mut requests;
        let places = unmovable.iter_mut().chain(movable).chain(reclaimable);
        places.zip(Self::names()).for_each(|(place, name)| *place = count(&name));
        requests
    }

    /// Counts a request; those of other types, of which user space makes none, are left out.
    pub fn add(&mut self, migratetype: Migratetype, order: Order) {
        let of_type = match migratetype {
            Migratetype::Unmovable => &mut self.unmovable,
            Migratetype::Movable => &mut self.movable,
            Migratetype::Reclaimable => &mut self.reclaimable,
            _ => return,
        };
        of_type[order.index()] += 1;
    }

    /// Pages of requests of one type.
    pub(crate) fn pages(of_type: &[u64; Order::COUNT]) -> u64 {
        of_type.iter().enumerate().map(|(order, count)| count << order).sum()
    }

    /// The three types, each with the letter that begins its keys.
    fn types(&self) -> [(&'static str, &[u64; Order::COUNT]); 3] {
        [("u", &self.unmovable), ("m", &self.movable), ("r", &self.reclaimable)]
    }

    fn of_key(&mut self, key: &str) -> Option<&mut u64> {
        let (letter, order) = key.split_at_checked(1)?;
        let of_type = match letter {
            "u" => &mut self.unmovable,
            "m" => &mut self.movable,
            "r" => &mut self.reclaimable,
            _ => return None,
        };
        // One spelling of each number, so that equal recordings are equal texts.
        let order: usize = order.parse().ok().filter(|number: &usize| number.to_string() == order)?;
        of_type.get_mut(order)
    }
}

impl Interval {
    fn counts(&self) -> [(&'static str, u64); 8] {
        let Self { length, faults, huge, fallbacks, allocated, freed, evicted, dirtied, .. } = self;
        [
            ("ns", length.get()),
            ("faults", *faults),
            ("huge", *huge),
            ("fallbacks", *fallbacks),
            ("allocated", *allocated),
            ("freed", *freed),
            ("evicted", *evicted),
            ("dirtied", *dirtied),
        ]
    }

    fn levels(&self) -> [(&'static str, i64); 3] {
        [("anon", self.anon), ("anon_huge", self.anon_huge), ("file", self.file)]
    }

    /// Takes `key=value`.
    fn take(&mut self, pair: &str) -> Result<(), RecordingError> {
        let Some((key, text)) = pair.split_once('=') else {
            return refused(format!("expected KEY=NUMBER, found {pair:?}"));
        };
        if key == "ns" {
            let length = text.parse().ok().filter(|length| *length > 0 && *length <= Kind::TIME_MAX.get());
            self.length = Nanos::new(length.ok_or_else(|| RecordingError(format!("ns: no length of time: {text:?}")))?);
            return Ok(());
        }
        let level = match key {
            "anon" => Some(&mut self.anon),
            "anon_huge" => Some(&mut self.anon_huge),
            "file" => Some(&mut self.file),
            _ => None,
        };
        let wrong = || RecordingError(format!("{key}: expected a whole number of up to 2^32, found {text:?}"));
        if let Some(level) = level {
            *level = text.parse().ok().filter(|value: &i64| value.unsigned_abs() <= COUNT_MAX).ok_or_else(wrong)?;
            return Ok(());
        }
        let count = match key {
            "faults" => &mut self.faults,
            "huge" => &mut self.huge,
            "fallbacks" => &mut self.fallbacks,
            "allocated" => &mut self.allocated,
            "freed" => &mut self.freed,
            "evicted" => &mut self.evicted,
            "dirtied" => &mut self.dirtied,
            _ => self.requests.of_key(key).ok_or_else(|| RecordingError(format!("no count is called {key:?}")))?,
        };
        *count = text.parse().ok().filter(|count| *count <= COUNT_MAX).ok_or_else(wrong)?;
        Ok(())
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ns={}", self.length.get())?;
        for (key, count) in self.counts().into_iter().skip(1).filter(|(_, count)| *count != 0) {
            write!(f, " {key}={count}")?;
        }
        for (key, level) in self.levels().into_iter().filter(|(_, level)| *level != 0) {
            write!(f, " {key}={level}")?;
        }
        for (letter, of_type) in self.requests.types() {
            for (order, count) in of_type.iter().enumerate().filter(|(_, count)| **count != 0) {
                write!(f, " {letter}{order}={count}")?;
            }
        }
        Ok(())
    }
}

impl Recording {
    /// The accepted values, in words.
    pub const EXPECTED: &str = "the directory of a recording, as `order9 record` writes it";

    /// A sentence about what no recording tells, for the notes of a replay.
    pub const LIMITS: &str = "the recording tells how much was allocated, freed and faulted, and not by whom: which page was freed, how \
        long a page lived, how it was accessed, which CPU asked and what reclaim would have found are the replay's own";

    /// A recording of these intervals.
    ///
    /// # Errors
    /// None, too many or too long ones, or counts that no kernel comes to.
    pub fn new(intervals: Vec<Interval>) -> Result<Self, RecordingError> {
        if intervals.is_empty() || intervals.len() > INTERVALS_MAX {
            return refused(format!("{} intervals, expected 1 to {INTERVALS_MAX}", intervals.len()));
        }
        let length = intervals.iter().try_fold(0_u64, |sum, interval| sum.checked_add(interval.length.get()));
        if length.is_none_or(|length| length > Kind::TIME_MAX.get()) {
            return refused("the intervals are longer than 3650 days together");
        }
        for (at, interval) in intervals.iter().enumerate() {
            let requests =
                interval.requests.types().into_iter().flat_map(|(letter, counts)| counts.map(|n| (letter, n)));
            let counts = interval.counts().into_iter().skip(1).chain(requests);
            let levels = interval.levels().map(|(key, level)| (key, level.unsigned_abs()));
            if let Some((key, count)) = counts.chain(levels).find(|(_, count)| *count > COUNT_MAX) {
                return refused(format!("interval {at}: {key} is {count}, expected up to 2^32"));
            }
            if interval.length == Nanos::ZERO {
                return refused(format!("interval {at}: it has no length"));
            }
        }
        Ok(Self(intervals.into()))
    }

    /// The recording that a text is.
    ///
    /// # Errors
    /// The first thing wrong with it.
    pub fn parse(text: &str) -> Result<Self, RecordingError> {
        let mut parts = text.split("; ");
        if parts.next() != Some(HEAD) {
            return refused(format!("expected {HEAD:?} at the begin"));
        }
        let intervals = parts.map(|part| {
            let mut interval = Interval::default();
            part.split(' ').try_for_each(|pair| interval.take(pair)).map(|()| interval)
        });
        Self::new(intervals.collect::<Result<_, _>>()?)
    }

    /// Whether a text begins as one of a recording does.
    #[must_use]
    pub fn begins(text: &str) -> bool {
        text.starts_with(HEAD)
    }

    /// The intervals, in order.
    #[must_use]
    pub fn intervals(&self) -> &[Interval] {
        &self.0
    }

    /// Length of all intervals together.
    #[must_use]
    pub fn length(&self) -> Nanos {
        Nanos::new(self.0.iter().map(|interval| interval.length.get()).sum())
    }

    /// Sum of a count over all intervals.
    #[must_use]
    pub fn total(&self, count: impl Fn(&Interval) -> u64) -> u64 {
        self.0.iter().map(count).sum()
    }

    /// Ten seconds that are made up: a program grows, works, and shrinks, beside a growing cache.
    #[must_use]
    pub fn example() -> Self {
        let second = |at: u64| {
            let grows = at < 5;
            let requests = Requests {
                unmovable: [40, 6, 3, 2, 0, 0, 0, 0, 0, 0, 0],
                movable: [300, 0, 0, 0, 0, 0, 0, 0, 0, u64::from(grows), 0],
                reclaimable: [10, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0],
            };
            let pages = |of_type: &[u64; Order::COUNT]| Requests::pages(of_type);
            let allocated = pages(&requests.unmovable) + pages(&requests.movable) + pages(&requests.reclaimable);
            Interval {
                length: Nanos::new(1_000_000_000),
                faults: 270,
                huge: u64::from(grows),
                fallbacks: 0,
                allocated,
                freed: if grows { allocated - 600 } else { allocated + 480 },
                anon: if grows { 562 } else { -520 },
                anon_huge: if grows { 1 } else { -1 },
                file: 32,
                evicted: 0,
                dirtied: 16,
                requests,
            }
        };
        Self::new((0..10).map(second).collect()).expect("the example is a recording")
    }
}

impl fmt::Display for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HEAD)?;
        self.0.iter().try_for_each(|interval| write!(f, "; {interval}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_is_read_back_as_it_prints() {
        let mut intervals = Recording::example().intervals().to_vec();
        intervals.push(Interval { length: Nanos::new(7), ..Interval::default() });
        let recording = Recording::new(intervals).expect("a recording");
        assert_eq!(Recording::parse(&recording.to_string()), Ok(recording.clone()));
        assert!(recording.to_string().ends_with("; ns=7") && Recording::begins(&recording.to_string()));
        assert_eq!(recording.length(), Nanos::new(10_000_000_007));
    }

    #[test]
    fn requests_have_names_as_counters() {
        let mut requests = Requests::default();
        requests.add(Migratetype::Movable, Order::PAGEBLOCK);
        requests.add(Migratetype::HighAtomic, Order::ZERO);
        let counted: Vec<_> = Requests::names().zip(requests.counts()).filter(|(_, count)| *count > 0).collect();
        assert_eq!(counted, [("order9_alloc_movable_order_9".to_owned(), 1)]);
        assert_eq!(Requests::of_counters(|name| u64::from(name == counted[0].0)), requests);
    }

    #[test]
    fn what_is_no_recording_is_refused() {
        for (text, says) in [
            ("", "at the begin"),
            ("recording 2; ns=1", "at the begin"),
            ("recording 1", "0 intervals"),
            ("recording 1; faults=3", "it has no length"),
            ("recording 1; ns=0", "no length of time"),
            ("recording 1; ns=1 faults", "expected KEY=NUMBER"),
            ("recording 1; ns=1 faults=-1", "faults: expected a whole number"),
            ("recording 1; ns=1 anon=99999999999", "anon: expected a whole number"),
            ("recording 1; ns=1 m11=1", "no count is called"),
            ("recording 1; ns=1 m01=1", "no count is called"),
            ("recording 1; ns=315360000000000000; ns=1", "longer than 3650 days"),
        ] {
            let error = Recording::parse(text).expect_err("it is refused").to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
