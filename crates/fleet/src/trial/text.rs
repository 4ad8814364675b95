//! A projection as text.

use order9_advise::what_if::{Unit, number};
use order9_report::number::{count_of, decimal, grouped, percent_change};
use order9_report::table::{Table, wrap};
use order9_report::terminal::ColourDepth;

use super::{Changed, Projection};
use crate::share::Share;

/// Columns of the text.
const WIDTH: usize = 98;

impl Projection {
    /// The projection in a sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        let outcomes = &self.outcomes;
        let named = [
            ("helps", outcomes.helped),
            ("hurts", outcomes.hurt),
            ("helps in part and hurts in part on", outcomes.mixed),
            ("changes nothing on", outcomes.same),
            ("cannot be tried on", outcomes.untried),
        ];
        let parts = named.iter().filter(|(_, share)| share.sampled > 0);
        let parts: Vec<String> = parts.map(|(what, share)| format!("{what} {}", hosts(share))).collect();
        let unseen =
            named.iter().filter(|(_, share)| share.sampled == 0).map(|(_, share)| share.interval_95[1].round());
        let most = unseen.fold(0.0, f64::max) as u64;
        let rest = match most {
            0 => String::new(),
            most => format!(" Whatever the sample does not show can be true of at most {}.", count_of(most, "host")),
        };
        format!("{} {}.{rest}", self.settings.join(" "), parts.join("; "))
    }

    /// The projection as text for a terminal.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = wrap(&self.sentence(), WIDTH);
        if !self.measures.is_empty() {
            text += "\n";
            text += &self.table();
        }
        if self.groups.len() > 1 {
            text += "\n";
            text += &self.of_groups();
        }
        let how = format!(
            "By {} of {} in {}, {} each; intervals of 95 %. Better and worse: estimated numbers of hosts; change: of the mean over \
             all hosts; if better, if worse: median change on such hosts. Demand: {}.",
            grouped(self.sampled as u64),
            count_of(self.hosts as u64, "host"),
            count_of(self.groups.len() as u64, "group"),
            count_of(self.seeds, "run"),
            self.demand
        );
        text += "\n";
        text += &wrap(&how, WIDTH);
        if let Some(first) = self.untried.first() {
            let more = match self.untried.len() - 1 {
                0 => String::new(),
                more => format!("; and {}", count_of(more as u64, "other")),
            };
            text += &wrap(&format!("Not tried: {}: {}{more}.", first.file, first.problem), WIDTH);
        }
        text
    }

    fn table(&self) -> String {
        let mut table = Table::new(["measured", "better", "worse", "now", "change", "if better", "if worse"]);
        for of in &self.measures {
            let median = |value: Option<f64>| value.map_or_else(String::new, |value| difference(of, value));
            table.row(vec![
                of.name.clone(),
                estimated(&of.better),
                estimated(&of.worse),
                number(of.now, of.unit),
                change(of),
                median(of.where_better),
                median(of.where_worse),
            ]);
        }
        table.render(WIDTH, ColourDepth::None)
    }

    fn of_groups(&self) -> String {
        let mut table = Table::new(["group", "hosts", "sampled", "helped", "hurt", "both"]);
        for of in &self.groups {
            let counts = [of.hosts, of.sampled, of.helped, of.hurt, of.mixed].map(|count| grouped(count as u64));
            table.row(std::iter::once(of.group.to_string()).chain(counts).collect());
        }
        table.render(WIDTH, ColourDepth::None)
    }
}

/// `1,230 hosts (12 %; 800 to 1,700)`: those that were seen, and the ends of the interval.
fn hosts(share: &Share) -> String {
    let [low, high] = share.interval_95.map(|end| grouped(end.round() as u64));
    let interval = if low == high { String::new() } else { format!("; {low} to {high}") };
    let percent = decimal(share.percent, usize::from(share.percent < 9.95));
    format!("{} ({percent} %{interval})", count_of(share.hosts.round() as u64, "host"))
}

fn estimated(share: &Share) -> String {
    match share.sampled {
        0 => "0".to_owned(),
        _ => {
            let [low, high] = share.interval_95.map(|end| grouped(end.round() as u64));
            let number = grouped(share.hosts.round() as u64);
            if low == high { number } else { format!("{number} ({low}-{high})") }
        }
    }
}

/// Change of the mean with its interval, where there is one to speak of: points of percentages, else a share.
fn change(of: &Changed) -> String {
    let mean = of.difference.mean;
    let half = of.difference.interval_95.map_or(0.0, |[low, high]| (high - low) / 2.0);
    let (shown, half, unit) = match of.unit {
        Unit::Percent => (format!("{mean:+.1} points"), half, "points"),
        _ if of.now == 0.0 => return format!("from 0 to {}", number(mean, of.unit)),
        _ => (percent_change(Some(100.0 * mean / of.now)), 100.0 * half / of.now, "%"),
    };
    if half < 0.05 {
        return shown;
    }
    format!("{shown} \u{b1} {} {unit}", decimal(half, usize::from(half < 9.95)))
}

/// A difference in the unit of its measure.
fn difference(of: &Changed, value: f64) -> String {
    if of.unit == Unit::Percent {
        return format!("{value:+.1} points");
    }
    let sign = if value < 0.0 { "-" } else { "+" };
    format!("{sign}{}", number(value.abs(), of.unit))
}
