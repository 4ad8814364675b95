//! The course of a sweep: which cell runs next, whoever runs it, and what its results ask for.
//!
//! [`sweep`](crate::sweep()) runs cells in threads by it, and an engine of other machines may run them by it in any order.

use std::collections::{HashMap, VecDeque};

use order9_record::Digest;

use crate::Plan;
use crate::SweepError;
use crate::folder::Folder;
use crate::making::{Ended, Progress, Swept};
use crate::point::Point;
use crate::run::Done;
use crate::until::{Until, Values};

/// Cells that can run, cells that do, and what their points know by now.
#[derive(Debug)]
pub struct Course {
    points: Vec<Point>,
    until: Option<Until>,
    states: Vec<State>,
    ready: VecDeque<(usize, u64)>,
    /// The point of each cell that runs, by the name of the cell.
    running: HashMap<Digest, usize>,
    counts: Swept,
    total: u64,
}

/// A point whose cells go on.
#[derive(Clone, Debug, Default)]
struct State {
    /// Cells that were asked for and have not ended.
    open: usize,
    /// Values of the stop rule by seed.
    values: Vec<(u64, Values)>,
}

impl Course {
    /// The course of `points`, which are those of `plan` or some of them.
    #[must_use]
    pub fn new(plan: &Plan, points: &[Point]) -> Self {
        let mut course = Self {
            points: points.to_vec(),
            until: plan.until().cloned(),
            states: vec![State::default(); points.len()],
            ready: VecDeque::new(),
            running: HashMap::new(),
            counts: Swept::default(),
            total: 0,
        };
        for (at, point) in points.iter().enumerate() {
            course.ask(at, plan.seeds(point).least());
        }
        course
    }

    /// The course of single cells, for whoever decides by himself which ones he needs.
    #[must_use]
    pub fn of(cells: impl IntoIterator<Item = (Point, u64)>) -> Self {
        let (points, seeds): (Vec<Point>, Vec<u64>) = cells.into_iter().unzip();
        let (states, running) = (vec![State::default(); points.len()], HashMap::new());
        let (ready, counts) = (VecDeque::new(), Swept::default());
        let mut course = Self { points, until: None, states, ready, running, counts, total: 0 };
        seeds.into_iter().enumerate().for_each(|(at, seed)| course.ask(at, vec![seed]));
        course
    }

    /// Points of its cells.
    pub(crate) fn points(&self) -> &[Point] {
        &self.points
    }

    /// The next cell to run, by its point and its seed; `None` where nothing can run until a cell ends. Cells that `folder` has count
    /// as ended on the way.
    ///
    /// # Errors
    /// A file system that refuses.
    pub fn ready(&mut self, folder: &Folder, progress: &dyn Progress) -> Result<Option<(&Point, u64)>, SweepError> {
        while let Some(&(at, seed)) = self.ready.front() {
            let Some(done) = folder.get(self.points[at].cell_name(seed))? else { break };
            self.ready.pop_front();
            self.ended_at(at, &done, true, progress);
        }
        Ok(self.ready.front().map(|&(at, seed)| (&self.points[at], seed)))
    }

    /// Takes the cell that [`Self::ready`] gave last: it runs from now on.
    ///
    /// # Panics
    /// Where that gave none.
    pub fn take(&mut self) -> (Point, u64) {
        let (at, seed) = self.ready.pop_front().expect("a cell is ready");
        let point = self.points[at].clone();
        self.running.insert(point.cell_name(seed), at);
        (point, seed)
    }

    /// Counts a cell that ran, and asks for more where the stop rule does. A cell that does not run, as one whose answer comes twice,
    /// changes nothing.
    pub fn ended(&mut self, done: &Done, progress: &dyn Progress) {
        if let Some(at) = self.running.remove(&done.cell) {
            self.ended_at(at, done, false, progress);
        }
    }

    /// Cells so far.
    #[must_use]
    pub fn swept(&self) -> Swept {
        let Swept { ran, kept, .. } = self.counts;
        Swept { ran, kept, left: self.total - ran - kept }
    }

    fn ask(&mut self, at: usize, seeds: Vec<u64>) {
        self.states[at].open += seeds.len();
        self.total += seeds.len() as u64;
        self.ready.extend(seeds.into_iter().map(|seed| (at, seed)));
    }

    fn ended_at(&mut self, at: usize, done: &Done, was_kept: bool, progress: &dyn Progress) {
        self.counts.kept += u64::from(was_kept);
        self.counts.ran += u64::from(!was_kept);
        let further = self.further(at, done);
        self.ask(at, further);
        let ended = self.counts.ran + self.counts.kept;
        progress.ended(Ended { done, was_kept, ended, total: self.total });
    }

    /// Seeds that the stop rule asks for after `done`, once all cells of its point have ended.
    fn further(&mut self, at: usize, done: &Done) -> Vec<u64> {
        let state = &mut self.states[at];
        state.open -= 1;
        let Some(until) = &self.until else { return Vec::new() };
        state.values.push((done.seed, until.values(done)));
        if state.open > 0 {
            return Vec::new();
        }
        state.values.sort_by_key(|(seed, _)| *seed);
        let values: Vec<Values> = state.values.iter().map(|(_, values)| values.clone()).collect();
        until.further(&values)
    }
}
