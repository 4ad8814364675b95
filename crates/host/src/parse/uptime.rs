//! /proc/uptime: time since boot.

use order9_units::Nanos;

use super::{ParseError, lines};

/// Reads the first number, seconds with hundredths; the second one, idle time of all CPUs, is passed over.
pub(crate) fn parse(text: &str) -> Result<Nanos, ParseError> {
    const EXPECTED: &str = "seconds since boot";
    const CENTURY_S: u64 = 100 * 366 * 86_400;
    let Some(line) = lines(text).next() else {
        return Err(ParseError::Malformed { line: 1, expected: EXPECTED, found: String::new() });
    };
    let word = line.text.split_whitespace().next().unwrap_or_default();
    let (seconds, hundredths) = word.split_once('.').unwrap_or((word, "0"));
    let seconds: u64 = line.number(Some(seconds), EXPECTED)?;
    let hundredths: u64 = line.number(Some(hundredths), EXPECTED)?;
    if seconds > CENTURY_S || hundredths > 99 {
        return Err(line.malformed("seconds since boot, with hundredths and within a century"));
    }
    Ok(Nanos::new(seconds * 1_000_000_000 + hundredths * 10_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_with_hundredths() {
        assert_eq!(parse("215.88 407.56\n"), Ok(Nanos::new(215_880_000_000)));
        assert_eq!(parse("7.05 1.00\n"), Ok(Nanos::new(7_050_000_000)));
    }

    #[test]
    fn other_texts_are_errors() {
        for text in ["", "soon", "1.5e9", "99999999999.00", "-1.00"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
