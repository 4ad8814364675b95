//! Files that hold numbers: what they show of the engine, and what a number that is written changes.

use alloc::vec;
use alloc::vec::Vec;

use order9_mm::Mm;
use order9_mm::Tunables;
use order9_mm::policy::{BalanceRule, HugeInterface, PcpHigh, Policy};
use order9_mm::thp::placement::PlacementAdvice;
use order9_units::Order;

use super::{HugetlbFile, KhugepagedFile, Knob, NumaScanFile, NumaScanFolder, hugetlb, thp};

/// The largest value under the policy in force, where other policies take larger ones.
pub(super) fn policy_max(policy: &Policy, knob: Knob) -> Option<i64> {
    let of_hundred = knob == Knob::Swappiness && policy.reclaim.balance == BalanceRule::Rotation;
    of_hundred.then_some(100)
}

/// The numbers in force; `None` where the policy has no such file.
pub(super) fn shown(mm: &Mm, knob: Knob) -> Option<Vec<u64>> {
    let (policy, tunables) = (mm.policy(), mm.tunables());
    let dirty = &tunables.dirty;
    let number = match knob {
        Knob::CompactUnevictableAllowed => u64::from(tunables.compact_unevictable_allowed),
        Knob::CompactionProactiveness if !policy.compaction.proactive => return None,
        Knob::CompactionProactiveness => mm.phys().compaction_proactiveness(),
        Knob::DefragMode if !policy.frames.fallback.defrag_mode => return None,
        Knob::DefragMode => u64::from(tunables.defrag_mode),
        Knob::DirtyBackgroundBytes => dirty.background_bytes,
        Knob::DirtyBackgroundRatio => dirty.background_ratio,
        Knob::DirtyBytes => dirty.bytes,
        Knob::DirtyExpireCentisecs => dirty.expire_centisecs,
        Knob::DirtyRatio => dirty.ratio,
        Knob::DirtyWritebackCentisecs => dirty.writeback_centisecs,
        Knob::DropCaches => return Some(Vec::new()),
        Knob::ExtfragThreshold => tunables.extfrag_threshold,
        Knob::LowmemReserveRatio => return Some(mm.phys().lowmem_reserve_ratio().to_vec()),
        Knob::Hugetlb(file) => hugetlb::number(mm, file),
        Knob::MaxMapCount => tunables.max_map_count as u64,
        Knob::Swappiness => tunables.swappiness,
        Knob::MinFreeKbytes => mm.phys().min_free_kbytes(),
        Knob::MinSlabRatio => tunables.min_slab_ratio,
        Knob::MinUnmappedRatio => tunables.min_unmapped_ratio,
        Knob::NumaBalancing => u64::from(mm.phys().numa_balancing()),
        Knob::NumaScan(_, folder) if policy.numa_balancing.debugfs != (folder == NumaScanFolder::Debugfs) => {
            return None;
        }
        Knob::NumaScan(file, _) => {
            let mut tunables = tunables;
            *numa_scan(&mut tunables, file)
        }
        Knob::PageCluster => tunables.page_cluster,
        Knob::PercpuPagelistHighFraction if policy.frames.pcp.high == PcpHigh::SixBatches => return None,
        Knob::PercpuPagelistHighFraction => mm.phys().percpu_pagelist_high_fraction(),
        // These hold words.
        Knob::ThpDefrag | Knob::ThpEnabled | Knob::ThpShmemEnabled => return None,
        Knob::ThpSizeEnabled(_) | Knob::ThpSizeShmemEnabled | Knob::InterleaveAuto => return None,
        // Each node has its own.
        Knob::InterleaveWeight => return None,
        Knob::ThpSizeStat(..) if !thp::has_sizes(policy) => return None,
        Knob::ThpSizeStat(size, stat) => stat.map_or(0, |stat| mm.thp_size_stat(size, stat)),
        Knob::ThpPmdSize if policy.thp.interface < HugeInterface::PmdSize => return None,
        Knob::ThpPmdSize => Order::PAGEBLOCK.pages().bytes().get(),
        Knob::ThpForceLocal if policy.thp.placement.rule().advice != PlacementAdvice::ForceLocal => return None,
        Knob::ThpForceLocal => u64::from(tunables.thp_force_local),
        Knob::ThpShrinkUnderused if !policy.thp.shrink_underused => return None,
        Knob::ThpShrinkUnderused => u64::from(tunables.thp_shrink_underused),
        Knob::ThpUseZeroPage => u64::from(tunables.thp_use_zero_page),
        Knob::Khugepaged(file) => thp::khugepaged_number(mm, file)?,
        Knob::VfsCachePressure => tunables.vfs_cache_pressure,
        Knob::WatermarkBoostFactor => u64::from(mm.frames().settings().boost_factor?),
        Knob::WatermarkScaleFactor => u64::from(mm.frames().settings().scale_factor?),
        Knob::ZoneReclaimMode => tunables.zone_reclaim_mode,
    };
    Some(vec![number])
}

/// Does what writing `numbers` does, which are at least one, all within the range of the setting.
pub(super) fn set(mm: &mut Mm, knob: Knob, numbers: &[i64]) {
    let first = numbers[0].unsigned_abs();
    match knob {
        Knob::CompactionProactiveness => mm.phys_mut().set_compaction_proactiveness(first),
        Knob::DropCaches => drop_caches(mm, first),
        Knob::LowmemReserveRatio => {
            let mut ratio = mm.phys().lowmem_reserve_ratio();
            ratio.iter_mut().zip(numbers).for_each(|(ratio, &number)| *ratio = number.max(0).unsigned_abs());
            mm.phys_mut().set_lowmem_reserve_ratio(ratio);
        }
        Knob::MinFreeKbytes => mm.phys_mut().set_min_free_kbytes(first),
        Knob::NumaBalancing => mm.set_numa_balancing(first > 0),
        Knob::PercpuPagelistHighFraction => mm.phys_mut().set_percpu_pagelist_high_fraction(first),
        Knob::WatermarkBoostFactor => mm.phys_mut().set_watermark_boost_factor(first as u32),
        Knob::WatermarkScaleFactor => mm.phys_mut().set_watermark_scale_factor(first as u32),
        knob => mm.tune(|tunables| tune(tunables, knob, first)),
    }
    if let Knob::Khugepaged(KhugepagedFile::AllocSleepMillisecs | KhugepagedFile::ScanSleepMillisecs) = knob {
        mm.phys_mut().wake_khugepaged(); // Whoever writes the length of a pause ends the one that is being made.
    }
}

/// Writes a number that nothing follows from at once.
fn tune(tunables: &mut Tunables, knob: Knob, number: u64) {
    let dirty = &mut tunables.dirty;
    match knob {
        Knob::CompactUnevictableAllowed => tunables.compact_unevictable_allowed = number != 0,
        Knob::DefragMode => tunables.defrag_mode = number != 0,
        Knob::DirtyBackgroundBytes => (dirty.background_bytes, dirty.background_ratio) = (number, 0),
        Knob::DirtyBackgroundRatio => (dirty.background_ratio, dirty.background_bytes) = (number, 0),
        // Unlike those above, these leave their counterpart alone where they do not change.
        Knob::DirtyBytes if dirty.bytes != number => (dirty.bytes, dirty.ratio) = (number, 0),
        Knob::DirtyRatio if dirty.ratio != number => (dirty.ratio, dirty.bytes) = (number, 0),
        Knob::DirtyBytes | Knob::DirtyRatio => {}
        Knob::DirtyExpireCentisecs => dirty.expire_centisecs = number,
        Knob::DirtyWritebackCentisecs => dirty.writeback_centisecs = number,
        Knob::ExtfragThreshold => tunables.extfrag_threshold = number,
        Knob::Hugetlb(HugetlbFile::NrOvercommit) => tunables.nr_overcommit_hugepages = number,
        Knob::MaxMapCount => tunables.max_map_count = number as usize,
        Knob::MinSlabRatio => tunables.min_slab_ratio = number,
        Knob::MinUnmappedRatio => tunables.min_unmapped_ratio = number,
        Knob::NumaScan(file, _) => *numa_scan(tunables, file) = number,
        Knob::PageCluster => tunables.page_cluster = number,
        Knob::Swappiness => tunables.swappiness = number,
        Knob::ThpForceLocal => tunables.thp_force_local = number > 0,
        Knob::ThpShrinkUnderused => tunables.thp_shrink_underused = number > 0,
        Knob::ThpUseZeroPage => tunables.thp_use_zero_page = number > 0,
        Knob::Khugepaged(file) => thp::tune_khugepaged(&mut tunables.khugepaged, file, number),
        Knob::VfsCachePressure => tunables.vfs_cache_pressure = number,
        Knob::ZoneReclaimMode => tunables.zone_reclaim_mode = number,
        knob => unreachable!("{knob:?} is not a number that can be written, or has a way of its own"),
    }
}

fn numa_scan(tunables: &mut Tunables, file: NumaScanFile) -> &mut u64 {
    let scan = &mut tunables.numa_scan;
    match file {
        NumaScanFile::DelayMs => &mut scan.delay_ms,
        NumaScanFile::PeriodMinMs => &mut scan.period_min_ms,
        NumaScanFile::PeriodMaxMs => &mut scan.period_max_ms,
        NumaScanFile::SizeMb => &mut scan.size_mb,
    }
}

/// Drops clean page cache, with bit 1 of `what`, and slab that can be reclaimed, with bit 2, to the end.
fn drop_caches(mm: &mut Mm, what: u64) {
    if what & 1 != 0 {
        mm.drop_pagecache();
    }
    if what & 2 != 0 {
        mm.drop_slab();
    }
}
