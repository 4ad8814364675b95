//! The comparison as text: a sentence, and one table.

use order9_report::number::{count_of, decimal, duration, grouped, size};
use order9_report::stats::Estimate;
use order9_report::table::{Table, wrap};
use order9_report::terminal::ColourDepth;
use order9_units::{Nanos, Pages};

use super::{Beside, Outcome, Row, Verdict};

/// Columns of the text.
const WIDTH: usize = 98;

/// The verdicts in words.
pub(super) fn sentence(rows: &[Row], verdicts: &[Verdict]) -> String {
    let values = |wanted: Outcome| {
        let values = verdicts.iter().filter(|verdict| verdict.outcome == wanted);
        values.map(|verdict| format!("{}{}", verdict.proactiveness, by(rows, verdict))).collect::<Vec<_>>().join(", ")
    };
    let parts = [
        (Outcome::More, "more than at"),
        (Outcome::Same, "no difference beyond chance at"),
        (Outcome::Fewer, "fewer than at"),
        (Outcome::NoBudget, "the kernel spends next to nothing at"),
        (Outcome::Unknown, "one run each tells nothing at"),
    ];
    let parts: Vec<_> =
        parts.iter().map(|(outcome, words)| (words, values(*outcome))).filter(|(_, of)| !of.is_empty()).collect();
    let parts: Vec<_> = parts.iter().map(|(words, of)| format!("{words} {of}")).collect();
    format!(
        "Huge pages that the guard keeps ready for no more CPU time than the kernel with vm.compaction_proactiveness: {}.",
        parts.join("; ")
    )
}

/// The difference behind a value of proactiveness.
fn by(rows: &[Row], verdict: &Verdict) -> String {
    let ready = |row: &Row| grouped(row.measured.huge_free.mean().round() as u64);
    let kernel = rows.iter().find(|row| row.budget.is_none() && row.proactiveness == verdict.proactiveness);
    let guard = rows.iter().find(|row| Some(&row.title) == verdict.guard.as_ref());
    kernel.zip(guard).map_or_else(String::new, |(kernel, guard)| format!(" ({}, {})", ready(guard), ready(kernel)))
}

impl Beside {
    /// The comparison as text for a terminal.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = wrap(&self.sentence, WIDTH);
        text += "\n";
        text += &self.table();
        text += "\n";
        let runs = count_of(self.rows[0].measured.huge_free.count() as u64, "run");
        let how = format!(
            "Means of {runs} each, \u{b1} half of the 95 % interval. Ready: free huge pages over the time of a run; goal: {}. \
             CPU time: of kcompactd and the guard. Waits: for direct compaction. Huge: \
             share of the faults that could be. A guard with a time may spend that, and gathers all it can. Demand: {}, as {}. Prices: {}.",
            grouped(self.goal),
            self.demand,
            self.policy,
            self.prices
        );
        text += &wrap(&how, WIDTH);
        self.notes.iter().for_each(|note| text += &wrap(&format!("Note: {note}."), WIDTH));
        text
    }

    fn table(&self) -> String {
        let header = ["who compacts", "ready", "least", "at goal", "CPU time", "waits", "their time", "huge", "moved"];
        let mut table = Table::new(header);
        // The guard as configured comes first, then the kernel, then guards by budget.
        let (configured, others): (Vec<&Row>, Vec<&Row>) = self.rows.iter().partition(|row| row.title == super::TITLE);
        for row in configured.into_iter().chain(others) {
            let measured = &row.measured;
            let number = |estimate: &Estimate| grouped(estimate.mean().round() as u64);
            table.row(vec![
                name(row),
                with_spread(&measured.huge_free),
                number(&measured.huge_free_least),
                format!("{} %", decimal(measured.at_goal_percent.mean(), 0)),
                duration(Nanos::new(measured.cpu_ns.mean() as u64)),
                number(&measured.waits),
                duration(Nanos::new(measured.wait_ns.mean() as u64)),
                measured.huge_percent.as_ref().map_or_else(String::new, |of| format!("{} %", decimal(of.mean(), 1))),
                size(Pages::new(measured.pages_moved.mean() as u64).bytes()),
            ]);
        }
        table.render(WIDTH, ColourDepth::None)
    }
}

fn name(row: &Row) -> String {
    match row.budget {
        Some(_) if row.title == super::TITLE => "guard as configured".to_owned(),
        Some(budget) => format!("guard with {}", duration(budget)),
        None => format!("proactiveness {}", row.proactiveness),
    }
}

fn with_spread(estimate: &Estimate) -> String {
    let mean = grouped(estimate.mean().round() as u64);
    let half = estimate.half_width().map(|half| half.round() as u64).filter(|half| *half > 0);
    half.map_or_else(|| mean.clone(), |half| format!("{mean} \u{b1} {}", grouped(half)))
}
