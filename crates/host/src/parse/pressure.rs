//! /proc/pressure/memory: how long tasks waited for memory.

use order9_snapshot::Pressure;

use super::{ParseError, lines};

/// Reads the totals, in microseconds; the averages can be computed from two snapshots.
pub(crate) fn parse(text: &str) -> Result<Pressure, ParseError> {
    const EXPECTED: &str = "`some` or `full` and `total=MICROSECONDS`";
    let mut pressure = Pressure::default();
    for line in lines(text) {
        let mut words = line.text.split_whitespace();
        let kind = words.next().unwrap_or_default();
        let total = line.number(words.find_map(|word| word.strip_prefix("total=")), EXPECTED)?;
        match kind {
            "some" => pressure.some_us = total,
            "full" => pressure.full_us = total,
            _ => return Err(line.malformed(EXPECTED)),
        }
    }
    Ok(pressure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_kept() {
        let text = "some avg10=0.12 avg60=0.05 avg300=0.00 total=205933\n\
                    full avg10=0.00 avg60=0.00 avg300=0.00 total=195012\n";
        assert_eq!(parse(text), Ok(Pressure { some_us: 205_933, full_us: 195_012 }));
    }

    #[test]
    fn other_lines_are_errors() {
        assert!(parse("most avg10=0.12 total=1").is_err());
        assert!(parse("some avg10=0.12").is_err());
    }
}
