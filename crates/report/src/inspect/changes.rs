//! Changes between two inspections of one host.

use std::time::Duration;

use order9_snapshot::inspection::Inspection;

use crate::number::grouped;

/// One figure and how it moved.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Name of the counter.
    pub name: String,
    /// Value of the counter now.
    pub now: u64,
    /// Change since the last look.
    pub delta: i64,
    /// Events per second, for counters.
    pub per_second: Option<f64>,
}

/// The main figures, always, then the counters that moved within `elapsed`.
#[must_use]
pub fn changes(before: &Inspection, after: &Inspection, elapsed: Duration) -> Vec<Change> {
    let mut changes: Vec<Change> = Vec::new();
    let mut figure = |name: &str, old: Option<u64>, new: Option<u64>| {
        if let (Some(old), Some(now)) = (old, new) {
            changes.push(Change { name: name.to_owned(), now, delta: difference(old, now), per_second: None });
        }
    };
    let [old, new] = [before, after].map(|inspection| inspection.total.findings.as_ref());
    figure("huge pages free", old.map(|f| f.blocks.free), new.map(|f| f.blocks.free));
    figure("recoverable", old.map(|f| f.by_moving.huge_pages), new.map(|f| f.by_moving.huge_pages));
    figure("huge pages in use", old.map(|f| f.blocks.huge), new.map(|f| f.blocks.huge));
    figure("lost blocks", old.map(|f| f.lost.blocks), new.map(|f| f.lost.blocks));
    figure("free pages", Some(before.total.free.get()), Some(after.total.free.get()));
    for (name, &now) in &after.counters.vmstat {
        let delta = before.counters.vmstat.get(name).map_or(0, |&old| difference(old, now));
        if delta != 0 {
            let per_second = Some(delta as f64 / elapsed.as_secs_f64().max(1e-3));
            changes.push(Change { name: name.clone(), now, delta, per_second });
        }
    }
    changes
}

fn difference(old: u64, new: u64) -> i64 {
    new.wrapping_sub(old).cast_signed()
}

impl Change {
    /// `huge pages free  1,533  +12` or `compact_success  204  +3  1.5/s`.
    #[must_use]
    pub fn line(&self) -> String {
        let sign = if self.delta < 0 { "-" } else { "+" };
        let delta = match self.delta {
            0 => "=".to_owned(),
            delta => format!("{sign}{}", grouped(delta.unsigned_abs())),
        };
        let rate = self.per_second.map_or_else(String::new, |rate| format!("{rate:>10.1}/s"));
        format!("{:<28}{:>14}{delta:>12}{rate}", self.name, grouped(self.now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_says_which_way() {
        let change = |delta| Change { name: "free".into(), now: 1000, delta, per_second: None }.line();
        assert!(change(-1200).ends_with("1,000      -1,200"));
        assert!(change(0).ends_with('='));
    }
}
