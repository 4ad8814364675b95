//! Effects of single settings on the goal and on the limit that matters most.

use order9_measures::Measure;
use order9_report::stats::Estimate;
use schemars::JsonSchema;
use serde::Serialize;

use super::score::{Aim, compared};
use super::space::Choice;
use super::trials::{AS_ASKED, Trials};
use crate::what_if::Verdict;

/// Effect of one setting on the goal and on a price.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Sensitivity {
    /// Name of the setting.
    pub setting: &'static str,
    /// Value today.
    pub today: String,
    /// Other values that were tried.
    pub tried: Vec<String>,
    /// Effects on the goal, then on the price.
    pub effects: Vec<Effect>,
}

/// Values of a measure over the values of one setting.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Effect {
    /// Word of the measure.
    pub measure: &'static str,
    /// Least and largest mean while every other setting is as today.
    pub alone: Option<[f64; 2]>,
    /// Whether some value alone differs from today beyond the spread of runs.
    pub is_told_apart: bool,
    /// Least and largest mean over a sample of combinations, one for each value (main effects).
    pub on_average: Option<[f64; 2]>,
}

/// The price whose limit most combinations of the sample exceed; the first price where none does.
pub(super) fn tightest(trials: &Trials<'_>, aim: &Aim, sample: &[Choice]) -> Option<&'static Measure> {
    let exceeding = |price: &&'static Measure| {
        let Some(limit) = aim.limits.iter().find(|limit| limit.measure.word == price.word) else { return 0 };
        let exceeds = |choice: &&Choice| trials.first(choice, price).is_some_and(|value| limit.excess(value) > 0.0);
        sample.iter().filter(exceeds).count()
    };
    // The first of the most.
    aim.prices.iter().rev().copied().max_by_key(exceeding)
}

/// Effects of every setting.
pub(super) fn sensitivities(trials: &Trials<'_>, aim: &Aim, sample: &[Choice]) -> Vec<Sensitivity> {
    let measures: Vec<&Measure> = std::iter::once(aim.goal.measure).chain(tightest(trials, aim, sample)).collect();
    let of = |(at, dimension): (usize, &super::space::Dimension)| Sensitivity {
        setting: dimension.setting.name,
        today: dimension.values[0].clone(),
        tried: dimension.values[1..].to_vec(),
        effects: measures.iter().map(|measure| effect(trials, measure, sample, at, dimension.values.len())).collect(),
    };
    trials.space.0.iter().enumerate().map(of).collect()
}

fn effect(trials: &Trials<'_>, measure: &'static Measure, sample: &[Choice], at: usize, values: usize) -> Effect {
    let today = trials.space.today();
    let singles: Vec<Choice> = (0..values).map(|value| today.with(at, value)).collect();
    let means = singles.iter().filter_map(|choice| trials.estimate(choice, AS_ASKED, measure)).map(|of| of.mean());
    let differs =
        |choice: &Choice| matches!(compared(trials, measure, choice, &today), Verdict::Better | Verdict::Worse);
    let sampled = sample.iter().filter_map(|choice| Some((choice.0[at], trials.first(choice, measure)?)));
    Effect {
        measure: measure.word,
        alone: range(means),
        is_told_apart: singles.iter().any(differs),
        on_average: range(main_effects(sampled, values).into_iter().flatten()),
    }
}

/// Mean of a measure for each value of a setting, over everything else; nothing for values that do not occur.
fn main_effects(sampled: impl Iterator<Item = (usize, f64)>, values: usize) -> Vec<Option<f64>> {
    let mut of_value: Vec<Vec<f64>> = vec![Vec::new(); values];
    sampled.for_each(|(value, measured)| of_value[value].push(measured));
    of_value.into_iter().map(|measured| Estimate::new(measured).map(|of| of.mean())).collect()
}

fn range(means: impl Iterator<Item = f64>) -> Option<[f64; 2]> {
    means.fold(None, |range: Option<[f64; 2]>, mean| {
        let [least, most] = range.unwrap_or([mean; 2]);
        Some([least.min(mean), most.max(mean)])
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_main_effect_is_a_mean_over_everything_else() {
        let sampled = [(0, 1.0), (1, 5.0), (0, 3.0)];
        assert_eq!(main_effects(sampled.into_iter(), 3), [Some(2.0), Some(5.0), None]);
        assert_eq!(range([2.0, 5.0].into_iter()), Some([2.0, 5.0]));
        assert_eq!(range(std::iter::empty()), None);
    }

    proptest! {
        #[test]
        fn main_effects_agree_with_sums_by_hand(sampled in prop::collection::vec((0..4_usize, 0..100_u8), 0..40)) {
            let values: Vec<(usize, f64)> = sampled.iter().map(|(value, of)| (*value, f64::from(*of))).collect();
            for (value, effect) in main_effects(values.into_iter(), 4).into_iter().enumerate() {
                let of: Vec<u32> = sampled.iter().filter(|(at, _)| *at == value).map(|(_, of)| u32::from(*of)).collect();
                let naive = (!of.is_empty()).then(|| f64::from(of.iter().sum::<u32>()) / of.len() as f64);
                match (effect, naive) {
                    (Some(effect), Some(naive)) => prop_assert!((effect - naive).abs() < 1e-9),
                    (effect, naive) => prop_assert_eq!(effect, naive),
                }
            }
        }
    }
}
