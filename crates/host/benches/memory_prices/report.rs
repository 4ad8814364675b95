//! Medians and quartiles over the rounds, and how they are printed: prices as TOML to stdout, all else to stderr.

use std::fs;

use crate::checks::{CHECKS, Check};
use crate::direct::{DIRECT, Direct};
use crate::prices::{Cross, PRICES, Price};

/// A sum further from its whole than this share is marked.
const SUM_TOLERANCE: f64 = 0.10;

/// Two ways to a price that differ by more than this share are explained.
const CROSS_TOLERANCE: f64 = 0.30;

/// Columns of the TOML.
const WIDTH: usize = 118;

/// Median and quartiles, in ns.
struct Spread {
    low: f64,
    median: f64,
    high: f64,
}

impl Spread {
    fn of(rounds: &[Direct], value: impl Fn(&Direct) -> f64) -> Self {
        let mut values: Vec<f64> = rounds.iter().map(value).collect();
        values.sort_by(f64::total_cmp);
        let at = |quarter: usize| values[(values.len() - 1) * quarter / 4];
        Self { low: at(1), median: at(2), high: at(3) }
    }
}

/// Prints everything that `rounds`, at least one, say.
pub(crate) fn print(rounds: &[Direct]) {
    print_direct(rounds);
    print_toml(rounds);
    print_prices(rounds);
    print_checks(rounds);
}

fn print_direct(rounds: &[Direct]) {
    eprintln!("{:>18} {:>10} {:>10} {:>10}  {} rounds, ns", "measured", "median", "quartile", "quartile", rounds.len());
    for (name, meaning, value) in DIRECT {
        let Spread { low, median, high } = Spread::of(rounds, value);
        eprintln!("{name:>18} {median:>10.1} {low:>10.1} {high:>10.1} {meaning}");
    }
}

fn print_toml(rounds: &[Direct]) {
    println!("# Measured by `make bench-host` (memory_prices) on {}.", host());
    for Price { key, ns, method, .. } in PRICES {
        let Spread { low, median, high } = Spread::of(rounds, ns);
        let spread = format!("Median of {} rounds, quartiles {} to {} ns.", rounds.len(), digits(low), digits(high));
        println!("\n[prices.{key}]\nns = {}\nsource = \"\"\"", digits(median));
        println!("{}\"\"\"", wrap(&format!("{method}. {spread}")));
    }
}

fn print_prices(rounds: &[Direct]) {
    eprintln!("\n{:>16} {:>9} {:>9} {:>9} {:>9}  by another way", "price", "ns", "quartile", "quartile", "other way");
    for Price { key, ns, cross, .. } in PRICES {
        let Spread { low, median, high } = Spread::of(rounds, ns);
        let own = format!("{key:>16} {:>9} {:>9} {:>9}", digits(median), digits(low), digits(high));
        let Some(Cross { what, ns: other, comment }) = cross else {
            eprintln!("{own}");
            continue;
        };
        let other = Spread::of(rounds, other).median;
        let apart = (other - median).abs() / median > CROSS_TOLERANCE;
        let why = if apart { format!(": {comment}") } else { String::new() };
        eprintln!("{own} {:>9}  {what}{why}", digits(other));
    }
}

fn print_checks(rounds: &[Direct]) {
    eprintln!("\n{:>37} {:>9} {:>9} {:>7}", "whole", "measured", "by prices", "off");
    for Check { what, whole, sum, parts } in CHECKS {
        let (whole, by_prices) = (Spread::of(rounds, whole).median, Spread::of(rounds, sum).median);
        let off = by_prices / whole - 1.0;
        let mark = if off.abs() > SUM_TOLERANCE { "  more than 10 %" } else { "" };
        eprintln!("{what:>37} {whole:>9.1} {by_prices:>9.1} {:>+6.1}%{mark}\n{:>38}= {parts}", off * 100.0, "");
    }
}

/// Three significant digits at least, whole from 100 ns on.
fn digits(ns: f64) -> String {
    if ns.abs() < 100.0 { format!("{ns:.1}") } else { format!("{ns:.0}") }
}

/// Kernel and CPU as the host names them.
fn host() -> String {
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model =
        cpu.lines().find_map(|line| Some(line.strip_prefix("model name")?.split_once(':')?.1.trim().to_owned()));
    format!("Linux {}, {}", kernel.trim(), model.unwrap_or_else(|| "unknown CPU".to_owned()))
}

/// Lines no longer than [`WIDTH`] that a TOML string joins again.
fn wrap(text: &str) -> String {
    let mut wrapped = String::new();
    let mut column = 0;
    for word in text.split(' ') {
        if column > 0 && column + word.len() + 3 > WIDTH {
            wrapped.push_str(" \\\n");
            column = 0;
        } else if column > 0 {
            wrapped.push(' ');
            column += 1;
        }
        wrapped.push_str(word);
        column += word.len();
    }
    wrapped
}
