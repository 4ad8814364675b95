//! The claims of this repository: they load, their printed numbers fit together and satisfy their own statements.

use std::fs;
use std::path::{Path, PathBuf};

use order9_report::claims::{
    Claim, ClaimError, Kind, Measured, Outcome, Reading, RowKey, Sense, TableRow, judge, load_all, parse,
};
use order9_report::stats::{Direction, Rule, Summary, t_test};
use proptest::prelude::*;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../claims")
}

fn claims() -> Vec<Claim> {
    load_all(&folder()).unwrap_or_else(|error| panic!("{error}"))
}

fn claim(id: &str) -> Claim {
    claims().into_iter().find(|claim| claim.id == id).unwrap_or_else(|| panic!("no claim {id}"))
}

/// The rows of all tables, each with its claim and the decimals of its numbers.
fn for_every_table_row(mut check: impl FnMut(&str, usize, &TableRow)) {
    for claim in claims() {
        if let Kind::Table(table) = &claim.kind {
            table.rows.iter().for_each(|row| check(&claim.id, table.decimals, row));
        }
    }
}

#[test]
fn every_file_loads() {
    let files = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let tomls = files.filter(|path| path.extension().is_some_and(|extension| extension == "toml")).count();
    let claims = claims();
    assert_eq!(claims.len(), tomls);
    assert!(claims.iter().all(|claim| !claim.shape.is_empty()), "a claim says nothing that can be checked");
    for (of, claim) in claims.iter().filter_map(|claim| Some((claim.counters_in.as_ref()?, claim))) {
        let holder = claims.iter().find(|claim| claim.id == *of);
        assert!(holder.is_some_and(|holder| !holder.counters.is_empty()), "{}: {of} has no counters", claim.id);
    }
}

#[test]
fn the_printed_numbers_satisfy_every_statement() {
    for claim in claims() {
        let verdicts = judge(&claim, &Measured::printed(&claim));
        assert_eq!(verdicts.len(), claim.shape.len());
        for verdict in verdicts {
            assert_eq!(verdict.outcome, Outcome::Holds, "{}: {verdict}", claim.id);
            assert_eq!(verdict.evidence.iter().filter(|row| row.finding.holds() == Some(true)).count(), verdict.held);
        }
    }
}

#[test]
fn nothing_measured_decides_nothing() {
    for claim in claims() {
        let verdicts = judge(&claim, &Measured::default());
        assert!(verdicts.iter().all(|verdict| verdict.outcome == Outcome::NotMeasured), "{}", claim.id);
    }
}

#[test]
fn a_run_without_effect_does_not_pass_for_the_claim() {
    let mut failing = 0;
    for claim in claims().iter().filter(|claim| matches!(claim.kind, Kind::Table(_))) {
        let mut measured = Measured::default();
        for (row, reading) in claim.printed() {
            measured.insert(row, without_effect(reading));
        }
        failing += judge(claim, &measured).iter().filter(|verdict| verdict.outcome == Outcome::Fails).count();
    }
    assert!(failing > 50, "only {failing} statements notice that nothing changed");
}

fn without_effect(reading: Reading) -> Reading {
    match reading {
        Reading::Pair { baseline, significant, .. } => {
            Reading::Pair { baseline, patched: baseline, significant: significant.map(|_| false) }
        }
        other => other,
    }
}

/// The printed change was computed from unrounded values: it must lie within what these can have been.
#[test]
fn printed_changes_follow_from_the_printed_values() {
    let mut checked = 0;
    for_every_table_row(|id, decimals, row| {
        let Some(printed) = row.change_percent else { return };
        let half = 0.5 * 10_f64.powi(-i32::try_from(decimals).unwrap());
        let change = |baseline: f64, patched: f64| row.direction.change_percent(baseline, patched);
        let exact = change(row.baseline, row.patched);
        // A zero is printed by convention, and stands for nothing but itself.
        let corners = [(half, -half), (-half, half), (0.0, 0.0)].map(|(baseline, patched)| {
            let usable = row.baseline != 0.0 && row.patched != 0.0;
            if usable { change(row.baseline + baseline, row.patched + patched) } else { exact }
        });
        let (least, most) = corners.iter().fold((exact, exact), |(least, most), &x| (least.min(x), most.max(x)));
        let fits = (least - 0.005 - 1e-9..=most + 0.005 + 1e-9).contains(&printed);
        assert!(fits, "{id}: {}: {printed} is printed, {least} to {most} follow", row.key);
        checked += 1;
    });
    assert!(checked >= 100, "only {checked} rows have a printed change");
}

/// Percentages alone: the ratio is derived from them.
#[test]
fn ratios_follow_from_the_printed_percentages() {
    for claim in claims() {
        let Kind::PercentOnly(table) = &claim.kind else { continue };
        for row in &table.rows {
            let ratio = match row.sense {
                Sense::Slower => 1.0 + row.percent / 100.0,
                Sense::Faster => 1.0 - row.percent / 100.0,
                Sense::Equal => 1.0,
            };
            assert!(row.ratio.is_none_or(|printed| (printed - ratio).abs() < 1e-9), "{}: {}", claim.id, row.key);
        }
    }
}

fn pair(claim: &Claim, stat: &str) -> [f64; 2] {
    let row = RowKey::new("files/sec", stat, "1");
    let printed = claim.printed();
    let (_, reading) = printed.iter().find(|(key, _)| *key == row).unwrap_or_else(|| panic!("no {row}"));
    let Reading::Pair { baseline, patched, .. } = *reading else { panic!("{row} is no pair") };
    [baseline, patched]
}

/// The one published table whose number of samples is known, so that its mark can be recomputed.
#[test]
fn the_mark_of_fsmark_follows_from_its_printed_means() {
    let claim = claim("001-fsmark-small-file-stream");
    let count = claim.facts.iter().find(|fact| fact.name == "samples").unwrap().value as usize;
    let (means, spreads) = (pair(&claim, "Hmean"), pair(&claim, "Stddev"));
    let [baseline, patched] = [0, 1].map(|i| Summary { count, mean: means[i], stddev: spreads[i] });
    let test = t_test(baseline, patched).unwrap();
    assert_eq!(test.degrees, 26);
    assert!(test.p > 0.9, "{test:?}");
    assert!(!Rule::TTest.marks(baseline, patched), "the row is printed without a mark");
}

/// The best 99 % of 14 samples are 13: what is left is the smallest one.
#[test]
fn the_best_means_of_fsmark_leave_out_the_smallest_sample() {
    let claim = claim("001-fsmark-small-file-stream");
    let [all, best, min] = ["Hmean", "BHmean-99", "Min"].map(|stat| pair(&claim, stat));
    for i in 0..2 {
        let left_out = (14.0 / all[i] - 13.0 / best[i]).recip();
        assert!((left_out / min[i] - 1.0).abs() < 1e-3, "{left_out} against {}", min[i]);
    }
}

#[test]
fn spreads_are_better_when_lower_whatever_the_benchmark() {
    for_every_table_row(|id, _, row| {
        let spread = ["Stddev", "CoeffVar"].contains(&row.key.stat.as_str());
        assert!(!spread || row.direction == Direction::LowerIsBetter, "{id}: {}", row.key);
    });
}

const SMALL: &str = r#"id = "x"
title = ""
headline = ""
seed = ""
kind = "table"
workload = ""
spec = ""
machine = ""
baseline_column = "a"
patched_column = "b"
baseline_behaviour = ""
patched_behaviour = ""
unit = "seconds"
lower_is_better = true
higher_is_better = false
decimals = 2
change_printed = true
significance_marked = true
rows = [
  { metric = "fault-both", stat = "Amean", param = "1", baseline = 2.0, patched = 1.0, significant = true },
  { metric = "fault-both", stat = "Amean", param = "3", baseline = 2.0, patched = 1.0 },
]
counters = []
facts = [{ name = "share", value = 1, unit = "", note = "" }]
shape = [
  { metric = "fault-both", stat = "Amean", param = "1", left = "patched", relation = "<", than = "baseline", level = "core", note = "" },
]
"#;

#[test]
fn a_small_claim_is_valid() {
    let claim = parse("x.toml", SMALL).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(claim.shape[0].to_string(), "fault-both|Amean|1: patched < baseline");
}

/// One replacement in the small claim, and the message it must give.
#[test]
fn what_does_not_fit_together_is_named_with_its_line() {
    let statement = r#"param = "1", left = "patched", relation = "<", than = "baseline""#;
    let cases = [
        (r#"machine = """#, "machin = \"\"", "x.toml:8: unknown field `machin`, expected one of `id`, `title`"),
        (r#"id = "x""#, r#"id = "y""#, "x.toml:1: expected the id to be the name of the file"),
        ("decimals = 2\n", "", "x.toml:5: a claim of kind \"table\" needs the key `decimals`"),
        ("decimals = 2", "decimals = two", "x.toml:16: "),
        ("higher_is_better = false", "higher_is_better = true", "x.toml:5: expected one of `lower_is_better`"),
        (r#"param = "3""#, r#"param = "1""#, "x.toml:21: fault-both|Amean|1 is there twice"),
        ("significance_marked = true", "significance_marked = false", "x.toml:20: the row has `significant`"),
        (r#""table""#, r#""facts""#, "x.toml:20: a claim of kind \"facts\" has no rows"),
        (statement, &statement.replace("\"<\"", "\"=<\""), "x.toml:26: unknown variant `=<`, expected one of `<`"),
        (
            statement,
            &statement.replace("\"1\"", "\"4\""),
            "x.toml:26: there is no number for fault-both|Amean|4; the nearest name is fault-both|Amean|",
        ),
        (statement, &statement.replace("baseline", "value"), "x.toml:26: `than = \"value\"` needs the key `value`"),
        (
            statement,
            &statement.replace("\"baseline\"", "\"fault-both|Amean|1\""),
            "x.toml:26: expected \"baseline\", \"value\" or metric|stat|param|field",
        ),
        (
            statement,
            &statement.replace("\"baseline\"", "\"fact||share|patched\""),
            "x.toml:26: fact||share has no number called patched",
        ),
        (statement, &statement.replace("patched", "ratio"), "x.toml:26: fault-both|Amean|1 has no number called ratio"),
        (statement, &statement.replace("patched", "baseline"), "x.toml:26: the baseline is compared with itself"),
        (statement, &format!("{statement}, hold = 2"), "x.toml:26: it must hold in 2 rows, but there are 1"),
        (statement, &format!("{statement}, params = []"), "x.toml:26: the key `params` needs `param = \"list\"`"),
        (
            statement,
            r#"param = "3", left = "patched", relation = "significant>=", than = "value", value = 1"#,
            "x.toml:26: fault-both|Amean|3 carries no mark of significance",
        ),
        (
            statement,
            &statement.replace("\"<\"", "\"ratio<=\""),
            "x.toml:26: a ratio needs its bound in the key `value`",
        ),
    ];
    for (found, replacement, expected) in cases {
        assert!(SMALL.contains(found), "{found}");
        let error = parse("x.toml", &SMALL.replacen(found, replacement, 1)).unwrap_err();
        assert!(error.to_string().starts_with(expected), "{replacement}: {error}\nexpected {expected}");
        assert_eq!(error.to_string().lines().count(), 1, "{error}");
    }
}

proptest! {
    /// Whatever is cut out of a claim or put into it, the answer is a claim or one line.
    #[test]
    fn damaged_claims_do_not_panic(start in 0..SMALL.len(), length in 0_usize..40, inserted in "[\\PC|]{0,8}") {
        let mut text = SMALL.to_owned();
        text.replace_range(start..(start + length).min(SMALL.len()), &inserted);
        if let Err(error) = parse("x.toml", &text) {
            prop_assert!(error.to_string().starts_with("x.toml:"), "{}", error);
        }
    }
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let error = load_all(Path::new("no/such/folder")).unwrap_err();
    assert!(matches!(error, ClaimError::Read { .. }) && error.to_string().starts_with("no/such/folder: "), "{error}");
}

#[test]
fn inputs_that_the_fuzzer_starts_from_are_claims() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/claims");
    let texts: Vec<String> = fs::read_dir(corpus)
        .expect("there is a corpus")
        .map(|file| fs::read_to_string(file.expect("the folder is readable").path()).expect("inputs are texts"))
        .collect();
    assert!(texts.len() >= 2);
    for text in texts {
        parse("claim.toml", &text).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn what_a_claim_says_is_shown_in_one_line() {
    let facts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/claims/facts");
    let text = fs::read_to_string(facts).expect("the input is a text");
    let at = text.rfind("fault reduction").expect("a statement is about it");
    let broken = format!("{}fault\\u001b[2J\t{}", &text[..at], &text[at + 6..]);
    let error = parse("claim.toml", &broken).expect_err("there is no such fact").to_string();
    assert!(error.contains("fault\\u{1b}[2J\\treduction"), "{error}");
    assert!(!error.chars().any(char::is_control), "{error:?}");
}
