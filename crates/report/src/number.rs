//! Numbers as people read them: thousands separators, binary sizes, short durations.

use order9_units::{Bytes, Nanos};

/// Writes `1234567` as `1,234,567`.
#[must_use]
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number and what it counts, in the plural unless it is one: `1 block`, `1,204 blocks`.
#[must_use]
pub fn count_of(n: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(n), if n == 1 { "" } else { "s" })
}

/// A size in the largest binary unit it fills, with one decimal from MiB on where that is not 0: `9.4 GiB`, `24 GiB`.
#[must_use]
pub fn size(bytes: Bytes) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes.get() as f64;
    let mut unit = 0;
    // What rounds to 1024 belongs to the next unit.
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let digits = if unit < 2 { format!("{value:.0}") } else { format!("{value:.1}") };
    format!("{} {}", digits.trim_end_matches(".0"), UNITS[unit])
}

/// GiB with two decimals and no unit, for columns whose header names it: `3.75`.
#[must_use]
pub fn gib(bytes: Bytes) -> String {
    format!("{:.2}", bytes.get() as f64 / (1_u64 << 30) as f64)
}

/// GiB without needless decimals and without unit, for addresses: `0`, `0.25`, `512`.
#[must_use]
pub fn gib_short(bytes: Bytes) -> String {
    gib(bytes).trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// `part` of `whole` in percent: no decimals from 10 % on, one below; `0` and `100` only where exact.
#[must_use]
pub fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    let share = 100.0 * part as f64 / whole as f64;
    match share {
        _ if part == 0 => "0 %".to_owned(),
        _ if part == whole => "100 %".to_owned(),
        s if s < 0.1 => "< 0.1 %".to_owned(),
        s if s < 9.95 => format!("{s:.1} %"),
        s if s > 99.0 && part < whole => format!("{:.1} %", s.min(99.9)),
        s => format!("{s:.0} %"),
    }
}

/// A duration with two significant digits: `0.6 s`, `38 ms`, `2.5 min`.
#[must_use]
pub fn duration(time: Nanos) -> String {
    let ns = time.get() as f64;
    let (value, unit) = match ns {
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "\u{b5}s"),
        ns if ns < 1e8 => (ns / 1e6, "ms"),
        ns if ns < 120e9 => (ns / 1e9, "s"),
        ns if ns < 7200e9 => (ns / 60e9, "min"),
        _ => (ns / 3600e9, "h"),
    };
    if value >= 9.95 || value == value.trunc() { format!("{value:.0} {unit}") } else { format!("{value:.1} {unit}") }
}

/// A change in percent as people read it: `+12 %`, `-0.4 %`, `x 27`; `None` is one from nothing to something.
#[must_use]
pub fn percent_change(percent: Option<f64>) -> String {
    match percent {
        None => "from 0".to_owned(),
        Some(0.0) => "0".to_owned(),
        Some(percent) if percent.abs() < 0.05 => "~0 %".to_owned(),
        Some(percent) if percent.abs() < 9.95 => format!("{percent:+.1} %"),
        Some(percent) if percent < 899.5 => format!("{percent:+.0} %"),
        Some(percent) => format!("x {:.0}", 1.0 + percent / 100.0),
    }
}

/// A number with this many decimals and thousands separators: `1,234.50`.
#[must_use]
pub fn decimal(value: f64, decimals: usize) -> String {
    let digits = format!("{value:.decimals$}");
    let (whole, fraction) = digits.split_once('.').map_or((digits.as_str(), ""), |(whole, rest)| (whole, rest));
    let dot = if fraction.is_empty() { "" } else { "." };
    whole.parse().map_or_else(|_| digits.clone(), |whole| format!("{}{dot}{fraction}", grouped(whole)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1000), "1,000");
        assert_eq!(grouped(1_234_567), "1,234,567");
    }

    #[test]
    fn changes_read_well() {
        let changes =
            [(0.0, "0"), (-0.4, "-0.4 %"), (0.001, "~0 %"), (12.0, "+12 %"), (-100.0, "-100 %"), (2640.0, "x 27")];
        for (percent, text) in changes {
            assert_eq!(percent_change(Some(percent)), text);
        }
        assert_eq!(percent_change(None), "from 0");
    }

    #[test]
    fn decimals_are_kept() {
        assert_eq!(decimal(1234.5, 2), "1,234.50");
        assert_eq!((decimal(1e6, 0), decimal(-1.0, 1)), ("1,000,000".to_owned(), "-1.0".to_owned()));
    }

    #[test]
    fn sizes_take_the_largest_unit_they_fill() {
        assert_eq!(size(Bytes::new(0)), "0 B");
        assert_eq!(size(Bytes::from_kib(44)), "44 KiB");
        assert_eq!(size(Bytes::from_gib(24)), "24 GiB");
        assert_eq!(size(Bytes::from_kib(9_856_614)), "9.4 GiB");
        assert_eq!(size(Bytes::from_gib(1024) - Bytes::from_kib(400)), "1 TiB");
    }

    #[test]
    fn addresses_have_no_needless_decimals() {
        assert_eq!(gib_short(Bytes::new(0)), "0");
        assert_eq!(gib_short(Bytes::from_gib(100)), "100");
        assert_eq!(gib_short(Bytes::from_kib(1 << 18)), "0.25");
    }

    #[test]
    fn none_and_all_are_said_only_where_true() {
        assert_eq!(percent(0, 5), "0 %");
        assert_eq!(percent(1, 100_000), "< 0.1 %");
        assert_eq!(percent(11, 100), "11 %");
        assert_eq!(percent(99_999, 100_000), "99.9 %");
        assert_eq!(percent(3, 3), "100 %");
        assert_eq!(percent(0, 0), "-");
    }

    #[test]
    fn durations_keep_two_digits() {
        assert_eq!(duration(Nanos::new(612_000_000)), "0.6 s");
        assert_eq!(duration(Nanos::new(38_200_000)), "38 ms");
        assert_eq!(duration(Nanos::new(150_000_000_000)), "2.5 min");
    }
}
