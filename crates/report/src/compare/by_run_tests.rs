//! Runs side by side: what the tables of one and of several runs look like, and what is and is not marked.

use super::*;
use crate::stats::{Direction, Family, Generation, Percent, Samples, Statistic};
use order9_units::Nanos;

/// A run whose latencies are three times these, whose counters follow, and that took so long.
fn run(latency: f64, moved: u64) -> Results {
    let samples = [("fault-both-4", vec![latency - 1.0, latency, latency + 1.0]), ("huge-4", vec![50.0])];
    let samples = samples.map(|(name, values)| (name.to_owned(), Samples::new(values).unwrap()));
    let second = Nanos::new(1_000_000_000);
    Results {
        samples: samples.into(),
        durations: Some(Durations { user: second, system: second, elapsed: Nanos::new(latency as u64 * 10_000_000) }),
        counters: [("pgmigrate_success", moved), ("compact_stall", 0)].into_iter().collect(),
    }
}

fn column(title: &str, runs: &[(f64, u64)]) -> Column {
    Column::new(Title::new(title), runs.iter().map(|&(latency, moved)| run(latency, moved)))
}

fn benchmark() -> Benchmark {
    let [mut latencies, huge] = thp::sections(&[4]);
    latencies.operations.retain(|operation| operation.contains("both"));
    latencies.family = Family::Samples;
    let quantity = |name: &str, unit, direction, source| Quantity {
        name: name.to_owned(),
        meaning: String::new(),
        unit,
        decimals: if unit == Unit::Pages { 0 } else { 2 },
        direction,
        source,
    };
    let p95 = Source::Samples { operation: "fault-both", statistic: Statistic::Percentile(Percent::new(95)) };
    let share = Source::Samples { operation: "huge", statistic: Statistic::PlainMean };
    let main = vec![
        quantity("fault-both-4 p95", Unit::Microseconds, Direction::LowerIsBetter, p95),
        quantity("huge-4", Unit::Percent, Direction::HigherIsBetter, share),
        quantity("moved", Unit::Pages, Direction::LowerIsBetter, Source::Count("pgmigrate_success")),
        quantity("stalls", Unit::Events, Direction::LowerIsBetter, Source::Count("compact_stall")),
    ];
    Benchmark { name: "thpscale".to_owned(), sections: vec![latencies, huge], main }
}

fn report(columns: &[Column]) -> Report {
    compare_runs(&benchmark(), columns, Generation::Y2019)
}

fn text(columns: &[Column]) -> String {
    report(columns).to_text(text::Fit::Widened)
}

const LINUX: [(f64, u64); 3] = [(282.0, 1000), (301.0, 1200), (275.0, 1100)];
const ORDER9: [(f64, u64); 3] = [(564.0, 1150), (480.0, 1000), (511.0, 1250)];

#[test]
fn three_runs_each() {
    let text = text(&[column("linux-6.18", &LINUX), column("order9", &ORDER9)]);
    let expected = "\
thpscale Fault Latencies, means of 3 runs \u{b1} 95 %
                                    linux                         order9
                                     6.18
Min       fault-both-4     285.00 \u{b1} 33.42     517.33 \u{b1} 105.52 * -81.52%*
Amean     fault-both-4     286.00 \u{b1} 33.42     518.33 \u{b1} 105.52 * -81.24%*
Stddev    fault-both-4       1.00 \u{b1} 0.00        1.00 \u{b1} 0.00   (   0.00%)
CoeffVar  fault-both-4       0.35 \u{b1} 0.04        0.19 \u{b1} 0.04   *  44.66%*
";
    assert!(text.starts_with(expected), "{text}");
    let rest = "\
thpscale Percentage Faults Huge, means of 3 runs \u{b1} 95 %
                              linux                       order9
                               6.18
Percentage huge-4      50.00 \u{b1} 0.00      50.00 \u{b1} 0.00 (   0.00%)

Means of 3 runs (least..most)
                      linux                  order9
                       6.18
Duration User          1.00                    1.00
Duration System        1.00                    1.00
Duration Elapsed       2.86 (2.75..3.01)       5.18 (4.80..5.64)

Means of 3 runs (least..most)
                              linux                  order9
                               6.18
Ops Page migrate success       1100 (1000..1200)       1133 (1000..1250)
Ops Compaction cost            1.14 (1.04..1.25)       1.18 (1.04..1.30)

order9 against linux-6.18
  fault-both-4 p95 (us)  worse (+81 %, 95 % CI 48 to 114, n = 3)
  huge-4 (%)             the same
  moved (pages)          not told apart (+3.0 %, 95 % CI -21 to 27, n = 3)

Values are means over runs,";
    assert!(text.contains(rest), "{text}");
    assert!(text.contains("\nLeft out: 60 rows that are 0 in every run.\n"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn one_run_is_the_published_table_without_marks_and_zeros() {
    let columns = [column("linux-6.18", &LINUX[..1]), column("order9", &ORDER9[..1])];
    let text = text(&columns);
    let pooled = |title: &str, at: (f64, u64)| Pooled { title: Title::new(title), results: run(at.0, at.1) };
    let published =
        compare(&benchmark(), &[pooled("linux-6.18", LINUX[0]), pooled("order9", ORDER9[0])], Generation::Y2019.into());
    let published = published.to_text(text::Fit::Widened).replace('*', " ");
    let unmarked: Vec<_> = published.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).collect();
    let tables = text.split("\norder9 against").next().unwrap();
    for line in tables.lines().filter(|line| line.contains("fault") || line.contains("huge")) {
        let words: Vec<_> = line.split_whitespace().filter(|word| !["(", ")"].contains(word)).collect();
        let plain = |words: &[&str]| words.iter().map(|word| word.trim_matches(['(', ')'])).collect::<String>();
        assert!(unmarked.iter().any(|published| plain(published) == plain(&words)), "{line} in\n{published}");
    }
    assert!(!text.contains('*') && !text.contains('\u{b1}'), "{text}");
    assert!(text.contains("\n  fault-both-4 p95 (us)  one run, not tested: 100 % higher\n"), "{text}");
    assert!(text.contains("\nOne run: differences are not tested.\n"), "{text}");
}

#[test]
fn ten_copies_of_a_run_are_one_run() {
    let text = text(&[column("linux-6.18", &[LINUX[0]; 10]), column("order9", &[ORDER9[0]; 10])]);
    assert!(text.contains("\nlinux-6.18: all 10 runs are equal and count as one.\n"), "{text}");
    assert!(text.contains("one run, not tested: 100 % higher") && !text.contains('*'), "{text}");
    let counters = text.lines().find(|line| line.starts_with("Ops Page migrate success")).unwrap();
    assert_eq!(counters.split_whitespace().skip(4).collect::<Vec<_>>(), ["1000.00", "1150.00"], "not summed: {text}");
}

#[test]
fn identical_columns_say_so() {
    let text = text(&[column("a", &LINUX), column("b", &LINUX)]);
    assert!(text.contains("\nb against a: identical results: policies and settings do not differ here\n"), "{text}");
    assert!(!text.contains('*') || text.contains("* x.xx%* marks"), "{text}");
}

#[test]
fn columns_may_have_different_numbers_of_runs() {
    let text = text(&[column("a", &LINUX), column("b", &ORDER9[..2])]);
    assert!(text.starts_with("thpscale Fault Latencies, means of 2 and 3 runs \u{b1} 95 %\n"), "{text}");
    assert!(text.contains(", n = 3 and 2)"), "{text}");
    let one = super::by_run_tests::text(&[column("a", &LINUX), column("b", &ORDER9[..1])]);
    assert!(one.contains("one run, not tested: ") && one.contains("\nOne run: differences"), "{one}");
}

/// A comparison was interrupted before a policy had its turn.
#[test]
fn a_column_without_runs_is_no_result() {
    for columns in [[column("a", &[]), column("b", &[])], [column("a", &LINUX), column("b", &[])]] {
        let text = text(&columns);
        assert!(!text.contains("identical") && !text.contains("(least..most)\n\n"), "{text}");
        assert!(report(&columns).to_brief(16).starts_with("thpscale: "), "{text}");
    }
}

#[test]
fn a_value_that_not_every_run_has_is_named() {
    let mut runs = LINUX.map(|(latency, moved)| run(latency, moved));
    runs[1].samples.remove("huge-4");
    let columns = [column("a", &LINUX), Column::new(Title::new("b"), runs)];
    let text = text(&columns);
    assert!(text.contains("Some runs have no value of: Percentage huge-4 (2 of 3 under b)."), "{text}");
}

#[test]
fn brief_reports_fit_and_say_what_decides() {
    let two = report(&[column("linux-6.18", &LINUX), column("order9", &ORDER9)]).to_brief(16);
    let expected = "\
thpscale: means of 3 runs \u{b1} 95 %
  measured                   linux-6.18           order9
  fault-both-4 p95 (us)  287.00 \u{b1} 33.42  519.33 \u{b1} 105.52
  huge-4 (%)               50.00 \u{b1} 0.00     50.00 \u{b1} 0.00
  moved (pages)             1,100 \u{b1} 248      1,133 \u{b1} 313
order9 against linux-6.18
  fault-both-4 p95 (us)  worse (+81 %, 95 % CI 48 to 114, n = 3)
  huge-4 (%)             the same
  moved (pages)          not told apart (+3.0 %, 95 % CI -21 to 27, n = 3)
";
    assert_eq!(two, expected);
    let titles: Vec<_> = (0..30).map(|at| format!("policy-{at}")).collect();
    let many: Vec<_> = titles.iter().map(|title| column(title, &ORDER9)).collect();
    let brief = report(&many).to_brief(16);
    assert!(brief.lines().count() <= 16 && brief.ends_with("...\n"), "{brief}");
    let three = report(&[column("a", &LINUX), column("b", &ORDER9), column("c", &LINUX)]).to_brief(16);
    assert!(
        three.contains("\nb: worse fault-both-4 p95 (+81 %); not told apart moved (+3.0 %); the same huge-4\n"),
        "{three}"
    );
    assert!(three.ends_with("\nc: identical to a\n"), "{three}");
}

#[test]
fn json_has_the_runs_behind_every_number() {
    let json = report(&[column("linux-6.18", &LINUX), column("order9", &ORDER9)]).to_json();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let cell = &json["tables"][0]["rows"][1]["cells"][1];
    assert_eq!(cell["estimate"]["values"], serde_json::json!([564.0, 480.0, 511.0]));
    assert_eq!((&cell["estimate"]["runs"], &cell["change"]["significant"]), (&3.into(), &true.into()));
    assert!(cell["change"]["interval_95"][1].as_f64().unwrap() < 0.0);
    let main = &json["by_run"]["main"][0];
    assert_eq!((&main["name"], &main["verdicts"][1]["outcome"]), (&"fault-both-4 p95".into(), &"worse".into()));
    assert_eq!(json["by_run"]["columns"][0]["runs"], 3);
}

#[test]
fn small_times_keep_three_digits() {
    let mut tiny = run(5.0, 1);
    tiny.samples = [("fault-both-4".to_owned(), Samples::new([0.000_412]).unwrap())].into();
    let text = text(&[Column::new(Title::new("a"), [tiny])]);
    assert!(text.lines().any(|line| line.starts_with("Amean") && line.contains(" 0.000412 ")), "{text}");
}
