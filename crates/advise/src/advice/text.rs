//! Advice as text: one screen with the verdict, a table, and the commands of the best remedies.

use order9_report::number::{count_of, decimal, duration, grouped, size};
use order9_report::stats::Estimate;
use order9_report::table::{Table, wrap};
use order9_report::terminal::ColourDepth;
use order9_units::{Bytes, Nanos, PAGEBLOCK_PAGES, Pages};

use super::remedy::TOGETHER;
use super::{Advice, Case, Finding, Verdict, owners};

/// Columns of the text.
const WIDTH: usize = 98;
/// Lines of a screen.
const LINES: usize = 25;
/// Remedies in the table.
const ROWS: usize = 4;
/// Time below which a cell says nothing, in nanoseconds.
const SHOWN: f64 = 100_000.0;
const HUGE: Bytes = PAGEBLOCK_PAGES.bytes();
/// Share of the demand from which on all of it is huge, in percent.
const ALL: f64 = 99.5;

/// The advice in a sentence or two.
pub(super) fn sentence(advice: &Advice) -> String {
    let now = &advice.now;
    let not_all = match (advice.want, now.written) {
        (Some(want), Some(written)) if written + HUGE <= want => {
            format!("{} of {} fit before others are swapped out or killed. ", size(written), size(want))
        }
        _ => String::new(),
    };
    let share = |case: &Case| case.huge_percent.as_ref().map(|share| percent(share.mean()));
    let Some(best) = advice.findings.first() else {
        let tried = advice.others.len();
        let state =
            share(now).map_or_else(String::new, |share| format!("{share} of the demand is huge as the host is, and "));
        return format!("{not_all}Do nothing: {state}none of {tried} remedies is worth it.");
    };
    let name = &best.remedy.name;
    let state = match (share(now), share(&best.case)) {
        (Some(now), Some(then)) if now == then => format!(": {now} of the demand is huge with it and without"),
        (Some(now), Some(then)) => format!(": {then} of the demand is huge with it, {now} as the host is"),
        _ => String::new(),
    };
    if best.more > Bytes::ZERO {
        return format!("{not_all}{name} lets {} more fit{state}.", size(best.more));
    }
    let [saved, all] = [best.worth_ns, now.cost_ns.mean()].map(time);
    format!("{not_all}{name} saves {saved} of {all} ({} %){state}.", decimal(best.worth_percent, 0))
}

impl Advice {
    /// The advice as text for a terminal.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = format!("{}\n{}", wrap(&self.sentence, WIDTH), self.table());
        let mut end = "\n".to_owned();
        if let Some(restart) = &self.restart {
            end += &wrap(&restart.sentence(self.short()), WIDTH);
        }
        if let Some(held) = self.owners.as_ref().map(owners::sentence).filter(|text| !text.is_empty()) {
            end += &wrap(&held, WIDTH);
        }
        end += &wrap(format!("{} {}", self.together(), self.how()).trim_start(), WIDTH);
        self.notes.iter().for_each(|note| end += &wrap(&format!("Note: {note}."), WIDTH));
        for (nth, finding) in self.findings.iter().take(ROWS).enumerate() {
            let told = format!("\n{}", told(finding));
            // Commands of the best are told in any case, others as far as the screen goes.
            if nth > 0 && [&text, &told, &end].map(|part| part.lines().count()).iter().sum::<usize>() > LINES {
                break;
            }
            text += &told;
        }
        text + &end
    }

    /// Huge pages of the demand, where the best remedy leaves it without some.
    fn short(&self) -> Option<u64> {
        let best = self.findings.first().map_or(&self.now, |best| &best.case);
        let is_short = best.huge_percent.as_ref().is_some_and(|share| share.mean() < ALL);
        Some(best.written?.get().div_ceil(HUGE.get())).filter(|_| is_short)
    }

    /// The host as it is, and the remedies that are worth it; where none is, those that came nearest.
    fn table(&self) -> String {
        let mut nearest: Vec<&Finding> = Vec::new();
        let came_near = |other: &&Finding| other.worth_ns >= SHOWN && other.verdict != Verdict::Worse;
        for other in self.others.iter().filter(came_near) {
            if nearest.iter().all(|better| better.remedy.kind() != other.remedy.kind()) {
                nearest.push(other);
            }
        }
        let rows: Vec<&Finding> = if self.findings.is_empty() { nearest } else { self.findings.iter().collect() };
        let shows_memory = rows.iter().any(|row| row.more > Bytes::ZERO);
        let mut table =
            Table::new(["", "fits", "saves", "huge", "access", "free then", "CPU", "stalled", "cache lost", "swapped"]);
        table.row(row("as it is", None, &self.now, shows_memory));
        for finding in rows.into_iter().take(ROWS) {
            table.row(row(&finding.remedy.name, Some(finding.worth_ns), &finding.case, shows_memory));
        }
        table.without_empty_columns().render(WIDTH, ColourDepth::None)
    }

    /// Whether the other remedies add anything to the best one.
    fn together(&self) -> String {
        match self.findings.as_slice() {
            [best, _, ..] if !best.remedy.name.contains(TOGETHER) => format!("No other adds to {}.", best.remedy.name),
            _ => String::new(),
        }
    }

    fn how(&self) -> String {
        let tried = self.findings.len() + self.others.len();
        let runs = count_of(self.now.cost_ns.count() as u64, "run");
        format!(
            "saves: time of the faults, of {} of use, of daemons and requests, and to read lost cache again ({} a page). {tried} \
             remedies, {runs} each. Demand: {}, as {}. Prices: {}.",
            duration(self.use_ns),
            duration(self.reread_page_ns),
            self.demand,
            self.policy,
            self.prices
        )
    }
}

/// Risk and commands of a remedy.
fn told(finding: &Finding) -> String {
    let risks = wrap(&format!("{}: {}.", finding.remedy.name, finding.remedy.risks.join("; ")), WIDTH);
    let order9 = finding.order9.iter().map(|command| match command.chars().count() + 2 > WIDTH {
        true => command.replace(" --set ", " \\\n    --set ").replacen(" \\\n   ", "", 1),
        false => command.clone(),
    });
    let commands = order9.chain(finding.linux.iter().cloned());
    risks + &commands.map(|command| format!("  {command}\n")).collect::<String>()
}

fn row(name: &str, saves: Option<f64>, case: &Case, shows_memory: bool) -> Vec<String> {
    let cells = cells(saves, case).into_iter().enumerate();
    let cells = cells.map(|(at, (text, _))| if at == FITS && !shows_memory { String::new() } else { text });
    std::iter::once(name.to_owned()).chain(cells).collect()
}

/// Column of the memory that fits.
const FITS: usize = 0;

/// Cells of a case, with the values behind them: memory that fits, time saved, share, access, free huge pages, CPU time, stalls, lost cache
/// and swap.
pub(super) fn cells(saves: Option<f64>, case: &Case) -> Vec<(String, Option<f64>)> {
    let estimate = |of: &Option<Estimate>, shown: fn(f64) -> String| {
        let mean = of.as_ref().map(Estimate::mean);
        (mean.map_or_else(String::new, shown), mean)
    };
    let bytes = |bytes: Bytes| {
        let text = if bytes == Bytes::ZERO { "0".to_owned() } else { size(bytes) };
        (text, Some(bytes.get() as f64))
    };
    let time_of = |ns: f64| (worth_a_word(ns), Some(ns));
    vec![
        case.written.map_or_else(Default::default, bytes),
        (saves.map_or_else(String::new, signed), saves),
        estimate(&case.huge_percent, percent),
        estimate(&case.access_ns, time),
        estimate(&case.huge_free, |count| grouped(count.round() as u64)),
        time_of(case.costs.cpu()),
        time_of(case.compact_stall_ns.mean()),
        bytes(case.lost()),
        bytes(Pages::new(case.swapped_out.mean().round() as u64).bytes()),
    ]
}

fn time(ns: f64) -> String {
    duration(Nanos::new(ns.round() as u64))
}

fn worth_a_word(ns: f64) -> String {
    if ns < SHOWN { "0".to_owned() } else { time(ns) }
}

fn signed(ns: f64) -> String {
    format!("{}{}", if ns < 0.0 { "-" } else { "" }, worth_a_word(ns.abs()))
}

fn percent(share: f64) -> String {
    let decimals = usize::from(share > 99.0 && share < 99.95);
    format!("{} %", decimal(share, decimals))
}
