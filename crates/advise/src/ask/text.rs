//! The answer in words, in 25 lines at most.

use order9_report::number::{count_of, decimal, duration, grouped, size};
use order9_report::stats::Estimate;
use order9_report::table::{Table, wrap};
use order9_report::terminal::ColourDepth;
use order9_units::{Bytes, Nanos};

use super::answer::{Answer, Compaction, Efforts, ZoneNow};
use super::{Ask, HUGE};
use crate::latencies::Latencies;

/// Columns of the text.
const WIDTH: usize = 98;
/// Zones that are shown.
const ZONES: usize = 8;
/// Shares from which on all, and up to which none, is huge.
const ALL: f64 = 99.5;
const NONE: f64 = 0.5;

/// The answer in a sentence or two.
pub(super) fn sentence(answer: &Answer, ask: &Ask) -> String {
    let share = answer.huge_percent.mean();
    let place = ask.node.map_or_else(String::new, |node| format!(" on node {node}"));
    let fits = if answer.written + HUGE > answer.asked { answer.asked } else { answer.written };
    let short = match fits < answer.asked {
        true => format!(
            "No: {}{place} do not fit, {} do before others are swapped out or killed for it. Of these ",
            size(answer.asked),
            size(fits)
        ),
        false => String::new(),
    };
    let of = if short.is_empty() { format!(" of {}{place}", size(fits)) } else { String::new() };
    let verdict = match share {
        share if !short.is_empty() => format!("{short}{} would be in huge pages", percent(share)),
        share if share >= ALL => format!("Yes: {}{of} would be in huge pages", percent(share)),
        share if share < NONE => format!("No: {}{of} would be in huge pages", percent(share)),
        share => format!("In part: {}{of} would be in huge pages", percent(share)),
    };
    let latency = match (&answer.huge_faults, &answer.base_faults) {
        (Some(huge), _) => format!(
            ". A huge fault takes {} at the median, {} at the 95th percentile and {} at most.",
            duration(huge.p50_ns),
            duration(huge.p95_ns),
            duration(huge.max_ns)
        ),
        (None, Some(base)) => format!(". A fault takes {} at the median.", duration(base.p50_ns)),
        (None, None) => ".".to_owned(),
    };
    let [least, largest] = answer.huge_percent.range().map(percent);
    let range = if least == largest { String::new() } else { format!(" ({least} to {largest})") };
    format!("{verdict}{range}{latency}")
}

impl Answer {
    /// The answer as text for a terminal.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = wrap(&self.sentence, WIDTH);
        text += &wrap(&format!("First obstacle: {}.", self.obstacle.sentence), WIDTH);
        text += "\n";
        text += &zones(&self.zones);
        text += &wrap(&self.reclaim(), WIDTH);
        text += "\n";
        text += &faults(self.huge_faults.as_ref(), self.base_faults.as_ref());
        text += &wrap(&self.efforts.to_text(), WIDTH);
        text += "\n";
        text += &wrap(&format!("{} Prices: {}.", self.asked_as(), self.prices), WIDTH);
        self.notes.iter().for_each(|note| text += &wrap(&format!("Note: {note}."), WIDTH));
        text
    }

    fn reclaim(&self) -> String {
        let fits = size(self.asked.min(self.written));
        match self.to_reclaim {
            Bytes::ZERO => format!("Free memory above the low marks is enough for {fits}."),
            short => format!("Reclaim has to free {} before {fits} fit above the low marks.", size(short)),
        }
    }

    fn asked_as(&self) -> String {
        let advice = if self.advised { "advised MADV_HUGEPAGE" } else { "not advised" };
        let settings = self.settings.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>();
        format!("Asked in {}, {advice}, {}, as {}.", runs(&self.huge_percent), settings.join(" "), self.policy)
    }
}

fn zones(zones: &[ZoneNow]) -> String {
    let header = ["zone", "free", "huge", "min", "low", "high", "compaction", "to gain", "lost"];
    let mut table = Table::new(header);
    for zone in zones.iter().take(ZONES) {
        let pages = [zone.free, zone.min, zone.low, zone.high].map(|pages| size(pages.bytes()));
        let [free, min, low, high] = pages;
        table.row(vec![
            format!("{} {}", zone.node, zone.zone.name()),
            free,
            grouped(zone.free_huge),
            min,
            low,
            high,
            zone.compaction.word().to_owned(),
            grouped(zone.could_gain),
            grouped(zone.lost),
        ]);
    }
    let more = match zones.len().saturating_sub(ZONES) {
        0 => String::new(),
        more => format!("  and {}: --json\n", count_of(more as u64, "more zone")),
    };
    table.render(WIDTH, ColourDepth::None) + &more
}

impl Compaction {
    const fn word(self) -> &'static str {
        match self {
            Self::NotNeeded => "not needed",
            Self::Suitable => "suitable",
            Self::Skipped => "skipped",
            Self::NotSuitable => "not suitable",
        }
    }
}

fn faults(huge: Option<&Latencies>, base: Option<&Latencies>) -> String {
    let mut table = Table::new(["first faults of 2 MiB", "number", "p50", "p95", "p99", "max"]);
    for (name, of) in [("that became huge", huge), ("that did not", base)] {
        let Some(of) = of else { continue };
        let times = [of.p50_ns, of.p95_ns, of.p99_ns, of.max_ns].map(duration);
        table.row([name.to_owned(), grouped(of.faults)].into_iter().chain(times).collect());
    }
    if table.is_empty() { String::new() } else { table.render(WIDTH, ColourDepth::None) }
}

impl Efforts {
    fn to_text(&self) -> String {
        let number = |value: f64| grouped(value.round() as u64);
        let answers: Vec<_> =
            self.compaction_answers.iter().map(|(answer, count)| format!("{answer} {}", grouped(*count))).collect();
        let answers =
            if answers.is_empty() { String::new() } else { format!(", which answered: {}", answers.join(", ")) };
        let time = duration(Nanos::new(self.compaction_stall_ns.mean() as u64));
        format!(
            "Pages moved: {}; reclaimed: {}; swapped out: {}. Waits for direct reclaim: {}; for direct compaction: {}, \
             together {time}{answers}.",
            range(&self.pages_moved, number),
            range(&self.pages_reclaimed, number),
            range(&self.pages_swapped, number),
            range(&self.reclaim_stalls, number),
            range(&self.compaction_stalls, number),
        )
    }
}

/// The mean, with the least and the largest value where runs differ.
fn range(estimate: &Estimate, shown: impl Fn(f64) -> String) -> String {
    let [least, largest] = estimate.range().map(&shown);
    let mean = shown(estimate.mean());
    if least == largest { mean } else { format!("{least} to {largest}") }
}

fn runs(estimate: &Estimate) -> String {
    count_of(estimate.count() as u64, "run")
}

/// A share without needless decimals; 100 and 0 only where exact.
fn percent(share: f64) -> String {
    match share {
        0.0 | 100.0 => format!("{share} %"),
        share if (10.0..=99.0).contains(&share) => format!("{} %", decimal(share, 0)),
        share => format!("{} %", decimal(share.clamp(0.1, 99.9), 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_all_or_nothing_only_where_exact() {
        let shares =
            [(0.0, "0 %"), (0.01, "0.1 %"), (9.96, "10.0 %"), (62.5, "62 %"), (99.97, "99.9 %"), (100.0, "100 %")];
        for (share, text) in shares {
            assert_eq!(percent(share), text);
        }
    }

    #[test]
    fn runs_that_agree_have_no_range() {
        let of = |values: &[f64]| range(&Estimate::new(values.iter().copied()).expect("there are values"), percent);
        assert_eq!((of(&[63.0, 63.2]), of(&[61.0, 66.0])), ("63 %".to_owned(), "61 % to 66 %".to_owned()));
    }
}
