//! One picture of the watch: which parts a screen has room for, and what is said about the others.

use std::collections::VecDeque;
use std::time::Duration;

use order9_report::inspect::{View, changes, headline};
use order9_report::number::{duration, size};
use order9_report::terminal::{Canvas, ColourDepth, clipped, legend, sparkline, strips};
use order9_units::{Bytes, Nanos};

/// Looks that are remembered: as many as the widest line shows.
const REMEMBERED: usize = 240;

/// Free memory in huge pages, over the last looks.
pub(super) struct History {
    free: VecDeque<(Bytes, Duration)>,
}

impl History {
    pub(super) fn new(view: &View) -> Self {
        let mut history = Self { free: VecDeque::new() };
        history.add(view, Duration::ZERO);
        history
    }

    /// A look, `elapsed` after the one before.
    pub(super) fn add(&mut self, view: &View, elapsed: Duration) {
        self.free.push_back((view.inspection.total.free_in_huge_pages.bytes(), elapsed));
        if self.free.len() > REMEMBERED {
            self.free.pop_front();
        }
    }

    /// The last looks as bars, as many as fit on a line.
    fn line(&self, columns: usize) -> String {
        const TITLE: &str = "free in 2 MiB blocks";
        let room = columns.saturating_sub(TITLE.len() + 32).max(8);
        let shown: Vec<(Bytes, Duration)> =
            self.free.iter().skip(self.free.len().saturating_sub(room)).copied().collect();
        let values: Vec<u64> = shown.iter().map(|(free, _)| free.get()).collect();
        let time: Duration = shown.iter().skip(1).map(|(_, elapsed)| *elapsed).sum();
        let bound = |bytes: Option<u64>| size(Bytes::new(bytes.unwrap_or(0)));
        let (low, high) = (bound(values.iter().min().copied()), bound(values.iter().max().copied()));
        let seconds = time.as_secs();
        let time = if seconds < 100 { format!("{seconds} s") } else { format!("{} min", seconds / 60) };
        format!("{TITLE} {} {low} to {high} in {time}", sparkline(&values))
    }
}

/// Contents of the screen.
pub(super) struct Frame<'a> {
    pub(super) view: &'a View,
    /// The look before, and how long before.
    pub(super) before: Option<(&'a View, Duration)>,
    pub(super) history: &'a History,
    /// Time of the view.
    pub(super) clock: &'a str,
    pub(super) interval: Duration,
    pub(super) paused: bool,
}

impl Frame<'_> {
    /// Draws `lines` lines of `columns` columns. The map comes before everything but the title. The last line names the
    /// parts that do not fit.
    pub(super) fn draw(&self, columns: usize, lines: usize, colour: ColourDepth) -> String {
        // Title and keys.
        let mut room = lines.saturating_sub(2);
        let mut cut: Vec<&'static str> = Vec::new();
        let canvas = Canvas { width: columns, lines: room, colour };
        let legend = self.view.map.as_ref().map(|map| legend(map, canvas)).unwrap_or_default();
        let least =
            self.view.map.as_ref().map_or(0, |map| strips(map, None, Canvas { lines: 0, ..canvas }).lines().count());
        room = room.saturating_sub(least);
        let mut part = |name, text: String, least: usize, most: usize| {
            let wanted = text.lines().count();
            let given = wanted.min(most).min(room);
            let given = if given < least.min(wanted) { 0 } else { given };
            if given < wanted {
                cut.push(name);
            }
            room -= given;
            text.lines().take(given).map(|line| format!("{line}\n")).collect::<String>()
        };
        let history = part("history", format!("{}\n", self.history.line(columns)), 1, 1);
        // On a small screen sentences leave room for figures.
        let headline = part("headline", headline(&self.view.inspection, canvas), 1, (lines / 5).max(1));
        let legend = part("legend", legend, usize::MAX, usize::MAX);
        let changes = part("changes", self.changes(), 3, usize::MAX);
        let map = self.map(Canvas { lines: least + room, ..canvas }, &mut cut);
        let text = [self.title(colour), headline, history, changes, map, legend].concat();
        let body: Vec<String> = text.lines().map(|line| clipped(line, columns)).collect();
        let shown = &body[..body.len().min(lines.saturating_sub(1))];
        if shown.len() < body.len() && !cut.contains(&"map") {
            cut.push("map");
        }
        let keys = clipped(&self.keys(&cut), columns);
        shown.iter().map(|line| format!("{line}\n")).chain([keys]).collect()
    }

    fn title(&self, colour: ColourDepth) -> String {
        let total = size(self.view.inspection.total.present.bytes());
        let kernel = &self.view.inspection.machine.kernel_release;
        let interval = duration(Nanos::new(u64::try_from(self.interval.as_nanos()).unwrap_or(u64::MAX)));
        let pace = if self.paused { "paused".to_owned() } else { format!("every {interval}") };
        format!("{}  {}, {pace}, Linux {kernel}, {total}\n", colour.bold("order9 inspect"), self.clock)
    }

    /// Figures that moved: the main ones always, then counters.
    fn changes(&self) -> String {
        const MOST: usize = 12;
        let (old, elapsed) = self.before.unwrap_or((self.view, Duration::ZERO));
        let changes = changes(&old.inspection, &self.view.inspection, elapsed);
        changes.iter().take(MOST).map(|change| format!("{}\n", change.line())).collect()
    }

    fn map(&self, canvas: Canvas, cut: &mut Vec<&'static str>) -> String {
        let Some(map) = &self.view.map else { return String::new() };
        let text = strips(
            map,
            self.before.and_then(|(view, _)| view.map.as_ref()),
            Canvas { lines: canvas.lines.saturating_sub(1), ..canvas },
        );
        if text.lines().any(|line| clipped(line, canvas.width) != line) {
            cut.push("map");
        }
        text
    }

    fn keys(&self, cut: &[&'static str]) -> String {
        let pause = if self.paused { "p go on" } else { "p pause" };
        match cut {
            [] => format!("q quit  {pause}  r now  + faster  - slower"),
            parts => format!("q quit  {pause}  no room for all of: {}", parts.join(", ")),
        }
    }
}
