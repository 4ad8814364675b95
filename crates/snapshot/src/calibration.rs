//! Prices of memory work that were measured on the host of a snapshot when it was captured.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Prices of one host, each by a measurement of less than a tenth of a second on one CPU; docs/snapshot.md says how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Calibration {
    /// Copying a base page from memory to memory.
    pub copy_page: Measured,
    /// Clearing a base page.
    pub clear_page: Measured,
    /// Reading what the kernel keeps of a frame, 64 bytes, in sequence.
    pub frame_scan: Measured,
    /// Taking a page into a file in memory and giving it back, without its content: the kernel's own work.
    pub shmem_page: Option<Measured>,
    /// First touch of a huge page whose memory was freed just now: clearing is nearly all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub huge_fault: Option<Measured>,
    /// Waiting, at the first touch of a huge page, for a hypervisor that has taken its memory back; on a guest that reports free pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hypervisor_fault: Option<Measured>,
}

/// A price that was measured several times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Measured {
    /// The middle one, in picoseconds.
    pub ps: u64,
    /// The lowest measured price, in picoseconds.
    pub lowest_ps: u64,
    /// The highest measured price, in picoseconds.
    pub highest_ps: u64,
    /// Number of measurements.
    pub rounds: u32,
}

impl Calibration {
    /// Method by which [`Self::hypervisor_fault`] is measured, for the source of the price.
    pub const HYPERVISOR_FAULT_METHOD: &str = "First touch of huge pages of 128 MiB or more, less one right after they were freed, where it took five times as long";

    /// Every price that was measured, with its name.
    pub fn prices(&self) -> impl Iterator<Item = (&'static str, Measured)> {
        let always = [("copy_page", self.copy_page), ("clear_page", self.clear_page), ("frame_scan", self.frame_scan)];
        let sometimes = [
            ("shmem_page", self.shmem_page),
            ("huge_fault", self.huge_fault),
            ("hypervisor_fault", self.hypervisor_fault),
        ];
        always.into_iter().chain(sometimes.into_iter().filter_map(|(name, price)| Some((name, price?))))
    }
}

impl Measured {
    /// The price in nanoseconds.
    #[must_use]
    pub fn ns(self) -> f64 {
        self.ps as f64 / 1000.0
    }

    /// Whether it can be a price at all: a picosecond to a second, between its extremes.
    pub(crate) fn is_sound(self) -> bool {
        const PS_MAX: u64 = 1_000_000_000_000;
        0 < self.ps && self.lowest_ps <= self.ps && self.ps <= self.highest_ps && self.highest_ps <= PS_MAX
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = |ps: u64| {
            let ns = ps as f64 / 1000.0;
            if ns < 10.0 { format!("{ns:.1}") } else { format!("{ns:.0}") }
        };
        write!(f, "{} ns ({} to {})", ns(self.ps), ns(self.lowest_ps), ns(self.highest_ps))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_is_shown_with_its_spread() {
        let price = Measured { ps: 1_840, lowest_ps: 1_799, highest_ps: 21_000, rounds: 9 };
        assert_eq!(price.to_string(), "1.8 ns (1.8 to 21)");
        assert!(
            price.is_sound() && !Measured { ps: 1_700, ..price }.is_sound() && !Measured { ps: 0, ..price }.is_sound()
        );
    }
}
