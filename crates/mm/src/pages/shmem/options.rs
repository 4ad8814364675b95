//! Options of a mount of tmpfs: `huge=`, `mpol=` and `size=`.
//!
//! Key types: [`TmpfsOptions`] (all options), [`TmpfsSize`] (limit to the files), [`ShmemHuge`].

use order9_units::{Bytes, Pages};

use super::{MountPolicy, ShmemHuge};

/// Options of a mount of tmpfs. What is not said of a new mount has its default, and stays as it is at a remount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TmpfsOptions {
    /// `huge=`; never by default.
    pub huge: Option<ShmemHuge>,
    /// `mpol=`; none by default.
    pub mpol: Option<MountPolicy>,
    /// `size=`; half of memory by default.
    pub size: Option<TmpfsSize>,
}

/// The mount option `size=`: how much all files of a mount may hold, in memory and in swap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TmpfsSize {
    /// Size in bytes, rounded up to whole pages; no limit, where that is nothing.
    Bytes(Bytes),
    /// Size in hundredths of memory.
    Percent(u64),
}

impl TmpfsSize {
    /// The default of a mount.
    pub const HALF: Self = Self::Percent(50);

    /// The most pages that files may hold on a machine with `memory`; `None` where there is no limit.
    pub(super) fn limit(self, memory: Pages) -> Option<Pages> {
        let limit = match self {
            Self::Bytes(bytes) => Pages::from_bytes_ceil(bytes),
            Self::Percent(percent) => {
                let bytes = u128::from(memory.bytes().get()) * u128::from(percent) / 100;
                Pages::from_bytes_ceil(Bytes::new(u64::try_from(bytes).unwrap_or(u64::MAX)))
            }
        };
        Some(limit).filter(|&limit| limit > Pages::ZERO)
    }
}

impl TmpfsOptions {
    /// The options with this `size=`.
    #[must_use]
    pub const fn sized(self, size: TmpfsSize) -> Self {
        Self { size: Some(size), ..self }
    }
}

impl From<ShmemHuge> for TmpfsOptions {
    fn from(huge: ShmemHuge) -> Self {
        Self { huge: Some(huge), ..Self::default() }
    }
}

impl From<TmpfsSize> for TmpfsOptions {
    fn from(size: TmpfsSize) -> Self {
        Self { size: Some(size), ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_rounded_up_to_pages_and_nothing_is_no_limit() {
        let memory = Pages::new(1001);
        for (size, pages) in [
            (TmpfsSize::Bytes(Bytes::new(4096)), Some(1)),
            (TmpfsSize::Bytes(Bytes::new(4097)), Some(2)),
            (TmpfsSize::Bytes(Bytes::ZERO), None),
            (TmpfsSize::HALF, Some(501)),
            (TmpfsSize::Percent(200), Some(2002)),
            (TmpfsSize::Percent(0), None),
        ] {
            assert_eq!(size.limit(memory), pages.map(Pages::new), "{size:?}");
        }
    }
}
