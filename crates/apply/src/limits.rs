//! Limits that a change must keep while it is watched: shares of time, over the last ten seconds.

use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use order9_toml::{nearest, proposal, shown};
use schemars::JsonSchema;
use serde::Serialize;

/// A price of a change, measured by a counter of nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum Price {
    /// CPU time of kcompactd.
    #[serde(rename = "kcompactd")]
    Kcompactd,
    /// CPU time of kswapd.
    #[serde(rename = "kswapd")]
    Kswapd,
    /// CPU time of khugepaged.
    #[serde(rename = "khugepaged")]
    Khugepaged,
    /// Time in which some task waited for memory.
    #[serde(rename = "psi")]
    Psi,
    /// Time in which all tasks waited for memory.
    #[serde(rename = "psi-full")]
    PsiFull,
}

/// The largest share of time that a price may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// The price.
    pub price: Price,
    /// The share: 0.05 is 5 % of a CPU, or of the time that passes.
    pub most: f64,
}

/// A share that was measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Share {
    /// The price.
    pub price: Price,
    /// Share of the time: 1 is a whole CPU, or all of the time that passed.
    pub share: f64,
    /// The largest share that was allowed.
    pub most: f64,
}

impl Price {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Kcompactd, Self::Kswapd, Self::Khugepaged, Self::Psi, Self::PsiFull];

    /// Name of the price.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Kcompactd => "kcompactd",
            Self::Kswapd => "kswapd",
            Self::Khugepaged => "khugepaged",
            Self::Psi => "psi",
            Self::PsiFull => "psi-full",
        }
    }

    /// The counter that measures it.
    #[must_use]
    pub const fn counter(self) -> &'static str {
        match self {
            Self::Kcompactd => "order9_kcompactd_cpu_ns",
            Self::Kswapd => "order9_kswapd_cpu_ns",
            Self::Khugepaged => "order9_khugepaged_cpu_ns",
            Self::Psi => "order9_pressure_some_ns",
            Self::PsiFull => "order9_pressure_full_ns",
        }
    }
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (word, share) = text.split_once('=').ok_or("expected NAME=SHARE, such as kcompactd=5%")?;
        let price = Price::ALL.into_iter().find(|price| price.word() == word).ok_or_else(|| {
            let words = Price::ALL.map(Price::word);
            format!("'{}' is none of {}{}", shown(word), words.join(", "), proposal(nearest(word, words)))
        })?;
        let percent = share.strip_suffix('%').and_then(|percent| percent.parse::<f64>().ok());
        let percent = percent.filter(|percent| (0.0..=10_000.0).contains(percent));
        let most = percent.ok_or("expected a share in percent, such as 5%")? / 100.0;
        Ok(Self { price, most })
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { price, share, most } = self;
        write!(f, "{} {:.1} % (limit {} %)", price.word(), 100.0 * share, 100.0 * most)
    }
}

/// Judges readings of the counters against limits.
#[derive(Clone, Debug)]
pub struct Judge {
    limits: Vec<Limit>,
    first: Option<Reading>,
    /// Readings of the last ten seconds, and the one before.
    last: VecDeque<Reading>,
}

/// A moment, with the counter of each limit.
type Reading = (Duration, Vec<u64>);

/// Span over which a limit must hold: a burst of compaction right after a change is what was asked for.
const SPAN: Duration = Duration::from_secs(10);

impl Judge {
    /// A judge who has heard nothing.
    #[must_use]
    pub const fn new(limits: Vec<Limit>) -> Self {
        Self { limits, first: None, last: VecDeque::new() }
    }

    /// Takes the counter of each limit at a moment, and names the first limit that the last ten seconds broke.
    pub fn hear(&mut self, at: Duration, counters: Vec<u64>) -> Option<Share> {
        self.first.get_or_insert_with(|| (at, counters.clone()));
        self.last.push_back((at, counters));
        while self.last.get(1).is_some_and(|(then, _)| at - *then >= SPAN) {
            self.last.pop_front();
        }
        let begin = self.last.front().filter(|(then, _)| at - *then >= SPAN)?;
        self.shares_since(begin).into_iter().find(|share| share.share > share.most)
    }

    /// Shares since the first reading.
    #[must_use]
    pub fn shares(&self) -> Vec<Share> {
        self.first.as_ref().map(|first| self.shares_since(first)).unwrap_or_default()
    }

    fn shares_since(&self, (then, before): &Reading) -> Vec<Share> {
        let Some((now, after)) = self.last.back() else { return Vec::new() };
        let time = (*now - *then).as_nanos().max(1) as f64;
        let spent = before.iter().zip(after).map(|(before, after)| after.saturating_sub(*before) as f64);
        let share = |(limit, spent): (&Limit, f64)| Share { price: limit.price, share: spent / time, most: limit.most };
        self.limits.iter().zip(spent).map(share).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_and_refused() {
        assert_eq!("kcompactd=5%".parse(), Ok(Limit { price: Price::Kcompactd, most: 0.05 }));
        for (text, sentence) in [
            ("kcompactd", "expected NAME=SHARE, such as kcompactd=5%"),
            (
                "kcompact=5%",
                "'kcompact' is none of kcompactd, kswapd, khugepaged, psi, psi-full; did you mean kcompactd?",
            ),
            ("psi=5", "expected a share in percent, such as 5%"),
            ("psi=-1%", "expected a share in percent, such as 5%"),
        ] {
            assert_eq!(text.parse::<Limit>(), Err(sentence.to_owned()));
        }
    }

    #[test]
    fn a_limit_holds_over_ten_seconds() {
        let second = Duration::from_secs;
        let mut judge = Judge::new(vec![Limit { price: Price::Psi, most: 0.5 }]);
        // A burst of three seconds, and nothing after it.
        for at in 0..20 {
            let spent = at.min(3) * 1_000_000_000;
            assert_eq!(judge.hear(second(at), vec![spent]), None, "after {at} s");
        }
        assert_eq!(judge.shares()[0].to_string(), "psi 15.8 % (limit 50 %)");
        // Six seconds without a pause are too many.
        let broken = (20..30).find_map(|at| judge.hear(second(at), vec![(at - 16) * 1_000_000_000]));
        assert_eq!(broken.map(|share| share.share), Some(0.6));
    }
}
