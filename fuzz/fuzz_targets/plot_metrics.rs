//! Any text as a metric of a plot, of a run with a few counters. None may panic, and a refusal is one line.
#![no_main]

use order9_report::plot::{Metric, Readings};
use order9_units::{Bytes, Nanos};

libfuzzer_sys::fuzz_target!(|text: &str| {
    let times = [0, 1, 1, 5].map(Nanos::new);
    let counters = vec![("a", &[0, 1, 2, u64::MAX][..]), ("nr_b", &[0, 0, 7, 3]), ("nr_c", &[1, 0, 0, 1])];
    let readings = Readings { times: &times, counters, memory: Some(Bytes::from_gib(1)) };
    let message = match text.parse::<Metric>() {
        Err(error) => error.to_string(),
        Ok(metric) => match metric.evaluate(&readings) {
            Err(error) => error.to_string(),
            Ok(series) => return assert_eq!(series.values.len(), times.len()),
        },
    };
    assert!(!message.chars().any(char::is_control), "{message:?}");
});
