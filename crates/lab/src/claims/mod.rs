//! Quantities of published claims, looked up in runs of the lab so that the statements can be judged.
//!
//! Rows and counters of a claim are those of the comparison tables, under the same names; facts are read off the counters
//! over time ([`facts`]). What a run does not have is left out, and the statement that needs it is *not measured*.

mod cycle;
mod facts;
mod numa;

use order9_record::Run;
use order9_report::claims::{Claim, Field, Measured, Reading, RowKey, Verdict, judge};
use order9_report::compare::{Cell, Comparison, Report, Row};
use order9_report::stats::Estimate;

/// Judges every statement of `claim`: the first column of `report` is its baseline, the second its patched kernel, and the
/// runs are theirs. `machines` are all runs that there are, each with the name of its machine: some claims compare those.
#[must_use]
pub fn judge_claim(
    claim: &Claim,
    report: &Report,
    baseline: &[&Run],
    patched: &[&Run],
    machines: &[(&str, &Run)],
) -> Vec<Verdict> {
    let mut measured = Measured::default();
    for table in &report.tables {
        for (row, reading) in table.rows.iter().filter_map(|row| Some((row, reading(row)?))) {
            let key = key(row, table.comparison);
            for (field, cell) in [Field::Baseline, Field::Patched].into_iter().zip(&row.cells) {
                measured.spread(key.clone(), field, cell.estimate().and_then(Estimate::half_width));
            }
            measured.insert(key, reading);
        }
    }
    for fact in &claim.facts {
        if let Some(value) = facts::value(&fact.name, baseline, patched) {
            measured.spread(RowKey::fact(&fact.name), Field::Value, value.half_width());
            measured.insert(RowKey::fact(&fact.name), Reading::Value(value.mean()));
        }
    }
    for (row, ratio) in numa::ratios(claim, baseline, patched, machines) {
        measured.spread(row.key.clone(), Field::Ratio, ratio.half_width());
        measured.insert(row.key.clone(), Reading::Ratio(ratio.mean()));
    }
    judge(claim, &measured)
}

/// The numbers of a row in the first two columns.
fn reading(row: &Row) -> Option<Reading> {
    let [Cell::Measured { value: baseline, .. }, Cell::Measured { value: patched, change, .. }, ..] = &row.cells[..]
    else {
        return None;
    };
    Some(Reading::Pair { baseline: *baseline, patched: *patched, significant: change.map(|change| change.significant) })
}

/// The row of a claim that corresponds to a row of a table. Durations that are compared are those of the measured part,
/// all others those of the whole benchmark.
fn key(row: &Row, comparison: Comparison) -> RowKey {
    match row.statistic.as_str() {
        "Ops" => RowKey::counter(&row.operation),
        "Duration" if comparison == Comparison::WithFirst => RowKey::new("time", "", &row.operation.to_lowercase()),
        "Duration" => RowKey::new("Duration", "", &row.operation),
        statistic if let Some(percent) = statistic.strip_prefix("Pctile-") => {
            RowKey::new(&format!("{}-latency", row.operation), "", percent)
        }
        statistic => {
            let (metric, param) = parted(&row.operation);
            match statistic {
                // Of thread counts: one figure, which is no statistic.
                "Percentage" => RowKey::new(&format!("Percentage {metric}"), "", param),
                _ => RowKey::new(metric, statistic, param),
            }
        }
    }
}

/// An operation without its number, and that: `fault-both-3`, and `1-files/sec` where the number is in front.
fn parted(operation: &str) -> (&str, &str) {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match (operation.split_once('-'), operation.rsplit_once('-')) {
        (Some((number, metric)), _) if is_number(number) => (metric, number),
        (_, Some((metric, number))) if is_number(number) => (metric, number),
        _ => (operation, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_part_from_their_number_wherever_it_is() {
        for (operation, metric, param) in
            [("1-files/sec", "files/sec", "1"), ("fault-both-30", "fault-both", "30"), ("Elapsed", "Elapsed", "")]
        {
            assert_eq!(parted(operation), (metric, param));
        }
    }
}
