//! The most of everything that a machine with Linux can have, and how much memory a snapshot may take of this host.
//!
//! What a snapshot counts is not believed beyond the one, and nothing is begun that needs more than the other: a few bytes
//! of a file must not decide over the memory of the host that reads it.

use order9_units::{Bytes, Pages};

/// CPUs: `CONFIG_NR_CPUS` of x86-64 ends here.
pub const CPUS_MAX: u32 = 8192;

/// NUMA nodes: `CONFIG_NODES_SHIFT` of x86-64 ends at 10.
pub const NODES_MAX: u16 = 1024;

/// More memory needed than there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("needs about {} of memory, this host has {} available", about(*needs), about(*available))]
pub struct Shortage {
    /// Estimate of the memory that is needed.
    pub needs: Bytes,
    /// Memory that may be taken.
    pub available: Bytes,
}

impl Shortage {
    /// Refuses what needs more than is available.
    ///
    /// # Errors
    /// The shortage.
    pub fn check(needs: Bytes, available: Bytes) -> Result<(), Self> {
        if needs > available { Err(Self { needs, available }) } else { Ok(()) }
    }

    /// The estimate for `all` of the work, made after `part` of it.
    pub(crate) fn scaled(self, part: u64, all: u64) -> Self {
        let times = all as f64 / part.max(1) as f64;
        let needs = if part == 0 { self.needs } else { Bytes::new((self.needs.get() as f64 * times) as u64) };
        Self { needs: needs.max(self.needs), ..self }
    }
}

/// Two digits of a size, in powers of ten.
fn about(size: Bytes) -> String {
    let (mut value, mut unit) = (size.get() as f64 / 1e6, "MB");
    for larger in ["GB", "TB", "PB"] {
        if value >= 1e3 {
            (value, unit) = (value / 1e3, larger);
        }
    }
    if value >= 9.95 { format!("{value:.0} {unit}") } else { format!("{value:.1} {unit}") }
}

/// Memory that a pageblock takes while a map is analysed: its census twice, its type, its look in each picture.
const PER_BLOCK: u64 = 128;

/// Memory that analysing a map takes whose zones span so many frames, beside the map.
#[must_use]
pub fn to_analyse(spanned: Pages) -> Bytes {
    Bytes::new(spanned.get().div_ceil(order9_units::PAGEBLOCK_PAGES.get()).saturating_mul(PER_BLOCK))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortage_says_both_sides() {
        let refused = Shortage::check(Bytes::new(17_200_000_000), Bytes::new(9_030_000_000)).unwrap_err();
        assert_eq!(refused.to_string(), "needs about 17 GB of memory, this host has 9.0 GB available");
        assert_eq!(Shortage::check(Bytes::new(5), Bytes::new(5)), Ok(()));
        assert_eq!(about(Bytes::new(999_000)), "1.0 MB");
    }
}
