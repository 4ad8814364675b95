//! Settings of huge pages: who gets them, and what an allocation may do for one.
//!
//! Linux' Documentation/admin-guide/mm/transhuge.rst. [`fault_gfp`] is the table of defrag mode, advice and release.

use order9_frames::Gfp;
use order9_units::{HugeDefrag, HugeEnabled, HugeSize, SizeEnabled};

use super::placement::HugePrices;
use crate::phys::PhysMem;
use crate::policy::{ShmemGfp, ThpPolicy};
use crate::settings::thp::ThpSettings;

/// Flags of an allocation for a huge page of shared memory, wherever it looks for one; `advised` says that a fault asks, by a
/// mapping that `MADV_HUGEPAGE` names.
#[must_use]
pub const fn shmem_gfp(defrag: HugeDefrag, advised: bool, policy: &ThpPolicy) -> Gfp {
    match policy.shmem_gfp {
        ShmemGfp::Mapping => Gfp::GFP_TRANSHUGE.with(Gfp::KSWAPD_RECLAIM).with(Gfp::NORETRY),
        ShmemGfp::Mode => fault_gfp(defrag, advised, policy),
    }
}

/// Flags of a fault for a huge page, wherever it looks for one; `advised` says that `MADV_HUGEPAGE` names the memory.
///
/// A fault that may reclaim does not wake kswapd: the task that stalls is the one that needs the page.
#[must_use]
pub const fn fault_gfp(defrag: HugeDefrag, advised: bool, policy: &ThpPolicy) -> Gfp {
    use HugeDefrag::{Always, Defer, DeferMadvise, Madvise, Never};
    let light = Gfp::GFP_TRANSHUGE_LIGHT;
    match (defrag, advised) {
        (Always | DeferMadvise | Madvise, true) if policy.madvised_noretry => {
            light.with(Gfp::DIRECT_RECLAIM).with(Gfp::NORETRY)
        }
        (Always | DeferMadvise | Madvise, true) => light.with(Gfp::DIRECT_RECLAIM),
        (Always, false) => light.with(Gfp::DIRECT_RECLAIM).with(Gfp::NORETRY),
        (Defer, _) | (DeferMadvise, false) => light.with(Gfp::KSWAPD_RECLAIM),
        (Madvise, false) | (Never, _) => light,
    }
}

/// Flags with which khugepaged asks for a huge page; `defrag` is `khugepaged/defrag`. It never wakes kswapd.
#[must_use]
pub const fn khugepaged_gfp(defrag: bool, policy: &ThpPolicy) -> Gfp {
    match defrag {
        true if policy.madvised_noretry => Gfp::GFP_TRANSHUGE.with(Gfp::NORETRY),
        true => Gfp::GFP_TRANSHUGE,
        false => Gfp::GFP_TRANSHUGE_LIGHT,
    }
}

/// Flags with which the huge page of zeros is allocated, whatever the mode: it is never given back while somebody maps it.
#[must_use]
pub const fn zero_gfp(policy: &ThpPolicy) -> Gfp {
    let gfp = Gfp::GFP_TRANSHUGE.without(Gfp::MOVABLE);
    if policy.madvised_noretry { gfp.with(Gfp::NORETRY) } else { gfp }
}

impl PhysMem {
    /// `transparent_hugepage/enabled`.
    #[must_use]
    pub const fn thp_enabled(&self) -> HugeEnabled {
        self.settings.thp.enabled
    }

    /// Sets `transparent_hugepage/enabled`: for faults from now on; what is mapped stays. Enabling raises
    /// `vm.min_free_kbytes` to what keeping pageblocks free takes, and never lowers it. khugepaged runs from then on, and
    /// rests while they are disabled.
    pub fn set_thp_enabled(&mut self, enabled: HugeEnabled) {
        self.change_enabled(|thp| thp.enabled = enabled);
    }

    /// Changes who gets huge pages, which may start or stop khugepaged.
    pub(super) fn change_enabled(&mut self, change: impl FnOnce(&mut ThpSettings)) {
        let was_off = self.settings.thp.is_off();
        change(&mut self.settings.thp);
        match (was_off, self.settings.thp.is_off()) {
            (true, false) => {
                self.raise_min_free_for_huge_pages();
                self.daemons.wakeups.khugepaged = true;
            }
            (false, true) if self.policy.thp.stop_resets_min_free => self.setup_watermarks(),
            _ => {}
        }
    }

    /// `transparent_hugepage/defrag`.
    #[must_use]
    pub const fn thp_defrag(&self) -> HugeDefrag {
        self.settings.thp.defrag
    }

    /// Sets `transparent_hugepage/defrag`.
    pub fn set_thp_defrag(&mut self, defrag: HugeDefrag) {
        self.settings.thp.defrag = defrag;
    }

    /// Says what the steps to a huge page cost on this machine, for placements that weigh them.
    pub fn set_huge_prices(&mut self, prices: HugePrices) {
        self.settings.thp.prices = prices;
    }

    /// Ends the pause that khugepaged makes, as writing the length of one does.
    pub const fn wake_khugepaged(&mut self) {
        self.daemons.wakeups.khugepaged = true;
    }

    /// `transparent_hugepage=` at boot: `transparent_hugepage/enabled` from the start, with `vm.min_free_kbytes` as computed for
    /// that. Machines without memory to spare for huge pages stay without.
    pub fn start_with_thp(&mut self, enabled: HugeEnabled) {
        if self.has_memory_for_thp() {
            self.settings.thp.enabled = enabled;
            self.setup_watermarks();
        }
    }

    /// `thp_anon=` at boot: the files `hugepages-*kB/enabled` from the start, likewise, on any machine. Sizes that are not
    /// named are `never`.
    pub fn start_with_thp_sizes(&mut self, named: impl IntoIterator<Item = (HugeSize, SizeEnabled)>) {
        let sizes = &mut self.settings.thp.sizes;
        HugeSize::all().for_each(|size| sizes.set(size, SizeEnabled::Never));
        named.into_iter().for_each(|(size, enabled)| sizes.set(size, enabled));
        self.setup_watermarks();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_zeros_cannot_move_and_may_come_from_anywhere() {
        let gfp = zero_gfp(&ThpPolicy::default());
        assert!(gfp.has(Gfp::DIRECT_RECLAIM | Gfp::COMP) && !gfp.has(Gfp::NORETRY));
        assert!(!gfp.has(Gfp::MOVABLE) && !gfp.has(Gfp::THISNODE) && !gfp.has(Gfp::KSWAPD_RECLAIM));
    }
}
