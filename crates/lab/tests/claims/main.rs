//! Published claims, run again at the quick size: what becomes of every statement is held to a golden file, so that a change of
//! behaviour that changes a verdict is seen. The full size is in docs/results.md, whose tables [`documents`] holds to
//! docs/results/results.json.

mod documents;
mod orderings;

use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;

use order9_lab::reproduce::{Causes, Entry, Judged, Made, Size, Table, claims, judged};
use order9_lab::{Nobody, Plan, run};
use order9_record::{Experiment, Run};
use order9_report::claims::Outcome;
use order9_units::Bytes;

/// Verdicts on the claims of an experiment, and its runs.
fn verdicts(entry: &Entry) -> (Vec<Judged>, Vec<Experiment>) {
    let plans = entry.plans(Size::Quick, Bytes::from_gib(1), &["a test".to_owned()]).expect("it can be planned");
    let jobs = NonZeroUsize::new(2).expect("two");
    let experiments: Vec<Experiment> = plans.iter().map(|plan| run(plan, jobs, &Nobody).expect("it runs")).collect();
    let ran: Vec<(&Plan, &[Run])> = plans.iter().zip(&experiments).map(|(plan, of)| (plan, &of.runs[..])).collect();
    let (all, causes) = (claims(), Causes::built_in());
    let judge = |of| {
        let made = Made::of(entry, of, &plans);
        judged(all.iter().find(|claim| claim.id == of.claim).expect("a claim"), made, &ran, Size::Quick, &causes)
    };
    (entry.claims.iter().map(judge).collect(), experiments)
}

/// A line for each statement.
fn lines(of: &Judged) -> String {
    let line = |statement: &order9_lab::reproduce::StatementVerdict| {
        let verdict = &statement.verdict;
        assert_ne!(verdict.outcome, Outcome::NotMeasured, "{}: {verdict}", of.claim);
        println!("{}: {} ({})", of.claim, verdict.statement, statement.measured);
        let outcome = if verdict.outcome == Outcome::Holds { "holds" } else { "does not hold" };
        format!("{outcome:<13}  {}\n", verdict.statement)
    };
    format!("{}\n{}", of.claim, of.statements.iter().map(line).collect::<String>())
}

/// Holds verdicts on the claims of these experiments to their golden file.
fn compare_with_golden(name: &str, experiments: &[&str]) {
    let table = Table::built_in();
    let mut found = Vec::new();
    for name in experiments {
        let entry = table.experiments.iter().find(|entry| entry.name == *name).expect("an experiment");
        let (judged, experiments) = verdicts(entry);
        let unended = experiments.iter().flat_map(|of| &of.runs).find_map(|run| run.outcome.message());
        assert_eq!(unended, None, "{name}");
        if name.starts_with("thpfioscale") {
            assert_who_reclaims_for_huge_pages(&experiments[0], name.ends_with("madvhugepage"));
        }
        found.extend(judged.iter().map(lines));
    }
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/reproduce-{name}.txt"));
    let found = found.join("\n");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&golden, &found).expect("the golden file can be written");
    }
    let expected = fs::read_to_string(&golden).expect("there is a golden file");
    assert_eq!(found, expected, "UPDATE_GOLDEN=1 if the change is meant, and docs/results.md with it");
}

#[test]
fn proactive_compaction() {
    compare_with_golden("000", &["unmovable", "hugealloc", "score-cycle", "java-heap"]);
}

#[test]
fn slab_reclaim_under_boosted_watermarks() {
    compare_with_golden("001", &["slab-reclaim"]);
}

#[test]
fn no_defragmentation_by_default() {
    compare_with_golden("002", &["stutter", "usemem", "faults", "thpscale-4.4"]);
}

#[test]
fn the_series_of_5_1() {
    compare_with_golden("003", &["thpscale-5.1"]);
}

#[test]
fn where_huge_pages_come_from() {
    compare_with_golden("004", &["numa-compact", "fragmented-nodes", "stall", "access"]);
}

#[test]
fn huge_pages_beside_files_that_stay_in_use() {
    compare_with_golden("004-thpfioscale", &["thpfioscale", "thpfioscale-madvhugepage"]);
}

/// Reclaim for huge pages is wasted in part, under the policies that do any: for memory that asks for huge pages.
fn assert_who_reclaims_for_huge_pages(experiment: &Experiment, asks: bool) {
    for run in &experiment.runs {
        let [all, behind] = ["order9_huge_reclaimed", "order9_huge_reclaimed_behind"].map(|name| run.growth(name));
        let (all, behind) = (all.expect("a counter"), behind.expect("a counter"));
        let reclaims = asks && run.policy != "linux-4.19-noretry";
        assert_eq!(reclaims, 0 < behind && behind < all, "{}: {behind} of {all}", run.policy);
    }
}

#[test]
fn every_experiment_is_run_here() {
    let text = include_str!("main.rs");
    for entry in Table::built_in().experiments {
        assert!(text.contains(&format!("\"{}\"", entry.name)), "no test runs {}", entry.name);
    }
}
