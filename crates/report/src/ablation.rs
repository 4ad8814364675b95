//! What single switches are worth: two whole policies, and each of them with one switch as the other has it.
//!
//! An [`AblationReport`] holds every number; [`AblationReport::to_text`] draws it as three tables, which share their [`Quantity`]s as
//! rows or columns. Never decides which switches there are or what is measured: that is the lab's.

use serde::Serialize;

use crate::compare::Unit;
use crate::number::grouped;
use crate::table::{Table, wrap};
use crate::terminal::ColourDepth;

/// Two policies and the effect of every switch in which they differ.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AblationReport {
    /// What ran.
    pub workload: String,
    /// In how many runs of each policy.
    pub runs: usize,
    /// What was measured of every policy.
    pub quantities: Vec<Quantity>,
    /// The policy that is the starting point.
    pub against: Whole,
    /// The policy that is taken apart.
    pub ablate: Whole,
    /// In the order of the table of switches.
    pub switches: Vec<Row>,
}

/// Something that was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Quantity {
    /// One or two words, the head of a column.
    pub name: String,
    /// What it is, in a few words.
    pub meaning: String,
    /// Of the values.
    pub unit: Unit,
    /// Decimals shown.
    pub decimals: usize,
}

/// A policy as it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Whole {
    /// Its title.
    pub policy: String,
    /// For each quantity, the mean of a run; `None` where there was nothing to measure.
    pub values: Vec<Option<f64>>,
}

/// A switch.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Its key.
    pub switch: &'static str,
    /// Its value in the policy that is the starting point.
    pub against: String,
    /// Its value in the policy that is taken apart.
    pub ablate: String,
    /// The starting point with this switch of the other policy.
    pub alone: Effect,
    /// The other policy with this switch of the starting point.
    pub without: Effect,
}

/// What a policy with one switch changed gave.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum Effect {
    /// It ran.
    Measured {
        /// Its title.
        policy: String,
        /// For each quantity, as in [`Whole::values`].
        values: Vec<Option<f64>>,
        /// For each quantity, against the policy with which it shares all other switches; `None` where that has 0 and this
        /// has not, or one of them nothing.
        change_percent: Vec<Option<f64>>,
    },
    /// There is no such policy.
    Excluded {
        /// A sentence.
        why: String,
    },
}

impl Effect {
    /// Of the policy `policy`, which has `values` where the policy that it was changed from has those of `whole`.
    #[must_use]
    pub fn measured(policy: String, values: Vec<Option<f64>>, whole: &Whole) -> Self {
        let change_percent = whole.values.iter().zip(&values).map(|(before, after)| percent((*before)?, (*after)?));
        let change_percent = change_percent.collect();
        Self::Measured { policy, values, change_percent }
    }

    /// Cells of a row: the change of every quantity.
    fn cells(&self, whole: &Whole) -> Vec<String> {
        match self {
            Self::Measured { values, .. } => {
                whole.values.iter().zip(values).map(|(before, after)| change(*before, *after)).collect()
            }
            Self::Excluded { .. } => vec![EXCLUDED.to_owned()],
        }
    }
}

/// Stands in the row of a policy that cannot be.
const EXCLUDED: &str = "excluded";
/// Columns of the tables: a line that is longer is broken where that helps.
const WIDTH: usize = 120;
/// Columns of sentences.
const TEXT_WIDTH: usize = 98;

const READING: &str = "\
    Changes are relative to the policy that the heading names first. More is better for success and for what the workload \
    gained, less for all others. - is no change at all, ~0 % one too small to show, x 12 twelve times as much; none stands \
    where nothing was measured, or a run did not come to its end.";
const BOTH_WAYS: &str = "\
    A switch without effect alone, but not in the second table, works only together with others. What it does alone, but \
    is not missed for, others do as well.";

impl AblationReport {
    /// Three tables and how to read them: both whole policies, every switch alone, every switch taken away.
    #[must_use]
    pub fn to_text(&self) -> String {
        let (against, ablate) = (&self.against.policy, &self.ablate.policy);
        let whole = self.whole().render(WIDTH, ColourDepth::None);
        let alone = self.effects(&self.against, |row| &row.alone).render(WIDTH, ColourDepth::None);
        let without = self.effects(&self.ablate, |row| &row.without).render(WIDTH, ColourDepth::None);
        let runs = if self.runs == 1 { "one run each".to_owned() } else { format!("means of {} runs each", self.runs) };
        let excluded: String = self.excluded().map(|sentence| format!("\n{}", wrap(&sentence, TEXT_WIDTH))).collect();
        format!(
            "{} under {against} and {ablate}, {runs}\n{whole}\n\
             {against} with one switch of {ablate}\n{alone}\n\
             {ablate} with one switch of {against}\n{without}\n{}\n{}{excluded}",
            self.workload,
            wrap(READING, TEXT_WIDTH),
            wrap(BOTH_WAYS, TEXT_WIDTH),
        )
    }

    fn whole(&self) -> Table {
        let (against, ablate) = (&self.against, &self.ablate);
        let header = ["measured", &against.policy, &ablate.policy, "change"].map(str::to_owned);
        let mut table = Table::with_header(header.to_vec());
        for (at, quantity) in self.quantities.iter().enumerate() {
            let (before, after) = (against.values[at], ablate.values[at]);
            let label = format!("{}: {} ({})", quantity.name, quantity.meaning, quantity.unit);
            table.row(vec![label, quantity.shown(before), quantity.shown(after), change(before, after)]);
        }
        table
    }

    /// All of it for other programs.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("strings and finite numbers can be written as JSON")
    }

    /// The changes of every switch against `whole`.
    fn effects(&self, whole: &Whole, effect: impl Fn(&Row) -> &Effect) -> Table {
        let heads = self.quantities.iter().map(|quantity| quantity.name.clone());
        let mut table = Table::with_header(std::iter::once("switch".to_owned()).chain(heads).collect());
        for row in &self.switches {
            table.row(std::iter::once(row.switch.to_owned()).chain(effect(row).cells(whole)).collect());
        }
        table
    }

    /// Why policies are excluded, each once.
    fn excluded(&self) -> impl Iterator<Item = String> {
        let effects = self.switches.iter().flat_map(|row| [&row.alone, &row.without]);
        effects.filter_map(|effect| match effect {
            Effect::Excluded { why } => Some(format!("Excluded: {why}.")),
            Effect::Measured { .. } => None,
        })
    }
}

impl Quantity {
    fn shown(&self, value: Option<f64>) -> String {
        let Some(value) = value else { return NO_VALUE.to_owned() };
        let digits = format!("{value:.*}", self.decimals);
        let (whole, fraction) = digits.split_once('.').map_or((digits.as_str(), ""), |(whole, rest)| (whole, rest));
        let dot = if fraction.is_empty() { "" } else { "." };
        whole.parse().map_or_else(|_| digits.clone(), |whole| format!("{}{dot}{fraction}", grouped(whole)))
    }
}

/// Where nothing was measured.
const NO_VALUE: &str = "none";

/// How much `after` is more than `before`, in percent of that.
fn percent(before: f64, after: f64) -> Option<f64> {
    if before == after { Some(0.0) } else { (before != 0.0).then(|| 100.0 * (after - before) / before) }
}

/// A change as people read it: `+12 %`, `-0.4 %`, `x 27`.
fn change(before: Option<f64>, after: Option<f64>) -> String {
    let (Some(before), Some(after)) = (before, after) else { return NO_VALUE.to_owned() };
    match percent(before, after) {
        None => "from 0".to_owned(),
        Some(0.0) => "0".to_owned(),
        Some(percent) if percent.abs() < 0.05 => "~0 %".to_owned(),
        Some(percent) if percent.abs() < 9.95 => format!("{percent:+.1} %"),
        Some(percent) if percent < 899.5 => format!("{percent:+.0} %"),
        Some(percent) => format!("x {:.0}", 1.0 + percent / 100.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_read_well() {
        let shown = |before: f64, after: f64| change(Some(before), Some(after));
        assert_eq!(shown(5.0, 5.0), "0");
        assert_eq!(shown(0.0, 0.0), "0");
        assert_eq!(shown(0.0, 1.0), "from 0");
        assert_eq!(shown(1000.0, 996.0), "-0.4 %");
        assert_eq!(shown(100_000.0, 100_001.0), "~0 %");
        assert_eq!(shown(100.0, 112.0), "+12 %");
        assert_eq!(shown(2.0, 0.0), "-100 %");
        assert_eq!(shown(10.0, 274.0), "x 27");
        assert_eq!(change(None, Some(1.0)), "none");
    }

    fn ablation() -> AblationReport {
        let quantity = |name: &str, meaning: &str, unit, decimals| Quantity {
            name: name.to_owned(),
            meaning: meaning.to_owned(),
            unit,
            decimals,
        };
        let whole =
            |policy: &str, values: [f64; 2]| Whole { policy: policy.to_owned(), values: values.map(Some).to_vec() };
        let (against, ablate) = (whole("a", [1000.0, 2.5]), whole("b", [100.0, 2.5]));
        let effect = |policy: &str, values: [f64; 2], whole| {
            Effect::measured(policy.to_owned(), values.map(Some).to_vec(), whole)
        };
        let row = |switch, alone, without| Row {
            switch,
            against: "false".to_owned(),
            ablate: "true".to_owned(),
            alone,
            without,
        };
        let impossible = Effect::Excluded { why: "a with y: it excludes z".to_owned() };
        let switches = vec![
            row("x", effect("a+x", [200.0, 2.5], &against), effect("b-x", [1200.0, 5.0], &ablate)),
            row("y", impossible, effect("b-y", [100.0, 2.5], &ablate)),
        ];
        let quantities =
            vec![quantity("scanned", "frames", Unit::Pages, 0), quantity("mean", "of alloc", Unit::Microseconds, 2)];
        AblationReport { workload: "w".to_owned(), runs: 1, quantities, against, ablate, switches }
    }

    #[test]
    fn three_tables_share_their_quantities() {
        let text = ablation().to_text();
        let tables = "w under a and b, one run each\n\
            \x20 measured                     a     b  change\n\
            \x20 scanned: frames (pages)  1,000   100   -90 %\n\
            \x20 mean: of alloc (us)       2.50  2.50       -\n\n\
            a with one switch of b\n\
            \x20 switch   scanned  mean\n\
            \x20 x          -80 %     -\n\
            \x20 y       excluded\n\n\
            b with one switch of a\n\
            \x20 switch  scanned    mean\n\
            \x20 x          x 12  +100 %\n\
            \x20 y             -       -\n\nChanges are";
        assert!(text.starts_with(tables), "{text}");
        assert!(text.ends_with("\n\nExcluded: a with y: it excludes z.\n"), "{text}");
    }

    #[test]
    fn json_has_values_and_changes() {
        let json = serde_json::to_value(ablation()).unwrap();
        assert_eq!(json["against"]["values"][0], 1000.0);
        assert_eq!(json["switches"][0]["alone"]["change_percent"][0], -80.0);
        assert_eq!(json["switches"][1]["alone"]["state"], "excluded");
    }
}
