//! Lengths: pages, bytes and nanoseconds.

use core::fmt;
use core::iter::Sum;
use core::ops::{Add, AddAssign, Mul, Sub, SubAssign};
use core::str::FromStr;

use crate::PAGE_SIZE;

macro_rules! length {
    ($(#[$doc:meta])* $name:ident, $unit:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
        pub struct $name(u64);

        impl $name {
            /// No pages.
            pub const ZERO: Self = Self(0);

            #[doc = concat!("A length of `n` ", $unit, ".")]
            #[must_use]
            pub const fn new(n: u64) -> Self {
                Self(n)
            }

            #[doc = concat!("The length in ", $unit, ".")]
            #[must_use]
            pub const fn get(self) -> u64 {
                self.0
            }

            /// `self - other`, or zero where `other` is the longer one.
            #[must_use]
            pub const fn saturating_sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }
        }

        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }

        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                self.0 += other.0;
            }
        }

        impl Sub for $name {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(self.0 - other.0)
            }
        }

        impl SubAssign for $name {
            fn sub_assign(&mut self, other: Self) {
                self.0 -= other.0;
            }
        }

        impl Mul<u64> for $name {
            type Output = Self;
            fn mul(self, times: u64) -> Self {
                Self(self.0 * times)
            }
        }

        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
                iter.fold(Self::ZERO, Add::add)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!("{} ", $unit), self.0)
            }
        }
    };
}

length!(
    /// A number of 4 KiB frames.
    Pages,
    "pages"
);
length!(
    /// A number of bytes.
    Bytes,
    "bytes"
);
length!(
    /// A span of time in nanoseconds.
    Nanos,
    "ns"
);

impl Pages {
    /// The whole pages in `bytes`; a started page does not count.
    #[must_use]
    pub const fn from_bytes_floor(bytes: Bytes) -> Self {
        Self(bytes.0 / PAGE_SIZE.0)
    }

    /// The pages `bytes` needs; a started page counts in full.
    #[must_use]
    pub const fn from_bytes_ceil(bytes: Bytes) -> Self {
        Self(bytes.0.div_ceil(PAGE_SIZE.0))
    }

    /// Exactly this many bytes.
    #[must_use]
    pub const fn bytes(self) -> Bytes {
        Bytes(self.0 * PAGE_SIZE.0)
    }
}

impl Bytes {
    /// `n` KiB.
    #[must_use]
    pub const fn from_kib(n: u64) -> Self {
        Self(n << 10)
    }

    /// `n` GiB.
    #[must_use]
    pub const fn from_gib(n: u64) -> Self {
        Self(n << 30)
    }
}

/// A text that is no size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BytesError;

/// A size as people write it: a whole number with an optional binary unit, `384M`, `1T`, `16 GiB`, `4096`. The kernel's own
/// grammar, of options and parameters, is narrower.
impl FromStr for Bytes {
    type Err = BytesError;

    fn from_str(text: &str) -> Result<Self, BytesError> {
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit = text[digits.len()..].trim_end_matches(['B', 'b']).trim_end_matches(['I', 'i']);
        let shift = match unit {
            "" => 0,
            "K" | "k" => 10,
            "M" | "m" => 20,
            "G" | "g" => 30,
            "T" | "t" => 40,
            _ => return Err(BytesError),
        };
        let n: u64 = digits.trim_end().parse().map_err(|_| BytesError)?;
        n.checked_mul(1 << shift).map(Self).ok_or(BytesError)
    }
}

impl fmt::Display for BytesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no size: expected a whole number with K, M, G or T, such as 16G")
    }
}

impl core::error::Error for BytesError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        assert_eq!("1T".parse(), Ok(Bytes::from_gib(1024)));
        for sixteen in ["16GiB", "16 GiB", "16 G", "16g", "16gb"] {
            assert_eq!(sixteen.parse(), Ok(Bytes::from_gib(16)), "{sixteen}");
        }
        assert_eq!("4096".parse(), Ok(Bytes::from_kib(4)));
        for wrong in ["", "G", "-1G", "1.5G", "1X", "99999999999T", "1  x", " G"] {
            assert_eq!(wrong.parse::<Bytes>(), Err(BytesError), "{wrong:?}");
        }
    }

    #[test]
    fn a_started_page_counts_only_when_rounding_up() {
        let bytes = Bytes::new(4097);
        assert_eq!(Pages::from_bytes_floor(bytes), Pages::new(1));
        assert_eq!(Pages::from_bytes_ceil(bytes), Pages::new(2));
        assert_eq!(Pages::new(2).bytes(), Bytes::from_kib(8));
    }

    #[test]
    fn subtraction_can_stop_at_zero() {
        assert_eq!(Pages::new(1).saturating_sub(Pages::new(2)), Pages::ZERO);
    }
}
