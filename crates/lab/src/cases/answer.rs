//! Conclusions from a table of cases, in about ten sentences: the cases that each policy hurts, and the machines on
//! which the answer differs.
//!
//! A policy hurts whoever waits for it longer than under the best policy there, by the factor; for any number of accesses,
//! since nobody knows how long memory is used. It also hurts whoever else's memory it swaps out, where another policy does not.
//! What is within [`NEARLY`] of the best counts as the best.

use std::collections::BTreeMap;

use order9_report::number::{count_of, size};
use order9_report::table::wrap;
use schemars::JsonSchema;
use serde::Serialize;

use super::text::number;
use super::{CaseRow, CaseTable, MILLIONS};

/// Multiple of the best up to which a policy still counts as best: nobody would choose a policy for a hundredth.
const NEARLY: f64 = 1.01;
/// Width of texts, in columns.
const WIDTH: usize = 98;
/// Number of groups of policies that are named behind the best.
const NAMED: usize = 3;

/// Conclusions from a table, in words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Answer {
    /// Sentences in order.
    pub sentences: Vec<String>,
}

/// The worst that a policy does to anybody.
struct Harm<'a> {
    policy: usize,
    /// Largest multiple of the best, and its case.
    ratio: f64,
    row: &'a CaseRow,
    nth: usize,
    /// Number of rows in which it swaps out memory that another policy keeps.
    swaps: usize,
}

impl Answer {
    /// The conclusions from `table`.
    #[must_use]
    pub fn of(table: &CaseTable) -> Self {
        if table.rows.is_empty() || table.policies.is_empty() {
            return Self::default();
        }
        let mut sentences = Vec::new();
        let mut harms: Vec<Harm<'_>> = (0..table.policies.len()).map(|policy| harm(table, policy)).collect();
        harms.sort_by(|one, other| {
            (one.swaps.min(1), one.ratio).partial_cmp(&(other.swaps.min(1), other.ratio)).expect("no NaN")
        });
        sentences.extend(least_harm(table, &harms));
        sentences.extend(swapping(table));
        sentences.extend((0..MILLIONS.len()).map(|nth| best(table, nth)));
        sentences.extend(by_machine(table));
        Self { sentences }
    }

    /// Writes the sentences as a list.
    #[must_use]
    pub fn to_text(&self) -> String {
        let item = |sentence: &String| format!("- {}\n", wrap(sentence, WIDTH).trim_end().replace('\n', "\n  "));
        self.sentences.iter().map(item).collect()
    }
}

fn harm(table: &CaseTable, policy: usize) -> Harm<'_> {
    let places = table.rows.iter().flat_map(|row| (0..MILLIONS.len()).map(move |nth| (row, nth)));
    let (row, nth) = places
        .reduce(|worst, next| if next.0.ratio(policy, next.1) > worst.0.ratio(policy, worst.1) { next } else { worst })
        .expect("there is a row");
    let swaps = table.rows.iter().filter(|row| swaps_others(row, policy)).count();
    Harm { policy, ratio: row.ratio(policy, nth), row, nth, swaps }
}

/// Whether a policy swaps out clearly more than the one that swaps least: a hundredth of what the worst does.
fn swaps_others(row: &CaseRow, policy: usize) -> bool {
    let of = |policy| row.swapped_in_vain(policy).get();
    let most = (0..row.cells.len()).map(of).max().unwrap_or(0);
    of(policy) > most / 100
}

/// Names the policies that hurt least, come next, and hurt most.
fn least_harm(table: &CaseTable, harms: &[Harm<'_>]) -> Vec<String> {
    let columns = table.columns();
    let first = &harms[0];
    let equals: Vec<_> = harms
        .iter()
        .take_while(|harm| harm.swaps.min(1) == first.swaps.min(1) && harm.ratio <= first.ratio * NEARLY)
        .collect();
    let (rest, names) = (&harms[equals.len()..], list(equals.iter().map(|harm| columns[harm.policy].clone())));
    let swapping = if first.swaps == 0 { "swaps out nothing that another policy leaves in memory, and " } else { "" };
    let mut sentences = vec![format!(
        "Least hurt by {names}: it {swapping}never takes more than {} the best policy of the case ({}).",
        times(first.ratio),
        place(first.row, first.nth)
    )];
    let mut next: Vec<(&Harm<'_>, Vec<String>)> = Vec::new();
    for harm in rest.iter().filter(|harm| harm.swaps == 0) {
        let name = columns[harm.policy].clone();
        match next.last_mut() {
            Some((first, names)) if harm.ratio <= first.ratio * NEARLY => names.push(name),
            _ => next.push((harm, vec![name])),
        }
    }
    let next = next.into_iter().take(NAMED);
    let next: Vec<_> = next
        .map(|(harm, names)| format!("{} {} ({})", list(names), times(harm.ratio), place(harm.row, harm.nth)))
        .collect();
    if !next.is_empty() {
        sentences.push(format!("Next, at their worst: {}.", next.join("; ")));
    }
    if let Some(worst) = rest.iter().max_by(|one, other| one.ratio.total_cmp(&other.ratio)) {
        let (policy, where_) = (&columns[worst.policy], place(worst.row, worst.nth));
        sentences.push(format!("Most hurt by {policy}: {} the best ({where_}).", times(worst.ratio)));
    }
    sentences
}

/// Names the policies that swap out memory which others keep.
fn swapping(table: &CaseTable) -> Option<String> {
    let columns = table.columns();
    let who = |policy: usize| {
        let rows: Vec<_> = table.rows.iter().filter(|row| swaps_others(row, policy)).collect();
        let most = rows.iter().map(|row| row.swapped_in_vain(policy)).max()?;
        Some(format!("{} ({}, up to {})", columns[policy], count_of(rows.len() as u64, "row"), size(most)))
    };
    let who: Vec<_> = (0..columns.len()).filter_map(who).collect();
    let all = table.rows.len();
    (!who.is_empty())
        .then(|| format!("Of {all} rows, memory that another policy leaves alone is swapped out by {}.", list(who)))
}

/// Counts how often each policy is best after the `nth` number of accesses.
fn best(table: &CaseTable, nth: usize) -> String {
    let columns = table.columns();
    let wins = |policy: usize| table.rows.iter().filter(|row| row.ratio(policy, nth) <= NEARLY).count();
    let mut by_wins: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    (0..columns.len()).for_each(|policy| by_wins.entry(wins(policy)).or_default().push(columns[policy].clone()));
    let most: Vec<_> =
        by_wins.iter().rev().take(2).map(|(wins, who)| format!("{} in {wins}", list(who.clone()))).collect();
    format!("Best {}, of {} rows: {}.", life(nth), table.rows.len(), most.join("; "))
}

/// Cases on several machines: who is best on which after most accesses, where that is not the same on all.
fn by_machine(table: &CaseTable) -> Vec<String> {
    let mut cases: Vec<(&str, Vec<&CaseRow>)> = Vec::new();
    for row in &table.rows {
        match cases.iter_mut().find(|(case, _)| *case == row.case) {
            Some((_, rows)) => rows.push(row),
            None => cases.push((&row.case, vec![row])),
        }
    }
    let nth = MILLIONS.len() - 1;
    let several = cases.into_iter().filter(|(_, rows)| rows.len() > 1);
    several.map(|(case, rows)| of_machines(table, case, &rows, nth)).collect()
}

fn of_machines(table: &CaseTable, case: &str, rows: &[&CaseRow], nth: usize) -> String {
    let columns = table.columns();
    let mut by_best: Vec<(Vec<usize>, Vec<String>)> = Vec::new();
    for row in rows {
        let best: Vec<usize> = (0..columns.len()).filter(|&policy| row.ratio(policy, nth) <= NEARLY).collect();
        let machine = format!("`{}`", row.machine);
        match by_best.iter_mut().find(|(other, _)| *other == best) {
            Some((_, machines)) => machines.push(machine),
            None => by_best.push((best, vec![machine])),
        }
    }
    let names = |best: &[usize]| list(best.iter().map(|&policy| columns[policy].clone()));
    match by_best.as_slice() {
        [(best, machines)] => {
            format!("{case}: {} {} on all {} machines.", names(best), life(nth), machines.len())
        }
        several => {
            let of =
                |(best, machines): &(Vec<usize>, Vec<String>)| format!("on {} {}", list(machines.clone()), names(best));
            let of: Vec<_> = several.iter().map(of).collect();
            format!("{case}: the answer changes with the machine. Best {}: {}.", life(nth), of.join("; "))
        }
    }
}

fn place(row: &CaseRow, nth: usize) -> String {
    format!("{}, {}", row.title(), life(nth))
}

fn life(nth: usize) -> String {
    match MILLIONS[nth] {
        0 => "for touching alone".to_owned(),
        millions => format!("after {millions} million accesses"),
    }
}

fn times(ratio: f64) -> String {
    if ratio.is_finite() { format!("{} times", number(ratio)) } else { "endlessly longer than".to_owned() }
}

/// `a, b and c`.
fn list(words: impl IntoIterator<Item = String>) -> String {
    let words: Vec<_> = words.into_iter().collect();
    match words.split_last() {
        None => "none".to_owned(),
        Some((only, [])) => only.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::CaseCell;

    const GIB: f64 = (1_u64 << 30) as f64;

    /// A cell by what it takes at once, what 100 million accesses take, and how many GiB it swaps out.
    fn cell(once: f64, accesses: f64, gib: f64) -> CaseCell {
        let seconds = MILLIONS.iter().map(|&millions| once + accesses * millions as f64 / 100.0).collect();
        CaseCell { seconds, swapped: gib * GIB, ..CaseCell::default() }
    }

    fn table(rows: &[(&str, &str, [CaseCell; 3])]) -> CaseTable {
        let policies = ["thp-swaps", "thp-waits", "thp-weighs"].map(str::to_owned).to_vec();
        let row = |(case, machine, cells): &(&str, &str, [CaseCell; 3])| CaseRow {
            case: (*case).to_owned(),
            machine: (*machine).to_owned(),
            cells: cells.to_vec(),
        };
        CaseTable { policies, rows: rows.iter().map(row).collect() }
    }

    #[test]
    fn who_swaps_out_what_others_leave_is_not_the_least_hurt_by() {
        let table = table(&[("guest", "m", [cell(1.0, 10.0, 2.0), cell(3.0, 10.0, 0.0), cell(1.5, 10.0, 0.0)])]);
        let answer = Answer::of(&table).sentences;
        assert_eq!(
            answer,
            [
                "Least hurt by weighs: it swaps out nothing that another policy leaves in memory, and never takes more than \
                 1.50 times the best policy of the case (guest, `m`, for touching alone).",
                "Next, at their worst: waits 3.00 times (guest, `m`, for touching alone).",
                "Most hurt by waits: 3.00 times the best (guest, `m`, for touching alone).",
                "Of 1 rows, memory that another policy leaves alone is swapped out by swaps (1 row, up to 2 GiB).",
                "Best for touching alone, of 1 rows: swaps in 1; waits and weighs in 0.",
                "Best after 1 million accesses, of 1 rows: swaps in 1; waits and weighs in 0.",
                "Best after 10 million accesses, of 1 rows: swaps in 1; waits and weighs in 0.",
                "Best after 100 million accesses, of 1 rows: swaps in 1; waits and weighs in 0.",
            ]
        );
    }

    #[test]
    fn a_case_on_several_machines_says_where_the_answer_changes() {
        let same = [cell(1.0, 10.0, 0.0), cell(1.0, 20.0, 0.0), cell(1.0, 20.0, 0.0)];
        let other = [cell(1.0, 20.0, 0.0), cell(1.0, 10.0, 0.0), cell(1.0, 10.02, 0.0)];
        let last = |table: &CaseTable| Answer::of(table).sentences.pop().expect("it says something");
        let both = table(&[("b2", "m", same.clone()), ("b2", "n", same.clone())]);
        assert_eq!(last(&both), "b2: swaps after 100 million accesses on all 2 machines.");
        let apart = table(&[("b2", "m", same), ("b2", "n", other)]);
        assert_eq!(
            last(&apart),
            "b2: the answer changes with the machine. Best after 100 million accesses: on `m` swaps; on `n` waits and weighs."
        );
    }

    #[test]
    fn what_did_not_end_hurts_endlessly() {
        let failed = CaseCell { failed: Some("out of memory".to_owned()), ..CaseCell::default() };
        let table = table(&[("guest", "m", [failed, cell(3.0, 10.0, 0.0), cell(1.0, 10.0, 0.0)])]);
        let answer = Answer::of(&table).sentences;
        assert!(answer[2].starts_with("Most hurt by swaps: endlessly longer than the best"), "{answer:?}");
        assert!(table.to_text().contains("did not end"));
    }

    #[test]
    fn the_least_of_a_line_is_bold_unless_all_are() {
        let table = table(&[("b1", "m", [cell(1.0, 10.0, 0.0), cell(1.0, 10.0, 0.0), cell(2.0, 9.0, 0.5)])]);
        let text = table.to_text();
        let line = |of: &str| text.lines().find(|line| line.contains(of)).expect("a line").replace(' ', "");
        assert!(line("touching").ends_with("|touching,s|**1.00**|**1.00**|2.00|"), "{text}");
        assert!(line("100 M").ends_with("|and100Maccesses,s|11.0|11.0|11.0|"), "{text}");
        assert!(line("swapped").ends_with("|0|0|0.50|"), "{text}");
        assert!(
            text.starts_with("| case") && text.lines().all(|line| line.len() == text.lines().next().unwrap().len())
        );
    }
}
