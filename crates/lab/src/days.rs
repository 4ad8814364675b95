//! `uptime` by the day: what memory had become at 24:00, and what the restart of that night met.
//!
//! Key type: [`Day`], one row of the table.

use order9_record::{Phase, Run};
use order9_report::stats::{Direction, Samples};
use order9_report::table::Table;
use order9_report::terminal::ColourDepth;
use order9_units::PAGEBLOCK_PAGES;
use schemars::JsonSchema;
use serde::Serialize;

/// A day of a run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Day {
    /// The policy of the run.
    pub policy: String,
    /// The seed of the run.
    pub seed: u64,
    /// Number of the day, from 1 on.
    pub day: u64,
    /// Free memory, in percent of memory.
    pub free_percent: f64,
    /// Free memory in blocks of order 9 and above, in percent of free memory.
    pub order9_percent: f64,
    /// Pageblocks that are free or that compaction could empty, in percent of all.
    pub recoverable_percent: f64,
    /// Movable pageblocks that hold something unmovable.
    pub polluted_blocks: u64,
    /// 2 MiB of the database that became huge at its restart, in percent; none where it did not come to a restart.
    pub restart_huge_percent: Option<f64>,
    /// Latency of 2 MiB at the restart that 95 % of them did not exceed, in microseconds.
    pub restart_p95_us: Option<f64>,
    /// CPU time of kcompactd, in percent of the day.
    pub kcompactd_cpu_percent: f64,
    /// Scatter of the free memory of each zone.
    pub zones: Vec<DayZone>,
}

/// A zone at the end of a day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DayZone {
    /// Name of the zone, with Linux' number of the node: `node0_Normal`.
    pub name: String,
    /// Share of free memory below order 9, in percent.
    pub score: u64,
    /// Fragmentation index of order 9, in thousandths; 0 where a huge page is free.
    pub extfrag_index: u64,
}

/// Every whole day of the runs; none where the workload has no days.
#[must_use]
pub fn days<'a>(runs: impl IntoIterator<Item = &'a Run>) -> Vec<Day> {
    let of_run = |run: &'a Run| run.phases.iter().filter_map(move |phase| Day::of(run, phase));
    runs.into_iter().flat_map(of_run).collect()
}

impl Day {
    fn of(run: &Run, phase: &Phase) -> Option<Self> {
        let day = phase.name.strip_prefix("day-")?.parse().ok()?;
        let level = |name: &str| phase.at_end.get(run.counters.position(name)?).copied();
        let kcompactd = run.counters.position("order9_kcompactd_cpu_ns")?;
        let free = level("nr_free_pages")?;
        let obtainable = level("order9_nr_huge_free")? + level("order9_nr_huge_recoverable")?;
        let pageblocks = obtainable + level("order9_nr_huge_lost")?;
        Some(Self {
            policy: run.policy.clone(),
            seed: run.seed,
            day,
            free_percent: percent(free, pageblocks * PAGEBLOCK_PAGES.get()),
            order9_percent: percent(level("nr_free_pages_blocks")?, free),
            recoverable_percent: percent(obtainable, pageblocks),
            polluted_blocks: level("order9_nr_polluted_blocks")?,
            restart_huge_percent: run.values(&format!("huge-{day}")).next(),
            restart_p95_us: Samples::new(run.values(&format!("unit-{day}"))).ok().map(|units| p95(&units) / 1e3),
            kcompactd_cpu_percent: percent(
                phase.at_end[kcompactd].saturating_sub(phase.at_begin[kcompactd]),
                (phase.end - phase.begin).get(),
            ),
            zones: zones(run, phase),
        })
    }

    fn cells(&self) -> Vec<String> {
        let known = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.1}"));
        vec![
            self.day.to_string(),
            format!("{:.1}", self.free_percent),
            format!("{:.1}", self.order9_percent),
            format!("{:.1}", self.recoverable_percent),
            self.polluted_blocks.to_string(),
            known(self.restart_huge_percent),
            known(self.restart_p95_us),
            format!("{:.2}", self.kcompactd_cpu_percent),
            figures(&self.zones, |zone| zone.score),
            figures(&self.zones, |zone| zone.extfrag_index),
        ]
    }
}

/// A figure of every zone, in the order of zones.
fn figures(zones: &[DayZone], figure: impl Fn(&DayZone) -> u64) -> String {
    zones.iter().map(|zone| figure(zone).to_string()).collect::<Vec<_>>().join("/")
}

fn zones(run: &Run, phase: &Phase) -> Vec<DayZone> {
    let levels = run.counters.columns.iter().zip(&phase.at_end);
    let scores = levels.filter_map(|(column, &score)| {
        let name = column.name.strip_prefix("order9_nr_fragmentation_score_")?.to_owned();
        let index = run.counters.position(&format!("order9_nr_extfrag_index_{name}"))?;
        Some(DayZone { name, score, extfrag_index: phase.at_end[index] })
    });
    scores.collect()
}

fn percent(part: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { part as f64 * 100.0 / of as f64 }
}

fn p95(samples: &Samples) -> f64 {
    samples.ranked(Direction::LowerIsBetter, (samples.count() * 95 / 100).max(1))
}

/// Titles of the columns, as docs/workloads.md explains them.
const HEADER: [&str; 10] = [
    "day",
    "free%",
    "order9%",
    "recoverable%",
    "polluted-blocks",
    "restart-huge%",
    "restart-p95-us",
    "kcompactd-cpu%",
    "score%",
    "index",
];

/// A table for each run, under its policy and seed; nothing where there are no days.
#[must_use]
pub fn days_text(days: &[Day]) -> String {
    let same_run = |a: &Day, b: &Day| (&a.policy, a.seed) == (&b.policy, b.seed);
    let of_run = |days: &[Day]| {
        let mut table = Table::new(HEADER);
        days.iter().for_each(|day| table.row(day.cells()));
        let Day { policy, seed, zones, .. } = &days[0];
        let names: Vec<_> = zones.iter().map(|zone| zone.name.as_str()).collect();
        let zones = if names.is_empty() { String::new() } else { format!("; zones {}", names.join("/")) };
        format!("\nDays of {policy}, seed {seed}{zones}\n{}", table.render(usize::MAX, ColourDepth::None))
    };
    days.chunk_by(same_run).map(of_run).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use order9_record::{Counters, Unit};
    use order9_units::{CounterMeaning, CounterUnit, Nanos};

    const NAMES: [&str; 9] = [
        "nr_free_pages",
        "nr_free_pages_blocks",
        "order9_nr_huge_free",
        "order9_nr_huge_recoverable",
        "order9_nr_huge_lost",
        "order9_nr_polluted_blocks",
        "order9_kcompactd_cpu_ns",
        "order9_nr_fragmentation_score_node0_Normal",
        "order9_nr_extfrag_index_node0_Normal",
    ];

    fn phase(name: &str, at_end: [u64; NAMES.len()]) -> Phase {
        let (begin, end) = (Nanos::new(100), Nanos::new(1100));
        Phase { name: name.to_owned(), begin, end, at_begin: vec![0; NAMES.len()], at_end: at_end.to_vec() }
    }

    #[test]
    fn a_day_is_the_state_at_its_end_and_its_restart() {
        let mut run = Run::new("linux-5.1", 7);
        run.counters = Counters::new(NAMES.map(|name| (name, CounterMeaning::level(CounterUnit::Pages))));
        run.phases = vec![
            phase("prepare", [0; NAMES.len()]),
            phase("day-1", [2560, 1024, 2, 6, 2, 3, 30, 60, 987]),
            phase("day-2", [0, 0, 0, 0, 10, 0, 0, 0, 0]),
        ];
        let (huge, unit) = (run.operation("huge-1", Unit::Percent), run.operation("unit-1", Unit::Nanos));
        let sample = |operation, value| order9_record::Sample { operation, at: Nanos::new(500), value };
        run.samples = (1..=20).map(|at| sample(unit, f64::from(at) * 1000.0)).chain([sample(huge, 75.0)]).collect();
        let found = days([&run]);
        assert_eq!(found.len(), 2);
        let Day { free_percent, order9_percent, recoverable_percent, kcompactd_cpu_percent, .. } = found[0];
        assert_eq!((free_percent, order9_percent, recoverable_percent, kcompactd_cpu_percent), (50.0, 40.0, 80.0, 3.0));
        assert_eq!((found[0].restart_huge_percent, found[0].restart_p95_us), (Some(75.0), Some(19.0)));
        assert_eq!((found[1].restart_huge_percent, found[1].restart_p95_us), (None, None));
        let text = days_text(&found);
        assert!(text.starts_with("\nDays of linux-5.1, seed 7; zones node0_Normal\n"), "{text}");
        let row = text.lines().nth(3).expect("a header comes first");
        let cells: Vec<_> = row.split_whitespace().collect();
        assert_eq!(cells, ["1", "50.0", "40.0", "80.0", "3", "75.0", "19.0", "3.00", "60", "987"]);
        assert_eq!(days_text(&[]), "");
    }
}
