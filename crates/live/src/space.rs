//! Addresses of a program's memory: given out upward, never twice.

use std::sync::atomic::{AtomicU64, Ordering};

use order9_units::{Bytes, PAGE_SIZE};
use order9_workloads::{Area, Stop};

use crate::raw::{BASE, END, Region};

/// Mappings of a huge page or more start at a whole one, as from Linux 6.7 on.
const HUGE: u64 = 2 << 20;

/// The addresses of one process.
pub(crate) struct Space(AtomicU64);

impl Space {
    pub(crate) const fn new() -> Self {
        Self(AtomicU64::new(BASE))
    }

    /// Addresses of a parent's child, taken as far.
    pub(crate) fn copy(of: &Self) -> Self {
        Self(AtomicU64::new(of.0.load(Ordering::Relaxed)))
    }

    /// Addresses for a mapping of `length`.
    ///
    /// # Errors
    /// `EINVAL` for nothing, `ENOMEM` where there are no more.
    pub(crate) fn take(&self, call: &'static str, length: Bytes, align_huge: bool) -> Result<Region, Stop> {
        if length == Bytes::ZERO {
            return Err(Stop::Refused { call, errno: "EINVAL" });
        }
        let align = if align_huge || length.get() >= HUGE { HUGE } else { PAGE_SIZE.get() };
        let full = || Stop::Refused { call, errno: "ENOMEM" };
        let length = length.get().checked_next_multiple_of(align.min(PAGE_SIZE.get())).ok_or_else(full)?;
        let mut start = 0;
        let taken = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |next| {
            start = next.next_multiple_of(align);
            start.checked_add(length).filter(|&end| end <= END)
        });
        taken.map_err(|_| full())?;
        Region::of(Area { start, length: Bytes::new(length) })
    }

    /// All that may be mapped.
    pub(crate) fn used(&self) -> Region {
        Region::all_below(self.0.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_given_out_once_and_aligned() {
        let space = Space::new();
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
