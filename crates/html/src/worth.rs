//! Worth of the switches of an ablation: by how much each changes what was measured, alone and taken away.

use order9_lab::{PlotError, worth};
use order9_record::{Loaded, Unit};
use serde::Serialize;

use crate::number::Shown;

/// Bars of one or several quantities.
#[derive(Clone, Debug, Serialize)]
pub struct WorthOf {
    quantities: Vec<Quantity>,
}

#[derive(Clone, Debug, Serialize)]
struct Quantity {
    name: String,
    subtitle: String,
    /// Meaning of the two bars of a switch.
    kinds: [String; 2],
    /// Switches that change most come first.
    switches: Vec<Switch>,
}

#[derive(Clone, Debug, Serialize)]
struct Switch {
    name: String,
    /// Changes in percent, one for each seed, by kind.
    changes: [Vec<Shown>; 2],
}

/// Counters of which a report shows what switches are worth, as far as they changed.
const COUNTERS: [&str; 8] = [
    "thp_fault_alloc",
    "thp_fault_fallback",
    "compact_stall",
    "compact_migrate_scanned",
    "compact_free_scanned",
    "pgmigrate_success",
    "pgscan_kswapd",
    "pgscan_direct",
];

impl WorthOf {
    /// The operations of `loaded` that are times, and the usual counters; `None` where it takes no policy apart.
    ///
    /// # Errors
    /// None that runs which were read can cause.
    pub fn of(loaded: &Loaded) -> Result<Option<Self>, PlotError> {
        let mut names: Vec<&str> = Vec::new();
        let operations = loaded.runs.iter().flat_map(|run| &run.operations).filter(|known| known.unit == Unit::Nanos);
        for name in operations.map(|operation| operation.name.as_str()).chain(COUNTERS) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let mut quantities = Vec::new();
        for name in names {
            match Quantity::of(loaded, name) {
                Ok(quantity) => quantities.extend(Some(quantity).filter(Quantity::says_something)),
                Err(PlotError::NoAblation) => return Ok(None),
                // A counter that no run has.
                Err(PlotError::Unknown { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok((!quantities.is_empty()).then_some(Self { quantities }))
    }

    /// The one quantity called `name`.
    ///
    /// # Errors
    /// As those of [`worth`].
    pub fn one(loaded: &Loaded, name: &str) -> Result<Self, PlotError> {
        Ok(Self { quantities: vec![Quantity::of(loaded, name)?] })
    }
}

impl Quantity {
    fn of(loaded: &Loaded, name: &str) -> Result<Self, PlotError> {
        let chart = worth(loaded, name)?.chart;
        let switches = chart.switches.into_iter().map(|switch| Switch {
            name: switch.switch,
            changes: switch.changes.map(|changes| changes.into_iter().map(Shown).collect()),
        });
        Ok(Self { name: name.to_owned(), subtitle: chart.subtitle, kinds: chart.kinds, switches: switches.collect() })
    }

    fn says_something(&self) -> bool {
        self.switches.iter().flat_map(|switch| &switch.changes).flatten().any(|Shown(change)| *change != 0.0)
    }
}
