//! The clock and the record of a run: [`Measuring`], all that a helper needs which only measures.

use order9_units::Nanos;

/// Reads the time and records results.
pub trait Measuring {
    /// Time since an arbitrary beginning.
    fn now(&self) -> Nanos;

    /// Records a latency or duration of `operation`.
    fn sample(&self, operation: &str, time: Nanos);

    /// Records the mean time of `of` operations that took `total` together.
    fn mean(&self, operation: &str, total: Nanos, of: u64);

    /// Records a rate of `operation`: how many per second.
    fn rate(&self, operation: &str, per_second: f64);

    /// Records a share of `operation`, in percent.
    fn percent(&self, operation: &str, percent: f64);

    /// Records how many there are of `what`.
    fn count(&self, what: &str, count: f64);

    /// Says that what follows belongs to this phase of the benchmark: counters are kept for each.
    fn phase(&self, name: &str);

    /// Keeps the state of memory at this moment, as a snapshot of this name; without effect where nobody keeps any.
    fn snapshot(&self, name: &str);
}
