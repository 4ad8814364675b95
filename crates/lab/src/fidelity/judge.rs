//! The verdict on one quantity.

use order9_report::compare::Results;

use super::quantities::Asked;
use super::{Goal, Judged, Verdict};

/// Real runs of each group of two, at least.
const GROUP: usize = 2;

/// Holds a quantity of the lab's runs against that of real ones.
pub(super) fn judge(asked: &Asked, real: &[Results], lab: &[Results], time_is_real: bool) -> Judged {
    let values = |side: &[Results]| {
        let mut values: Vec<f64> = side.iter().filter_map(|results| (asked.read)(results)).collect();
        values.sort_by(f64::total_cmp);
        values
    };
    let (real, lab) = (values(real), values(lab));
    let median = |values: &[f64]| values.get(values.len() / 2).copied();
    let range = |values: &[f64]| values.first().copied().zip(values.last().copied());
    let verdict = match (median(&lab), median(&real), range(&real)) {
        _ if asked.is_time && !time_is_real => Verdict::NotComparable,
        (Some(lab), Some(real), Some(range)) => verdict(lab, real, range, asked.goal, asked.negligible),
        _ => Verdict::NotMeasured,
    };
    Judged {
        quantity: asked.name.clone(),
        lab: median(&lab),
        lab_range: range(&lab),
        real: median(&real),
        range: range(&real),
        groups: groups(&real, asked.negligible),
        goal: asked.goal,
        verdict,
    }
}

fn verdict(lab: f64, real: f64, (least, largest): (f64, f64), goal: Goal, negligible: f64) -> Verdict {
    if (least..=largest).contains(&lab) {
        return Verdict::InsideRange;
    }
    if lab.abs() <= negligible && real.abs() <= negligible {
        return Verdict::Negligible;
    }
    // A ratio to nothing says nothing: the least that matters stands for it.
    let least = real.abs().max(negligible).max(f64::MIN_POSITIVE);
    let (severity, by) = match goal {
        Goal::Points(points) => ((lab - real).abs() / points, Some(lab - real)),
        Goal::Percent(percent) => ((lab - real).abs() / (least * percent / 100.0), ratio(lab, real)),
        Goal::Factor(factor) => {
            let times = lab.abs().max(negligible.max(f64::MIN_POSITIVE)) / least;
            (times.max(times.recip()) / factor, ratio(lab, real))
        }
    };
    let is_within = match goal {
        Goal::Points(points) => (lab - real).abs() <= points,
        Goal::Percent(percent) => (lab - real).abs() <= real.abs() * percent / 100.0,
        Goal::Factor(factor) => lab <= real * factor && lab * factor >= real,
    };
    if is_within { Verdict::WithinGoal } else { Verdict::Outside { by, severity: severity.max(1.0) } }
}

fn ratio(lab: f64, real: f64) -> Option<f64> {
    (real != 0.0).then(|| lab / real)
}

/// Borders of the widest gap between sorted values, where it is wider than each of the two groups beside it, and than what nobody cares about.
fn groups(sorted: &[f64], negligible: f64) -> Option<(f64, f64)> {
    let gap = |at: usize| sorted[at] - sorted[at - 1];
    let at = (GROUP..=sorted.len().checked_sub(GROUP)?).max_by(|&a, &b| gap(a).total_cmp(&gap(b)))?;
    let (lower, upper) = sorted.split_at(at);
    let width = |group: &[f64]| group[group.len() - 1] - group[0];
    let is_wide = gap(at) > negligible && gap(at) > width(lower).max(width(upper)) && gap(at) > lower[0].abs() / 10.0;
    is_wide.then(|| (lower[lower.len() - 1], upper[0]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_go_by_the_real_range_and_then_by_the_goal() {
        let of = |lab, real, range, goal| verdict(lab, real, range, goal, 10.0);
        let outside = |by, severity| Verdict::Outside { by, severity };
        assert_eq!(of(5.0, 7.0, (4.0, 9.0), Goal::Factor(1.1)), Verdict::InsideRange);
        assert_eq!(of(140.0, 100.0, (90.0, 110.0), Goal::Factor(1.5)), Verdict::WithinGoal);
        assert_eq!(of(50.0, 100.0, (90.0, 110.0), Goal::Factor(1.25)), outside(Some(0.5), 1.6));
        assert_eq!(of(97.5, 95.0, (95.0, 95.0), Goal::Points(3.0)), Verdict::WithinGoal);
        assert_eq!(of(101.0, 95.0, (95.0, 95.0), Goal::Points(3.0)), outside(Some(6.0), 2.0));
        assert_eq!(of(150.0, 100.0, (100.0, 100.0), Goal::Percent(25.0)), outside(Some(1.5), 2.0));
        assert_eq!(of(9.0, 1.0, (0.0, 2.0), Goal::Factor(1.5)), Verdict::Negligible);
        assert_eq!(of(150.0, 0.0, (0.0, 0.0), Goal::Factor(1.5)), outside(None, 10.0));
    }

    #[test]
    fn runs_in_two_groups_are_seen() {
        assert_eq!(groups(&[1.0, 1.1, 4.0, 4.2, 4.3], 0.0), Some((1.1, 4.0)));
        assert_eq!(groups(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.0), None);
        // One run that differs is no group.
        assert_eq!(groups(&[1.0, 4.0, 4.1, 4.2], 0.0), None);
        assert_eq!(groups(&[100.0, 101.0, 103.5, 104.0], 0.0), None);
        assert_eq!(groups(&[1.0, 1.1, 4.0, 4.2, 4.3], 10.0), None);
        assert_eq!(groups(&[1.0, 2.0, 3.0], 0.0), None);
        assert_eq!(groups(&[], 0.0), None);
    }
}
