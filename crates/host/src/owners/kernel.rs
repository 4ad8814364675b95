//! Memory of the kernel by its users: caches of /proc/slabinfo, callers of /proc/vmallocinfo with their drivers.

use std::collections::BTreeMap;
use std::fs;

use order9_snapshot::owners::{KernelUse, KernelUseKind};
use order9_units::Pages;

/// Users of each kind that are named.
const NAMED: usize = 16;

/// The largest users in the kernel, as far as the files can be read.
pub(super) fn largest() -> Vec<KernelUse> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let mut largest = first(KernelUseKind::Slab, slab_caches(&read("/proc/slabinfo")));
    largest.extend(first(KernelUseKind::Vmalloc, vmalloc_callers(&read("/proc/vmallocinfo"))));
    largest.sort_by_key(|of| std::cmp::Reverse(of.pages));
    largest
}

fn first(kind: KernelUseKind, by_name: BTreeMap<String, u64>) -> Vec<KernelUse> {
    let mut all: Vec<(String, u64)> = by_name.into_iter().filter(|(_, pages)| *pages > 0).collect();
    all.sort_by_key(|(_, pages)| std::cmp::Reverse(*pages));
    all.into_iter().take(NAMED).map(|(name, pages)| KernelUse { name, kind, pages: Pages::new(pages) }).collect()
}

/// Pages of each cache: its slabs times the pages of one.
fn slab_caches(text: &str) -> BTreeMap<String, u64> {
    let pages = |line: &str| {
        let (objects, rest) = line.split_once(" : tunables")?;
        let mut words = objects.split_whitespace();
        let name = words.next()?.to_owned();
        let of_slab: u64 = words.nth(4)?.parse().ok()?;
        let slabs: u64 = rest.split_once("slabdata")?.1.split_whitespace().nth(1)?.parse().ok()?;
        Some((name, of_slab.checked_mul(slabs)?))
    };
    text.lines().filter_map(pages).collect()
}

/// Pages of each caller. `pages=` is on those lines alone that have pages of their own.
fn vmalloc_callers(text: &str) -> BTreeMap<String, u64> {
    let mut callers = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.split_whitespace().skip(2);
        let Some(function) = words.next().and_then(|word| word.split('+').next()) else { continue };
        let rest: Vec<&str> = words.collect();
        let driver = rest.first().filter(|word| word.starts_with('[')).map(|word| format!(" {word}"));
        let pages = rest.iter().find_map(|word| word.strip_prefix("pages=")?.parse::<u64>().ok());
        let name = format!("{function}{}", driver.unwrap_or_default());
        let sum: &mut u64 = callers.entry(name).or_default();
        *sum = sum.saturating_add(pages.unwrap_or(0));
    }
    callers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_have_the_pages_of_their_slabs() {
        let text = "slabinfo - version: 2.1\n# name <active_objs> : tunables <limit> : slabdata <active_slabs> <num_slabs>\n\
                    dentry 40 42 192 21 1 : tunables 0 0 0 : slabdata 2 2 0\n\
                    xfs_inode 64 64 1024 32 8 : tunables 0 0 0 : slabdata 2 3 0\n";
        let caches = slab_caches(text);
        assert_eq!((caches["dentry"], caches["xfs_inode"], caches.len()), (2, 24, 2));
    }

    #[test]
    fn callers_are_named_with_their_drivers() {
        let text = "0x1-0x2 20480 bpf_prog_alloc+0x2a/0x90 pages=4 vmalloc N0=4\n\
                    0x2-0x3 8192 acpi_os_map_iomem+0x1bc/0x1e0 phys=0x00000000000a0000 ioremap\n\
                    0x3-0x4 69632 nv_alloc+0x10/0x20 [nvidia] pages=16 vmalloc\n\
                    0x4-0x5 20480 bpf_prog_alloc+0x2a/0x90 pages=5 vmalloc\nnonsense\n";
        let callers = vmalloc_callers(text);
        assert_eq!((callers["bpf_prog_alloc"], callers["nv_alloc [nvidia]"]), (9, 16));
        let named = first(KernelUseKind::Vmalloc, callers);
        assert_eq!(named.iter().map(|of| of.pages.get()).collect::<Vec<_>>(), [16, 9]);
    }
}
