//! Units of what tables show.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

/// The unit of the values in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Latencies of single accesses to memory.
    Nanoseconds,
    /// Microseconds, for latencies of faults.
    Microseconds,
    /// Milliseconds, for latencies of mappings.
    Milliseconds,
    /// Seconds, for durations.
    Seconds,
    /// Throughput of file systems.
    FilesPerSecond,
    /// Rates of other things.
    PerSecond,
    /// MiB per second, for throughput of streams.
    MebibytesPerSecond,
    /// Shares and coefficients of variation.
    Percent,
    /// Number of events.
    Events,
    /// Number of one kind of thing for each of another.
    Times,
    /// Huge pages of 2 MiB.
    HugePages,
    /// Base pages of 4 KiB.
    Pages,
    /// 4 KiB pages per second.
    PagesPerSecond,
    /// 1024 bytes: what /proc/vmstat counts as paged in and out.
    Kibibytes,
    /// GiB of 2^30 bytes.
    Gibibytes,
    /// Millions of cache-line accesses, by the rough cost model of mmtests.
    MillionAccesses,
}

impl Unit {
    /// Whether values are lengths of time.
    #[must_use]
    pub const fn is_time(self) -> bool {
        matches!(self, Self::Nanoseconds | Self::Microseconds | Self::Milliseconds | Self::Seconds)
    }

    /// Whether values of single runs are whole numbers.
    #[must_use]
    pub const fn is_count(self) -> bool {
        matches!(self, Self::Events | Self::HugePages | Self::Pages | Self::Kibibytes)
    }

    /// Short name, as in the head of a CSV column.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::Microseconds => "us",
            Self::Milliseconds => "ms",
            Self::Seconds => "s",
            Self::FilesPerSecond => "files/s",
            Self::PerSecond => "1/s",
            Self::MebibytesPerSecond => "MiB/s",
            Self::Percent => "%",
            Self::Events => "events",
            Self::Times => "times",
            Self::HugePages => "huge pages",
            Self::Pages => "pages",
            Self::PagesPerSecond => "pages/s",
            Self::Kibibytes => "KiB",
            Self::Gibibytes => "GiB",
            Self::MillionAccesses => "million accesses",
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Unit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl JsonSchema for Unit {
    fn schema_name() -> Cow<'static, str> {
        "Unit".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "description": "Unit of the values, as it stands in tables." })
    }
}
