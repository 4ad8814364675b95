//! Runs the cells of a plan that are missing, side by side on this host.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use order9_units::Bytes;

use crate::Plan;
use crate::SweepError;
use crate::axes::Axes;
use crate::folder::{Folder, Places};
use crate::point::Point;
use crate::run::Done;
use crate::until::{Seeds, Values};

/// Choices about making cells; none changes a result.
#[derive(Clone, Copy, Debug)]
pub struct Making<'a> {
    /// Cells at the same time.
    pub jobs: NonZeroUsize,
    /// Memory of the host for all of them together.
    pub available: Bytes,
    /// Set from elsewhere to end the sweep with what has ended.
    pub stop: &'a AtomicBool,
}

/// A cell of a sweep that has ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended<'a> {
    /// Results.
    pub done: &'a Done,
    /// Whether an earlier attempt had run it.
    pub was_kept: bool,
    /// Cells that have ended, this one included.
    pub ended: u64,
    /// Cells that are known to be needed; a stop rule may ask for more.
    pub total: u64,
}

/// Hears how a sweep goes on, from the thread that asked for it.
pub trait Progress {
    /// A cell begins to run.
    fn begun(&self, _axes: &Axes, _seed: u64) {}

    /// A cell has ended.
    fn ended(&self, _ended: Ended<'_>) {}
}

/// Cells of a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Cells that ran now.
    pub ran: u64,
    /// Cells that had run before.
    pub kept: u64,
    /// Cells that are still to run, as far as is known.
    pub left: u64,
}

/// Time between two looks whether the sweep is to stop.
const PATIENCE: Duration = Duration::from_millis(50);

/// Runs the cells of `points`, which are those of `plan` or some of them, that `folder` does not have. Cells go on in threads of their
/// own: where the sweep is to stop, they are left behind, and end with the program.
///
/// # Errors
/// A cell that this host has no memory for, a file system that refuses. Cells that have ended are kept whatever happens.
pub fn sweep(
    plan: &Plan,
    points: &[Point],
    folder: &Folder,
    making: Making<'_>,
    progress: &dyn Progress,
) -> Result<Swept, SweepError> {
    if let Some(point) = points.iter().find(|point| point.needs() > making.available) {
        let (machine, needs) = (point.axes().machine.clone(), point.needs());
        return Err(SweepError::Memory { machine, needs, available: making.available });
    }
    let mut course = Course::new(plan, points);
    let (sender, receiver) = mpsc::channel();
    let (mut running, mut memory) = (0, Bytes::ZERO);
    while !making.stop.load(Ordering::Relaxed) {
        while let Some(&(at, seed)) = course.ready.front() {
            let point = &points[at];
            if let Some(done) = folder.get(point.cell_name(seed))? {
                course.ready.pop_front();
                course.ended(at, seed, &done, true, progress);
                continue;
            }
            if running == making.jobs.get() || memory + point.needs() > making.available {
                break;
            }
            course.ready.pop_front();
            (running, memory) = (running + 1, memory + point.needs());
            progress.begun(point.axes(), seed);
            start(point.clone(), (at, seed), folder.places(), sender.clone());
        }
        if running == 0 {
            break;
        }
        match receiver.recv_timeout(PATIENCE) {
            Ok(((at, seed), kept)) => {
                let done = kept?;
                (running, memory) = (running - 1, memory - points[at].needs());
                course.ended(at, seed, &done, false, progress);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => unreachable!("this function holds a sender"),
        }
    }
    let Course { counts: Swept { ran, kept, .. }, total, .. } = course;
    Ok(Swept { ran, kept, left: total - ran - kept })
}

/// A cell by its point and its seed, and what came of it.
type Answer = ((usize, u64), Result<Done, SweepError>);

/// Runs a cell in a thread of its own, and keeps it.
fn start(point: Point, (at, seed): (usize, u64), places: Places, answer: mpsc::Sender<Answer>) {
    thread::spawn(move || {
        let done = point.run(seed);
        let kept = places.keep(&done).map(|()| done);
        // Nobody listens any more where the sweep has stopped.
        let _ = answer.send(((at, seed), kept));
    });
}

/// Cells that can run, and what their points know by now.
struct Course<'a> {
    plan: &'a Plan,
    points: &'a [Point],
    ready: VecDeque<(usize, u64)>,
    states: Vec<State>,
    counts: Swept,
    total: u64,
}

/// A point whose cells go on.
struct State {
    /// Cells that were asked for and have not ended.
    open: usize,
    /// Values of the stop rule by seed.
    values: Vec<(u64, Values)>,
}

impl<'a> Course<'a> {
    fn new(plan: &'a Plan, points: &'a [Point]) -> Self {
        let mut course =
            Self { plan, points, ready: VecDeque::new(), states: Vec::new(), counts: Swept::default(), total: 0 };
        for (at, point) in points.iter().enumerate() {
            course.states.push(State { open: 0, values: Vec::new() });
            course.ask(at, plan.seeds(point).least());
        }
        course
    }

    fn ask(&mut self, at: usize, seeds: Vec<u64>) {
        self.states[at].open += seeds.len();
        self.total += seeds.len() as u64;
        self.ready.extend(seeds.into_iter().map(|seed| (at, seed)));
    }

    /// Takes a cell that has ended, and asks for more where the stop rule does.
    fn ended(&mut self, at: usize, seed: u64, done: &Done, was_kept: bool, progress: &dyn Progress) {
        self.counts.kept += u64::from(was_kept);
        self.counts.ran += u64::from(!was_kept);
        let seeds: Seeds<'_> = self.plan.seeds(&self.points[at]);
        let state = &mut self.states[at];
        state.open -= 1;
        if let Seeds::Until(until) = seeds {
            state.values.push((seed, until.values(done)));
            if state.open == 0 {
                state.values.sort_by_key(|(seed, _)| *seed);
                let values: Vec<Values> = state.values.iter().map(|(_, values)| values.clone()).collect();
                let further = seeds.further(&values);
                self.ask(at, further);
            }
        }
        let ended = self.counts.ran + self.counts.kept;
        progress.ended(Ended { done, was_kept, ended, total: self.total });
    }
}
