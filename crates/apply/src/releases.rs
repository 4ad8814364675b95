//! Releases of Linux in which settings came, and in which their ranges grew. Sources: Documentation/ABI,
//! admin-guide/sysctl/vm.rst and admin-guide/mm/transhuge.rst of these releases; docs/settings.md.

use std::fmt;

use crate::target::of_2_mib;

/// A release of Linux: the two numbers that say what it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release(u16, u16);

/// Settings by the release in which their files came. A name that ends in `/` stands for all that begin so.
const CAME: &[(&str, Release)] = &[
    ("kernel.numa_balancing", Release(3, 13)),
    ("vm.admin_reserve_kbytes", Release(3, 10)),
    ("vm.compact_unevictable_allowed", Release(4, 1)),
    ("vm.compaction_proactiveness", Release(5, 9)),
    ("vm.defrag_mode", Release(6, 15)),
    ("vm.numa_stat", Release(4, 15)),
    ("vm.overcommit_kbytes", Release(3, 14)),
    ("vm.percpu_pagelist_high_fraction", Release(5, 14)),
    ("vm.user_reserve_kbytes", Release(3, 10)),
    ("vm.watermark_boost_factor", Release(5, 0)),
    ("vm.watermark_scale_factor", Release(4, 6)),
    ("numa_balancing/", Release(5, 13)),
    ("mempolicy/weighted_interleave/auto", Release(6, 16)),
    ("mempolicy/weighted_interleave/node0", Release(6, 9)),
    ("thp/hugepages-2048kB/enabled", Release(6, 8)),
    ("thp/hugepages-2048kB/shmem_enabled", Release(6, 11)),
    ("thp/khugepaged/max_ptes_shared", Release(5, 8)),
    ("thp/khugepaged/max_ptes_swap", Release(4, 8)),
    ("thp/shmem_enabled", Release(4, 8)),
    ("thp/shrink_underused", Release(6, 12)),
];

/// Settings that took less up to a release: the first release of today's range, and the largest value before it.
const GREW: &[(&str, Release, i64)] =
    &[("vm.swappiness", Release(5, 8), 100), ("vm.watermark_scale_factor", Release(5, 17), 1000)];

impl Release {
    /// The release that the kernel calls itself by.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split(|c: char| !c.is_ascii_digit());
        Some(Self(numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
    }

    /// The first release whose command line takes every sysctl, as `sysctl.vm.swappiness=`.
    pub(crate) const SYSCTL_PARAMETERS: Self = Self(5, 8);
}

/// The release with which the setting called `name` came, where that is known.
pub(crate) fn came(name: &str) -> Option<Release> {
    let name = of_2_mib(name);
    let is_named = |pattern: &str| pattern == name || pattern.ends_with('/') && name.starts_with(pattern);
    CAME.iter().find(|(pattern, _)| is_named(pattern)).map(|&(_, release)| release)
}

/// The largest value that the setting took in `release`, where that was less than today.
pub(crate) fn largest(name: &str, release: Release) -> Option<i64> {
    let row = GREW.iter().find(|(of, grew, _)| *of == name && release < *grew);
    row.map(|&(_, _, largest)| largest)
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

#[cfg(test)]
mod tests {
    use order9_procfs::sysctl::Setting;

    use super::*;

    #[test]
    fn releases_are_read_and_compared_by_their_numbers() {
        assert_eq!(Release::parse("6.12.9-amd64"), Some(Release(6, 12)));
        assert_eq!(Release::parse("7.2-rc1"), Some(Release(7, 2)));
        assert_eq!(Release::parse("unknown"), None);
        assert!(Release(5, 9) < Release(5, 10));
        assert_eq!(largest("vm.swappiness", Release(5, 7)), Some(100));
        assert_eq!(largest("vm.swappiness", Release(5, 8)), None);
    }

    #[test]
    fn every_name_is_a_setting() {
        let names = CAME.iter().map(|(name, _)| *name).chain(GREW.iter().map(|(name, ..)| *name));
        for name in names.filter(|name| !name.ends_with('/')) {
            assert_eq!(Setting::find(name).map(|setting| setting.name), Some(name));
        }
        assert_eq!(came("numa_balancing/scan_size_mb"), Some(Release(5, 13)));
        assert_eq!(came("thp/hugepages-64kB/enabled"), Some(Release(6, 8)));
    }
}
