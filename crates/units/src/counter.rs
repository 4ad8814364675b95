//! Meaning of counters: the unit of their values, and whether a value is a level or counts events.
//!
//! Key type: [`CounterMeaning`]. The owner of a counter states its meaning beside its name; recorded runs keep the meaning, and
//! tables and pictures take it from there.

use core::fmt;
use core::str::FromStr;

/// Unit of the values of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum CounterUnit {
    /// Things that happened, or things of any other kind.
    Events,
    /// Base pages of 4 KiB.
    Pages,
    /// Pageblocks or huge pages of 2 MiB.
    Blocks,
    /// 1024 bytes.
    Kibibytes,
    /// Hundredths of a whole.
    Percent,
    /// Thousandths of a whole.
    Thousandths,
    /// Nanoseconds.
    Nanoseconds,
}

/// Behaviour of a counter over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum CounterKind {
    /// The value counts since boot, and never falls.
    Event,
    /// The value is a state, which falls as well as rises.
    Level,
}

/// Meaning of the values of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CounterMeaning {
    /// Unit of the values.
    pub unit: CounterUnit,
    /// Level or events.
    pub kind: CounterKind,
}

impl CounterUnit {
    const ALL: [Self; 7] =
        [Self::Events, Self::Pages, Self::Blocks, Self::Kibibytes, Self::Percent, Self::Thousandths, Self::Nanoseconds];

    const fn name(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Pages => "pages",
            Self::Blocks => "blocks",
            Self::Kibibytes => "KiB",
            Self::Percent => "percent",
            Self::Thousandths => "thousandths",
            Self::Nanoseconds => "ns",
        }
    }
}

impl CounterKind {
    const ALL: [Self; 2] = [Self::Event, Self::Level];

    const fn name(self) -> &'static str {
        match self {
            Self::Event => "event",
            Self::Level => "level",
        }
    }
}

impl CounterMeaning {
    /// Meaning of a count of events in `unit`.
    #[must_use]
    pub const fn event(unit: CounterUnit) -> Self {
        Self { unit, kind: CounterKind::Event }
    }

    /// Meaning of a level in `unit`.
    #[must_use]
    pub const fn level(unit: CounterUnit) -> Self {
        Self { unit, kind: CounterKind::Level }
    }
}

/// Both words, as a stored run keeps them: `level of pages`.
impl fmt::Display for CounterMeaning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.kind.name(), self.unit.name())
    }
}

/// A text that is no meaning of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterMeaningError;

impl fmt::Display for CounterMeaningError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no meaning of a counter: expected `event of UNIT` or `level of UNIT`")
    }
}

impl core::error::Error for CounterMeaningError {}

impl FromStr for CounterMeaning {
    type Err = CounterMeaningError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (kind, unit) = text.split_once(" of ").ok_or(CounterMeaningError)?;
        let kind = CounterKind::ALL.into_iter().find(|known| known.name() == kind).ok_or(CounterMeaningError)?;
        let unit = CounterUnit::ALL.into_iter().find(|known| known.name() == unit).ok_or(CounterMeaningError)?;
        Ok(Self { unit, kind })
    }
}

#[cfg(test)]
mod tests {
    extern crate alloc;

    use alloc::string::ToString as _;

    use super::*;

    #[test]
    fn every_meaning_is_read_back_from_its_words() {
        for kind in CounterKind::ALL {
            for unit in CounterUnit::ALL {
                let meaning = CounterMeaning { unit, kind };
                assert_eq!(meaning.to_string().parse(), Ok(meaning));
            }
        }
        for wrong in ["", "level", "level of", "level of miles", "count of pages", "level of pages "] {
            assert_eq!(wrong.parse::<CounterMeaning>(), Err(CounterMeaningError), "{wrong}");
        }
    }
}
