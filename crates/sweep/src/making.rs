//! Runs the cells of a plan that are missing, side by side on this host.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use order9_units::Bytes;

use crate::Plan;
use crate::SweepError;
use crate::axes::Axes;
use crate::course::Course;
use crate::folder::{Folder, Places};
use crate::point::Point;
use crate::run::Done;

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
    follow(Course::new(plan, points), folder, making, progress)
}

/// Runs the cells of a course that `folder` does not have, as [`sweep`] does.
///
/// # Errors
/// A cell that this host has no memory for, a file system that refuses. Cells that have ended are kept whatever happens.
pub fn follow(
    mut course: Course,
    folder: &Folder,
    making: Making<'_>,
    progress: &dyn Progress,
) -> Result<Swept, SweepError> {
    if let Some(point) = course.points().iter().find(|point| point.needs() > making.available) {
        let (machine, needs) = (point.axes().machine.clone(), point.needs());
        return Err(SweepError::Memory { machine, needs, available: making.available });
    }
    let (sender, receiver) = mpsc::channel();
    let (mut running, mut memory) = (0, Bytes::ZERO);
    while !making.stop.load(Ordering::Relaxed) {
        while let Some((point, _)) = course.ready(folder, progress)? {
            if running == making.jobs.get() || memory + point.needs() > making.available {
                break;
            }
            let (point, seed) = course.take();
            (running, memory) = (running + 1, memory + point.needs());
            progress.begun(point.axes(), seed);
            start(point, seed, folder.places(), sender.clone());
        }
        if running == 0 {
            break;
        }
        match receiver.recv_timeout(PATIENCE) {
            Ok((needed, kept)) => {
                (running, memory) = (running - 1, memory - needed);
                course.ended(&kept?, progress);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => unreachable!("this function holds a sender"),
        }
    }
    Ok(course.swept())
}

/// Memory that a cell took, and what came of it.
type Answer = (Bytes, Result<Done, SweepError>);

/// Runs a cell in a thread of its own, and keeps it.
fn start(point: Point, seed: u64, places: Places, answer: mpsc::Sender<Answer>) {
    thread::spawn(move || {
        let done = point.run(seed);
        let kept = places.keep(&done).map(|()| done);
        // Nobody listens any more where the sweep has stopped.
        let _ = answer.send((point.needs(), kept));
    });
}
