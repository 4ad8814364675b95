//! A change under watch: its price by the counters of this kernel, and the way back where a limit is broken.

use std::thread::sleep;
use std::time::{Duration, Instant};

use order9_apply::{Judge, Ledger, Limit, Share};
use order9_live::Readings;
use schemars::JsonSchema;
use serde::Serialize;

use crate::failure::Failure;

/// Prices of a change while it was watched.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Watched {
    /// Seconds that it was watched for.
    seconds: f64,
    /// Free huge pages before the change was made, and at the end.
    free_huge_pages: [u64; 2],
    /// Shares of the time since the change, by limit.
    shares: Vec<Share>,
    /// The limit that was broken, with the share of the ten seconds that broke it: the change has been taken back.
    broken: Option<Share>,
}

/// Counters that are read while a change is watched.
pub(super) struct Watch {
    time: Duration,
    readings: Readings,
    /// Places of the limits' counters among all, and of free huge pages.
    places: Vec<usize>,
    huge: usize,
    huge_before: u64,
    judge: Judge,
}

/// Time between two readings.
const EVERY: Duration = Duration::from_millis(500);

impl Watch {
    /// Opens the counters, before the change is made.
    pub(super) fn open(time: Duration, limits: &[Limit]) -> Result<Self, Failure> {
        let unreadable = |error| Failure::Usage(format!("counters of this kernel: {error}"));
        let readings = Readings::open().map_err(unreadable)?;
        let place = |name: &str| {
            let place = readings.names().iter().position(|known| known == name);
            place.ok_or_else(|| Failure::Usage(format!("this kernel does not tell {name}, which --watch needs")))
        };
        let places = limits.iter().map(|limit| place(limit.price.counter())).collect::<Result<_, _>>()?;
        let huge = place("order9_nr_huge_free")?;
        let huge_before = readings.read().map_err(unreadable)?[huge];
        Ok(Self { time, readings, places, huge, huge_before, judge: Judge::new(limits.to_vec()) })
    }

    /// Watches the latest change of `ledger`, and takes it back once a limit is broken, or once it cannot be watched any longer: a
    /// daemon may have ended with the change. Somebody who changes one of its settings meanwhile does not save the others.
    pub(super) fn run(mut self, ledger: &mut Ledger) -> Result<Watched, Failure> {
        let begin = Instant::now();
        let mut at = Duration::ZERO;
        loop {
            let values = match self.readings.read() {
                Ok(values) => values,
                Err(error) => {
                    ledger.undo(Some(1), true)?;
                    let what = format!(
                        "counters of this kernel: {error}: the change was taken back, as nothing tells its price"
                    );
                    return Err(Failure::Short(what));
                }
            };
            let counters = self.places.iter().map(|&place| values[place]).collect();
            let broken = self.judge.hear(at, counters);
            if broken.is_some() {
                ledger.undo(Some(1), true)?;
            }
            if broken.is_some() || at >= self.time {
                let free_huge_pages = [self.huge_before, values[self.huge]];
                return Ok(Watched { seconds: at.as_secs_f64(), free_huge_pages, shares: self.judge.shares(), broken });
            }
            sleep(EVERY.min(self.time.saturating_sub(at)));
            at = begin.elapsed();
        }
    }
}

impl Watched {
    /// The prices in one line.
    pub(super) fn line(&self) -> String {
        let [before, after] = self.free_huge_pages;
        let shares: String = self.shares.iter().map(|share| format!(", {share}")).collect();
        format!("after {:.0} s: free huge pages {before} -> {after}{shares}\n", self.seconds)
    }

    /// Fails where a limit was broken.
    pub(super) fn verdict(&self) -> Result<(), Failure> {
        match &self.broken {
            Some(share) => Err(Failure::Short(format!("{share} over ten seconds: the change was taken back"))),
            None => Ok(()),
        }
    }
}
