//! Medians and quartiles over the rounds as figures of a machine file.

use crate::disk::{PAGE, Round, THREADS};

/// Median and quartiles.
struct Spread {
    low: f64,
    median: f64,
    high: f64,
}

impl Spread {
    fn of(rounds: &[Round], value: impl Fn(&Round) -> f64) -> Self {
        let mut values: Vec<f64> = rounds.iter().map(value).collect();
        values.sort_by(f64::total_cmp);
        let at = |quarter: usize| values[(values.len() - 1) * quarter / 4];
        Self { low: at(1), median: at(2), high: at(3) }
    }

    fn said(&self, rounds: &[Round], unit: &str) -> String {
        let (low, high) = (self.low.round(), self.high.round());
        format!("Median of {} rounds, quartiles {low} to {high} {unit}.", rounds.len())
    }
}

/// Prints what `rounds`, at least one, say.
pub(crate) fn print(rounds: &[Round]) {
    println!("# Measured by `make bench-host` (disk_prices) on a file of 256 MiB, past the page cache.");
    latency(rounds, "read", |round| round.read_page, |round| round.read_stream);
    latency(rounds, "write", |round| round.write_page, |round| round.write_stream);
    bandwidth(rounds, "read", |round| round.read_stream);
    bandwidth(rounds, "write", |round| round.write_stream);
    let at_once = Spread::of(rounds, |round| most(round) * round.read_page);
    let method = "Most random pages read per second by 4 to 32 threads, times the time of one alone (Little's law).";
    let said = at_once.said(rounds, "requests");
    figure("queue_depth", "count", at_once.median.max(1.0), &format!("{method} {said}"));
    for (nth, threads) in THREADS.into_iter().enumerate() {
        let rate = Spread::of(rounds, |round| round.reads_at_once[nth]);
        eprintln!("{threads:>3} threads: {}", rate.said(rounds, "random pages read per second"));
    }
}

fn most(round: &Round) -> f64 {
    round.reads_at_once.into_iter().fold(0.0, f64::max)
}

fn latency(rounds: &[Round], op: &str, page: impl Fn(&Round) -> f64, stream: impl Fn(&Round) -> f64) {
    let latency = Spread::of(rounds, |round| (page(round) - PAGE as f64 / stream(round)).max(0.0) * 1e9);
    let method = format!("A random page, one {op} after the other, less 4096 bytes at the bandwidth.");
    let said = latency.said(rounds, "ns");
    figure(&format!("{op}_latency"), "ns", latency.median, &format!("{method} {said}"));
}

fn bandwidth(rounds: &[Round], op: &str, stream: impl Fn(&Round) -> f64) {
    let bandwidth = Spread::of(rounds, |round| stream(round) / 1e6);
    let method = format!("The file in order, one {op} of 1 MiB after the other.");
    let said = bandwidth.said(rounds, "MB/s");
    figure(&format!("{op}_bandwidth"), "mb_per_s", bandwidth.median, &format!("{method} {said}"));
}

fn figure(key: &str, part: &str, value: f64, source: &str) {
    println!("\n[disks.NAME.{key}]\n{part} = {}\nsource = \"{source}\"", value.round());
}
