//! `trace`: does again what a kernel counted while something else ran.
//!
//! Key types: [`Recording`] (what was counted), [`Quota`] (what that asks of an interval), [`Holdings`] (memory that comes and goes).
//! A recording tells how much, and never who: which page was freed, how long a page lived and how it was used are not in it.

mod holdings;
pub(crate) mod like_host;
mod quota;
mod recording;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use order9_units::Nanos;

pub use recording::{Interval, Recording, RecordingError, Requests};

use crate::demand::{Chosen, Demand};
use crate::measure::{Better, Family, Figure, Measure, Unit};
use crate::parameters::{Kind, Parameter, Parameters, Value};
use crate::spec::{SECOND, Spec};
use crate::sys::{ChildKind, Stop, Sys, sleep_until};
use holdings::Holdings;
use quota::Quota;

/// The workload, but for its program [`run`].
pub(crate) const WORKLOAD: Spec = Spec {
    name: "trace",
    summary: "does again what a kernel counted while something else ran",
    description: "\
        Replays a recording of `order9 record`: in each interval threads take and give back as much memory of programs, as base and \
        huge pages, page cache and memory of the kernel as the counters of that time say, and make as many faults. Which page was \
        freed, how long a page lived, how it was used and which CPU asked were not recorded. Without a recording it replays \
        ten seconds that are made up. Measured are the huge pages that memory gave, beside those recorded, and the times of their faults.",
    parameters: PARAMETERS,
    measures: MEASURES,
    settings: |_| &[],
    counters_every: SECOND,
    is_long: false,
    demand,
};

const PARAMETERS: &[Parameter] = &[
    Parameter {
        key: "recording",
        meaning: "recording to replay; `order9 run trace DIR` names its directory",
        kind: Kind::Recording,
        default: |_| Value::Recording(Recording::example()),
        default_text: "ten seconds that are made up",
    },
    REPLAYERS,
    FREED_FIRST,
];

const REPLAYERS: Parameter = Parameter {
    key: "replayers",
    meaning: "number of threads that share the work",
    kind: Kind::Count { min: 1, max: 4096 },
    default: |facts| Value::Count(facts.cpus.clamp(1, 4096).into()),
    default_text: "one for each CPU",
};

const FREED_FIRST: Parameter = Parameter {
    key: "freed_first",
    meaning: "memory that is given back first, of what the replay holds",
    kind: Kind::Word(&["newest", "oldest"]),
    default: |_| Value::Word("newest"),
    default_text: "newest",
};

const MEASURES: &[Measure] = &[
    Measure {
        heading: "Huge Faults",
        operations: &["huge", "recorded-huge"],
        family: Family::Single("Percentage"),
        better: Better::Higher,
        unit: Unit::Percent,
        decimals: 2,
        main: &[("huge", Figure::Mean)],
    },
    Measure {
        heading: "Fault Latencies",
        operations: &["fault-huge", "fault-base"],
        family: Family::Samples,
        better: Better::Lower,
        unit: Unit::Microseconds,
        decimals: 2,
        main: &[("fault-huge", Figure::Median)],
    },
    Measure {
        heading: "Recorded",
        operations: &["recorded-faults", "recorded-allocated", "recorded-freed", "not-held", "refused"],
        family: Family::Single("Total"),
        better: Better::Lower,
        unit: Unit::Pages,
        decimals: 0,
        main: &[],
    },
    Measure {
        heading: "Behind the Recording",
        operations: &["behind"],
        family: Family::Single("Time"),
        better: Better::Lower,
        unit: Unit::Seconds,
        decimals: 3,
        main: &[("behind", Figure::Mean)],
    },
];

/// Parts of an interval: pressure comes as evenly as a second is split.
const PARTS: u64 = 8;

fn demand(of: &Chosen<'_>) -> Demand {
    let recording = of.parameters.recording("recording");
    let steps = recording.intervals().iter().map(|interval| Quota::of(interval).steps());
    Demand { steps: steps.fold(0, u64::saturating_add), time: recording.length(), ..Demand::default() }
}

/// Results of all threads.
#[derive(Default)]
struct Sums {
    asked: AtomicU64,
    huge: AtomicU64,
    refused: AtomicU64,
    not_held: AtomicU64,
}

pub(crate) async fn run<S: Sys>(sys: &S, parameters: &Parameters) -> Result<(), Stop> {
    replay_all(sys, parameters, "recording", None).await
}

/// Replays the recording that is the parameter `key`: once, or over and over for `time`.
async fn replay_all<S: Sys>(sys: &S, parameters: &Parameters, key: &str, time: Option<Nanos>) -> Result<(), Stop> {
    let (recording, replayers) = (parameters.recording(key), parameters.count(REPLAYERS.key));
    let newest_first = parameters.word(FREED_FIRST.key) == "newest";
    let sums = Arc::new(Sums::default());
    sys.snapshot("begin");
    sys.phase("replay");
    let begin = sys.now();
    let length = time.unwrap_or(recording.length());
    let mut children = Vec::new();
    for nth in 0..replayers {
        let (recording, sums) = (recording.clone(), Arc::clone(&sums));
        let body = move |sys: S| async move {
            let mut holdings = Holdings::new(sys.clone(), newest_first);
            let share = (nth, replayers);
            match time {
                None => {
                    let intervals = recording.intervals().iter();
                    Replay { intervals, begin, share }.run(&sys, &mut holdings, || true).await?;
                }
                Some(time) => {
                    let intervals = recording.intervals().iter().cycle();
                    let goes_on = || sys.now() < begin + time;
                    Replay { intervals, begin, share }.run(&sys, &mut holdings, goes_on).await?;
                    sleep_until(&sys, begin + time).await?;
                }
            }
            sums.add(&holdings);
            Ok(())
        };
        children.push(sys.spawn(ChildKind::Thread, "replayer", body).await?);
    }
    for child in children {
        sys.wait(child).await?.result?;
    }
    let behind = (sys.now() - begin).saturating_sub(length);
    sys.snapshot("end");
    // Programs end here, which no recording tells of.
    sys.phase("end");
    report(sys, recording, &sums, length, behind);
    Ok(())
}

/// One thread's share of some intervals.
struct Replay<I> {
    /// The intervals, in order.
    intervals: I,
    /// Time at which the first begins.
    begin: Nanos,
    /// Number of the thread, and of all threads.
    share: (u64, u64),
}

impl<'a, I: Iterator<Item = &'a Interval>> Replay<I> {
    /// Replays them one part after the other, as long as it goes on.
    async fn run<S: Sys>(self, sys: &S, holdings: &mut Holdings<S>, goes_on: impl Fn() -> bool) -> Result<(), Stop> {
        let (nth, threads) = self.share;
        let mut at = self.begin;
        for interval in self.intervals {
            let quota = Quota::of(interval);
            for part in 0..PARTS {
                sleep_until(sys, at + Nanos::new(interval.length.get() / PARTS * part)).await?;
                if !goes_on() {
                    return Ok(());
                }
                holdings.replay(&quota.part(part * threads + nth, PARTS * threads)).await?;
            }
            at += interval.length;
        }
        sleep_until(sys, at).await
    }
}

impl Sums {
    fn add<S: Sys>(&self, holdings: &Holdings<S>) {
        let (got, owed) = (holdings.got(), holdings.owed());
        self.asked.fetch_add(got.asked, Ordering::Relaxed);
        self.huge.fetch_add(got.huge, Ordering::Relaxed);
        self.refused.fetch_add(got.refused, Ordering::Relaxed);
        self.not_held.fetch_add(owed.anon + owed.file + owed.kernel, Ordering::Relaxed);
    }
}

fn report<S: Sys>(sys: &S, recording: &Recording, sums: &Sums, length: Nanos, behind: Nanos) {
    let percent = |part: u64, of: u64| 100.0 * part as f64 / of as f64;
    let read = |sum: &AtomicU64| sum.load(Ordering::Relaxed);
    let asked = read(&sums.asked);
    if asked > 0 {
        sys.percent("huge", percent(read(&sums.huge), asked));
    }
    let huge = recording.total(|interval| interval.huge);
    let might_be = huge + recording.total(|interval| interval.fallbacks);
    if might_be > 0 {
        sys.percent("recorded-huge", percent(huge, might_be));
    }
    let times = length.get() as f64 / recording.length().get() as f64;
    let recorded = |count: fn(&Interval) -> u64| recording.total(count) as f64 * times;
    sys.count("recorded-faults", recorded(|interval| interval.faults));
    sys.count("recorded-allocated", recorded(|interval| interval.allocated));
    sys.count("recorded-freed", recorded(|interval| interval.freed));
    sys.count("not-held", read(&sums.not_held) as f64);
    sys.count("refused", read(&sums.refused) as f64);
    sys.sample("behind", behind);
}
