//! [`HugePrices`]: what placements by estimate reckon with.

use order9_units::PAGEBLOCK_PAGES;

use crate::access_level::AccessLevels;

/// Prices of the steps to a huge page on a machine, and of each access to its memory, in any unit of time. The engine has
/// no prices of its own: the caller that knows the machine says them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HugePrices {
    /// Moving one page out of the way.
    pub move_page: u64,
    /// Reclaiming one page, and reading it back.
    pub reclaim_page: u64,
    /// One fault that maps a zeroed base page.
    pub base_fault: u64,
    /// One fault that maps a zeroed huge page which is free.
    pub huge_fault: u64,
    /// An access to a base page, by level.
    pub base: [u64; AccessLevels::COUNT],
    /// Price of an access to a huge page, by level.
    pub huge: [u64; AccessLevels::COUNT],
    /// Distances that are levels of their own.
    pub levels: AccessLevels,
}

impl HugePrices {
    /// Without a machine: every page that is touched costs the same, and every access.
    pub const COUNTED: Self = Self {
        move_page: 1,
        reclaim_page: 1,
        base_fault: 1,
        huge_fault: PAGEBLOCK_PAGES.get(),
        base: [1; AccessLevels::COUNT],
        huge: [1; AccessLevels::COUNT],
        levels: AccessLevels::NONE_APART,
    };
}
