//! `idle`: nothing but time, to see what a machine does by itself.

use order9_units::Nanos;

use crate::parameters::{Kind, Parameter, Parameters, Value};
use crate::sys::{Stop, Sys};
use crate::workload::Measure;

pub(crate) const DESCRIPTION: &str = "\
    Sleeps, to see what a machine does by itself. Measured is nothing but counters.";

pub(crate) const PARAMETERS: &[Parameter] = &[Parameter {
    key: "time",
    meaning: "how long to sleep",
    kind: Kind::Time,
    default: |_| Value::Time(Nanos::new(60_000_000_000)),
    default_text: "60s",
}];

/// It measures nothing: its result are the counters.
pub(crate) const MEASURES: &[Measure] = &[];

pub(crate) async fn run<S: Sys>(sys: &S, parameters: &Parameters) -> Result<(), Stop> {
    sys.phase("measure");
    sys.sleep(parameters.time("time")).await
}
