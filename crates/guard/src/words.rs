//! Times as messages show them.

use std::time::Duration;

use order9_units::Nanos;

/// A time with one decimal: `48.1ms`.
pub(crate) fn time(time: Nanos) -> String {
    format!("{:.1?}", Duration::from_nanos(time.get()))
}

/// A time as configurations are written: `1m 30s`.
pub(crate) fn written(time: Nanos) -> String {
    humantime::format_duration(Duration::from_nanos(time.get())).to_string()
}
