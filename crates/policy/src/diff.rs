//! Two policies compared, in words.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use crate::load::{Loaded, Need};
use crate::planned::PLANNED;
use crate::switch::Value;
use crate::table::switches;

/// Differences between two policies.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Diff {
    /// Name of the policy that is compared with.
    pub before: String,
    /// Name of the policy that is described.
    pub after: String,
    /// Switches with different values.
    pub differences: Vec<Difference>,
    /// Switches that the engine does not have yet, and that should have different values.
    pub not_modelled: Vec<PlannedDifference>,
}

/// A switch with two values.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Difference {
    /// Key of the switch.
    pub key: &'static str,
    /// The value in the first policy.
    pub before: Value,
    /// The value in the second policy.
    pub after: Value,
    /// The change of behaviour, in words.
    pub words: String,
}

/// A planned switch that should have two values.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PlannedDifference {
    /// Key of the planned switch.
    pub key: &'static str,
    /// The value needed before; none where the behaviour is off, or does not exist.
    pub before: Option<&'static str>,
    /// The value needed after.
    pub after: Option<&'static str>,
    /// The behaviour that the switch would change.
    pub meaning: &'static str,
}

impl Diff {
    /// The differences of `after` from `before`.
    #[must_use]
    pub fn new(before: &Loaded, after: &Loaded) -> Self {
        let differences = switches().filter_map(|switch| {
            let (was, is) = (switch.get(&before.policy), switch.get(&after.policy));
            let difference = || Difference { key: switch.key, before: was, after: is, words: switch.change(was, is) };
            (was != is).then(difference)
        });
        let not_modelled = PLANNED.iter().filter_map(|planned| {
            let needed =
                |needs: &[Need]| needs.iter().find(|need| need.switch.key == planned.key).map(|need| need.value);
            let (was, is) = (needed(&before.needs), needed(&after.needs));
            let difference =
                || PlannedDifference { key: planned.key, before: was, after: is, meaning: planned.meaning };
            (was != is).then(difference)
        });
        Self {
            before: before.name.clone(),
            after: after.name.clone(),
            differences: differences.collect(),
            not_modelled: not_modelled.collect(),
        }
    }
}

/// One line per difference.
impl fmt::Display for Diff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { before, after, .. } = self;
        match self.differences.len() {
            0 if self.not_modelled.is_empty() => writeln!(f, "{after} does what {before} does.")?,
            0 => writeln!(f, "{after} does what {before} does, as far as it is modelled.")?,
            1 => writeln!(f, "{after} differs from {before} in one switch:")?,
            many => writeln!(f, "{after} differs from {before} in {many} switches:")?,
        }
        for difference in &self.differences {
            writeln!(f, "  {}: {}", difference.key, difference.words)?;
        }
        if self.not_modelled.is_empty() {
            return Ok(());
        }
        writeln!(f, "Not modelled yet, so that results do not show it:")?;
        for planned in &self.not_modelled {
            let value = |value: Option<&'static str>| value.unwrap_or("false");
            let (was, is) = (value(planned.before), value(planned.after));
            writeln!(f, "  {}: {is} instead of {was} ({})", planned.key, planned.meaning)?;
        }
        Ok(())
    }
}
