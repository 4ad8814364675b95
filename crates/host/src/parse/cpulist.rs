//! Lists of CPUs, as in /sys/devices/system/cpu/online: `0-3,8,10-11`.

use order9_snapshot::limits::CPUS_MAX;

use super::{ParseError, lines};

/// Reads a list of CPUs; empty for the memory-only node that has none.
pub(crate) fn parse(text: &str) -> Result<Vec<u32>, ParseError> {
    const EXPECTED: &str = "a list of CPUs such as `0-3,8`";
    let Some(line) = lines(text).next() else { return Ok(Vec::new()) };
    let mut cpus = Vec::new();
    for range in line.text.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let first: u32 = line.number(Some(first), EXPECTED)?;
        let last: u32 = line.number(Some(last), EXPECTED)?;
        let next = cpus.last().map_or(0, |&cpu: &u32| cpu + 1);
        if first < next || last < first || last >= CPUS_MAX {
            return Err(line.malformed("an ascending list of CPUs below 8192"));
        }
        cpus.extend(first..=last);
    }
    Ok(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_single_cpus() {
        assert_eq!(parse("0-3,8,10-11\n").unwrap(), [0, 1, 2, 3, 8, 10, 11]);
        assert_eq!(parse("5").unwrap(), [5]);
        assert!(parse("\n").unwrap().is_empty());
    }

    #[test]
    fn lists_that_cannot_be_are_errors() {
        for list in ["0-4294967295", "3-1", "1,1", "a", "-", ","] {
            assert!(parse(list).is_err(), "{list}");
        }
    }
}
