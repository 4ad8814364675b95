//! Sizes as machine files show them: `16 GiB`, never rounded.

use order9_units::Bytes;

/// Units with the power of two of each, largest first.
const UNITS: [(&str, u32); 5] = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10), ("B", 0)];

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
            assert_eq!(text.parse().map(in_units).as_deref(), Ok(text));
        }
    }
}
