//! `idle`: nothing but time, to see what a machine does by itself.

use order9_units::Nanos;

use crate::demand::Demand;
use crate::measure::Measure;
use crate::parameters::{Kind, Parameter, Parameters, Value};
use crate::spec::{SECOND, Spec};
use crate::sys::{Stop, Sys};

/// The workload, but for its program [`run`].
pub(crate) const WORKLOAD: Spec = Spec {
    name: "idle",
    summary: "sleeps: the machine with its daemons alone",
    description: "\
        Sleeps, to see what a machine does by itself. Measured is nothing but counters.",
    parameters: PARAMETERS,
    measures: MEASURES,
    settings: |_| &[],
    counters_every: SECOND,
    is_long: false,
    demand: |of| Demand { time: of.time("time"), ..Demand::default() },
};

const PARAMETERS: &[Parameter] = &[Parameter {
    key: "time",
    meaning: "time to sleep",
    kind: Kind::Time,
    default: |_| Value::Time(Nanos::new(60_000_000_000)),
    default_text: "60s",
}];

/// No measures: the results are the counters.
const MEASURES: &[Measure] = &[];

pub(crate) async fn run<S: Sys>(sys: &S, parameters: &Parameters) -> Result<(), Stop> {
    sys.phase("measure");
    sys.sleep(parameters.time("time")).await
}
