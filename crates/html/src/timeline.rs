//! Counters, rates and levels over time, in panels that share their time axis.
//!
//! Every value comes from the metrics that `order9 plot` draws. A long line is thinned to the least and the greatest of each
//! part of it, so that no extreme value is lost.

use order9_lab::{PlotChoice, PlotError, changed, plot};
use order9_record::Loaded;
use order9_report::plot::{Line, Metric, Panel as PlotPanel, Quantity, Style, Unit};
use order9_units::Nanos;
use serde::Serialize;

use crate::number::Shown;

/// Panels over time.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Timeline {
    /// Ends of the time axis, in seconds.
    span: [Shown; 2],
    /// Phases of the first run of each policy.
    phases: Vec<Phase>,
    /// Times of readings in microseconds, each as the distance from the one before. Lines name them by number.
    clocks: Vec<Vec<u64>>,
    /// Panels in groups of a heading.
    panels: Vec<Panel>,
    notes: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
struct Phase {
    group: usize,
    name: String,
    begin: Shown,
    end: Shown,
}

#[derive(Clone, Debug, Serialize)]
struct Panel {
    /// Heading under which the panel stands; none where it is shown on request.
    heading: Option<&'static str>,
    title: String,
    metric: String,
    unit: String,
    /// Whether values are dots instead of joined.
    dots: bool,
    lines: Vec<Values>,
}

#[derive(Clone, Debug, Serialize)]
struct Values {
    group: usize,
    seed: u64,
    clock: usize,
    values: Vec<Shown>,
}

/// Panels that every report has, as far as the runs count what they show: heading, title, metric.
const USUAL: &[(&str, &str, &str)] = &[
    ("Huge pages", "free huge pages", "order9_nr_huge_free"),
    ("Huge pages", "huge pages that compaction could make", "order9_nr_huge_recoverable"),
    ("Huge pages", "areas of 1 GiB without unmovable pages", "order9_nr_gigabyte_free+order9_nr_gigabyte_clean"),
    ("Huge pages", "anonymous huge pages in use", "nr_anon_transparent_hugepages"),
    ("Huge pages", "huge faults", "thp_fault_alloc/s"),
    ("Huge pages", "huge faults that fell back", "thp_fault_fallback/s"),
    ("Huge pages", "huge pages made by khugepaged", "thp_collapse_alloc/s"),
    ("Fragmentation", "fragmentation score", "order9_nr_fragmentation_score"),
    ("Fragmentation", "blocks with unmovable pages among movable ones", "order9_nr_polluted_blocks"),
    ("Fragmentation", "fallbacks that fragment", "order9_extfrag_fragmenting/s"),
    ("Memory", "free memory", "nr_free_pages"),
    ("Memory", "anonymous memory", "nr_anon_pages"),
    ("Memory", "page cache", "nr_file_pages"),
    ("Memory", "dirty", "nr_dirty"),
    ("Memory", "slab", "nr_slab_reclaimable+nr_slab_unreclaimable"),
    ("Compaction", "scanned for pages to move", "compact_migrate_scanned/s"),
    ("Compaction", "scanned for free pages", "compact_free_scanned/s"),
    ("Compaction", "pages moved", "pgmigrate_success/s"),
    ("Compaction", "direct compaction", "compact_stall/s"),
    ("Reclaim", "scanned by kswapd", "pgscan_kswapd/s"),
    ("Reclaim", "scanned by programs", "pgscan_direct/s"),
    ("Reclaim", "freed by kswapd and programs", "(pgsteal_kswapd+pgsteal_direct)/s"),
    ("CPU of daemons", "kswapd", "order9_kswapd_cpu_ns/s"),
    ("CPU of daemons", "kcompactd", "order9_kcompactd_cpu_ns/s"),
    ("CPU of daemons", "khugepaged", "order9_khugepaged_cpu_ns/s"),
    ("CPU of daemons", "flusher", "order9_flusher_cpu_ns/s"),
    ("Pressure (PSI)", "some task waits for memory", "order9_pressure_some_ns/s"),
    ("Pressure (PSI)", "all tasks wait for memory", "order9_pressure_full_ns/s"),
];

/// Points of a line, at most; a longer one is thinned.
const POINTS_MAX: usize = 800;
/// Values of panels that are shown on request: more would make the page slow to open.
const VALUES_ON_REQUEST: usize = 400_000;

impl Timeline {
    /// The usual panels of `loaded`, and all other counters that changed; `None` where nothing was read over time.
    ///
    /// # Errors
    /// None that runs which were read can cause.
    pub fn of(loaded: &Loaded) -> Result<Option<Self>, PlotError> {
        let mut timeline = match Self::begun(loaded, &PlotChoice::default()) {
            Ok(timeline) => timeline,
            Err(PlotError::Empty { .. } | PlotError::Unknown { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        for &(heading, title, metric) in USUAL {
            if let Some(panel) = drawn(loaded, metric)? {
                timeline.add(Some(heading), title, &panel);
            }
        }
        timeline.others(loaded)?;
        Ok((!timeline.panels.is_empty()).then_some(timeline))
    }

    /// The panels of `choice`, as `order9 plot` draws them.
    ///
    /// # Errors
    /// As those of [`plot`].
    pub fn chosen(loaded: &Loaded, choice: &PlotChoice) -> Result<Self, PlotError> {
        let mut timeline = Self::begun(loaded, choice)?;
        for panel in &plot(loaded, choice)?.chart.panels {
            timeline.add(Some(""), &panel.title, panel);
        }
        Ok(timeline)
    }

    /// Time axis and phases, without a panel.
    fn begun(loaded: &Loaded, choice: &PlotChoice) -> Result<Self, PlotError> {
        let plotted = plot(loaded, choice)?;
        let (from, to) = plotted.chart.span;
        let mut phases = Vec::new();
        for (group, policy) in crate::groups(loaded, choice).iter().enumerate() {
            let run = loaded.runs.iter().find(|run| run.policy == *policy);
            phases.extend(run.into_iter().flat_map(|run| &run.phases).map(|phase| Phase {
                group,
                name: phase.name.clone(),
                begin: seconds(phase.begin),
                end: seconds(phase.end),
            }));
        }
        Ok(Self { span: [seconds(from), seconds(to)], phases, notes: plotted.notes, ..Self::default() })
    }

    /// Counters that changed and have no panel yet. Where there are many runs, the first seed of each policy stands for all.
    fn others(&mut self, loaded: &Loaded) -> Result<(), PlotError> {
        let changed = changed(loaded, &PlotChoice::default())?;
        let levels = changed.levels.iter().map(|level| level.name.clone());
        let events = changed.counters.iter().map(|counter| format!("{}/s", counter.name));
        let known: Vec<String> = self.panels.iter().map(|panel| panel.metric.clone()).collect();
        let names: Vec<String> = levels.chain(events).filter(|name| !known.contains(name)).collect();
        let readings: usize = loaded.runs.iter().map(|run| run.counters.times.len().min(POINTS_MAX)).sum();
        let only_first = readings * names.len() > VALUES_ON_REQUEST;
        for name in names {
            let Some(mut panel) = drawn(loaded, &name)? else { continue };
            if only_first {
                panel.lines.dedup_by_key(|line| line.group);
            }
            self.add(None, &name, &panel);
        }
        if only_first {
            self.notes.push("panels on request show the first seed of each policy".to_owned());
        }
        Ok(())
    }

    fn add(&mut self, heading: Option<&'static str>, title: &str, panel: &PlotPanel) {
        // Seconds of CPU in a second are a share of a CPU.
        let is_share = panel.unit == Unit { quantity: Quantity::Seconds, per_second: true };
        let factor = if is_share { 100.0 } else { 1.0 };
        let lines = panel.lines.iter().map(|line| {
            let points = thinned(&line.points);
            let values = points.iter().map(|(_, value)| Shown(value * factor)).collect();
            Values { group: line.group, seed: line.seed, clock: self.clock(&points), values }
        });
        let lines = lines.collect();
        self.panels.push(Panel {
            heading,
            title: title.to_owned(),
            metric: panel.title.clone(),
            unit: if is_share { "%".to_owned() } else { panel.unit.name() },
            dots: panel.style == Style::Dots,
            lines,
        });
    }

    /// Number of the clock with the times of `points`.
    fn clock(&mut self, points: &[(Nanos, f64)]) -> usize {
        let mut last = 0;
        let clock: Vec<u64> = points
            .iter()
            .map(|(at, _)| {
                let now = at.get() / 1000;
                now - std::mem::replace(&mut last, now)
            })
            .collect();
        self.clocks.iter().position(|known| *known == clock).unwrap_or_else(|| {
            self.clocks.push(clock);
            self.clocks.len() - 1
        })
    }
}

/// The panel of `metric`; `None` where no run counts it, or it is 0 throughout.
fn drawn(loaded: &Loaded, metric: &str) -> Result<Option<PlotPanel>, PlotError> {
    let Ok(metric) = metric.parse::<Metric>() else { return Ok(None) };
    let choice = PlotChoice { metrics: vec![metric], ..PlotChoice::default() };
    let mut panels = match plot(loaded, &choice) {
        Ok(plotted) => plotted.chart.panels,
        Err(PlotError::Metric(_)) => return Ok(None),
        Err(error) => return Err(error),
    };
    let says = |line: &Line| line.points.iter().any(|(_, value)| value.is_finite() && *value != 0.0);
    Ok(panels.pop().filter(|panel| panel.lines.iter().any(says)))
}

/// At most [`POINTS_MAX`] of the points: of each part the least and the greatest.
fn thinned(points: &[(Nanos, f64)]) -> Vec<(Nanos, f64)> {
    if points.len() <= POINTS_MAX {
        return points.to_vec();
    }
    let length = points.len().div_ceil(POINTS_MAX / 2);
    let mut kept = Vec::with_capacity(POINTS_MAX);
    for part in points.chunks(length) {
        let finite = || part.iter().enumerate().filter(|(_, (_, value))| value.is_finite());
        let least = finite().min_by(|one, other| one.1.1.total_cmp(&other.1.1));
        let most = finite().max_by(|one, other| one.1.1.total_cmp(&other.1.1));
        let mut places: Vec<usize> = least.into_iter().chain(most).map(|(place, _)| place).collect();
        if places.is_empty() {
            // A gap stays a gap.
            places.push(0);
        }
        places.sort_unstable();
        places.dedup();
        kept.extend(places.into_iter().map(|place| part[place]));
    }
    kept
}

fn seconds(time: Nanos) -> Shown {
    Shown(time.get() as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_every_extreme_and_the_order_of_time() {
        let value = |at: u64| {
            if at == 5000 {
                1e9
            } else if at == 7001 {
                -3.0
            } else {
                (at % 7) as f64
            }
        };
        let points: Vec<_> = (0..10_000).map(|at| (Nanos::new(at), value(at))).collect();
        let kept = thinned(&points);
        assert!(kept.len() <= POINTS_MAX && kept.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert!(kept.contains(&points[5000]) && kept.contains(&points[7001]));
    }
}
