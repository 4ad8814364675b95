//! Settings by the names Linux gives them: read and written as the files of /proc/sys/vm and /sys are.
//!
//! Key types: [`Setting`] (a name, what it means, what it takes), [`SETTINGS`] (all of them: the one list that programs, docs
//! and tests read), [`SettingError`]. [`Mm::read_setting`] answers with the content of the file, [`Mm::write_setting`] takes
//! what would be written to it. A setting whose mechanism the engine does not have is in the list and refused by name.
//! What differs between releases and is no setting there is a [`crate::policy::Policy`]. Behaviour and sources:
//! docs/settings.md.

mod hugetlb;
mod table;
mod thp;
mod value;

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use order9_units::{Order, ZoneKind};

pub use table::SETTINGS;
pub use value::Values;

use crate::Mm;
use crate::mempolicy::weight_of_node;
use crate::page_cache::DropPagecache;
use crate::policy::{BalanceRule, HugeInterface, PcpHigh};
use crate::shrinker::{DropSlab, ShrinkStep};
use crate::space::Errno;
use crate::thp::SizeStat;
use crate::thp::placement::PlacementAdvice;
use crate::trace::Tracer;

/// A setting of Linux, modelled or not.
#[derive(Debug, PartialEq, Eq)]
pub struct Setting {
    /// As sysctl(8) calls it, `vm.swappiness`; files in /sys/kernel/mm/transparent_hugepage are `thp/` and their path there,
    /// those in /sys/kernel/mm/hugepages/hugepages-2048kB `hugetlb/` and theirs.
    pub name: &'static str,
    /// The file.
    pub path: &'static str,
    /// What it decides.
    pub meaning: &'static str,
    /// Unit of its value; empty where it has none.
    pub unit: &'static str,
    /// What Linux starts with.
    pub default: &'static str,
    /// What may be written.
    pub values: Values,
    /// Whether the file can be read and written.
    pub access: Access,
    /// What the engine has of it.
    pub model: Model,
}

/// What the file of a setting allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Mode 0644.
    ReadWrite,
    /// Mode 0444.
    ReadOnly,
    /// Mode 0200: writing it starts something.
    WriteOnly,
}

/// What the engine has of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// It has the effect it has on Linux.
    Engine(Knob),
    /// It cannot be set, because the engine does not have this.
    Missing(&'static str),
}

/// A setting that has an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Knob {
    /// `vm.compact_unevictable_allowed`.
    CompactUnevictableAllowed,
    /// `vm.compaction_proactiveness`.
    CompactionProactiveness,
    /// `vm.defrag_mode`.
    DefragMode,
    /// `vm.dirty_background_bytes`.
    DirtyBackgroundBytes,
    /// `vm.dirty_background_ratio`.
    DirtyBackgroundRatio,
    /// `vm.dirty_bytes`.
    DirtyBytes,
    /// `vm.dirty_expire_centisecs`.
    DirtyExpireCentisecs,
    /// `vm.dirty_ratio`.
    DirtyRatio,
    /// `vm.dirty_writeback_centisecs`.
    DirtyWritebackCentisecs,
    /// `vm.drop_caches`.
    DropCaches,
    /// `vm.extfrag_threshold`.
    ExtfragThreshold,
    /// `vm.lowmem_reserve_ratio`.
    LowmemReserveRatio,
    /// `vm.nr_hugepages` and the files of /sys/kernel/mm/hugepages.
    Hugetlb(HugetlbFile),
    /// Whether weights of interleaving follow the bandwidth of nodes.
    InterleaveAuto,
    /// Weights of interleaving, read and written by node.
    InterleaveWeight,
    /// `vm.max_map_count`.
    MaxMapCount,
    /// `vm.min_free_kbytes`.
    MinFreeKbytes,
    /// `vm.min_slab_ratio`.
    MinSlabRatio,
    /// `vm.min_unmapped_ratio`.
    MinUnmappedRatio,
    /// `kernel.numa_balancing`.
    NumaBalancing,
    /// How NUMA balancing scans.
    NumaScan(NumaScanFile, NumaScanFolder),
    /// `vm.page-cluster`.
    PageCluster,
    /// `vm.percpu_pagelist_high_fraction`.
    PercpuPagelistHighFraction,
    /// `vm.swappiness`.
    Swappiness,
    /// `transparent_hugepage/defrag`.
    ThpDefrag,
    /// `transparent_hugepage/enabled`.
    ThpEnabled,
    /// `transparent_hugepage/hpage_pmd_size`.
    ThpPmdSize,
    /// `transparent_hugepage/shmem_enabled`.
    ThpShmemEnabled,
    /// `transparent_hugepage/madv_hugepage_force_local`. Proposed in 2018.
    ThpForceLocal,
    /// `transparent_hugepage/shrink_underused`.
    ThpShrinkUnderused,
    /// `transparent_hugepage/hugepages-2048kB/enabled`.
    ThpSizeEnabled,
    /// `transparent_hugepage/hugepages-2048kB/shmem_enabled`.
    ThpSizeShmemEnabled,
    /// `transparent_hugepage/hugepages-2048kB/stats/*`.
    ThpSizeStat(SizeStat),
    /// `transparent_hugepage/use_zero_page`.
    ThpUseZeroPage,
    /// `transparent_hugepage/khugepaged/*`.
    Khugepaged(KhugepagedFile),
    /// `vm.vfs_cache_pressure`.
    VfsCachePressure,
    /// `vm.watermark_boost_factor`.
    WatermarkBoostFactor,
    /// `vm.watermark_scale_factor`.
    WatermarkScaleFactor,
    /// `vm.zone_reclaim_mode`.
    ZoneReclaimMode,
}

/// A file in `hugepages/hugepages-2048kB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HugetlbFile {
    /// `nr_hugepages`, `nr_hugepages_mempolicy`.
    Nr,
    /// `nr_overcommit_hugepages`.
    NrOvercommit,
    /// `free_hugepages`.
    Free,
    /// `resv_hugepages`.
    Resv,
    /// `surplus_hugepages`.
    Surplus,
}

/// A file in `transparent_hugepage/khugepaged`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KhugepagedFile {
    /// `alloc_sleep_millisecs`.
    AllocSleepMillisecs,
    /// `defrag`.
    Defrag,
    /// `full_scans`.
    FullScans,
    /// `max_ptes_none`.
    MaxPtesNone,
    /// `max_ptes_shared`.
    MaxPtesShared,
    /// `max_ptes_swap`.
    MaxPtesSwap,
    /// `pages_collapsed`.
    PagesCollapsed,
    /// `pages_to_scan`.
    PagesToScan,
    /// `scan_sleep_millisecs`.
    ScanSleepMillisecs,
}

/// A setting of NUMA balancing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumaScanFile {
    /// `scan_delay_ms`.
    DelayMs,
    /// `scan_period_min_ms`.
    PeriodMinMs,
    /// `scan_period_max_ms`.
    PeriodMaxMs,
    /// `scan_size_mb`.
    SizeMb,
}

/// Where the settings of NUMA balancing are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumaScanFolder {
    /// /proc/sys/kernel. Up to 5.12.
    Sysctl,
    /// /sys/kernel/debug/sched/numa_balancing. 5.13+.
    Debugfs,
}

/// Why a setting was not read or written; nothing has changed then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingError {
    /// `ENOENT`: [`SETTINGS`] has no such name.
    Unknown,
    /// `ENOENT`: the kernels that the policy in force describes do not have it.
    Absent(&'static Setting),
    /// `EACCES`: it cannot be written.
    ReadOnly(&'static Setting),
    /// `EACCES`: it cannot be read.
    WriteOnly(&'static Setting),
    /// `EINVAL`: not one of the [`Setting::values`].
    Invalid(&'static Setting),
    /// `EINVAL`: more than this, the most under the policy in force.
    TooLarge(&'static Setting, i64),
    /// `ENODEV`: nothing is known of the bandwidth of any node, so that nothing can follow it.
    NoBandwidth(&'static Setting),
    /// Linux has it, the engine not yet.
    NotModelled(&'static Setting),
    /// Linux takes this value, for which the engine lacks this.
    ValueNotModelled(&'static Setting, &'static str),
}

impl Setting {
    /// The setting that `name` names: by [`Setting::name`], with `/` and `.` alike, or by [`Setting::path`].
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        let canonical = |byte: u8| if byte == b'.' { b'/' } else { byte };
        let is_named = |setting: &&Self| {
            name == setting.path || name.bytes().map(canonical).eq(setting.name.bytes().map(canonical))
        };
        SETTINGS.iter().find(is_named)
    }

    /// Whether it has an effect.
    #[must_use]
    pub const fn is_modelled(&self) -> bool {
        matches!(self.model, Model::Engine(_))
    }

    /// Whether it is a file of /sys, which takes a number and nothing else.
    fn is_sysfs(&self) -> bool {
        self.path.starts_with("/sys/")
    }

    fn knob(&'static self) -> Result<Knob, SettingError> {
        match self.model {
            Model::Engine(knob) => Ok(knob),
            Model::Missing(_) => Err(SettingError::NotModelled(self)),
        }
    }
}

impl<T: Tracer> Mm<T> {
    /// The content of the file of a setting, closing newline included. `name` is as [`Setting::find`] takes it, or the path of
    /// a file of a node: of its hugetlb pool, or the weight that interleaving gives it.
    ///
    /// # Errors
    /// [`SettingError`], never `ReadOnly` or `Invalid`.
    pub fn read_setting(&self, name: &str) -> Result<String, SettingError> {
        if let Some((node, setting)) = hugetlb::of_node(name) {
            return self.read_node_pool(node, setting);
        }
        if let Some((node, setting)) = weight_of_node(name) {
            return self.read_weight(node, setting);
        }
        let setting = Setting::find(name).ok_or(SettingError::Unknown)?;
        if setting.access == Access::WriteOnly {
            return Err(SettingError::WriteOnly(setting));
        }
        let knob = setting.knob()?;
        if let Some(words) = self.read_words(knob) {
            return Ok(words);
        }
        let numbers = self.knob_value(knob).ok_or(SettingError::Absent(setting))?;
        Ok(value::render(&numbers))
    }

    /// Writes `value` to a setting, as a program that writes to its file once. `name` is as for [`Mm::read_setting`]. A pool
    /// of huge pages grows as far as free memory goes, see [`Mm::pool_size`].
    ///
    /// # Errors
    /// [`SettingError`], never `WriteOnly`.
    pub fn write_setting(&mut self, name: &str, value: &str) -> Result<(), SettingError> {
        if let Some(size) = self.pool_size(name, value)? {
            self.set_nr_hugepages(size);
            return Ok(());
        }
        if let Some((node, setting)) = weight_of_node(name) {
            return self.write_weight(node, setting, value);
        }
        let setting = Setting::find(name).ok_or(SettingError::Unknown)?;
        if setting.access == Access::ReadOnly {
            return Err(SettingError::ReadOnly(setting));
        }
        let knob = setting.knob()?;
        if knob == Knob::InterleaveAuto {
            return self.write_auto_weights(setting, value);
        }
        if let Some(known) = self.write_words(knob, value) {
            return if known { Ok(()) } else { Err(SettingError::Invalid(setting)) };
        }
        self.knob_value(knob).ok_or(SettingError::Absent(setting))?;
        let numbers = if setting.is_sysfs() { setting.values.parse_sysfs(value) } else { setting.values.parse(value) };
        let numbers = numbers.ok_or(SettingError::Invalid(setting))?;
        if knob == Knob::NumaBalancing && numbers[0] > 1 {
            return Err(SettingError::ValueNotModelled(setting, "memory tiering"));
        }
        match self.policy_max(knob) {
            Some(max) if numbers[0] > max => return Err(SettingError::TooLarge(setting, max)),
            _ => self.set_knob(knob, &numbers),
        }
        Ok(())
    }

    /// The largest value under the policy in force, where other policies take larger ones.
    fn policy_max(&self, knob: Knob) -> Option<i64> {
        let of_hundred = knob == Knob::Swappiness && self.policy.reclaim.balance == BalanceRule::Rotation;
        of_hundred.then_some(100)
    }

    /// The value in force; `None` where the policy has no such setting.
    fn knob_value(&self, knob: Knob) -> Option<Vec<u64>> {
        let one = |number: u64| alloc::vec![number];
        let (watermark, dirty) = (&self.policy.watermark, &self.settings.dirty);
        match knob {
            Knob::CompactUnevictableAllowed => Some(one(u64::from(self.settings.compact_unevictable_allowed))),
            Knob::CompactionProactiveness => {
                self.policy.compaction.proactive.then(|| one(self.settings.compaction_proactiveness))
            }
            Knob::DefragMode => self.policy.fallback.defrag_mode.then(|| one(u64::from(self.settings.defrag_mode))),
            Knob::DirtyBackgroundBytes => Some(one(dirty.background_bytes)),
            Knob::DirtyBackgroundRatio => Some(one(dirty.background_ratio)),
            Knob::DirtyBytes => Some(one(dirty.bytes)),
            Knob::DirtyExpireCentisecs => Some(one(dirty.expire_centisecs)),
            Knob::DirtyRatio => Some(one(dirty.ratio)),
            Knob::DirtyWritebackCentisecs => Some(one(dirty.writeback_centisecs)),
            Knob::DropCaches => Some(Vec::new()),
            Knob::ExtfragThreshold => Some(one(self.settings.extfrag_threshold)),
            Knob::LowmemReserveRatio => Some(self.settings.lowmem_reserve_ratio.to_vec()),
            Knob::Hugetlb(file) => Some(one(self.hugetlb_value(file))),
            Knob::MaxMapCount => Some(one(self.user.map_limit.now as u64)),
            Knob::Swappiness => Some(one(self.settings.swappiness)),
            Knob::MinFreeKbytes => Some(one(self.min_free_kbytes())),
            Knob::MinSlabRatio => Some(one(self.settings.min_slab_ratio)),
            Knob::MinUnmappedRatio => Some(one(self.settings.min_unmapped_ratio)),
            Knob::NumaBalancing => Some(one(u64::from(self.numa_balancing()))),
            Knob::NumaScan(file, folder) => {
                let is_there = self.policy.numa_balancing.debugfs == (folder == NumaScanFolder::Debugfs);
                is_there.then(|| one(self.settings.numa_balancing.get(file)))
            }
            Knob::PageCluster => Some(one(self.settings.page_cluster)),
            Knob::PercpuPagelistHighFraction => {
                let is_there = self.policy.pcp.high != PcpHigh::SixBatches;
                is_there.then(|| one(self.settings.pcp_high_fraction))
            }
            // These hold words.
            Knob::ThpDefrag | Knob::ThpEnabled | Knob::ThpShmemEnabled => None,
            Knob::ThpSizeEnabled | Knob::ThpSizeShmemEnabled | Knob::InterleaveAuto => None,
            // Each node has its own.
            Knob::InterleaveWeight => None,
            Knob::ThpSizeStat(stat) => self.has_sizes().then(|| one(self.thp_size_stat(stat))),
            Knob::ThpPmdSize => {
                let is_there = self.policy.thp.interface >= HugeInterface::PmdSize;
                is_there.then(|| one(Order::PAGEBLOCK.pages().bytes().get()))
            }
            Knob::ThpForceLocal => {
                let is_there = self.policy.thp.placement.rule().advice == PlacementAdvice::ForceLocal;
                is_there.then(|| one(u64::from(self.settings.thp.force_local)))
            }
            Knob::ThpShrinkUnderused => {
                self.policy.thp.shrink_underused.then(|| one(u64::from(self.settings.thp.shrink_underused)))
            }
            Knob::ThpUseZeroPage => Some(one(u64::from(self.thp_use_zero_page()))),
            Knob::Khugepaged(file) => self.khugepaged_value(file).map(one),
            Knob::VfsCachePressure => Some(one(self.settings.vfs_cache_pressure)),
            Knob::WatermarkBoostFactor => watermark.boost_factor.map(u64::from).map(one),
            Knob::WatermarkScaleFactor => watermark.scale_factor.map(u64::from).map(one),
            Knob::ZoneReclaimMode => Some(one(self.settings.zone_reclaim_mode)),
        }
    }

    /// Drops clean page cache, with bit 1 of `what`, and slab that can be reclaimed, with bit 2, to the end.
    fn drop_caches(&mut self, what: u64) {
        if what & 1 != 0 {
            let mut run = DropPagecache::new(self, NO_CPU);
            while run.step(self).is_none() {}
        }
        if what & 2 != 0 {
            let mut run = DropSlab::new(self, NO_CPU);
            while run.step(self) == ShrinkStep::Progress {}
        }
    }

    /// `numbers` are at least one, all within the range of the setting.
    fn set_knob(&mut self, knob: Knob, numbers: &[i64]) {
        let first = numbers[0].unsigned_abs();
        let dirty = &mut self.settings.dirty;
        match knob {
            Knob::CompactUnevictableAllowed => self.settings.compact_unevictable_allowed = first != 0,
            Knob::CompactionProactiveness => self.set_compaction_proactiveness(first),
            Knob::DefragMode => self.settings.defrag_mode = first != 0,
            Knob::DirtyBackgroundBytes => (dirty.background_bytes, dirty.background_ratio) = (first, 0),
            Knob::DirtyBackgroundRatio => (dirty.background_ratio, dirty.background_bytes) = (first, 0),
            // Unlike those above, these leave their counterpart alone where they do not change.
            Knob::DirtyBytes if dirty.bytes != first => (dirty.bytes, dirty.ratio) = (first, 0),
            Knob::DirtyRatio if dirty.ratio != first => (dirty.ratio, dirty.bytes) = (first, 0),
            Knob::DirtyBytes | Knob::DirtyRatio => {}
            Knob::DirtyExpireCentisecs => dirty.expire_centisecs = first,
            Knob::DirtyWritebackCentisecs => dirty.writeback_centisecs = first,
            Knob::LowmemReserveRatio => {
                let mut ratio = self.settings.lowmem_reserve_ratio;
                ratio.iter_mut().zip(numbers).for_each(|(ratio, &number)| *ratio = number.max(0).unsigned_abs());
                self.set_lowmem_reserve_ratio(ratio);
            }
            Knob::DropCaches => self.drop_caches(first),
            Knob::ExtfragThreshold => self.settings.extfrag_threshold = first,
            Knob::Hugetlb(HugetlbFile::NrOvercommit) => self.user.hugetlb.overcommit = first,
            Knob::Hugetlb(file) => unreachable!("{file:?} is read-only, or the size of a pool"),
            Knob::MaxMapCount => self.user.map_limit.set(first as usize),
            Knob::Swappiness => self.settings.swappiness = first,
            Knob::MinFreeKbytes => self.set_min_free_kbytes(first),
            Knob::MinSlabRatio => self.settings.min_slab_ratio = first,
            Knob::MinUnmappedRatio => self.settings.min_unmapped_ratio = first,
            Knob::NumaBalancing => self.set_numa_balancing(first > 0),
            Knob::NumaScan(file, _) => self.settings.numa_balancing.set(file, first),
            Knob::PageCluster => self.settings.page_cluster = first,
            Knob::PercpuPagelistHighFraction => self.set_percpu_pagelist_high_fraction(first),
            Knob::ThpForceLocal => self.settings.thp.force_local = first > 0,
            Knob::ThpShrinkUnderused => self.set_thp_shrink_underused(first > 0),
            Knob::ThpUseZeroPage => self.set_thp_use_zero_page(first > 0),
            Knob::Khugepaged(file) => self.set_khugepaged(file, first),
            Knob::ThpDefrag
            | Knob::ThpEnabled
            | Knob::ThpShmemEnabled
            | Knob::ThpPmdSize
            | Knob::InterleaveAuto
            | Knob::InterleaveWeight
            | Knob::ThpSizeEnabled
            | Knob::ThpSizeShmemEnabled
            | Knob::ThpSizeStat(_) => unreachable!("{knob:?} is not written as a number"),
            Knob::VfsCachePressure => self.settings.vfs_cache_pressure = first,
            Knob::WatermarkBoostFactor => self.set_watermark_boost_factor(first as u32),
            Knob::WatermarkScaleFactor => self.set_watermark_scale_factor(first as u32),
            Knob::ZoneReclaimMode => self.settings.zone_reclaim_mode = first,
        }
    }
}

/// Pages freed by a setting go straight to free lists.
const NO_CPU: usize = usize::MAX;
/// Numbers that `vm.lowmem_reserve_ratio` has: one per zone a node can have.
const RATIOS: usize = ZoneKind::COUNT;

impl SettingError {
    /// What Linux answers; `None` where it would have done what was asked.
    #[must_use]
    pub const fn errno(self) -> Option<Errno> {
        match self {
            Self::Unknown | Self::Absent(_) => Some(Errno::Enoent),
            Self::ReadOnly(_) | Self::WriteOnly(_) => Some(Errno::Eacces),
            Self::Invalid(_) | Self::TooLarge(..) => Some(Errno::Einval),
            Self::NoBandwidth(_) => Some(Errno::Enodev),
            Self::NotModelled(_) | Self::ValueNotModelled(..) => None,
        }
    }
}

impl fmt::Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => write!(f, "no such setting"),
            Self::Absent(setting) => write!(f, "{} does not exist under this policy", setting.name),
            Self::ReadOnly(setting) => write!(f, "{} is read-only", setting.name),
            Self::WriteOnly(setting) => write!(f, "{} is write-only", setting.name),
            Self::Invalid(setting) => write!(f, "{} takes {}", setting.name, setting.values),
            Self::TooLarge(setting, max) => write!(f, "{} takes at most {max} under this policy", setting.name),
            Self::NoBandwidth(setting) => {
                write!(f, "{} needs a bandwidth of some node, and none is known: all weights are 1", setting.name)
            }
            Self::ValueNotModelled(setting, what) => {
                write!(f, "{} is not modelled with this value: there is no {what}", setting.name)
            }
            Self::NotModelled(setting) => match setting.model {
                Model::Missing(what) => write!(f, "{} is not modelled yet (there is no {what})", setting.name),
                Model::Engine(_) => unreachable!("{} has an effect", setting.name),
            },
        }
    }
}

impl core::error::Error for SettingError {}
