//! Numbers that decided a verdict, in a few words: one number, two numbers, or the range over rows.

use super::{Evidence, Finding, Reference, Relation, Statement, Term, Verdict};
use crate::number::decimal;

impl Statement {
    /// The numbers of a verdict on this statement: `0.0251 = 11,903,963 / 474,739,990`, `1,574 against 6,773`,
    /// `0.676 to 0.939; 7 of 8`.
    #[must_use]
    pub fn figures(&self, verdict: &Verdict) -> String {
        match &verdict.evidence[..] {
            [one] => self.of_row(&one.finding),
            rows => self.of_rows(rows, verdict.held),
        }
    }

    fn of_row(&self, finding: &Finding) -> String {
        let Finding::Compared { left, left_half_width, right, right_half_width, .. } = finding else {
            return finding.to_string();
        };
        let [left_text, right_text] = [(*left, left_half_width), (*right, right_half_width)].map(spread);
        match self.relation {
            Relation::Ratio(..) => format!("{} = {left_text} / {right_text}", plain(left / right)),
            Relation::Order(_, Term::Of(_)) => format!("{left_text} against {right_text}"),
            Relation::Order(_, Term::Number(_)) | Relation::Significant => left_text,
        }
    }

    fn of_rows(&self, rows: &[Evidence], held: usize) -> String {
        let share = format!("{held} of {}", rows.len());
        let figures: Vec<f64> = rows.iter().filter_map(|row| self.figure(&row.finding)).collect();
        let Some(first) = figures.first() else { return share };
        let least = figures.iter().copied().fold(*first, f64::min);
        let largest = figures.iter().copied().fold(*first, f64::max);
        let range = match (plain(least), plain(largest)) {
            (least, largest) if least == largest => least,
            (least, largest) => format!("{least} to {largest}"),
        };
        format!("{range}; {share}")
    }

    /// The number of a row that a range of rows shows: what is compared with a number, or the ratio of two.
    fn figure(&self, finding: &Finding) -> Option<f64> {
        let Finding::Compared { left, right, .. } = *finding else { return None };
        let of_two = match &self.relation {
            Relation::Order(_, Term::Number(_)) | Relation::Significant => false,
            Relation::Order(_, Term::Of(Reference::Baseline | Reference::Cell(_))) | Relation::Ratio(..) => true,
        };
        let figure = if of_two { left / right } else { left };
        figure.is_finite().then_some(figure)
    }
}

/// A number with its spread, where that is as much as the digits show.
fn spread((value, half_width): (f64, &Option<f64>)) -> String {
    let shown = half_width.filter(|half| *half > value.abs() * 0.0005);
    plain(value) + &shown.map(|half| format!(" \u{b1} {}", plain(half))).unwrap_or_default()
}

/// A number with as many digits as matter: three, and all of those before the point. Ratios of nearly equal numbers have five,
/// since bounds lie there.
fn plain(number: f64) -> String {
    if !number.is_finite() {
        return "none".to_owned();
    }
    let magnitude = number.abs();
    let decimals = match magnitude {
        _ if magnitude == 0.0 || magnitude >= 100.0 || number.fract() == 0.0 => 0,
        _ if (magnitude - 1.0).abs() < 0.01 => 4,
        _ if magnitude >= 10.0 => 1,
        _ if magnitude >= 1.0 => 2,
        _ => (2.0 - magnitude.log10().floor()).min(9.0) as usize,
    };
    let text = if number < 0.0 { format!("-{}", decimal(magnitude, decimals)) } else { decimal(number, decimals) };
    if decimals == 0 { text } else { text.trim_end_matches('0').trim_end_matches('.').to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::{Measured, judge, parse};

    #[test]
    fn numbers_have_the_digits_that_matter() {
        let texts = [
            (0.0, "0"),
            (474_739_990.0, "474,739,990"),
            (1234.56, "1,235"),
            (12.34, "12.3"),
            (1.5, "1.5"),
            (1.001_23, "1.0012"),
            (0.999_96, "1"),
            (0.025_074, "0.0251"),
            (0.000_000_9, "0.0000009"),
            (-0.5, "-0.5"),
            (f64::INFINITY, "none"),
        ];
        for (number, text) in texts {
            assert_eq!(plain(number), text);
        }
    }

    #[test]
    fn a_spread_that_no_digit_shows_is_left_out() {
        assert_eq!(spread((1.72, &Some(3.284))), "1.72 \u{b1} 3.28");
        assert_eq!([&None, &Some(0.0), &Some(1e-8)].map(|half| spread((0.652, half))), ["0.652"; 3]);
        assert_eq!(spread((0.0, &Some(0.5))), "0 \u{b1} 0.5");
    }

    #[test]
    fn figures_follow_the_relation() {
        let text = include_str!("../../../../claims/003-thpscale-latency.toml");
        let claim = parse("003-thpscale-latency.toml", text).unwrap();
        let verdicts = judge(&claim, &Measured::printed(&claim));
        let figures: Vec<String> =
            claim.shape.iter().zip(&verdicts).map(|(statement, verdict)| statement.figures(verdict)).collect();
        let expected = [
            "0.676 to 0.939; 8 of 8",
            "5 of 8",
            "6.12 = 23,443 / 3,832",
            "0.0251 = 11,903,963 / 474,739,990",
            "0.346 = 19,341,254 / 55,893,379",
            "8.49 = 474,739,990 / 55,893,379",
            "11,903,963 against 19,341,254",
        ];
        assert_eq!(figures, expected);
        let missing = judge(&claim, &Measured::default());
        assert_eq!(claim.shape[3].figures(&missing[3]), "counter||Compaction free scanned|patched was not measured");
        assert_eq!(claim.shape[0].figures(&missing[0]), "0 of 8");
    }
}
