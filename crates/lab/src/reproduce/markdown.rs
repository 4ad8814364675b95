//! Reproductions as tables in Markdown.

use std::fmt::Write as _;

use super::text::{plain, seeds, spread, words};
use super::{Judged, Reproduction, Why};

/// Every claim with its table, as a page.
#[must_use]
pub fn page(of: &Reproduction) -> String {
    let score = of.score();
    let mut page = format!(
        "# Published claims at {} size\n\n{} of {} statements hold, {} do not, {} are not judged. Claims about what the model is \
         given are not among them.\n",
        of.size.name(),
        score.hold,
        score.all(),
        score.fail,
        score.not_judged
    );
    for claim in &of.claims {
        write!(page, "\n## {}\n\n{}\n\n{}", claim.claim, claim.headline, claim_table(claim))
            .expect("text can be written");
    }
    page
}

/// The statements of a claim as a table, below a line that says what ran.
#[must_use]
pub fn claim_table(of: &Judged) -> String {
    let mut text = String::new();
    if let Some(made) = &of.made {
        let input = if made.input { "; an input of the model" } else { "" };
        let build = if made.other_build { "; another build of order9 made the runs" } else { "" };
        let [baseline, patched] = &made.kernels;
        let (machines, seeds, score) = (made.machines.join("; "), seeds(made), of.score());
        writeln!(
            text,
            "`{}` on {machines}: `{baseline}` as baseline, `{patched}` as patched kernel, {seeds}{input}{build}. \
             {} of {} hold.\n",
            of.claim,
            score.hold,
            score.all(),
        )
        .expect("text can be written");
    }
    if let Some(Why::NoExperiment(why) | Why::NotRun(why)) = &of.why {
        writeln!(text, "Not judged: {why}.\n").expect("text can be written");
    }
    text += "| statement | published | measured | verdict | cause |\n|---|---|---|---|---|\n";
    for statement in &of.statements {
        let verdict = &statement.verdict;
        let cells = [
            format!("{} ({})", verdict.note, plain(&verdict.statement)),
            statement.published.clone(),
            statement.measured.clone() + &spread(statement),
            words(verdict.outcome).to_owned(),
            statement.cause.clone().unwrap_or_default(),
        ];
        writeln!(text, "| {} |", cells.map(|cell| escaped(&cell)).join(" | ")).expect("text can be written");
    }
    text
}

/// A cell on one line, without what Markdown would take for marks.
fn escaped(cell: &str) -> String {
    let words: Vec<&str> = cell.split_whitespace().collect();
    words
        .join(" ")
        .replace('|', "\\|")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('*', "\\*")
        .replace('_', "\\_")
}
