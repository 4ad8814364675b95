//! `order9 inspect --watch`: the headline, what changed and the map, redrawn in place.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use order9_report::inspect::{changes, headline};
use order9_report::terminal::{Canvas, draw, legend_lines};

use crate::args::InspectArgs;
use crate::failure::Failure;
use crate::inspect::{View, canvas};
use crate::output::height;
use crate::screen::Screen;
use crate::source::{self, Wish};

/// Redraws every `interval` until the user leaves.
pub(crate) fn run(args: &InspectArgs, interval: Duration) -> Result<(), Failure> {
    if !std::io::stdout().is_terminal() {
        return Err(Failure::Usage("--watch needs a terminal on standard output".to_owned()));
    }
    let look = || View::of(&source::capture_quietly(args.root.as_deref(), Wish::default())?, args.node);
    let mut before = look()?;
    let mut taken = Instant::now();
    let mut screen = Screen::open()?;
    screen.show(&frame(&before, None, canvas(args)))?;
    let mut next = taken + interval;
    while screen.wait(next)? {
        let view = look()?;
        let elapsed = taken.elapsed();
        taken = Instant::now();
        screen.show(&frame(&view, Some((&before, elapsed)), canvas(args)))?;
        before = view;
        next = taken + interval;
    }
    Ok(())
}

/// One picture of the screen: figures that moved above, so that they never scroll away, the map below.
fn frame(view: &View, before: Option<(&View, Duration)>, canvas: Canvas) -> String {
    const CHANGES_MAX: usize = 12;
    const LINES_MIN: usize = 6;
    let mut out = headline(&view.inspection, canvas);
    out.push('\n');
    let (old, elapsed) = before.unwrap_or((view, Duration::ZERO));
    let changes = changes(&old.inspection, &view.inspection, elapsed);
    for change in changes.iter().take(CHANGES_MAX) {
        out.push_str(&format!("{}\n", change.line()));
    }
    if let Some(map) = &view.map {
        // Besides the strips: a blank line, the scale, the legend.
        let used = out.lines().count() + 2 + legend_lines(map);
        let lines = height().saturating_sub(used).max(LINES_MIN);
        let old = before.and_then(|(view, _)| view.map.as_ref());
        out.push('\n');
        out.push_str(&draw(map, old, Canvas { lines, ..canvas }));
    }
    out
}
