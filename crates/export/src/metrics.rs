//! Metrics in the text format of Prometheus, which node_exporter's textfile collector takes as well. Nothing carries a time stamp:
//! the collector refuses those.

use std::fmt::Write as _;

/// A metric with its samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// Name, with the unit at its end.
    pub name: &'static str,
    /// Meaning of the metric, in a sentence.
    pub help: &'static str,
    /// Behaviour over time.
    pub kind: Kind,
    /// Values.
    pub samples: Vec<Sample>,
}

/// Behaviour of a metric over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The value falls as well as rises.
    Gauge,
    /// The value never falls while the program runs.
    Counter,
}

/// Labels and a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Names and values of labels.
    pub labels: Vec<(&'static str, String)>,
    /// The value.
    pub value: f64,
}

/// Metrics as text. Those without a value are left out.
#[must_use]
pub fn text(metrics: &[Metric]) -> String {
    let mut out = String::new();
    for Metric { name, help, kind, samples } in metrics.iter().filter(|metric| !metric.samples.is_empty()) {
        let kind = match kind {
            Kind::Gauge => "gauge",
            Kind::Counter => "counter",
        };
        let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for Sample { labels, value } in samples {
            let labels: Vec<_> = labels.iter().map(|(key, text)| format!("{key}=\"{}\"", escaped(text))).collect();
            let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
            let _ = writeln!(out, "{name}{labels} {value}");
        }
    }
    out
}

/// A label's value, with backslashes before characters that would end it.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_labels_are_escaped() {
        assert_eq!(escaped("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    }
}
