//! Published tables, byte for byte, and the way from samples to tables.

use super::*;
use crate::stats::{Direction, Family, Generation, Rule, Samples};
use order9_units::Nanos;

/// Rows of printed values: statistic, operation, values, and in which columns the change is marked.
type Printed<'a> = [(&'a str, &'a str, &'a [f64], &'a [usize])];

fn compared(titles: &[&str], direction: Direction, decimals: usize, rows: &Printed<'_>) -> Table {
    let row = |&(statistic, operation, values, marked): &(&str, &str, &[f64], &[usize])| {
        let cell = |(column, &value)| {
            let percent = direction.change_percent(values[0], value);
            Cell::compared(
                Some(value),
                Some(Change { percent, significant: marked.contains(&column), interval_95: None }),
            )
        };
        let cells = values.iter().enumerate().map(cell).collect();
        Row { statistic: statistic.into(), operation: operation.into(), unit: Unit::Events, cells }
    };
    Table {
        heading: None,
        columns: titles.iter().map(|title| Title::new(title)).collect(),
        comparison: Comparison::WithFirst,
        field_width: 12,
        decimals,
        rows: rows.iter().map(row).collect(),
    }
}

fn plain(titles: &[&str], rows: &Printed<'_>) -> Table {
    let mut table = compared(titles, Direction::LowerIsBetter, 2, rows);
    table.comparison = Comparison::None;
    table
}

/// `expected` without the line break that opens it.
fn assert_text(table: &Table, expected: &str) {
    let text = text::draw(table, text::Fit::Published);
    assert_eq!(text, expected[1..], "\n{text}");
}

#[test]
fn a_throughput_with_release_candidates_in_its_titles() {
    let rows: &Printed<'_> = &[
        ("Min", "1-files/sec", &[4444.80, 4765.60], &[]),
        ("1st-qrtle", "1-files/sec", &[5005.10, 5091.70], &[]),
        ("Hmean", "1-files/sec", &[5004.75, 5075.96], &[]),
        ("BHmean-99", "1-files/sec", &[5053.72, 5101.52], &[]),
    ];
    let titles = ["5.3.0-rc3-vanilla", "5.3.0-rc3-shrinker-v1r1"];
    assert_text(
        &compared(&titles, Direction::HigherIsBetter, 2, rows),
        "
                                   5.3.0-rc3              5.3.0-rc3
                                     vanilla          shrinker-v1r1
Min       1-files/sec     4444.80 (   0.00%)     4765.60 (   7.22%)
1st-qrtle 1-files/sec     5005.10 (   0.00%)     5091.70 (   1.73%)
Hmean     1-files/sec     5004.75 (   0.00%)     5075.96 (   1.42%)
BHmean-99 1-files/sec     5053.72 (   0.00%)     5101.52 (   0.95%)
",
    );
}

#[test]
fn fault_latencies_with_marks() {
    let rows: &Printed<'_> = &[
        ("Amean", "fault-both-3", &[3832.09, 2748.56], &[1]),
        ("Amean", "fault-both-5", &[4933.06, 4255.52], &[]),
        ("Amean", "fault-both-12", &[11610.51, 9162.34], &[1]),
    ];
    assert_text(
        &compared(&["5.0.0-linear", "5.0.0-freelists"], Direction::LowerIsBetter, 2, rows),
        "
                                     5.0.0                  5.0.0
                                    linear              freelists
Amean fault-both-3      3832.09 (   0.00%)     2748.56 *  28.28%*
Amean fault-both-5      4933.06 (   0.00%)     4255.52 (  13.73%)
Amean fault-both-12    11610.51 (   0.00%)     9162.34 *  21.09%*
",
    );
}

/// Figures from "mm, compaction: Finish pageblock scanning on contention", LKML, January 2019.
#[test]
fn shares_of_huge_pages() {
    let rows: &Printed<'_> = &[
        ("Percentage", "huge-1", &[0.0, 0.0], &[]),
        ("Percentage", "huge-3", &[95.00, 96.82], &[]),
        ("Percentage", "huge-18", &[89.58, 96.77], &[]),
    ];
    assert_text(
        &compared(&["5.0.0-rc1-norescan-v3r16", "5.0.0-rc1-finishcontend-v3r16"], Direction::HigherIsBetter, 2, rows),
        "
                                5.0.0-rc1              5.0.0-rc1
                           norescan-v3r16    finishcontend-v3r16
Percentage huge-1         0.00 (   0.00%)        0.00 (   0.00%)
Percentage huge-3        95.00 (   0.00%)       96.82 (   1.92%)
Percentage huge-18       89.58 (   0.00%)       96.77 (   8.03%)
",
    );
}

const SHRINKER_DURATIONS: &Printed<'_> = &[
    ("Duration", "User", &[501.82, 497.29], &[]),
    ("Duration", "System", &[4401.44, 4424.08], &[]),
    ("Duration", "Elapsed", &[8124.76, 8358.05], &[]),
];

#[test]
fn durations_with_a_title_that_runs_into_its_neighbour() {
    assert_text(
        &plain(&["5.3.0-rc3-vanilla", "5.3.0-rc3-shrinker-v1r1"], SHRINKER_DURATIONS),
        "
                   5.3.0-rc3   5.3.0-rc3
                     vanillashrinker-v1r1
Duration User         501.82      497.29
Duration System      4401.44     4424.08
Duration Elapsed     8124.76     8358.05
",
    );
}

#[test]
fn titles_can_have_the_room_they_need() {
    let table = plain(&["5.3.0-rc3-vanilla", "5.3.0-rc3-shrinker-v1r1"], SHRINKER_DURATIONS);
    let text = text::draw(&table, text::Fit::Widened);
    let second = text.lines().nth(1).unwrap();
    assert_eq!(second, "                     vanilla shrinker-v1r1");
    assert!(text.lines().all(|line| line.len() == second.len()), "{text}");
}

#[test]
fn three_columns() {
    // Unrounded values that print as published and change as published.
    let rows: &Printed<'_> = &[
        ("Amean", "System-1", &[14.16, 12.354, 15.958], &[1, 2]),
        ("Amean", "System-3", &[15.14, 9.829, 11.0], &[1, 2]),
        ("Amean", "Elapsd-1", &[29.226, 26.157, 33.814], &[1, 2]),
        ("Amean", "Elapsd-4", &[5.488, 5.5297, 5.461], &[]),
    ];
    let titles = ["4.19.0-vanilla", "4.19.0-relaxthisnode-v1r1", "4.19.0-noretry-v1r1"];
    assert_text(
        &compared(&titles, Direction::LowerIsBetter, 2, rows),
        "
                               4.19.0                 4.19.0                 4.19.0
                              vanilla     relaxthisnode-v1r1           noretry-v1r1
Amean System-1       14.16 (   0.00%)       12.35 *  12.75%*       15.96 * -12.70%*
Amean System-3       15.14 (   0.00%)        9.83 *  35.08%*       11.00 *  27.34%*
Amean Elapsd-1       29.23 (   0.00%)       26.16 *  10.50%*       33.81 * -15.70%*
Amean Elapsd-4        5.49 (   0.00%)        5.53 (  -0.76%)        5.46 (   0.49%)
",
    );
}

#[test]
fn changes_of_three_digits() {
    let rows: &Printed<'_> = &[
        ("Amean", "fault-base-5", &[6772.84, 10256.30, 1574.45], &[1, 2]),
        ("Amean", "fault-huge-5", &[2644.19, 5314.17, 3517.89], &[1]),
    ];
    assert_text(
        &compared(
            &["4.19.0-vanilla", "4.19.0-relaxthisnode-v1r1", "4.19.0-noretry-v1r1"],
            Direction::LowerIsBetter,
            2,
            rows,
        ),
        "
                                   4.19.0                 4.19.0                 4.19.0
                                  vanilla     relaxthisnode-v1r1           noretry-v1r1
Amean fault-base-5     6772.84 (   0.00%)    10256.30 * -51.43%*     1574.45 *  76.75%*
Amean fault-huge-5     2644.19 (   0.00%)     5314.17 *-100.98%*     3517.89 ( -33.04%)
",
    );
}

#[test]
fn four_decimals_and_none() {
    let rows: &Printed<'_> =
        &[("Min", "mmap", &[7.3571, 7.3438], &[]), ("2nd-qrtle", "mmap", &[7.68182, 21.6055], &[])];
    assert_text(
        &compared(&["4.4.0-kcompactd-v1r1", "4.4.0-nodefrag-v1r3"], Direction::LowerIsBetter, 4, rows),
        "
                                4.4.0                  4.4.0
                       kcompactd-v1r1          nodefrag-v1r3
Min       mmap      7.3571 (   0.00%)      7.3438 (   0.18%)
2nd-qrtle mmap      7.6818 (   0.00%)     21.6055 (-181.25%)
",
    );
    let rows: &Printed<'_> =
        &[("Pctile-5", "alloc", &[7894.0, 2.0], &[]), ("Pctile-95", "alloc", &[33799.0, 429.0], &[])];
    assert_text(
        &compared(&["5.6.0-rc3-vanilla", "5.6.0-rc3-proactive20"], Direction::LowerIsBetter, 0, rows),
        "
                             5.6.0-rc3              5.6.0-rc3
                               vanilla            proactive20
Pctile-5  alloc        7894 (   0.00%)           2 (  99.97%)
Pctile-95 alloc       33799 (   0.00%)         429 (  98.73%)
",
    );
}

/// Two samples at this distance on either side of the mean.
fn about(mean: f64, distance: f64) -> Samples {
    Samples::new([mean - distance, mean + distance]).unwrap()
}

fn one(value: f64) -> Samples {
    Samples::new([value]).unwrap()
}

fn column(title: &str, samples: &[(&str, Samples)]) -> Pooled {
    let results = Results {
        samples: samples.iter().map(|(name, samples)| ((*name).to_owned(), samples.clone())).collect(),
        durations: Some(Durations {
            user: Nanos::new(501_820_000_000),
            system: Nanos::new(4_401_440_000_000),
            elapsed: Nanos::new(8_124_760_000_000),
        }),
        counters: Counters::from_iter([("pgscan_kswapd", 45_382_917), ("pgsteal_kswapd", 30_869_570)]),
    };
    Pooled { title: Title::new(title), results }
}

fn columns() -> [Pooled; 2] {
    let [few, many] = [("fault-both-3", 3832.09, 2748.56), ("fault-both-5", 4933.06, 4255.52)];
    [
        column("5.0.0-linear", &[(few.0, one(few.1)), (many.0, about(many.1, 900.0)), ("huge-3", one(85.99))]),
        column("5.0.0-freelists", &[(few.0, one(few.2)), (many.0, about(many.2, 900.0)), ("huge-3", one(97.96))]),
    ]
}

fn benchmark() -> Benchmark {
    let [mut latencies, mut huge] = thp::sections(&[3, 5]);
    latencies.operations.retain(|operation| operation.contains("both"));
    huge.operations.truncate(1);
    Benchmark { name: "thpscale".to_owned(), sections: vec![latencies, huge], main: Vec::new() }
}

#[test]
fn samples_become_the_published_tables_in_order() {
    let report = compare(&benchmark(), &columns(), Generation::Y2019.into());
    let text = report.to_text(text::Fit::Published);
    let parts: Vec<_> = text.split("\n\n").collect();
    let [latencies, huge, durations, counters, note] = parts[..] else {
        panic!("expected four tables and a note in\n{text}")
    };
    for line in [
        "thpscale Fault Latencies",
        "Amean     fault-both-3     3832.09 (   0.00%)     2748.56 *  28.28%*",
        "Amean     fault-both-5     4933.06 (   0.00%)     4255.52 (  13.73%)",
        "Stddev    fault-both-3        0.00 (   0.00%)        0.00 (   0.00%)",
        "CoeffVar  fault-both-3        0.00 (   0.00%)        0.00 (   0.00%)",
    ] {
        assert!(latencies.lines().any(|found| found == line), "no {line:?} in\n{latencies}");
    }
    let expected = "thpscale Percentage Faults Huge
                                   5.0.0                  5.0.0
                                  linear              freelists
Percentage huge-3       85.99 (   0.00%)       97.96 (  13.92%)";
    assert_eq!(huge, expected, "\n{huge}");
    assert!(durations.ends_with("Duration Elapsed     8124.76     8124.76"), "{durations}");
    assert!(counters.contains("Ops Kswapd velocity                     5585.75        5585.75\n"), "{counters}");
    let expected = "Statistics as of 2019; * x.xx%* marks means that differ by Student's t-test, p < 0.10.
Units: thpscale Fault Latencies us, thpscale Percentage Faults Huge %, Duration s.\n";
    assert_eq!(note, expected);
}

#[test]
fn what_was_not_measured_shows_as_zero() {
    let [mut first, second] = columns();
    first.results.samples.remove("fault-both-3");
    let section = Section { family: Family::Single("Ops"), ..thp::sections(&[3])[0].clone() };
    let benchmark = Benchmark { name: "b".into(), sections: vec![section], main: Vec::new() };
    let report = compare(&benchmark, &[first, second], Generation::Y2019.into());
    let row = report.tables[0].rows.iter().find(|row| row.operation == "fault-both-3").unwrap();
    // Against nothing there is no change.
    assert_eq!(row.cells, [Cell::Missing, Cell::Measured { value: 2748.56, estimate: None, change: None }]);
    let text = text::draw(&report.tables[0], text::Fit::Published);
    assert!(text.contains("Ops fault-both-3        0.00 (   0.00%)     2748.56 (    NaN%)\n"), "{text}");
    assert!(text.contains("Ops fault-base-3        0.00 (   0.00%)        0.00 (   0.00%)\n"), "{text}");
}

#[test]
fn the_rule_can_be_chosen_apart_from_the_generation() {
    let marked = |rule| {
        let report = compare(&benchmark(), &columns(), Style { generation: Generation::Y2019, rule });
        let cells = report.tables[0].rows.iter().flat_map(|row| row.cells.clone());
        cells.filter(|cell| cell.change().is_some_and(|change| change.significant)).count()
    };
    assert_eq!([None, Some(Rule::TTest), Some(Rule::Interval)].map(marked), [0, 1, 1]);
}

#[test]
fn csv_has_one_line_per_value() {
    let report = compare(&benchmark(), &columns(), Generation::Y2019.into());
    let text = csv::draw(&report);
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[0], "benchmark,statistic,operation,unit,column,value,change_percent,significant");
    assert!(lines.contains(&"thpscale,Amean,fault-both-3,us,5.0.0-linear,3832.09,0,false"), "{text}");
    assert!(lines.contains(&"thpscale,Stddev,fault-both-3,us,5.0.0-linear,,,"), "{text}");
    assert!(lines.contains(&"thpscale,Duration,User,s,5.0.0-linear,501.82,,"), "{text}");
    assert_eq!(lines.len(), 1 + report.tables.iter().map(|table| 2 * table.rows.len()).sum::<usize>());
}

#[test]
fn json_says_by_which_statistics_it_was_made() {
    let report = compare(&benchmark(), &columns(), Generation::Y2019.into());
    let json: serde_json::Value = serde_json::from_str(&report.to_json()).unwrap();
    assert_eq!(json["style"], serde_json::json!({ "generation": "2019", "rule": "t-test" }));
    let row = &json["tables"][1]["rows"][0];
    assert_eq!(row["unit"], "%");
    assert_eq!(row["cells"][1]["value"], 97.96);
    assert_eq!(row["cells"][0]["change"], serde_json::json!({ "percent": 0.0, "significant": false }));
}

#[test]
fn a_report_without_columns_has_only_names() {
    let report = compare(&benchmark(), &[], Generation::Y2019.into());
    assert!(report.to_text(text::Fit::Widened).contains("Duration Elapsed\n"));
}
