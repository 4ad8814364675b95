//! Settings and statistics of huge pages by size: the folders `transparent_hugepage/hugepages-*kB`.

use order9_mm::thp::{HugeSize, SizeEnabled, SizeShmemEnabled, SizeStat};

use super::Access::{ReadOnly, ReadWrite};
use super::table::thp;
use super::{Knob, Model, Setting, Values};
use crate::Words;

/// Files of a folder.
const FILES: usize = 19;
/// Shared memory has pages of 2 MiB and base pages.
const SHMEM_SIZE: Model = Model::Missing("shared memory in pages between 4 kB and 2 MiB");

/// Size of pages that a folder is named for.
const fn size(kib: u64) -> HugeSize {
    HugeSize::of_kib(kib).expect("there are huge pages of this size")
}

/// A statistic: size, file, unit, statistic, meaning.
macro_rules! stat {
    ($kib:literal, $file:literal, $unit:literal, $of:expr, $meaning:literal) => {
        thp!(
            "hugepages-" $kib "kB/stats/" $file,
            ReadOnly,
            Values::Number { min: 0, max: i64::MAX },
            $unit,
            "0",
            Model::Engine(Knob::ThpSizeStat(size($kib), $of)),
            $meaning
        )
    };
}

/// Files of a folder: size, model of `shmem_enabled`, default of `enabled`, default of `shmem_enabled`.
#[rustfmt::skip]
macro_rules! folder {
    ($kib:literal, $shmem:expr, $enabled:literal, $shmem_enabled:literal) => {
        [
            thp!("hugepages-" $kib "kB/enabled", ReadWrite, Values::Words(&SizeEnabled::WORDS), "", $enabled,
                Model::Engine(Knob::ThpSizeEnabled(size($kib))),
                "Which mappings get pages of this size; inherit is by thp/enabled"),
            thp!("hugepages-" $kib "kB/shmem_enabled", ReadWrite, Values::Words(SizeShmemEnabled::WORDS), "", $shmem_enabled, $shmem,
                "Which shared anonymous memory and memfds get pages of this size; inherit is by thp/shmem_enabled"),
            stat!($kib, "anon_fault_alloc", "faults", Some(SizeStat::AnonFaultAlloc), "Faults that got a huge page"),
            stat!($kib, "anon_fault_fallback", "faults", Some(SizeStat::AnonFaultFallback), "Faults that might have had one and got none"),
            stat!($kib, "anon_fault_fallback_charge", "faults", None, "Fallbacks because a memory cgroup was full; there are none here"),
            stat!($kib, "nr_anon", "huge pages", Some(SizeStat::NrAnon), "Anonymous huge pages there are, whether huge or single entries show them"),
            stat!($kib, "nr_anon_partially_mapped", "huge pages", Some(SizeStat::NrAnonPartiallyMapped), "Anonymous huge pages with unmapped base pages"),
            stat!($kib, "shmem_alloc", "huge pages", Some(SizeStat::ShmemAlloc), "Huge pages added to tmpfs and shared memory by faults and system calls"),
            stat!($kib, "shmem_fallback", "times", Some(SizeStat::ShmemFallback), "Times that there was none for that"),
            stat!($kib, "shmem_fallback_charge", "times", None, "Fallbacks because a memory cgroup was full; there are none here"),
            stat!($kib, "split", "huge pages", Some(SizeStat::Split), "Huge pages split into base pages"),
            stat!($kib, "split_deferred", "huge pages", Some(SizeStat::SplitDeferred), "Huge pages that wait for their split since nobody maps some base pages"),
            stat!($kib, "split_failed", "huge pages", Some(SizeStat::SplitFailed), "Huge pages that could not be split"),
            stat!($kib, "swpin", "huge pages", None, "Huge pages read from swap in one piece; here base pages are"),
            stat!($kib, "swpin_fallback", "times", None, "Times that such a page could not be had"),
            stat!($kib, "swpin_fallback_charge", "times", None, "Fallbacks because a memory cgroup was full"),
            stat!($kib, "swpout", "huge pages", Some(SizeStat::Swpout), "Huge pages written to swap in one piece"),
            stat!($kib, "swpout_fallback", "huge pages", Some(SizeStat::SwpoutFallback), "Huge pages split since swap had no room in one piece"),
            stat!($kib, "zswpout", "huge pages", None, "Huge pages compressed into zswap, which there is none of"),
        ]
    };
}

/// The folders, in the order of paths.
pub(super) static SIZES: [[Setting; FILES]; HugeSize::COUNT] = [
    folder!(1024, SHMEM_SIZE, "never", "never"),
    folder!(128, SHMEM_SIZE, "never", "never"),
    folder!(16, SHMEM_SIZE, "never", "never"),
    folder!(2048, Model::Engine(Knob::ThpSizeShmemEnabled), "inherit", "inherit"),
    folder!(256, SHMEM_SIZE, "never", "never"),
    folder!(32, SHMEM_SIZE, "never", "never"),
    folder!(512, SHMEM_SIZE, "never", "never"),
    folder!(64, SHMEM_SIZE, "never", "never"),
];
