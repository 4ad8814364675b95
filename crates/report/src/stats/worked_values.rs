//! Two series of ten samples, worked by hand and by independent programs: every number is held.

use super::{Convention, Direction, Family, Generation, Percent, Rule, Samples, Statistic, Summary, means, t_test};
use proptest::prelude::*;

const A: [f64; 10] = [12.0, 10.0, 11.0, 15.0, 10.0, 13.0, 11.0, 30.0, 12.0, 14.0];
const B: [f64; 10] = [9.0, 10.0, 8.0, 11.0, 10.0, 9.0, 12.0, 25.0, 10.0, 11.0];
const C: [f64; 10] = [7.0, 7.0, 8.0, 7.0, 6.0, 7.0, 8.0, 7.0, 7.0, 8.0];

fn samples(values: [f64; 10]) -> Samples {
    Samples::new(values).unwrap()
}

fn lower(generation: Generation) -> Convention {
    Convention { direction: Direction::LowerIsBetter, generation }
}

fn higher(generation: Generation) -> Convention {
    Convention { direction: Direction::HigherIsBetter, generation }
}

/// The values of these rows for A and for B, printed with `decimals`.
fn values(convention: Convention, rows: &[Statistic], decimals: usize) -> [Vec<String>; 2] {
    [A, B].map(|series| {
        let value = |&row: &Statistic| convention.value(row, &samples(series)).expect("defined");
        rows.iter().map(value).map(|value| format!("{value:.decimals$}")).collect()
    })
}

fn quantiles(percents: &[u8]) -> Vec<Statistic> {
    percents.iter().map(|&percent| Statistic::Quantile(Percent::new(percent))).collect()
}

fn best(percents: &[u8]) -> Vec<Statistic> {
    percents.iter().map(|&percent| Statistic::BestMean(Percent::new(percent))).collect()
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn means_spreads_and_changes() {
    let rows = [Statistic::Min, Statistic::Mean, Statistic::Stddev, Statistic::CoeffVar, Statistic::Max];
    let convention = lower(Generation::Y2018);
    let [a, b] = values(convention, &rows, 4);
    assert_eq!(a, words("10.0000 13.8000 5.9217 42.9110 30.0000"));
    assert_eq!(b, words("8.0000 11.5000 4.8819 42.4516 25.0000"));
    let change = |row| {
        let value = |series| convention.value(row, &samples(series)).unwrap();
        format!("{:.2}", convention.change_percent(row, value(A), value(B)))
    };
    assert_eq!(rows.map(change), ["20.00", "16.67", "17.56", "1.07", "16.67"]);
}

#[test]
fn harmonic_means() {
    let [a, b] = values(higher(Generation::Y2019), &[Statistic::Mean], 4);
    assert_eq!([a, b], [words("12.5496"), words("10.5001")]);
}

#[test]
fn quantiles_of_the_early_generation_count_from_the_smallest() {
    for convention in [lower(Generation::Y2016), lower(Generation::Y2018), higher(Generation::Y2016)] {
        let [a, b] = values(convention, &quantiles(&[25, 50, 75, 90, 93, 95, 99]), 0);
        assert_eq!(a, words("11 12 14 15 15 30 30"));
        assert_eq!(b, words("9 10 11 12 12 25 25"));
    }
}

#[test]
fn quantiles_since_2019_count_from_the_best() {
    let rows = quantiles(&[1, 5, 10, 25, 50, 75, 90, 95, 99]);
    let [a, b] = values(lower(Generation::Y2019), &rows, 0);
    assert_eq!(a, words("10 10 10 10 12 13 15 15 15"));
    assert_eq!(b, words("8 8 8 9 10 11 12 12 12"));
    let [a, b] = values(higher(Generation::Y2019), &rows, 0);
    assert_eq!(a, words("30 30 30 15 12 11 10 10 10"));
    assert_eq!(b, words("25 25 25 12 10 10 9 9 9"));
}

#[test]
fn means_of_the_best() {
    let [a, b] = values(lower(Generation::Y2019), &best(&[25, 50, 75, 90, 95, 99]), 4);
    assert_eq!(a, words("10.0000 10.8000 11.2857 12.0000 12.0000 12.0000"));
    assert_eq!(b, words("8.5000 9.2000 9.5714 10.0000 10.0000 10.0000"));
    let [a, b] = values(higher(Generation::Y2019), &best(&[25, 50, 75, 90]), 4);
    assert_eq!(a, words("20.0000 15.0745 13.8360 12.9155"));
    assert_eq!(b, words("16.2162 12.3411 11.5674 10.8778"));
    let [a, b] = values(lower(Generation::Y2018), &best(&[50, 95]), 4);
    assert_eq!(a, words("11.0000 13.8000"));
    assert_eq!(b, words("9.3333 11.5000"));
}

fn summary(values: [f64; 10]) -> Summary {
    Summary { count: 10, mean: means::arithmetic(&values), stddev: means::deviation(&values).unwrap() }
}

#[test]
fn significance_by_both_rules() {
    let test = t_test(summary(A), summary(B)).unwrap();
    assert_eq!((format!("{:.5} {:.5}", test.t, test.p), test.degrees), ("0.94770 0.35583".to_owned(), 18));
    assert!(!Rule::TTest.marks(summary(A), summary(B)));
    assert!(!Rule::Interval.marks(summary(A), summary(B)));

    assert_eq!(format!("{:.2} {:.5}", summary(C).mean, summary(C).stddev), "7.20 0.63246");
    let test = t_test(summary(A), summary(C)).unwrap();
    assert_eq!(format!("{:.5} {:.5}", test.t, test.p), "3.50456 0.00253");
    assert!(Rule::TTest.marks(summary(A), summary(C)));
    assert!(!Rule::Interval.marks(summary(A), summary(C)));
}

#[test]
fn only_rows_of_means_are_marked() {
    let convention = lower(Generation::Y2018);
    let marked = |row| convention.marks(Rule::TTest, row, &samples(A), &samples(C));
    let rows = Family::Samples.rows(Generation::Y2018);
    assert_eq!(rows.into_iter().filter(|&row| marked(row)).collect::<Vec<_>>(), [Statistic::Mean]);
    assert!(!marked(Statistic::Value("Percentage")));
}

fn labels(family: Family, convention: Convention) -> Vec<String> {
    family.rows(convention.generation).into_iter().map(|row| convention.label(row)).collect()
}

#[test]
fn the_samples_family_by_generation() {
    assert_eq!(labels(Family::Samples, lower(Generation::Y2016)), words("Min Amean Stddev CoeffVar Max"));
    let labels_2018 = words("Min Amean Stddev CoeffVar Max BAmean-50 BAmean-95 BAmean-99");
    assert_eq!(labels(Family::Samples, lower(Generation::Y2018)), labels_2018);
    assert_eq!(labels(Family::Samples, lower(Generation::Y2019)), labels_2018);
    assert_eq!(labels(Family::Samples, lower(Generation::Y2024)), words("Min Amean Stddev CoeffVar Max BAmean-95"));
    let labels_2026 = words("Min Hmean HStddev HCoeffVar Max BHmean.95");
    assert_eq!(labels(Family::Samples, higher(Generation::Y2026)), labels_2026);
}

#[test]
fn the_quantiles_family_by_generation() {
    let labels_2016 = "Min 1st-qrtle 2nd-qrtle 3rd-qrtle Max-90% Max-93% Max-95% Max-99% Max Mean \
                       Best99%Mean Best95%Mean Best90%Mean Best50%Mean Best10%Mean Best5%Mean Best1%Mean";
    assert_eq!(labels(Family::Quantiles, lower(Generation::Y2016)), words(labels_2016));
    let labels_2019 = "Min 1st-qrtle 2nd-qrtle 3rd-qrtle Max-1 Max-5 Max-10 Max-90 Max-95 Max-99 Max Hmean Stddev \
                       CoeffVar BHmean-99 BHmean-95 BHmean-90 BHmean-75 BHmean-50 BHmean-25";
    assert_eq!(labels(Family::Quantiles, higher(Generation::Y2019)), words(labels_2019));
    let labels_2026 = labels(Family::Quantiles, lower(Generation::Y2026));
    assert_eq!(labels_2026[1..6], words("Pctile.25 Pctile.50 Pctile.75 Pctile.1 Pctile.5"));
}

#[test]
fn a_single_sample_has_no_spread() {
    let one = Samples::new([5.0]).unwrap();
    for generation in [Generation::Y2016, Generation::Y2019, Generation::Y2024] {
        let convention = lower(generation);
        assert_eq!(convention.value(Statistic::Stddev, &one), None);
        assert_eq!(convention.value(Statistic::CoeffVar, &one), Some(0.0));
    }
    assert_eq!(higher(Generation::Y2019).value(Statistic::Mean, &Samples::new([0.0, 1.0]).unwrap()), None);
}

fn any_convention() -> impl Strategy<Value = Convention> {
    let direction = prop_oneof![Just(Direction::LowerIsBetter), Just(Direction::HigherIsBetter)];
    let generation = proptest::sample::select(Generation::ALL.to_vec());
    (direction, generation).prop_map(|(direction, generation)| Convention { direction, generation })
}

proptest! {
    /// Quantiles are samples, means lie within the samples, and nothing panics, whatever was measured.
    #[test]
    fn statistics_stay_within_the_samples(
        convention in any_convention(),
        values in proptest::collection::vec(-1e9_f64..1e9, 1..300),
        others in proptest::collection::vec(proptest::num::f64::NORMAL | proptest::num::f64::ZERO, 1..20),
    ) {
        let (samples, others) = (Samples::new(values).unwrap(), Samples::new(others).unwrap());
        let slack = 1e-9 * samples.max().abs().max(samples.min().abs());
        let within = samples.min() - slack..=samples.max() + slack;
        for family in [Family::Samples, Family::Quantiles, Family::Single("Ops")] {
            for row in family.rows(convention.generation) {
                for rule in [Rule::TTest, Rule::Interval] {
                    let _ = convention.marks(rule, row, &samples, &others);
                    prop_assert!(!convention.marks(rule, row, &samples, &samples), "{:?}", row);
                }
                let _ = convention.value(row, &others);
                let Some(value) = convention.value(row, &samples) else { continue };
                prop_assert_eq!(convention.change_percent(row, value, value), 0.0);
                prop_assert!(row.is_spread() || within.contains(&value), "{:?}: {}", row, value);
                let exact = !matches!(row, Statistic::Quantile(_)) || samples.ascending().contains(&value);
                prop_assert!(exact, "{:?} is no sample: {}", row, value);
            }
        }
    }
}
