//! Worth of single switches: two whole policies, and each of them with one switch taken from the other.
//!
//! An [`AblationReport`] holds every number; [`AblationReport::to_text`] draws it as three tables, which share their [`Quantity`]s as
//! rows or columns. Never decides which switches there are or what is measured: that is the lab's.

use schemars::JsonSchema;
use serde::Serialize;

use crate::compare::Quantity;
use crate::number::{decimal, percent_change};
use crate::stats::{Difference, Estimate, Finding};
use crate::table::{Table, wrap};
use crate::terminal::ColourDepth;

/// Two policies and the effect of every switch in which they differ.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct AblationReport {
    /// Name of the workload.
    pub workload: String,
    /// Number of runs of each policy.
    pub runs: usize,
    /// Quantities that were measured of every policy.
    pub quantities: Vec<Quantity>,
    /// The policy that is the starting point.
    pub against: Whole,
    /// The policy that is taken apart.
    pub ablate: Whole,
    /// Rows in the order of the table of switches.
    pub switches: Vec<Row>,
}

/// A policy as it is.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Whole {
    /// Title of the policy.
    pub policy: String,
    /// For each quantity, the estimate from its runs; `None` where no run has a value.
    pub values: Vec<Option<Estimate>>,
}

/// A switch.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Row {
    /// Key of the switch.
    pub switch: &'static str,
    /// Value of the switch in the policy that is the starting point.
    pub against: String,
    /// Value of the switch in the policy that is taken apart.
    pub ablate: String,
    /// The starting point with this switch of the other policy.
    pub alone: Effect,
    /// The other policy with this switch of the starting point.
    pub without: Effect,
}

/// Effect of one switch.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum Effect {
    /// The policy ran.
    Measured {
        /// Title of the policy.
        policy: String,
        /// For each quantity, the estimate as in [`Whole::values`].
        values: Vec<Option<Estimate>>,
        /// For each quantity, the difference from the policy that shares all other switches; `None` where one of the
        /// two has no value.
        differences: Vec<Option<Difference>>,
        /// Whether all its results are those of that policy.
        identical: bool,
    },
    /// There is no such policy.
    Excluded {
        /// Reason, in a sentence.
        why: String,
    },
}

impl Effect {
    /// Of the policy `policy`, which has `values` where the policy that it was changed from has those of `whole`.
    #[must_use]
    pub fn measured(policy: String, values: Vec<Option<Estimate>>, whole: &Whole, identical: bool) -> Self {
        let differences = differences(&whole.values, &values);
        Self::Measured { policy, values, differences, identical }
    }

    /// Cells of a row: the change of every quantity.
    fn cells(&self) -> Vec<String> {
        match self {
            Self::Measured { identical: true, .. } => vec![IDENTICAL.to_owned()],
            Self::Measured { differences, .. } => differences.iter().map(change).collect(),
            Self::Excluded { .. } => vec![EXCLUDED.to_owned()],
        }
    }

    /// Quantities that a test tells apart, with their changes.
    fn told_apart<'a>(&self, quantities: &'a [Quantity]) -> Vec<(&'a str, String)> {
        let Self::Measured { differences, .. } = self else { return Vec::new() };
        let told = quantities.iter().zip(differences).filter_map(|(quantity, difference)| {
            let told = difference.as_ref().is_some_and(|difference| difference.finding.is_told_apart());
            told.then(|| (quantity.name.as_str(), change(difference)))
        });
        told.collect()
    }
}

fn differences(whole: &[Option<Estimate>], values: &[Option<Estimate>]) -> Vec<Option<Difference>> {
    let difference = |(before, after): (&Option<Estimate>, &Option<Estimate>)| {
        Some(Difference::of(before.as_ref()?, after.as_ref()?))
    };
    whole.iter().zip(values).map(difference).collect()
}

/// Stands in the row of a policy that cannot be.
const EXCLUDED: &str = "excluded";
/// Stands in the row of a policy with which everything is as without its switch.
const IDENTICAL: &str = "identical";
/// Columns of the tables: a line that is longer is broken where that helps.
const WIDTH: usize = 120;
/// Width of sentences, in columns.
const TEXT_WIDTH: usize = 98;

const READING: &str = "\
    Changes are relative to the policy that the heading names first. More is better for success and for what the workload \
    gained, less for all others. - is no change at all, identical that everything measured is the same, x 12 twelve times \
    as much; none stands where nothing was measured, or a run did not come to its end.";
const TESTED: &str = "\
    Changes are those of means over runs, in percent, \u{b1} their 95 % confidence interval (Welch's t). ~ marks what is not \
    told from noise, ? what runs without any spread cannot tell. Where nothing differs, one change of 20 goes unmarked.";
const NOT_TESTED: &str = "One run each: differences are not tested, and may be noise.";
const BOTH_WAYS: &str = "\
    A switch without effect alone, but not in the second table, works only together with others. What it does alone, but \
    is not missed for, others do as well.";

impl AblationReport {
    /// Three tables and how to read them: both whole policies, every switch alone, every switch taken away.
    #[must_use]
    pub fn to_text(&self) -> String {
        let (against, ablate) = (&self.against.policy, &self.ablate.policy);
        let whole = self.whole().render(WIDTH, ColourDepth::None);
        let alone = self.effects(|row| &row.alone).render(WIDTH, ColourDepth::None);
        let without = self.effects(|row| &row.without).render(WIDTH, ColourDepth::None);
        let excluded: String = self.excluded().map(|sentence| format!("\n{}", wrap(&sentence, TEXT_WIDTH))).collect();
        let tested = if self.runs == 1 { NOT_TESTED } else { TESTED };
        format!(
            "{}\n{whole}\n\
             {against} with one switch of {ablate}\n{alone}\n\
             {ablate} with one switch of {against}\n{without}\n{}{}\n{}{excluded}",
            self.heading(),
            wrap(READING, TEXT_WIDTH),
            wrap(tested, TEXT_WIDTH),
            wrap(BOTH_WAYS, TEXT_WIDTH),
        )
    }

    /// Writes both whole policies, and the switches whose effect a test tells from noise, in at most `lines` lines.
    #[must_use]
    pub fn to_brief(&self, lines: usize) -> String {
        let mut all = vec![self.heading()];
        all.extend(self.whole().render(WIDTH, ColourDepth::None).lines().map(str::to_owned));
        let told = self.switches.iter().flat_map(|row| {
            let of = |effect: &Effect, how: &str| {
                let changes = effect.told_apart(&self.quantities);
                let changes: Vec<_> = changes.iter().map(|(name, change)| format!("{name} {change}")).collect();
                (!changes.is_empty()).then(|| format!("  {} {how}: {}", row.switch, changes.join(", ")))
            };
            [of(&row.alone, "alone"), of(&row.without, "taken away")].into_iter().flatten()
        });
        let told: Vec<_> = told.collect();
        all.push(match (self.runs, told.len()) {
            (1, _) => NOT_TESTED.to_owned(),
            (_, 0) => "No switch is told from noise.".to_owned(),
            (_, _) => "Told from noise, in percent:".to_owned(),
        });
        let room = lines.saturating_sub(all.len());
        let shown = if told.len() <= room { told.len() } else { room.saturating_sub(1) };
        all.extend_from_slice(&told[..shown]);
        if shown < told.len() {
            all.push(format!("  and {} more", told.len() - shown));
        }
        all.join("\n") + "\n"
    }

    fn heading(&self) -> String {
        let runs = if self.runs == 1 { "one run each".to_owned() } else { format!("means of {} runs each", self.runs) };
        format!("{} under {} and {}, {runs}", self.workload, self.against.policy, self.ablate.policy)
    }

    fn whole(&self) -> Table {
        let (against, ablate) = (&self.against, &self.ablate);
        let header = ["measured", &against.policy, &ablate.policy, "change"].map(str::to_owned);
        let mut table = Table::with_header(header.to_vec());
        let differences = differences(&against.values, &ablate.values);
        for (at, quantity) in self.quantities.iter().enumerate() {
            let shown = |whole: &Whole| shown(whole.values[at].as_ref(), quantity.decimals);
            let label = format!("{}: {} ({})", quantity.name, quantity.meaning, quantity.unit);
            table.row(vec![label, shown(against), shown(ablate), change(&differences[at])]);
        }
        table
    }

    /// All of it for other programs.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("strings and finite numbers can be written as JSON")
    }

    /// The changes of every switch.
    fn effects(&self, effect: impl Fn(&Row) -> &Effect) -> Table {
        let heads = self.quantities.iter().map(|quantity| quantity.name.clone());
        let mut table = Table::with_header(std::iter::once("switch".to_owned()).chain(heads).collect());
        for row in &self.switches {
            table.row(std::iter::once(row.switch.to_owned()).chain(effect(row).cells()).collect());
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

/// The mean of runs.
fn shown(estimate: Option<&Estimate>, decimals: usize) -> String {
    estimate.map_or_else(|| NO_VALUE.to_owned(), |estimate| decimal(estimate.mean(), decimals))
}

/// Word for a quantity without values.
const NO_VALUE: &str = "none";

/// A change as people read it: `+12 %` of a single run, `+12 \u{b1}5` of several, `~` before what may be noise.
fn change(difference: &Option<Difference>) -> String {
    let Some(difference) = difference else { return NO_VALUE.to_owned() };
    let plain = || percent_change(difference.percent);
    let bounded = || match (difference.percent, difference.interval_95) {
        (Some(percent), Some([_, high])) if percent < 899.5 => {
            let half = high - percent;
            let decimals = usize::from(half < 9.95 && percent.abs() < 99.5);
            format!("{percent:+.decimals$} \u{b1}{half:.decimals$}")
        }
        _ => plain(),
    };
    match difference.finding {
        Finding::Same => "0".to_owned(),
        Finding::OneRun => plain(),
        Finding::NoSpread => format!("{} ?", plain()),
        Finding::NotToldApart => format!("~{}", bounded()),
        Finding::Less | Finding::More => bounded(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{Source, Unit};
    use crate::stats::Direction;

    /// An ablation with runs whose values are these multiples of the written ones.
    fn ablation<const N: usize>(factors: [f64; N]) -> AblationReport {
        let quantity = |name: &str, meaning: &str, unit, decimals| Quantity {
            name: name.to_owned(),
            meaning: meaning.to_owned(),
            unit,
            decimals,
            direction: Direction::LowerIsBetter,
            source: Source::Count("compact_stall"),
        };
        let runs = |value: f64| Estimate::new(factors.map(|factor| value * factor));
        let whole =
            |policy: &str, values: [f64; 2]| Whole { policy: policy.to_owned(), values: values.map(runs).to_vec() };
        let (against, ablate) = (whole("a", [1000.0, 2.5]), whole("b", [100.0, 2.5]));
        let effect = |policy: &str, values: [f64; 2], whole, identical| {
            Effect::measured(policy.to_owned(), values.map(runs).to_vec(), whole, identical)
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
            row("x", effect("a+x", [200.0, 2.5], &against, false), effect("b-x", [1200.0, 5.0], &ablate, false)),
            row("y", impossible, effect("b-y", [100.0, 2.5], &ablate, true)),
            row("z", effect("a+z", [1001.0, 2.5], &against, false), effect("b-z", [100.0, 2.6], &ablate, false)),
        ];
        let quantities =
            vec![quantity("scanned", "frames", Unit::Pages, 0), quantity("mean", "of alloc", Unit::Microseconds, 2)];
        AblationReport { workload: "w".to_owned(), runs: N, quantities, against, ablate, switches }
    }

    #[test]
    fn three_tables_share_their_quantities() {
        let text = ablation([1.0]).to_text();
        let tables = "w under a and b, one run each\n\
            \x20 measured                     a     b  change\n\
            \x20 scanned: frames (pages)  1,000   100   -90 %\n\
            \x20 mean: of alloc (us)       2.50  2.50       -\n\n\
            a with one switch of b\n\
            \x20 switch   scanned  mean\n\
            \x20 x          -80 %     -\n\
            \x20 y       excluded\n\
            \x20 z         +0.1 %     -\n\n\
            b with one switch of a\n\
            \x20 switch    scanned    mean\n\
            \x20 x            x 12  +100 %\n\
            \x20 y       identical\n\
            \x20 z               -  +4.0 %\n\nChanges are";
        assert!(text.starts_with(tables), "{text}");
        assert!(text.contains("One run each: differences are not tested"), "{text}");
        assert!(text.ends_with("\n\nExcluded: a with y: it excludes z.\n"), "{text}");
    }

    #[test]
    fn several_runs_have_intervals_and_noise_is_marked() {
        let text = ablation([0.9, 1.0, 1.1]).to_text();
        let tables = "w under a and b, means of 3 runs each\n\
            \x20 measured                     a     b   change\n\
            \x20 scanned: frames (pages)  1,000   100  -90 \u{b1}25\n\
            \x20 mean: of alloc (us)       2.50  2.50        -\n\n\
            a with one switch of b\n\
            \x20 switch   scanned  mean\n\
            \x20 x        -80 \u{b1}24     -\n\
            \x20 y       excluded\n\
            \x20 z        ~+0 \u{b1}23     -\n";
        assert!(text.starts_with(tables), "{text}");
        assert!(text.contains("marks what is not told from noise"), "{text}");
    }

    #[test]
    fn copies_are_not_tested() {
        let text = ablation([1.0; 10]).to_text();
        assert!(text.contains("-80 % ?") && !text.contains("~+"), "{text}");
    }

    #[test]
    fn a_brief_report_names_what_is_told_from_noise() {
        let told = "Told from noise, in percent:\n  x alone: scanned -80 \u{b1}24\n  \
                    x taken away: scanned x 12, mean +100 \u{b1}42\n";
        let brief = |lines| ablation([0.9, 1.0, 1.1]).to_brief(lines);
        assert!(brief(7).ends_with(told), "{}", brief(7));
        assert!(brief(6).ends_with("\n  and 2 more\n") && brief(6).lines().count() == 6, "{}", brief(6));
    }

    #[test]
    fn json_has_values_and_changes() {
        let json = serde_json::to_value(ablation([1.0])).unwrap();
        assert_eq!(json["against"]["values"][0]["mean"], 1000.0);
        assert_eq!(json["switches"][0]["alone"]["differences"][0]["percent"], -80.0);
        assert_eq!(json["switches"][1]["alone"]["state"], "excluded");
        assert_eq!(json["switches"][1]["without"]["identical"], true);
    }
}
