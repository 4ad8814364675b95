//! The clock and the record of a run.

use order9_units::Nanos;
use order9_workloads::Measuring;
use rustix::process::{Signal, getpid, kill_process};

use super::Thread;
use crate::message::{Message, Unit};
use crate::program::without;

impl Measuring for Thread {
    fn now(&self) -> Nanos {
        self.process.run.clock.now()
    }

    fn sample(&self, operation: &str, time: Nanos) {
        let time = without(time, self.process.run.clock_price);
        self.process.record(operation, Unit::Nanos, time.get() as f64);
    }

    fn mean(&self, operation: &str, total: Nanos, of: u64) {
        self.process.record(operation, Unit::Nanos, total.get() as f64 / of.max(1) as f64);
    }

    fn rate(&self, operation: &str, per_second: f64) {
        self.process.record(operation, Unit::PerSecond, per_second);
    }

    fn percent(&self, operation: &str, percent: f64) {
        self.process.record(operation, Unit::Percent, percent);
    }

    fn count(&self, what: &str, count: f64) {
        self.process.record(what, Unit::Count, count);
    }

    fn phase(&self, name: &str) {
        let run = &self.process.run;
        let at = run.clock.now();
        match run.readings.read() {
            Ok(counters) => run.say(&Message::Phase { at, name: name.to_owned(), counters }),
            Err(error) => run.say(&Message::Note(format!("the counters at the begin of {name}: {error}"))),
        }
    }

    fn snapshot(&self, name: &str) {
        let run = &self.process.run;
        if run.job.keeps_snapshots {
            let pid = getpid();
            run.say(&Message::Snapshot { name: name.to_owned(), pid: pid.as_raw_nonzero().get() });
            // The supervisor lets the run go on when it has looked.
            if let Err(error) = kill_process(pid, Signal::STOP) {
                run.say(&Message::Note(format!("no stop for the snapshot {name}: {error}")));
            }
        }
    }
}
