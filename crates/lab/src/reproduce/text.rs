//! Reproductions for a terminal.

use std::fmt::{self, Write as _};

use order9_report::claims::Outcome;
use order9_report::number::count_of;
use order9_report::table::{Table, wrap};
use order9_report::terminal::ColourDepth;

use super::{Changes, Judged, Made, Reproduction, Score, Why};

/// Width of sentences below tables, in columns.
const WIDTH: usize = 98;
/// Place below a statement, behind its verdict.
const HANGING: &str = "                ";

/// Statements that hold, by experiment, by claim and in total, and why claims were not judged.
#[must_use]
pub fn summary(of: &Reproduction) -> String {
    let mut table = Table::new(["experiment and its claims", "statements", "hold", "do not", "not judged"]);
    let mut experiment = "";
    for claim in &of.claims {
        let (name, note) = claim.made.as_ref().map_or(("without experiment", ""), |made| {
            (made.experiment.as_str(), if made.input { " (input of the model)" } else { "" })
        });
        if name != experiment {
            table.row(vec![name.to_owned()]);
            experiment = name;
        }
        table.row(cells(format!("  {}{note}", claim.claim), claim.score()));
    }
    table.row(cells("total".to_owned(), of.score()));
    if of.inputs().all() > 0 {
        table.row(cells("total of inputs".to_owned(), of.inputs()));
    }
    let head = format!("Verdicts at {} size\n\n", of.size.name());
    let reasons = of.claims.iter().filter_map(|claim| {
        let (Why::NoExperiment(why) | Why::NotRun(why)) = claim.why.as_ref()?;
        Some(item(&format!("{} is not judged: {why}", claim.claim)))
    });
    let built = of.claims.iter().filter(|claim| claim.made.as_ref().is_some_and(|made| made.other_build));
    let built = built.map(|claim| item(&format!("{}: another build of order9 made the runs", claim.claim)));
    let notes: String = reasons.chain(built).collect();
    let notes = if notes.is_empty() { notes } else { format!("\n{notes}") };
    format!("{head}{}{notes}", table.render(usize::MAX, ColourDepth::None))
}

fn cells(label: String, score: Score) -> Vec<String> {
    let numbers = [score.all(), score.hold, score.fail, score.not_judged];
    [label].into_iter().chain(numbers.map(|number| number.to_string())).collect()
}

fn item(note: &str) -> String {
    format!("- {}\n", wrap(note, WIDTH).trim_end().replace('\n', "\n  "))
}

/// Every statement of a claim with what was published and what was measured.
#[must_use]
pub fn claim_text(of: &Judged) -> String {
    let mut text = format!("{}\n", of.claim);
    let mut line = |line: &str| writeln!(text, "{line}").expect("text can be written");
    if let Some(made) = &of.made {
        let seeds = seeds(made);
        line(&format!("  {}: {}", made.title, made.machines.join("; ")));
        line(&format!("  {} as baseline, {} as patched kernel, {seeds}", made.kernels[0], made.kernels[1]));
    }
    if let Some(Why::NoExperiment(why) | Why::NotRun(why)) = &of.why {
        indented(&format!("not judged: {why}"), "  ").lines().for_each(&mut line);
    }
    for statement in &of.statements {
        let verdict = &statement.verdict;
        let statement_text = format!("{} ({})", verdict.note, plain(&verdict.statement));
        let hanging = indented(&statement_text, HANGING);
        line(format!("  {:<14}{}", words(verdict.outcome), hanging.trim()).as_str());
        line(&format!("  {:<14}published {}", "", statement.published));
        if of.why.is_none() {
            line(&format!("  {:<14}measured  {}{}", "", statement.measured, spread(statement)));
        }
        if let Some(cause) = &statement.cause {
            indented(cause, HANGING).lines().for_each(&mut line);
        }
    }
    text
}

/// Seeds of the runs: `seed 1`, `seeds 1, 2`.
pub(super) fn seeds(of: &Made) -> String {
    let numbers = of.seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    format!("seed{} {numbers}", if of.seeds.len() == 1 { "" } else { "s" })
}

fn indented(text: &str, indent: &str) -> String {
    wrap(text, WIDTH - indent.len()).lines().map(|line| format!("{indent}{line}\n")).collect()
}

/// In how many seeds a statement holds, where there are several.
pub(super) fn spread(statement: &super::StatementVerdict) -> String {
    let hold = statement.seeds.iter().filter(|of| of.outcome == Outcome::Holds).count();
    match statement.seeds.len() {
        0 => String::new(),
        seeds => format!("; holds in {hold} of {}", count_of(seeds as u64, "seed")),
    }
}

/// A verdict in words.
pub(super) const fn words(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Holds => "holds",
        Outcome::Fails => "does not hold",
        Outcome::NotMeasured => "not judged",
    }
}

/// A statement without the bars between the parts of its names.
pub(super) fn plain(statement: &str) -> String {
    let text = statement.replace("counter||", "").replace("fact||", "").replace('|', " ");
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace(" :", ":")
}

/// Every verdict that changed, and how many did.
impl fmt::Display for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for change in &self.changed {
            let [before, now] = change.outcomes.map(words);
            let mark = if change.is_worse() { "worse" } else { "better" };
            writeln!(f, "{mark:<7}{}: {}", change.claim, plain(&change.statement))?;
            writeln!(f, "       {before}: {}", change.measured[0])?;
            writeln!(f, "       now {now}: {}", change.measured[1])?;
        }
        let (worse, better) = (self.worse(), self.changed.len() - self.worse());
        writeln!(f, "{} compared: {worse} worse, {better} better", count_of(self.compared as u64, "statement"))?;
        if !self.alone.is_empty() {
            writeln!(f, "{} in one of both alone", count_of(self.alone.len() as u64, "claim"))?;
        }
        Ok(())
    }
}
