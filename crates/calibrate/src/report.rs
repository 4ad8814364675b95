//! Prices, sums and cross-checks of a calibration, as tables for a person.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use crate::checks::{CHECKS, Check};
use crate::direct::{DIRECT, Direct};
use crate::prices::{Cross, PRICES, Price};
use crate::spread::Spread;

/// A sum further from its whole than this share is marked.
const SUM_TOLERANCE: f64 = 0.10;

/// Two ways to a price that differ by more than this share are explained.
const CROSS_TOLERANCE: f64 = 0.30;

/// Rounds of measurements on one machine.
#[derive(Clone, Debug)]
pub struct Calibration {
    /// Kernel and CPU of the machine, in words.
    pub host: String,
    /// The rounds.
    pub rounds: Vec<Direct>,
}

impl Calibration {
    pub(crate) fn spread(&self, value: impl Fn(&Direct) -> f64) -> Option<Spread> {
        Spread::of(&self.rounds, value)
    }

    /// The price called `key` with its quartiles, in ns; `None` where it was not measured, and where the difference that makes the price
    /// drowned in noise.
    pub(crate) fn price(&self, price: &Price) -> Option<Spread> {
        self.spread(price.ns).filter(|spread| spread.median > 0.0)
    }

    /// Everything that was measured, the prices that follow, and sums of prices beside what was measured whole.
    #[must_use]
    pub fn tables(&self) -> Tables {
        let measured = DIRECT.iter().map(|&(name, meaning, value)| Measured { name, meaning, ns: self.spread(value) });
        let sums = CHECKS.iter().filter_map(|Check { what, whole, sum, parts }| {
            let (whole, by_prices) = (self.spread(whole)?.median, self.spread(sum)?.median);
            Some(Sum { whole: what, measured_ns: whole, by_prices_ns: by_prices, parts })
        });
        Tables {
            host: self.host.clone(),
            rounds: self.rounds.len(),
            measured: measured.collect(),
            prices: PRICES.iter().map(|price| self.priced(price)).collect(),
            sums: sums.collect(),
        }
    }

    fn priced(&self, price: &Price) -> Priced {
        let ns = self.price(price);
        let crossed = price.cross.as_ref().filter(|_| ns.is_some());
        let other = crossed.and_then(|&Cross { what, ns, comment }| {
            Some(OtherWay { way: what, ns: self.spread(ns)?.median, may_differ: comment })
        });
        Priced { key: price.key, ns, other }
    }
}

/// A calibration as tables.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Tables {
    /// Kernel and CPU of the machine, in words.
    pub host: String,
    /// Number of rounds; each measured everything once.
    pub rounds: usize,
    /// Everything that was measured.
    pub measured: Vec<Measured>,
    /// Prices of the lab's cost model that follow.
    pub prices: Vec<Priced>,
    /// Sums of prices beside what was measured whole.
    pub sums: Vec<Sum>,
}

/// A measurement.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Measured {
    /// Name of the measurement.
    pub name: &'static str,
    /// The work that was measured, in words.
    pub meaning: &'static str,
    /// Nanoseconds; none where it could not be measured.
    pub ns: Option<Spread>,
}

/// A price.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Priced {
    /// Name of the price in machine files.
    pub key: &'static str,
    /// Nanoseconds; none where the price was not measured, or drowned in noise.
    pub ns: Option<Spread>,
    /// Another way to the price.
    pub other: Option<OtherWay>,
}

/// Another way to a price.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct OtherWay {
    /// The way, in words.
    pub way: &'static str,
    /// Nanoseconds by that way.
    pub ns: f64,
    /// Why the two ways may differ.
    pub may_differ: &'static str,
}

/// A sum of prices beside the whole.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Sum {
    /// The whole, in words.
    pub whole: &'static str,
    /// Nanoseconds of the whole, measured.
    pub measured_ns: f64,
    /// Nanoseconds of the sum.
    pub by_prices_ns: f64,
    /// The sum, in words.
    pub parts: &'static str,
}

impl Tables {
    fn measured(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rounds = self.rounds;
        writeln!(f, "{:>18} {:>10} {:>10} {:>10}  {rounds} rounds, ns", "measured", "median", "quartile", "quartile")?;
        for Measured { name, meaning, ns } in &self.measured {
            match ns {
                Some(Spread { low, median, high }) => {
                    writeln!(f, "{name:>18} {median:>10.1} {low:>10.1} {high:>10.1}  {meaning}")?;
                }
                None => writeln!(f, "{name:>18} {:>10} {:>10} {:>10}  {meaning}: not measured", "-", "-", "-")?,
            }
        }
        Ok(())
    }

    fn prices(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [low, high, other] = ["quartile", "quartile", "other way"];
        writeln!(f, "\n{:>16} {:>9} {low:>9} {high:>9} {other:>9}  by another way", "price", "ns")?;
        for Priced { key, ns, other } in &self.prices {
            let Some(Spread { low, median, high }) = *ns else {
                writeln!(f, "{key:>16} {:>9}  not measured", "-")?;
                continue;
            };
            let own = format!("{key:>16} {:>9} {:>9} {:>9}", digits(median), digits(low), digits(high));
            let Some(OtherWay { way, ns: other, may_differ }) = other else {
                writeln!(f, "{own}")?;
                continue;
            };
            let apart = (other - median).abs() / median > CROSS_TOLERANCE;
            let why = if apart { format!(": {may_differ}") } else { String::new() };
            writeln!(f, "{own} {:>9}  {way}{why}", digits(*other))?;
        }
        Ok(())
    }

    fn sums(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n{:>37} {:>9} {:>9} {:>7}", "whole", "measured", "by prices", "off")?;
        for Sum { whole, measured_ns, by_prices_ns, parts } in &self.sums {
            let off = by_prices_ns / measured_ns - 1.0;
            let mark = if off.abs() > SUM_TOLERANCE { "  more than 10 %" } else { "" };
            writeln!(
                f,
                "{whole:>37} {measured_ns:>9.1} {by_prices_ns:>9.1} {:>+6.1}%{mark}\n{:>38}= {parts}",
                off * 100.0,
                ""
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for Tables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.measured(f)?;
        self.prices(f)?;
        self.sums(f)
    }
}

/// Three significant digits at least, whole from 100 ns on.
pub(crate) fn digits(ns: f64) -> String {
    if ns.abs() < 100.0 { format!("{ns:.1}") } else { format!("{ns:.0}") }
}
