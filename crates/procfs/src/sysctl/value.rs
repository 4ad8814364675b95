//! Values of settings: what a file takes, how it reads numbers, how it prints them.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write};

/// The values that a setting takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// A whole number.
    Number {
        /// Smallest value.
        min: i64,
        /// Largest; `i64::MAX` where only the width of the kernel's variable limits it.
        max: i64,
    },
    /// 0, or a whole number that is not too small.
    ZeroOr {
        /// Smallest value besides 0.
        min: i64,
        /// Largest; `i64::MAX` where only the width of the kernel's variable limits it.
        max: i64,
    },
    /// Up to so many whole numbers of the width of `int`, separated by blanks; those that are missing stay as they are.
    Numbers(usize),
    /// One of these words.
    Words(&'static [&'static str]),
}

/// Parsing of what is written to a sysctl file.
///
/// Blanks before a number are skipped; it is decimal, hexadecimal after `0x`, octal after `0`, and may have a minus, but no
/// plus sign. A space, tab, newline or the end must follow. What comes after the last number that the file has is not read.
impl Values {
    /// The numbers in `text`, at least one; `None` where that is not what the setting takes.
    pub(super) fn parse(&self, text: &str) -> Option<Vec<i64>> {
        let most = match self {
            Self::Number { .. } | Self::ZeroOr { .. } => 1,
            Self::Numbers(count) => *count,
            Self::Words(_) => return None,
        };
        let words = text.split([' ', '\t', '\n']).map(|word| word.trim_start_matches(['\x0b', '\x0c', '\r']));
        let words = words.filter(|word| !word.is_empty());
        let numbers: Vec<i64> = words.take(most).map(number).collect::<Option<_>>()?;
        let is_sound = !numbers.is_empty() && numbers.iter().all(|&number| self.has(number));
        is_sound.then_some(numbers)
    }

    /// The number in `text`, read as files of /sys do: decimal, and nothing behind it but a newline.
    pub(super) fn parse_sysfs(&self, text: &str) -> Option<Vec<i64>> {
        let number: i64 = text.strip_suffix('\n').unwrap_or(text).parse().ok()?;
        self.has(number).then(|| alloc::vec![number])
    }

    fn has(&self, number: i64) -> bool {
        match *self {
            Self::Number { min, max } => (min..=max).contains(&number),
            Self::ZeroOr { min, max } => number == 0 || (min..=max).contains(&number),
            Self::Numbers(_) => i32::try_from(number).is_ok(),
            Self::Words(_) => false,
        }
    }
}

fn number(word: &str) -> Option<i64> {
    let (sign, digits) = word.strip_prefix('-').map_or((1, word), |digits| (-1, digits));
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', _, ..] => (16, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    if digits.starts_with(['+', '-']) {
        return None; // `from_str_radix` would take a sign.
    }
    i64::from_str_radix(digits, radix).ok().map(|number| sign * number)
}

/// `numbers` as sysctl files show them.
pub(super) fn render(numbers: &[u64]) -> String {
    let mut text = String::new();
    for (at, number) in numbers.iter().enumerate() {
        let separator = if at == 0 { "" } else { "\t" };
        write!(text, "{separator}{number}").expect("a string takes everything");
    }
    text.push('\n');
    text
}

impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let range = |f: &mut fmt::Formatter<'_>, min, max| match max {
            i64::MAX => write!(f, "{min} or more"),
            max if min == max => write!(f, "{min}"),
            max => write!(f, "{min} to {max}"),
        };
        match *self {
            Self::Number { min, max } => range(f, min, max),
            Self::ZeroOr { min, max } => {
                write!(f, "0, or ")?;
                range(f, min, max)
            }
            Self::Numbers(count) => write!(f, "up to {count} numbers, separated by blanks"),
            Self::Words(words) => f.write_str(&words.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn numbers_are_read_as_sysctl_files_read_them() {
        let one = Values::Number { min: -5, max: 3000 };
        for (text, value) in [
            ("10\n", 10),
            ("\t \r10", 10),
            ("0x1f\n", 31),
            ("0X1F", 31),
            ("010", 8),
            ("0", 0),
            ("-5", -5),
            ("10 and what follows", 10),
            ("3000", 3000),
        ] {
            assert_eq!(one.parse(text), Some(vec![value]), "{text:?}");
        }
        for text in ["", "\n", "ten", "10k", "1.5", "10\r\n", "+5", "--5", "-+5", "-", "0x", "0x-1", "08", "0é"] {
            assert_eq!(one.parse(text), None, "{text:?} is no number");
        }
        for text in ["-6", "3001", "9223372036854775808"] {
            assert_eq!(one.parse(text), None, "{text:?} is out of range");
        }
    }

    #[test]
    fn zero_can_stand_apart() {
        let values = Values::ZeroOr { min: 8, max: i64::MAX };
        assert_eq!((values.parse("0"), values.parse("8")), (Some(vec![0]), Some(vec![8])));
        assert_eq!((values.parse("7"), values.parse("-8")), (None, None));
    }

    #[test]
    fn vectors_may_be_short_and_are_cut() {
        let values = Values::Numbers(3);
        assert_eq!(values.parse("256\t32 0\n"), Some(vec![256, 32, 0]));
        assert_eq!(values.parse("1"), Some(vec![1]));
        assert_eq!(values.parse("1 2 3 4"), Some(vec![1, 2, 3]));
        assert_eq!(values.parse("1 x 3"), None);
        assert_eq!(values.parse("1 2147483648"), None);
    }

    #[test]
    fn vectors_are_printed_with_tabs() {
        assert_eq!(render(&[256, 256, 32, 0]), "256\t256\t32\t0\n");
        assert_eq!(render(&[67_584]), "67584\n");
    }
}
