//! A comparison as text: a sentence for each case, and one table.

use order9_report::number::{count_of, decimal, duration, grouped, percent_change, size};
use order9_report::stats::Estimate;
use order9_report::table::{Table, wrap};
use order9_report::terminal::ColourDepth;
use order9_units::{Nanos, Pages};

use super::{Changed, Comparison, Row, Unit, Verdict};

/// Columns of the text.
const WIDTH: usize = 98;
/// Least spread, as a share of the mean, that is shown.
const SPREAD: f64 = 0.002;

/// The verdict on a case.
pub(super) fn sentence(rows: &[Row], case: usize, cases: &[Vec<String>]) -> String {
    let of = |wanted: Verdict| {
        let rows = rows.iter().filter(|row| row.cases[case].verdict == wanted);
        rows.map(|row| format!("{} ({})", row.name, change(row, &row.cases[case]))).collect::<Vec<_>>().join(", ")
    };
    let (better, worse) = (of(Verdict::Better), of(Verdict::Worse));
    let verdict = match (better.is_empty(), worse.is_empty()) {
        (false, true) => format!("better, and nothing worse: {better}"),
        (true, false) => format!("worse, and nothing better: {worse}"),
        (false, false) => format!("better: {better}; worse: {worse}"),
        (true, true) if rows.iter().all(|row| row.cases[case].verdict == Verdict::Unknown) => {
            "one run each tells no difference from chance: --seeds asks for more".to_owned()
        }
        (true, true) => "no difference beyond the spread of runs".to_owned(),
    };
    format!("{}: {verdict}.", cases[case].join(" "))
}

impl Comparison {
    /// The comparison as text for a terminal.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text: String = self.sentences.iter().map(|sentence| wrap(sentence, WIDTH)).collect();
        text += "\n";
        text += &self.table();
        text += "\n";
        let runs = self.rows.iter().find_map(|row| row.now.as_ref()).map_or(0, Estimate::count);
        let runs = count_of(runs as u64, "run");
        let how = format!(
            "Means of {runs} each, \u{b1} half of the 95 % interval; =: no difference beyond the spread. Demand: {}, as {}. \
             Prices: {}.",
            self.demand, self.policy, self.prices
        );
        text += &wrap(&how, WIDTH);
        self.notes.iter().for_each(|note| text += &wrap(&format!("Note: {note}."), WIDTH));
        text
    }

    fn table(&self) -> String {
        let mut header = vec!["measured".to_owned(), "now".to_owned()];
        for nth in 1..=self.cases.len() {
            let name = if self.cases.len() == 1 { "with the change".to_owned() } else { format!("case {nth}") };
            header.extend([name, "difference".to_owned()]);
        }
        let mut table = Table::with_header(header);
        for row in &self.rows {
            let mut cells = vec![row.name.to_owned(), shown(row.now.as_ref(), row.unit)];
            for case in &row.cases {
                let verdict = match case.verdict {
                    Verdict::Better => format!("{} better", change(row, case)),
                    Verdict::Worse => format!("{} worse", change(row, case)),
                    Verdict::Same => "=".to_owned(),
                    Verdict::Unknown => "?".to_owned(),
                };
                cells.extend([shown(case.value.as_ref(), row.unit), verdict]);
            }
            table.row(cells);
        }
        table.render(WIDTH, ColourDepth::None)
    }
}

/// Difference of a case from what is now: points of percentages, else a share.
fn change(row: &Row, case: &Changed) -> String {
    match (row.unit, &row.now, &case.value) {
        (Unit::Percent, Some(now), Some(value)) => format!("{:+.1} points", value.mean() - now.mean()),
        _ => percent_change(case.difference.as_ref().and_then(|difference| difference.percent)),
    }
}

/// A value with its spread, where there is one to speak of.
pub(crate) fn shown(estimate: Option<&Estimate>, unit: Unit) -> String {
    let Some(estimate) = estimate else { return String::new() };
    let mean = number(estimate.mean(), unit);
    match estimate.half_width().filter(|half| *half > estimate.mean() * SPREAD) {
        Some(half) => format!("{mean} \u{b1} {}", number(half, unit)),
        None => mean,
    }
}

/// A value in its unit.
#[must_use]
pub fn number(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Percent => format!("{} %", decimal(value, 1)),
        Unit::Nanoseconds => duration(Nanos::new(value.round() as u64)),
        Unit::Events | Unit::HugePages => grouped(value.round() as u64),
        Unit::Pages => size(Pages::new(value.round() as u64).bytes()),
    }
}
