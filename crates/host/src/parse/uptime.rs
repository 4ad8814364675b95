//! /proc/uptime: time since boot, in whole hours. To the second it would tell when a host was booted, and so which one.

use order9_units::Nanos;

use super::{ParseError, lines};

/// Reads the first number, seconds with hundredths, and rounds down to hours; the second one, idle time of all CPUs, is passed over.
pub(crate) fn parse(text: &str) -> Result<Nanos, ParseError> {
    const EXPECTED: &str = "seconds since boot";
    const HOUR_S: u64 = 3_600;
    const CENTURY_S: u64 = 100 * 366 * 86_400;
    let Some(line) = lines(text).next() else {
        return Err(ParseError::Malformed { line: 1, expected: EXPECTED });
    };
    let word = line.text.split_whitespace().next().unwrap_or_default();
    let (seconds, hundredths) = word.split_once('.').unwrap_or((word, "0"));
    let seconds: u64 = line.number(Some(seconds), EXPECTED)?;
    let hundredths: u64 = line.number(Some(hundredths), EXPECTED)?;
    if seconds > CENTURY_S || hundredths > 99 {
        return Err(line.malformed("seconds since boot, with hundredths and within a century"));
    }
    Ok(Nanos::new(seconds / HOUR_S * HOUR_S * 1_000_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_hours() {
        assert_eq!(parse("215.88 407.56\n"), Ok(Nanos::ZERO));
        assert_eq!(parse("7260.05 1.00\n"), Ok(Nanos::new(7_200_000_000_000)));
    }

    #[test]
    fn other_texts_are_errors() {
        for text in ["", "soon", "1.5e9", "99999999999.00", "-1.00"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
