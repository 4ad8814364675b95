//! In which unit the values of a counter are, and of what is made of it.

use order9_units::{CounterKind, CounterMeaning, CounterUnit};

/// Dimension of values, after levels in pages or KiB were converted to bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// An amount of memory or of data.
    Bytes,
    /// Pages that something was done to, counted each time.
    Pages,
    /// Aligned blocks of 2 MiB, or huge pages.
    Blocks,
    /// Number of events.
    Events,
    /// Percent of a whole.
    Percent,
    /// One quantity by another.
    Ratio,
    /// Time in seconds.
    Seconds,
    /// A number of things.
    Count,
}

/// The unit of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Dimension of the values.
    pub quantity: Quantity,
    /// Whether values are per second.
    pub per_second: bool,
}

impl Unit {
    /// The unit of `quantity` as such.
    #[must_use]
    pub const fn of(quantity: Quantity) -> Self {
        Self { quantity, per_second: false }
    }

    /// The name that goes above an axis, in front of a `/s`; that of bytes depends on how many there are.
    #[must_use]
    pub(super) const fn noun(self) -> &'static str {
        match self.quantity {
            Quantity::Bytes => "bytes",
            Quantity::Pages => "pages",
            Quantity::Blocks => "x2MiB",
            Quantity::Events => "events",
            Quantity::Percent => "%",
            Quantity::Ratio => "ratio",
            Quantity::Seconds => "s",
            Quantity::Count => "",
        }
    }

    /// The name in messages: `pages/s`.
    #[must_use]
    pub fn name(self) -> String {
        format!("{}{}", self.noun(), if self.per_second { "/s" } else { "" })
    }
}

const PAGE: f64 = 4096.0;
const KIBIBYTE: f64 = 1024.0;

/// Quantity that values of a counter become in pictures, and their factor. Levels of pages are amounts of memory.
#[must_use]
pub(super) const fn of_counter(meaning: CounterMeaning) -> (Quantity, f64) {
    match (meaning.unit, meaning.kind) {
        (CounterUnit::Events, CounterKind::Event) => (Quantity::Events, 1.0),
        (CounterUnit::Events, CounterKind::Level) => (Quantity::Count, 1.0),
        (CounterUnit::Pages, CounterKind::Event) => (Quantity::Pages, 1.0),
        (CounterUnit::Pages, CounterKind::Level) => (Quantity::Bytes, PAGE),
        (CounterUnit::Blocks, _) => (Quantity::Blocks, 1.0),
        (CounterUnit::Kibibytes, _) => (Quantity::Bytes, KIBIBYTE),
        (CounterUnit::Percent, _) => (Quantity::Percent, 1.0),
        (CounterUnit::Thousandths, _) => (Quantity::Percent, 0.1),
        (CounterUnit::Nanoseconds, _) => (Quantity::Seconds, 1e-9),
    }
}
