//! Points, as a macro: places that are counted in pages, and the ranges between them.

/// Defines a point, which goes with lengths in pages, and the range from one to another.
macro_rules! point {
    (
        $(#[$meta:meta])*
        $point:ident, $unit:literal, $word:literal;
        $(#[$range_meta:meta])*
        $range:ident
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $point(u64);

        impl $point {
            #[doc = concat!("Number `n` of a ", $unit, ".")]
            #[must_use]
            pub const fn new(n: u64) -> Self {
                Self(n)
            }

            #[doc = concat!("The number of the ", $unit, ".")]
            #[must_use]
            pub const fn get(self) -> u64 {
                self.0
            }
        }

        impl core::ops::Add<$crate::Pages> for $point {
            type Output = Self;
            fn add(self, length: $crate::Pages) -> Self {
                Self(self.0 + length.get())
            }
        }

        impl core::ops::AddAssign<$crate::Pages> for $point {
            fn add_assign(&mut self, length: $crate::Pages) {
                self.0 += length.get();
            }
        }

        impl core::ops::Sub<$crate::Pages> for $point {
            type Output = Self;
            fn sub(self, length: $crate::Pages) -> Self {
                Self(self.0 - length.get())
            }
        }

        impl core::ops::Sub for $point {
            type Output = $crate::Pages;
            /// The distance between two places; `other` must not lie above `self`.
            fn sub(self, other: Self) -> $crate::Pages {
                $crate::Pages::new(self.0 - other.0)
            }
        }

        impl core::fmt::Debug for $point {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                write!(f, concat!($word, " {:#x}"), self.0)
            }
        }

        $(#[$range_meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $range {
            #[doc = concat!("First ", $unit, " of the range.")]
            pub start: $point,
            #[doc = concat!("One past the last ", $unit, "; never below `start`.")]
            pub end: $point,
        }

        impl $range {
            #[doc = concat!("Every ", $unit, " of `[start, end)`; empty where `end` does not lie above `start`.")]
            #[must_use]
            pub fn new(start: $point, end: $point) -> Self {
                Self { start, end: end.max(start) }
            }

            /// `length` pages from `start` on.
            #[must_use]
            pub fn of(start: $point, length: $crate::Pages) -> Self {
                Self { start, end: start + length }
            }

            /// Length of the range.
            #[must_use]
            pub fn len(self) -> $crate::Pages {
                self.end - self.start
            }

            #[doc = concat!("Whether there is no ", $unit, " in it.")]
            #[must_use]
            pub fn is_empty(self) -> bool {
                self.start >= self.end
            }

            #[doc = concat!("Whether the ", $unit, " `at` is one of the range.")]
            #[must_use]
            pub fn contains(self, at: $point) -> bool {
                self.start <= at && at < self.end
            }

            /// The part that both ranges have; empty where they do not meet.
            #[must_use]
            pub fn intersect(self, other: Self) -> Self {
                Self::new(self.start.max(other.start), self.end.min(other.end))
            }

            #[doc = concat!("Every ", $unit, " of the range, upward.")]
            pub fn iter(self) -> impl DoubleEndedIterator<Item = $point> {
                (self.start.0..self.end.0).map($point)
            }
        }
    };
}

pub(crate) use point;
