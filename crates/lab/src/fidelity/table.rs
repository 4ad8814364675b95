//! Tables of verdicts for a person.

use std::fmt;

use super::{Fidelity, Goal, Judged, Verdict};

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Points(points) => write!(f, "{points} points"),
            Self::Percent(percent) => write!(f, "{percent} %"),
            Self::Factor(factor) => write!(f, "a factor of {factor}"),
        }
    }
}

impl Judged {
    /// Words for the verdict.
    pub(super) fn words(&self) -> String {
        match (self.verdict, self.goal) {
            (Verdict::InsideRange, _) => "inside the real range".to_owned(),
            (Verdict::WithinGoal, goal) => format!("within {goal}"),
            (Verdict::Negligible, _) => "too little to matter".to_owned(),
            (Verdict::Outside { by: Some(by), .. }, Goal::Points(points)) => {
                format!("OUTSIDE {points} points: {by:+.1}")
            }
            (Verdict::Outside { by: Some(by), .. }, goal) => format!("OUTSIDE {goal}: {by:.2} times"),
            (Verdict::Outside { by: None, .. }, goal) => format!("OUTSIDE {goal}: none was real"),
            (Verdict::NotComparable, _) => "time is not real".to_owned(),
            (Verdict::NotMeasured, _) => "measured on one side only".to_owned(),
        }
    }
}

impl Judged {
    /// Range of the lab's runs.
    pub(super) fn lab_range_text(&self) -> String {
        self.lab_range.map_or_else(|| "-".to_owned(), |(least, largest)| from_to(least, largest))
    }

    /// Range of the real runs; two of them, where the runs fall into two groups.
    pub(super) fn range_text(&self) -> String {
        match (self.range, self.groups) {
            (None, _) => "-".to_owned(),
            (Some((least, largest)), None) => from_to(least, largest),
            (Some((least, largest)), Some((lower, upper))) => {
                format!("{} or {}", from_to(least, lower), from_to(upper, largest))
            }
        }
    }
}

fn from_to(least: f64, largest: f64) -> String {
    format!("{} .. {}", number(Some(least)), number(Some(largest)))
}

/// A number with as many digits as matter.
pub(super) fn number(value: Option<f64>) -> String {
    match value {
        None => "-".to_owned(),
        Some(value) if value.abs() >= 100.0 || value == 0.0 => order9_report::number::grouped(value.round() as u64),
        Some(value) => format!("{value:.2}"),
    }
}

/// A table for a person.
impl fmt::Display for Fidelity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (judged, good) = self.score();
        writeln!(
            f,
            "{}: {} ({} real), {} ({} in the lab): {good} of {judged} quantities good enough",
            self.experiment, self.kernel, self.real_runs, self.policy, self.lab_runs
        )?;
        let head = ["", "lab median", "lab range", "real median", "real range", "verdict"].map(str::to_owned);
        let row = |row: &Judged| {
            let (lab, real) = (number(row.lab), number(row.real));
            [row.quantity.clone(), lab, row.lab_range_text(), real, row.range_text(), row.words()]
        };
        let rows: Vec<[String; 6]> = std::iter::once(head).chain(self.rows.iter().map(row)).collect();
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let [a, b, c, d, e] = [width(0), width(1), width(2), width(3), width(4)];
        for [name, lab, lab_range, real, range, verdict] in &rows {
            writeln!(f, "  {name:a$}  {lab:>b$}  {lab_range:>c$}  {real:>d$}  {range:>e$}  {verdict}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_says_how_many_are_good_enough() {
        let row = |quantity: &str, lab, verdict| Judged {
            quantity: quantity.to_owned(),
            lab: Some(lab),
            lab_range: Some((lab, lab)),
            real: Some(1000.0),
            range: Some((900.0, 1100.0)),
            groups: None,
            goal: Goal::Factor(1.5),
            verdict,
        };
        let fidelity = Fidelity {
            experiment: "hugealloc".to_owned(),
            kernel: "live-6.1".to_owned(),
            policy: "host-linux-6.1".to_owned(),
            real_runs: 5,
            lab_runs: 1,
            rows: vec![
                row("pages moved", 1050.0, Verdict::InsideRange),
                row("compaction stalls", 3.0, Verdict::Outside { by: Some(0.003), severity: 200.0 }),
                row("kcompactd CPU (ms)", 3.0, Verdict::NotComparable),
            ],
        };
        let expected = "\
hugealloc: live-6.1 (5 real), host-linux-6.1 (1 in the lab): 1 of 2 quantities good enough
                      lab median       lab range  real median    real range  verdict
  pages moved              1,050  1,050 .. 1,050        1,000  900 .. 1,100  inside the real range
  compaction stalls         3.00    3.00 .. 3.00        1,000  900 .. 1,100  OUTSIDE a factor of 1.5: 0.00 times
  kcompactd CPU (ms)        3.00    3.00 .. 3.00        1,000  900 .. 1,100  time is not real
";
        assert_eq!(fidelity.to_string(), expected);
        let both = Judged { groups: Some((950.0, 1050.0)), ..row("pages moved", 1000.0, Verdict::InsideRange) };
        assert_eq!(both.range_text(), "900 .. 950 or 1,050 .. 1,100");
    }
}
