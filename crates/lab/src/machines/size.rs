//! Sizes as people write them: `16 GiB`.

use order9_units::Bytes;

/// Units with the power of two of each, largest first.
const UNITS: [(&str, u32); 5] = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10), ("B", 0)];

/// Reads a whole number with a unit.
pub(super) fn parse(text: &str) -> Option<Bytes> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let (_, power) = UNITS.iter().find(|(name, _)| *name == unit.trim_start())?;
    number.parse::<u64>().ok()?.checked_mul(1 << power).map(Bytes::new)
}

/// Writes a size in the largest unit that leaves a whole number.
pub(super) fn in_units(bytes: Bytes) -> String {
    let fits = |(_, power): &&(&str, u32)| bytes.get() != 0 && bytes.get().is_multiple_of(1 << power);
    let (name, power) = UNITS.iter().find(fits).unwrap_or(&("B", 0));
    format!("{} {name}", bytes.get() >> power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for text in ["24 GiB", "1 TiB", "37676 KiB", "64 B", "0 B", "1025 MiB"] {
            assert_eq!(parse(text).map(in_units).as_deref(), Some(text));
        }
        assert_eq!(parse("16GiB"), Some(Bytes::from_gib(16)));
        for text in ["", "16", "GiB", "16 GB", "-1 GiB", "1.5 GiB", "99999999999 TiB", "16 GiB "] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
