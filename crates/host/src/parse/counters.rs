//! Files of one counter per line: /proc/vmstat and /proc/meminfo.

use std::collections::BTreeMap;

use super::{ParseError, lines};

/// Reads lines of `NAME VALUE`, with an optional colon after the name and an optional unit after the value.
pub(crate) fn parse(text: &str) -> Result<BTreeMap<String, u64>, ParseError> {
    const EXPECTED: &str = "a name and a number";
    let mut counters = BTreeMap::new();
    for line in lines(text) {
        let mut words = line.text.split_whitespace();
        let name = words.next().unwrap_or_default().trim_end_matches(':');
        let value = line.number(words.next(), EXPECTED)?;
        counters.insert(line.counter(name)?.to_owned(), value);
    }
    if counters.is_empty() {
        return Err(ParseError::Malformed { line: 1, expected: EXPECTED });
    }
    Ok(counters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vmstat() {
        let counters = parse("nr_free_pages 1076743\ncompact_stall 0\n").unwrap();
        assert_eq!(counters["nr_free_pages"], 1_076_743);
        assert_eq!(counters["compact_stall"], 0);
    }

    #[test]
    fn meminfo_keeps_the_printed_unit() {
        let counters = parse("MemTotal:       24684092 kB\nActive(anon):       1484 kB\nHugePages_Total:       3\n");
        let counters = counters.unwrap();
        assert_eq!(counters["MemTotal"], 24_684_092);
        assert_eq!(counters["Active(anon)"], 1484);
        assert_eq!(counters["HugePages_Total"], 3);
    }

    #[test]
    fn a_line_without_number_is_named() {
        let error = parse("MemTotal: 1 kB\nMemFree: many kB\n").unwrap_err().to_string();
        assert_eq!(error, "line 2: expected a name and a number");
        assert!(parse("").is_err());
    }
}
