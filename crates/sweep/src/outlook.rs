//! Outlooks on sweeps: cells, time of CPUs, memory. Nothing is kept.

use std::collections::BTreeMap;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use order9_units::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::Serialize;

use crate::Plan;
use crate::SweepError;
use crate::folder::Kept;
use crate::point::Point;
use crate::run::Done;

/// Outlook on a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Outlook {
    /// Combinations of everything but the seed.
    pub points: usize,
    /// Cells that are needed as far as is known: with a stop rule, what cells that are kept do not decide.
    pub cells: u64,
    /// Cells where the stop rule lets no point end before its last seed; the same without a rule.
    pub cells_at_most: u64,
    /// Of `cells`, those that are kept.
    pub kept: u64,
    /// Memory of the host that the largest cell takes.
    pub memory_of_a_cell: Bytes,
    /// CPU time for the cells that are not kept; none where nothing tells it.
    pub estimate: Option<Estimate>,
}

/// CPU time that is expected.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Estimate {
    /// CPU time for `cells`.
    pub cpu_ns: Nanos,
    /// CPU time for `cells_at_most`.
    pub cpu_at_most_ns: Nanos,
    /// Origin of the estimate, in words.
    pub basis: String,
}

/// Whether a cell may run for the estimate, where none has before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// One of each workload may, for up to this time.
    Within(Duration),
    /// None may.
    Never,
}

/// Looks at the cells of `points`, which are those of `plan` or some of them and may be kept.
///
/// # Errors
/// A file system that refuses.
pub fn outlook(plan: &Plan, points: &[Point], kept_cells: &Kept, probe: Probe) -> Result<Outlook, SweepError> {
    let mut rates = Rates::default();
    let (mut cells, mut cells_at_most, mut kept) = (0_u64, 0_u64, 0_u64);
    let mut open = Vec::new();
    for point in points {
        let steps = point.steps().unwrap_or(1).max(1);
        let course = course(plan, point, kept_cells)?;
        course.ended.iter().for_each(|done| rates.add(point, steps, done.host.cpu_ns));
        let (ended, known) = (course.ended.len() as u64, course.ended.len() as u64 + course.missing);
        let most = if course.missing == 0 { known } else { plan.seeds(point).most() };
        (cells, cells_at_most, kept) = (cells + known, cells_at_most + most, kept + ended);
        open.push((point, steps, course.missing, most - known));
    }
    let memory = points.iter().map(Point::needs).max().unwrap_or(Bytes::ZERO);
    let mut basis = format!("from the times of {kept} cells that are kept");
    if rates.is_empty() {
        match probe {
            Probe::Within(limit) => basis = rates.measure(points, limit),
            Probe::Never => {}
        }
    }
    let estimate = rates.sum(&open).map(|(cpu_ns, cpu_at_most_ns)| Estimate { cpu_ns, cpu_at_most_ns, basis });
    Ok(Outlook { points: points.len(), cells, cells_at_most, kept, memory_of_a_cell: memory, estimate })
}

/// Cells of a point: those that have ended, and how many are known to be missing.
struct PointCourse {
    ended: Vec<Done>,
    missing: u64,
}

/// Follows a point, its stop rule included, as far as its cells are kept.
fn course(plan: &Plan, point: &Point, kept: &Kept) -> Result<PointCourse, SweepError> {
    let seeds = plan.seeds(point);
    let (mut ended, mut values, mut asked) = (Vec::new(), Vec::new(), seeds.least());
    loop {
        let mut missing = 0;
        for seed in asked {
            match kept.get(point.cell_name(seed))? {
                Some(done) => {
                    values.extend(plan.until().map(|until| until.values(&done)));
                    ended.push(done);
                }
                None => missing += 1,
            }
        }
        asked = if missing == 0 { seeds.further(&values) } else { Vec::new() };
        if asked.is_empty() {
            return Ok(PointCourse { ended, missing });
        }
    }
}

/// CPU time per access, by workload and machine, by workload, and of all: sums of both.
#[derive(Default)]
struct Rates {
    by_machine: BTreeMap<(String, String), (u64, u64)>,
    by_workload: BTreeMap<String, (u64, u64)>,
}

impl Rates {
    fn add(&mut self, point: &Point, steps: u64, cpu: Nanos) {
        let axes = point.axes();
        let sums = [
            self.by_machine.entry((axes.workload.clone(), axes.machine.clone())).or_default(),
            self.by_workload.entry(axes.workload.clone()).or_default(),
        ];
        for (time, of) in sums {
            (*time, *of) = (time.saturating_add(cpu.get()), of.saturating_add(steps));
        }
    }

    fn is_empty(&self) -> bool {
        self.by_workload.is_empty()
    }

    /// Runs the cell with the fewest accesses of each workload, and says so.
    fn measure(&mut self, points: &[Point], limit: Duration) -> String {
        let mut least: BTreeMap<&str, (u64, &Point)> = BTreeMap::new();
        for point in points {
            let steps = point.steps().unwrap_or(u64::MAX);
            let entry = least.entry(&point.axes().workload).or_insert((steps, point));
            if steps < entry.0 {
                *entry = (steps, point);
            }
        }
        let mut said = Vec::new();
        for (workload, (steps, point)) in least {
            let seed = 1;
            let (sender, receiver) = mpsc::channel();
            let (cell, of) = (point.clone(), point.axes());
            // A cell that takes longer is left behind, and ends with the program.
            thread::spawn(move || sender.send(cell.run(seed).host.cpu_ns));
            match receiver.recv_timeout(limit) {
                Ok(cpu) => {
                    self.add(point, steps.max(1), cpu);
                    let took = cpu.get() as f64 / 1e9;
                    said.push(format!("a cell of {workload} on {} that took {took:.2} s", of.machine));
                }
                Err(_) => said.push(format!("no cell of {workload}: the shortest took over {} s", limit.as_secs())),
            }
        }
        format!("measured now: {}; others by the accesses they make", said.join(", "))
    }

    /// Sums over missing cells, and over those that a stop rule may ask for as well; `None` where some workload has no rate.
    fn sum(&self, open: &[(&Point, u64, u64, u64)]) -> Option<(Nanos, Nanos)> {
        let (mut least, mut most) = (0.0, 0.0);
        for (point, steps, missing, more) in open {
            let axes = point.axes();
            let of_machine = self.by_machine.get(&(axes.workload.clone(), axes.machine.clone()));
            let (time, of) = of_machine.or_else(|| self.by_workload.get(&axes.workload))?;
            let cell = *time as f64 / *of as f64 * *steps as f64;
            least += cell * *missing as f64;
            most += cell * (missing + more) as f64;
        }
        Some((Nanos::new(least as u64), Nanos::new(most as u64)))
    }
}
