//! Prices, sums and cross-checks of a calibration, as tables for a person.

use std::fmt;

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

    fn direct(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rounds = self.rounds.len();
        writeln!(f, "{:>18} {:>10} {:>10} {:>10}  {rounds} rounds, ns", "measured", "median", "quartile", "quartile")?;
        for (name, meaning, value) in DIRECT {
            match self.spread(value) {
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
        for price in PRICES {
            let Some(Spread { low, median, high }) = self.price(price) else {
                writeln!(f, "{:>16} {:>9}  not measured", price.key, "-")?;
                continue;
            };
            let own = format!("{:>16} {:>9} {:>9} {:>9}", price.key, digits(median), digits(low), digits(high));
            let crossed = price.cross.as_ref().and_then(|cross| Some((cross, self.spread(cross.ns)?.median)));
            let Some((Cross { what, comment, .. }, other)) = crossed else {
                writeln!(f, "{own}")?;
                continue;
            };
            let apart = (other - median).abs() / median > CROSS_TOLERANCE;
            let why = if apart { format!(": {comment}") } else { String::new() };
            writeln!(f, "{own} {:>9}  {what}{why}", digits(other))?;
        }
        Ok(())
    }

    fn checks(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n{:>37} {:>9} {:>9} {:>7}", "whole", "measured", "by prices", "off")?;
        for Check { what, whole, sum, parts } in CHECKS {
            let (Some(whole), Some(by_prices)) = (self.spread(whole), self.spread(sum)) else { continue };
            let off = by_prices.median / whole.median - 1.0;
            let mark = if off.abs() > SUM_TOLERANCE { "  more than 10 %" } else { "" };
            let (measured, by_prices) = (whole.median, by_prices.median);
            writeln!(
                f,
                "{what:>37} {measured:>9.1} {by_prices:>9.1} {:>+6.1}%{mark}\n{:>38}= {parts}",
                off * 100.0,
                ""
            )?;
        }
        Ok(())
    }
}

/// Everything that was measured, the prices that follow, and sums of prices beside what was measured whole.
impl fmt::Display for Calibration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.direct(f)?;
        self.prices(f)?;
        self.checks(f)
    }
}

/// Three significant digits at least, whole from 100 ns on.
pub(crate) fn digits(ns: f64) -> String {
    if ns.abs() < 100.0 { format!("{ns:.1}") } else { format!("{ns:.0}") }
}
