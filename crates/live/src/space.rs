//! Addresses of a program's memory: given out upward, never twice.

use std::sync::atomic::{AtomicU64, Ordering};

use order9_units::{Bytes, PAGE_SIZE};
use order9_workloads::{Area, Stop};

use crate::raw::{BASE, END, Region};

const HUGE: u64 = 2 << 20;

/// Mappings that start at a whole huge page, as the kernel chooses places where it is asked to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HugeAlignment {
    /// None, up to 6.6.
    No,
    /// Mappings of a huge page or more, from 6.7 on.
    Large,
    /// Mappings of some whole huge pages, from 6.12 on.
    Multiple,
}

impl HugeAlignment {
    /// As the kernel with this release has it: `6.12.117`.
    pub(crate) fn of_kernel(release: &str) -> Self {
        let digits =
            |part: &str| part.split(|letter: char| !letter.is_ascii_digit()).next().and_then(|n| n.parse::<u32>().ok());
        let mut numbers = release.split('.').map_while(digits);
        match (numbers.next().unwrap_or(u32::MAX), numbers.next().unwrap_or(0)) {
            version if version < (6, 7) => Self::No,
            version if version < (6, 12) => Self::Large,
            _ => Self::Multiple,
        }
    }

    const fn holds(self, length: u64) -> bool {
        match self {
            Self::No => false,
            Self::Large => length >= HUGE,
            Self::Multiple => length.is_multiple_of(HUGE),
        }
    }
}

/// The addresses of one process.
pub(crate) struct Space {
    next: AtomicU64,
    alignment: HugeAlignment,
}

impl Space {
    /// Addresses of a new process. The first mapping starts a page behind a whole huge page where none is aligned.
    pub(crate) const fn new(alignment: HugeAlignment) -> Self {
        let odd = if matches!(alignment, HugeAlignment::No) { PAGE_SIZE.get() } else { 0 };
        Self { next: AtomicU64::new(BASE + odd), alignment }
    }

    /// Addresses for a process that has none of the addresses of `of`.
    pub(crate) const fn beside(of: &Self) -> Self {
        Self::new(of.alignment)
    }

    /// Addresses of a parent's child, taken as far.
    pub(crate) fn copy(of: &Self) -> Self {
        Self { next: AtomicU64::new(of.next.load(Ordering::Relaxed)), alignment: of.alignment }
    }

    /// Addresses for a mapping of `length`.
    ///
    /// # Errors
    /// `EINVAL` for nothing, `ENOMEM` where there are no more.
    pub(crate) fn take(&self, call: &'static str, length: Bytes, align_huge: bool) -> Result<Region, Stop> {
        if length == Bytes::ZERO {
            return Err(Stop::Refused { call, errno: "EINVAL" });
        }
        let align = if align_huge || self.alignment.holds(length.get()) { HUGE } else { PAGE_SIZE.get() };
        let full = || Stop::Refused { call, errno: "ENOMEM" };
        let length = length.get().checked_next_multiple_of(align.min(PAGE_SIZE.get())).ok_or_else(full)?;
        let mut start = 0;
        let taken = self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |next| {
            start = next.next_multiple_of(align);
            start.checked_add(length).filter(|&end| end <= END)
        });
        taken.map_err(|_| full())?;
        Region::of(Area { start, length: Bytes::new(length) })
    }

    /// All that may be mapped.
    pub(crate) fn used(&self) -> Region {
        Region::all_below(self.next.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_are_aligned_as_the_kernel_would_choose() {
        use HugeAlignment::{Large, Multiple, No};
        let of = |kernel| HugeAlignment::of_kernel(kernel);
        assert_eq!(
            ["5.10.0", "6.6.99", "6.7.0", "6.11.2", "6.12.117", "7.2"].map(of),
            [No, No, Large, Large, Multiple, Multiple]
        );
        let starts = |alignment| {
            let space = Space::new(alignment);
            [HUGE, HUGE + 4096].map(|length| {
                let area = space.take("mmap", Bytes::new(length), false).expect("there is room").area();
                area.start.is_multiple_of(HUGE)
            })
        };
        assert_eq!([No, Large, Multiple].map(starts), [[false, false], [true, true], [true, true]]);
        let space = Space::new(Multiple);
        space.take("mmap", Bytes::new(4096), false).expect("there is room");
        assert_eq!(
            space.take("mmap", Bytes::new(HUGE + 4096), false).expect("there is room").area().start,
            BASE + 4096
        );
    }

    #[test]
    fn addresses_are_given_out_once_and_aligned() {
        let space = Space::new(HugeAlignment::Large);
        let take = |length| space.take("mmap", Bytes::new(length), false).expect("there is room").area();
        let (small, huge, next) = (take(100), take(3 << 20), take(4096));
        assert_eq!((small.start, small.length), (BASE, PAGE_SIZE));
        assert_eq!((huge.start, next.start), (BASE + HUGE, BASE + HUGE + (3 << 20)));
        assert_eq!(space.used().area().length.get(), next.start + 4096 - BASE);
        for (length, errno) in [(0, "EINVAL"), (u64::MAX, "ENOMEM"), (END - BASE, "ENOMEM")] {
            assert_eq!(space.take("mmap", Bytes::new(length), false), Err(Stop::Refused { call: "mmap", errno }));
        }
    }
}
