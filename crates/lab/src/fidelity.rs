//! The lab held against a real kernel: one row for each quantity, with a verdict.
//!
//! Both sides ran the same program with the same parameters from the same memory. Real runs differ among each other by the timing
//! of their threads, so a quantity is first held against their range, and then against a goal around their median.

use std::fmt;

use order9_record::Run;
use order9_report::compare::{Quantity, Results, Unit};
use serde::Serialize;

use crate::quantities::workload_quantities;
use crate::tables::results;

/// Distance from the real median at which the lab is still good enough.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Goal {
    /// Percentage points, for shares.
    Points(f64),
    /// Percent of the median.
    Percent(f64),
    /// At most so many times the median, or that part of it.
    Factor(f64),
}

/// Answer about one quantity.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub enum Verdict {
    /// No real run is below, or above, the lab.
    InsideRange,
    /// Within the goal around the real median.
    WithinGoal,
    /// Both sides have so little of it that a ratio says nothing.
    Negligible,
    /// Further from the real median than the goal.
    Outside {
        /// The lab's value over the real median, or their difference in points.
        by: f64,
    },
    /// Time of the guest was not real.
    NotComparable,
    /// One side did not measure it.
    NotMeasured,
}

/// One quantity on both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judged {
    /// Name of the quantity with its unit.
    pub quantity: String,
    /// The lab's value: the median of its runs.
    pub lab: Option<f64>,
    /// Median of the real runs.
    pub real: Option<f64>,
    /// Least and largest of the real runs.
    pub range: Option<(f64, f64)>,
    /// Distance that is good enough.
    pub goal: Goal,
    /// The answer.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// All quantities of a workload under one kernel.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fidelity {
    /// Title of the real column.
    pub kernel: String,
    /// Title of the lab's column.
    pub policy: String,
    /// Number of real runs.
    pub real_runs: usize,
    /// Number of runs of the lab.
    pub lab_runs: usize,
    /// The rows.
    pub rows: Vec<Judged>,
}

/// Reads a quantity from the results of a run; `None` where nothing was measured.
type Read = Box<dyn Fn(&Results) -> Option<f64>>;

/// A quantity, how it is read from a run, and how near the lab is to come.
struct Asked {
    name: String,
    read: Read,
    goal: Goal,
    /// Amount that both sides may have without anybody caring.
    negligible: f64,
    is_time: bool,
}

const PAGEBLOCK: f64 = 512.0;

fn count(results: &Results, name: &str) -> Option<f64> {
    results.counters.get(name).map(|count| count as f64)
}

/// Huge pages that programs got.
fn made(results: &Results) -> Option<f64> {
    Some(count(results, "thp_fault_alloc")? + count(results, "thp_collapse_alloc").unwrap_or(0.0))
}

/// A counter for each huge page made; of all, where none was.
fn per_huge(results: &Results, name: &str) -> Option<f64> {
    let huge = made(results).filter(|&huge| huge > 0.0).unwrap_or(1.0);
    Some(count(results, name)? / huge)
}

fn sum(results: &Results, names: &[&str]) -> Option<f64> {
    let known: Vec<f64> = names.iter().filter_map(|name| count(results, name)).collect();
    (!known.is_empty()).then(|| known.iter().sum())
}

/// Quantities of every workload.
fn counters() -> Vec<Asked> {
    let factor = |name: &str, negligible, read: Read| Asked {
        name: name.to_owned(),
        read,
        goal: Goal::Factor(1.5),
        negligible,
        is_time: false,
    };
    let daemon = |name: &str, counter: &'static str| Asked {
        name: format!("{name} CPU (ms)"),
        read: Box::new(move |results| count(results, counter).map(|ns| ns / 1e6)),
        goal: Goal::Percent(25.0),
        negligible: 20.0,
        is_time: true,
    };
    let huge_share = Asked {
        name: "faults that became huge (%)".to_owned(),
        read: Box::new(|results| {
            let (huge, base) = (count(results, "thp_fault_alloc")?, count(results, "thp_fault_fallback")?);
            (huge + base > 0.0).then(|| 100.0 * huge / (huge + base))
        }),
        goal: Goal::Points(3.0),
        negligible: 0.0,
        is_time: false,
    };
    vec![
        huge_share,
        factor("huge pages made", 8.0, Box::new(made)),
        factor("pages moved", PAGEBLOCK, Box::new(|results| count(results, "pgmigrate_success"))),
        factor(
            "scanned for sources, per huge page",
            PAGEBLOCK / 8.0,
            Box::new(|results| per_huge(results, "compact_migrate_scanned")),
        ),
        factor(
            "scanned for targets, per huge page",
            PAGEBLOCK / 8.0,
            Box::new(|results| per_huge(results, "compact_free_scanned")),
        ),
        factor("compaction stalls", 10.0, Box::new(|results| count(results, "compact_stall"))),
        factor("compaction failures", 10.0, Box::new(|results| count(results, "compact_fail"))),
        factor(
            "pages scanned by reclaim",
            PAGEBLOCK,
            Box::new(|results| sum(results, &["pgscan_kswapd", "pgscan_direct"])),
        ),
        factor("pages reclaimed", PAGEBLOCK, Box::new(|results| sum(results, &["pgsteal_kswapd", "pgsteal_direct"]))),
        factor("pages swapped out", PAGEBLOCK, Box::new(|results| count(results, "pswpout"))),
        factor("pages swapped in", PAGEBLOCK, Box::new(|results| count(results, "pswpin"))),
        daemon("kswapd", "order9_kswapd_cpu_ns"),
        daemon("kcompactd", "order9_kcompactd_cpu_ns"),
        daemon("khugepaged", "order9_khugepaged_cpu_ns"),
    ]
}

/// Quantity by which the workload itself is judged.
fn of_workload(quantity: Quantity) -> Asked {
    let unit = quantity.unit;
    let (goal, is_time) = match unit {
        Unit::Percent => (Goal::Points(3.0), false),
        Unit::HugePages | Unit::Pages | Unit::Gibibytes | Unit::MillionAccesses => (Goal::Percent(3.0), false),
        _ => (Goal::Percent(25.0), true),
    };
    let read = Box::new(move |results: &Results| quantity.value(results));
    Asked { name: String::new(), read, goal, negligible: 0.0, is_time }
}

/// Holds runs of the lab against real ones; `time_is_real` says whether times can be compared.
#[must_use]
pub fn fidelity(workload: order9_workloads::Workload, real: &[&Run], lab: &[&Run], time_is_real: bool) -> Fidelity {
    let all = || real.iter().chain(lab).copied();
    let mains = workload_quantities(workload, all()).into_iter().map(|quantity| {
        let name = format!("{} ({})", quantity.name, quantity.unit);
        Asked { name, ..of_workload(quantity) }
    });
    let of_runs = |runs: &[&Run]| runs.iter().map(|run| results(workload, &[run])).collect::<Vec<_>>();
    let (real_results, lab_results) = (of_runs(real), of_runs(lab));
    let rows = mains.chain(counters()).map(|asked| judge(&asked, &real_results, &lab_results, time_is_real));
    // What neither side has is no row: most workloads never swap.
    let is_there =
        |row: &Judged| row.lab.is_some_and(|value| value != 0.0) || row.real.is_some_and(|value| value != 0.0);
    let title = |runs: &[&Run]| runs.first().map(|run| run.policy.clone()).unwrap_or_default();
    Fidelity {
        kernel: title(real),
        policy: title(lab),
        real_runs: real.len(),
        lab_runs: lab.len(),
        rows: rows.filter(is_there).collect(),
    }
}

fn judge(asked: &Asked, real: &[Results], lab: &[Results], time_is_real: bool) -> Judged {
    let values = |side: &[Results]| {
        let mut values: Vec<f64> = side.iter().filter_map(|results| (asked.read)(results)).collect();
        values.sort_by(f64::total_cmp);
        values
    };
    let (real, lab) = (values(real), values(lab));
    let median = |values: &[f64]| values.get(values.len() / 2).copied();
    let range = real.first().copied().zip(real.last().copied());
    let verdict = match (median(&lab), median(&real), range) {
        _ if asked.is_time && !time_is_real => Verdict::NotComparable,
        (Some(lab), Some(real), Some(range)) => verdict(lab, real, range, asked.goal, asked.negligible),
        _ => Verdict::NotMeasured,
    };
    Judged { quantity: asked.name.clone(), lab: median(&lab), real: median(&real), range, goal: asked.goal, verdict }
}

fn verdict(lab: f64, real: f64, (least, largest): (f64, f64), goal: Goal, negligible: f64) -> Verdict {
    if (least..=largest).contains(&lab) {
        return Verdict::InsideRange;
    }
    if lab.abs() <= negligible && real.abs() <= negligible {
        return Verdict::Negligible;
    }
    let (is_within, by) = match goal {
        Goal::Points(points) => ((lab - real).abs() <= points, lab - real),
        Goal::Percent(percent) => ((lab - real).abs() <= real.abs() * percent / 100.0, lab / real),
        Goal::Factor(factor) => (lab <= real * factor && lab * factor >= real, lab / real),
    };
    if is_within { Verdict::WithinGoal } else { Verdict::Outside { by } }
}

impl Fidelity {
    /// Rows that were judged, and how many of them are good enough.
    #[must_use]
    pub fn score(&self) -> (usize, usize) {
        let judged = |row: &&Judged| !matches!(row.verdict, Verdict::NotComparable | Verdict::NotMeasured);
        let good = |row: &&Judged| !matches!(row.verdict, Verdict::Outside { .. });
        let rows: Vec<&Judged> = self.rows.iter().filter(judged).collect();
        (rows.len(), rows.iter().copied().filter(good).count())
    }
}

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
    fn words(&self) -> String {
        match (self.verdict, self.goal) {
            (Verdict::InsideRange, _) => "inside the real range".to_owned(),
            (Verdict::WithinGoal, goal) => format!("within {goal}"),
            (Verdict::Negligible, _) => "too little to matter".to_owned(),
            (Verdict::Outside { by }, Goal::Points(points)) => format!("OUTSIDE {points} points: {by:+.1}"),
            (Verdict::Outside { by }, goal) if by.is_finite() => format!("OUTSIDE {goal}: {by:.2} times"),
            (Verdict::Outside { .. }, goal) => format!("OUTSIDE {goal}: none was real"),
            (Verdict::NotComparable, _) => "time is not real".to_owned(),
            (Verdict::NotMeasured, _) => "measured on one side only".to_owned(),
        }
    }
}

/// A number with as many digits as matter.
fn number(value: Option<f64>) -> String {
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
            "{} ({} real), {} ({} in the lab): {good} of {judged} quantities good enough",
            self.kernel, self.real_runs, self.policy, self.lab_runs
        )?;
        let head = ["", "lab", "real median", "real range", "verdict"].map(str::to_owned);
        let row = |row: &Judged| {
            let range = row.range.map_or_else(
                || "-".to_owned(),
                |(least, largest)| format!("{} .. {}", number(Some(least)), number(Some(largest))),
            );
            [row.quantity.clone(), number(row.lab), number(row.real), range, row.words()]
        };
        let rows: Vec<[String; 5]> = std::iter::once(head).chain(self.rows.iter().map(row)).collect();
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths = [width(0), width(1), width(2), width(3)];
        for [name, lab, real, range, verdict] in &rows {
            let [a, b, c, d] = widths;
            writeln!(f, "  {name:a$}  {lab:>b$}  {real:>c$}  {range:>d$}  {verdict}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_go_by_the_real_range_and_then_by_the_goal() {
        let of = |lab, real, range, goal| verdict(lab, real, range, goal, 10.0);
        assert_eq!(of(5.0, 7.0, (4.0, 9.0), Goal::Factor(1.1)), Verdict::InsideRange);
        assert_eq!(of(140.0, 100.0, (90.0, 110.0), Goal::Factor(1.5)), Verdict::WithinGoal);
        assert_eq!(of(60.0, 100.0, (90.0, 110.0), Goal::Factor(1.5)), Verdict::Outside { by: 0.6 });
        assert_eq!(of(97.5, 95.0, (95.0, 95.0), Goal::Points(3.0)), Verdict::WithinGoal);
        assert_eq!(of(99.0, 95.0, (95.0, 95.0), Goal::Points(3.0)), Verdict::Outside { by: 4.0 });
        assert_eq!(of(130.0, 100.0, (100.0, 100.0), Goal::Percent(25.0)), Verdict::Outside { by: 1.3 });
        assert_eq!(of(9.0, 1.0, (0.0, 2.0), Goal::Factor(1.5)), Verdict::Negligible);
        assert_eq!(of(99.0, 0.0, (0.0, 0.0), Goal::Factor(1.5)), Verdict::Outside { by: f64::INFINITY });
    }

    #[test]
    fn a_table_says_how_many_are_good_enough() {
        let row = |quantity: &str, lab, verdict| Judged {
            quantity: quantity.to_owned(),
            lab: Some(lab),
            real: Some(1000.0),
            range: Some((900.0, 1100.0)),
            goal: Goal::Factor(1.5),
            verdict,
        };
        let fidelity = Fidelity {
            kernel: "live-6.1".to_owned(),
            policy: "host-linux-6.1".to_owned(),
            real_runs: 5,
            lab_runs: 1,
            rows: vec![
                row("pages moved", 1050.0, Verdict::InsideRange),
                row("compaction stalls", 3.0, Verdict::Outside { by: 0.003 }),
                row("kcompactd CPU (ms)", 3.0, Verdict::NotComparable),
            ],
        };
        let expected = "\
live-6.1 (5 real), host-linux-6.1 (1 in the lab): 1 of 2 quantities good enough
                        lab  real median    real range  verdict
  pages moved         1,050        1,000  900 .. 1,100  inside the real range
  compaction stalls    3.00        1,000  900 .. 1,100  OUTSIDE a factor of 1.5: 0.00 times
  kcompactd CPU (ms)   3.00        1,000  900 .. 1,100  time is not real
";
        assert_eq!(fidelity.to_string(), expected);
    }
}
