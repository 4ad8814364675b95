//! Settings of huge pages by the administrator. Linux' Documentation/admin-guide/mm/transhuge.rst.

use order9_units::{HugeDefrag, HugeEnabled, PAGEBLOCK_PAGES, SizeEnabled};

use crate::policy::{DefragDefault, ThpPolicy};
use crate::settings::huge_prices::HugePrices;

/// Base pages of a huge page.
const NR: u64 = PAGEBLOCK_PAGES.get();

/// Settings in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ThpSettings {
    pub(crate) enabled: HugeEnabled,
    /// `hugepages-2048kB/enabled`.
    pub(crate) size_enabled: SizeEnabled,
    pub(crate) defrag: HugeDefrag,
    pub(crate) use_zero_page: bool,
    pub(crate) shrink_underused: bool,
    pub(crate) khugepaged: KhugepagedSettings,
    /// Everybody may say `MADV_HUGEPAGE_FORCE_LOCAL`.
    pub(crate) force_local: bool,
    /// Prices that placements by estimate reckon with.
    pub(crate) prices: HugePrices,
}

impl ThpSettings {
    /// Settings of a machine with memory to spare.
    pub(crate) const fn at_boot(policy: &ThpPolicy, enabled: HugeEnabled) -> Self {
        let defrag = match policy.defrag {
            DefragDefault::Always => HugeDefrag::Always,
            DefragDefault::Madvise => HugeDefrag::Madvise,
        };
        let (size_enabled, khugepaged) = (SizeEnabled::Inherit, KhugepagedSettings::DEFAULT);
        let (force_local, prices) = (false, HugePrices::COUNTED);
        Self {
            enabled,
            size_enabled,
            defrag,
            use_zero_page: true,
            shrink_underused: true,
            khugepaged,
            force_local,
            prices,
        }
    }

    /// Memory that gets huge pages.
    pub(crate) const fn rule(&self) -> HugeEnabled {
        self.size_enabled.rule(self.enabled)
    }

    /// Whether khugepaged rests: neither the file of all sizes nor that of this one names anybody.
    pub(crate) const fn is_off(&self) -> bool {
        let named = matches!(self.size_enabled, SizeEnabled::Always | SizeEnabled::Madvise);
        matches!(self.enabled, HugeEnabled::Never) && !named
    }

    /// Settings of a machine with less than 512 MiB.
    pub(crate) const OFF: Self = Self {
        enabled: HugeEnabled::Never,
        size_enabled: SizeEnabled::Inherit,
        defrag: HugeDefrag::Never,
        use_zero_page: false,
        shrink_underused: true,
        khugepaged: KhugepagedSettings { defrag: false, ..KhugepagedSettings::DEFAULT },
        force_local: false,
        prices: HugePrices::COUNTED,
    };
}

/// `transparent_hugepage/khugepaged/*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KhugepagedSettings {
    /// khugepaged reclaims and compacts for a huge page.
    pub defrag: bool,
    /// Base pages to look at in a pass; at least 1.
    pub pages_to_scan: u64,
    /// Pause between passes, in milliseconds.
    pub scan_sleep_ms: u64,
    /// Pause after there was no huge page, in milliseconds.
    pub alloc_sleep_ms: u64,
    /// Pages of a slot that may be empty or zeros.
    pub max_ptes_none: u64,
    /// Pages of a slot that may be in swap.
    pub max_ptes_swap: u64,
    /// Pages of a slot that others may map, too.
    pub max_ptes_shared: u64,
}

impl KhugepagedSettings {
    /// Settings of a machine with memory to spare: 4096 pages every 10 s, a minute of rest where there is no huge page.
    pub(crate) const DEFAULT: Self = Self {
        defrag: true,
        pages_to_scan: 8 * NR,
        scan_sleep_ms: 10_000,
        alloc_sleep_ms: 60_000,
        max_ptes_none: NR - 1,
        max_ptes_swap: NR / 8,
        max_ptes_shared: NR / 2,
    };
}
