//! `order9 collapse`: memory of a process into huge pages, and the ranges of a process that are worth it, for the guard too.

use std::fs;
use std::io;
use std::time::{Duration, Instant};

use order9_host::smaps::{self, MappedRange};
use order9_live::Collapser;
use order9_report::number::{duration, grouped, size};
use order9_units::{Bytes, Nanos, PAGEBLOCK_PAGES};

use crate::args::CollapseArgs;
use crate::failure::{Failure, io_sentence};
use crate::output::print;

/// Size of a huge page.
pub(crate) const HUGE: Bytes = PAGEBLOCK_PAGES.bytes();

/// A collapse copies memory: what takes less time has found a huge page.
const LEAST: Duration = Duration::from_micros(10);

/// Collapses memory of the process, and says how much of it is huge then.
pub(crate) fn run(args: &CollapseArgs) -> Result<(), Failure> {
    let pid = args.pid;
    let refuse = |error: &io::Error| {
        let why = match error.kind() {
            io::ErrorKind::NotFound => "no such process".to_owned(),
            io::ErrorKind::PermissionDenied => "needs root (CAP_SYS_NICE and CAP_SYS_PTRACE)".to_owned(),
            _ => io_sentence(error),
        };
        Failure::Usage(format!("process {pid}: {why}"))
    };
    let before = Memory::of(pid).map_err(|error| refuse(&error))?;
    let process = Collapser::open(pid).map_err(|error| refuse(&error))?;
    let begin = Instant::now();
    let mut tally = Tally::default();
    for range in worth_it(before.ranges) {
        let left = args.size.map_or(u64::MAX, |size| (size.get() / HUGE.get()).saturating_sub(tally.tried));
        tally.add(collapse(&process, &range, left, None));
    }
    if let (0, Some(error)) = (tally.done, &tally.refusal)
        && error.kind() == io::ErrorKind::PermissionDenied
    {
        return Err(refuse(error));
    }
    let took = Nanos::new(begin.elapsed().as_nanos() as u64);
    let after = Memory::of(pid).map_err(|error| refuse(&error))?;
    let came = after.huge.saturating_sub(before.huge).get() / HUGE.get();
    let why = match &tally.refusal {
        Some(error) if tally.tried > tally.done => format!(" (the others: {})", io_sentence(error)),
        _ => String::new(),
    };
    print(&format!(
        "{} of {} huge pages came in {}{why}; {} of {} of anonymous memory are in huge pages, {} were before.\n",
        grouped(came),
        grouped(tally.tried),
        duration(took),
        size(after.huge),
        size(after.anonymous),
        size(before.huge)
    ))
}

/// Private memory of a process.
struct Memory {
    anonymous: Bytes,
    huge: Bytes,
    ranges: Vec<MappedRange>,
}

impl Memory {
    fn of(pid: u32) -> io::Result<Self> {
        let ranges = smaps::parse(&fs::read_to_string(format!("/proc/{pid}/smaps"))?);
        let sum = |of: fn(&MappedRange) -> Bytes| ranges.iter().map(of).sum();
        Ok(Self { anonymous: sum(|range| range.anonymous), huge: sum(|range| range.anon_huge), ranges })
    }
}

/// Ranges with a huge page's worth of memory that is in none, the largest such memory first; those that are advised, where there are some.
fn worth_it(mut ranges: Vec<MappedRange>) -> Vec<MappedRange> {
    ranges.retain(|range| range.takes_huge() && range.base() >= HUGE);
    if ranges.iter().any(|range| range.is_advised) {
        ranges.retain(|range| range.is_advised);
    }
    ranges.sort_by_key(|range| std::cmp::Reverse(range.base()));
    ranges
}

/// Results of requests for huge pages.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Requests that found memory to copy.
    pub(crate) tried: u64,
    /// Requests that the kernel met.
    pub(crate) done: u64,
    /// The last refusal.
    refusal: Option<io::Error>,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.tried += other.tried;
        self.done += other.done;
        self.refusal = other.refusal.or(self.refusal.take());
    }
}

/// Collapses up to so many huge pages of a range, and begins none after `until`. One that is huge takes next to no time.
pub(crate) fn collapse(process: &Collapser, range: &MappedRange, most: u64, until: Option<Instant>) -> Tally {
    let mut tally = Tally::default();
    for start in range.slots() {
        if tally.tried >= most || until.is_some_and(|until| Instant::now() >= until) {
            break;
        }
        match process.collapse(start, HUGE) {
            Ok(took) if took < LEAST => {}
            Ok(_) => (tally.tried, tally.done) = (tally.tried + 1, tally.done + 1),
            // One that cannot be collapsed now is passed over.
            Err(error) => (tally.tried, tally.refusal) = (tally.tried + 1, Some(error)),
        }
    }
    tally
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advised_ranges_come_first_and_alone() {
        let range = |start: u64, mib: u64, is_advised| MappedRange {
            start: start << 30,
            end: (start << 30) + (mib << 20),
            anonymous: Bytes::new(mib << 20),
            is_advised,
            ..MappedRange::default()
        };
        let starts =
            |ranges: Vec<MappedRange>| worth_it(ranges).iter().map(|range| range.start >> 30).collect::<Vec<_>>();
        assert_eq!(starts(vec![range(1, 4, false), range(2, 8, false), range(3, 1, true)]), [2, 1]);
        assert_eq!(starts(vec![range(1, 4, false), range(2, 8, false), range(3, 2, true)]), [3]);
        let refused = MappedRange { is_refused: true, ..range(2, 8, false) };
        assert_eq!(starts(vec![range(1, 4, false), refused]), [1], "a range that is advised to have none");
    }
}
