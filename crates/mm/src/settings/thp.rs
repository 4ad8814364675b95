//! Settings of huge pages by the administrator. Linux' Documentation/admin-guide/mm/transhuge.rst.

use order9_units::{HugeDefrag, HugeEnabled, HugeSize, PAGEBLOCK_PAGES, SizeEnabled};

use crate::policy::{DefragDefault, ThpPolicy};
use crate::settings::huge_prices::HugePrices;

/// Base pages of a huge page.
const NR: u64 = PAGEBLOCK_PAGES.get();

/// The files `hugepages-*kB/enabled`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    enabled: [SizeEnabled; HugeSize::COUNT],
    /// Some file of a size below 2 MiB is not `never`.
    has_small: bool,
}

impl Sizes {
    /// Pages of 2 MiB alone, as the file of all sizes says.
    const AT_BOOT: Self = Self { enabled: [SizeEnabled::Never; HugeSize::COUNT], has_small: false }.with_pmd();

    const fn with_pmd(mut self) -> Self {
        self.enabled[HugeSize::PMD.index()] = SizeEnabled::Inherit;
        self
    }

    /// The file of a size.
    pub(crate) const fn get(&self, size: HugeSize) -> SizeEnabled {
        self.enabled[size.index()]
    }

    /// Writes the file of a size.
    pub(crate) fn set(&mut self, size: HugeSize, enabled: SizeEnabled) {
        self.enabled[size.index()] = enabled;
        self.has_small = HugeSize::PMD.below().any(|size| self.get(size) != SizeEnabled::Never);
    }

    /// Whether some memory may get pages of less than 2 MiB.
    #[inline]
    pub(crate) const fn has_small(&self) -> bool {
        self.has_small
    }
}

/// Settings in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ThpSettings {
    pub(crate) enabled: HugeEnabled,
    pub(crate) sizes: Sizes,
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
        let (sizes, khugepaged) = (Sizes::AT_BOOT, KhugepagedSettings::DEFAULT);
        let (force_local, prices) = (false, HugePrices::COUNTED);
        Self { enabled, sizes, defrag, use_zero_page: true, shrink_underused: true, khugepaged, force_local, prices }
    }

    /// Memory that gets huge pages of 2 MiB.
    pub(crate) const fn rule(&self) -> HugeEnabled {
        self.rule_of(HugeSize::PMD)
    }

    /// Memory that gets huge pages of a size.
    pub(crate) const fn rule_of(&self, size: HugeSize) -> HugeEnabled {
        self.sizes.get(size).rule(self.enabled)
    }

    /// Whether khugepaged rests: neither the file of all sizes nor that of 2 MiB names anybody.
    pub(crate) const fn is_off(&self) -> bool {
        let named = matches!(self.sizes.get(HugeSize::PMD), SizeEnabled::Always | SizeEnabled::Madvise);
        matches!(self.enabled, HugeEnabled::Never) && !named
    }

    /// Settings of a machine with less than 512 MiB.
    pub(crate) const OFF: Self = Self {
        enabled: HugeEnabled::Never,
        sizes: Sizes::AT_BOOT,
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
