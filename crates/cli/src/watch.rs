//! `order9 inspect --watch`: the headline, what changed, the last minutes and the map, redrawn in place.

mod frame;

use std::io::IsTerminal as _;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use order9_host::calibrate;
use order9_report::inspect::View;
use order9_snapshot::{Calibration, Snapshot};

use crate::args::InspectArgs;
use crate::failure::Failure;
use crate::inspect::view;
use crate::screen::{Next, Screen, end};
use crate::source::{self, Wish};
use frame::{Frame, History};

/// Redraws every `interval` until the user leaves, or a signal ends it.
pub(crate) fn run(args: &InspectArgs, interval: Duration) -> Result<(), Failure> {
    if !std::io::stdout().is_terminal() {
        return Err(Failure::Usage("--watch needs a terminal on standard output".to_owned()));
    }
    // Once: prices do not change while one looks on.
    let priced = !args.no_calibrate && args.root.is_none();
    let prices = if priced { calibrate().ok() } else { None };
    let view = look(args, prices)?;
    let mut watch = Watch {
        args,
        prices,
        interval,
        history: History::new(&view),
        taken: Instant::now(),
        clock: clock(),
        view,
        before: None,
        paused: false,
    };
    let mut screen = Screen::open()?;
    let signal = watch.run(&mut screen)?;
    drop(screen);
    signal.map_or(Ok(()), |signal| Ok(end(signal)?))
}

/// A watch that goes on.
struct Watch<'a> {
    args: &'a InspectArgs,
    prices: Option<Calibration>,
    interval: Duration,
    /// The last look, when it was, and what a clock showed.
    view: View,
    taken: Instant,
    clock: String,
    /// The look before it, and how long before.
    before: Option<(View, Duration)>,
    history: History,
    paused: bool,
}

impl Watch<'_> {
    /// Shows the host until the user leaves, or a signal comes, which is returned.
    fn run(&mut self, screen: &mut Screen) -> Result<Option<i32>, Failure> {
        loop {
            screen.show(&self.draw()?)?;
            match screen.wait((!self.paused).then(|| self.taken + self.interval))? {
                Next::Look => self.look()?,
                Next::Draw => {}
                Next::Pause => self.paused = !self.paused,
                Next::Slower => self.interval = (self.interval * 2).min(Duration::from_secs(3600)),
                Next::Faster => self.interval = (self.interval / 2).max(Duration::from_millis(100)),
                Next::Leave => return Ok(None),
                Next::End(signal) => return Ok(Some(signal)),
            }
        }
    }

    fn look(&mut self) -> Result<(), Failure> {
        let view = look(self.args, self.prices)?;
        let elapsed = self.taken.elapsed();
        (self.taken, self.clock) = (Instant::now(), clock());
        self.history.add(&view, elapsed);
        self.before = Some((std::mem::replace(&mut self.view, view), elapsed));
        Ok(())
    }

    fn draw(&self) -> Result<String, Failure> {
        let (columns, lines) = Screen::size()?;
        let columns = self.args.width.map_or(columns, |asked| columns.min(asked.into()));
        let frame = Frame {
            view: &self.view,
            before: self.before.as_ref().map(|(view, elapsed)| (view, *elapsed)),
            history: &self.history,
            clock: &self.clock,
            interval: self.interval,
            paused: self.paused,
        };
        Ok(frame.draw(columns, lines, self.args.color.depth()))
    }
}

fn look(args: &InspectArgs, calibration: Option<Calibration>) -> Result<View, Failure> {
    let snapshot = source::capture_quietly(args.root.as_deref(), Wish::default())?;
    view(&Snapshot { calibration, ..snapshot }, args.node)
}

/// The time of day.
fn clock() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    format!("{:02}:{:02}:{:02} UTC", seconds / 3600 % 24, seconds / 60 % 60, seconds % 60)
}
