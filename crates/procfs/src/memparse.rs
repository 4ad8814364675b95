//! Sizes as the kernel takes them from an administrator.

use order9_units::Bytes;

/// A size, as Linux' `memparse` has it: digits, and perhaps one of the letters `k`, `m`, `g`, `t`, `p` and `e`, small or capital, for a
/// binary unit; octal and hexadecimal numbers are not read. People may write more to order9 itself, which reads that as [`Bytes`]: a
/// blank before the unit, and `GiB`.
pub(crate) fn memparse(word: &str) -> Option<Bytes> {
    let digits = word.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let shift = match &word[digits.len()..] {
        "" => 0,
        "K" | "k" => 10,
        "M" | "m" => 20,
        "G" | "g" => 30,
        "T" | "t" => 40,
        "P" | "p" => 50,
        "E" | "e" => 60,
        _ => return None,
    };
    number(digits)?.checked_mul(1 << shift).map(Bytes::new)
}

/// A number in decimal digits and nothing else: for `parse`, it might have a sign.
pub(crate) fn number(digits: &str) -> Option<u64> {
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_bytes_or_binary_units() {
        for (word, bytes) in
            [("0", 0), ("4097", 4097), ("8k", 8 << 10), ("1M", 1 << 20), ("1g", 1 << 30), ("2T", 2 << 40)]
        {
            assert_eq!(memparse(word), Some(Bytes::new(bytes)), "{word}");
        }
        for word in ["", "k", "-1", "+1", "1.5m", "1 k", "10x", "1mb", "1kk", "1ti", "16e", "99999999999g", "½", "1½"]
        {
            assert_eq!(memparse(word), None, "{word}");
        }
    }
}
