//! Any text as a metric of a plot, of a run with a few counters. None may panic, and a refusal is one line.
#![no_main]

use order9_report::plot::{Metric, Reading, Readings};
use order9_units::{Bytes, CounterMeaning, CounterUnit, Nanos};

libfuzzer_sys::fuzz_target!(|text: &str| {
    let times = [0, 1, 1, 5].map(Nanos::new);
    let counters = vec![
        Reading { name: "a", meaning: None, values: &[0, 1, 2, u64::MAX] },
        Reading { name: "nr_b", meaning: Some(CounterMeaning::level(CounterUnit::Pages)), values: &[0, 0, 7, 3] },
        Reading { name: "nr_c", meaning: Some(CounterMeaning::event(CounterUnit::Nanoseconds)), values: &[1, 0, 0, 1] },
    ];
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
