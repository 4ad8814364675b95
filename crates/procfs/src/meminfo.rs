//! /proc/meminfo: what the memory of the machine is used for.

use core::fmt::{Result, Write};

use order9_mm::policy::HugeInterface;
use order9_mm::{LruList, Mm, Zone};
use order9_units::{Migratetype, Order, Pages};

use super::labelled;

/// Writes /proc/meminfo with the fields of Linux 6.18, those of huge pages by release; 0 stands where the engine does not have the mechanism.
///
/// # Errors
/// Those of `out`.
pub fn render_meminfo(mm: &Mm, out: &mut impl Write) -> Result {
    meminfo(mm).try_for_each(|(name, value)| match name {
        _ if is_number(name) => labelled(out, name, value, ""),
        _ => labelled(out, name, value, " kB"),
    })
}

/// The fields of /proc/meminfo in the kernel's order, in kB; those called `HugePages_` count huge pages.
///
/// `CmaTotal` and `CmaFree` are there on machines with contiguous memory areas.
pub fn meminfo(mm: &Mm) -> impl Iterator<Item = (&'static str, u64)> {
    let sum = |of: fn(&Zone) -> u64| mm.frames().zones().iter().map(of).sum::<u64>();
    let (managed, free, available) =
        (mm.phys().managed_pages().get(), mm.phys().free_pages().get(), mm.available().get());
    let slab = mm.pages().slab().slab_total();
    let cma: u64 = mm.frames().zones().iter().map(|zone| mm.phys().cma_pages(zone.id())).sum();
    let cma_free = sum(|zone| zone.free_of_type(Migratetype::Cma));
    let pool = mm.pages().hugetlb().hugetlb_pool();
    let (user, pending) = (mm.pages().user_levels(), mm.write_pending(None));
    let lru =
        |list| mm.frames().zones().iter().map(|zone| mm.pages().lru().zone_lru(zone.id()).pages(list)).sum::<u64>();
    let [inactive_anon, active_anon, inactive_file, active_file, unevictable] = LruList::ALL.map(lru);
    let pages = [
        ("MemTotal", managed),
        ("MemFree", free),
        ("MemAvailable", available),
        ("Buffers", 0),
        ("Cached", user.file + user.shmem),
        ("SwapCached", mm.pages().swap().swap_cached().get()),
        ("Active", active_anon + active_file),
        ("Inactive", inactive_anon + inactive_file),
        ("Active(anon)", active_anon),
        ("Inactive(anon)", inactive_anon),
        ("Active(file)", active_file),
        ("Inactive(file)", inactive_file),
        ("Unevictable", unevictable),
        ("Mlocked", mm.mlocked(None)),
        ("SwapTotal", mm.pages().swap().swap_total().get()),
        ("SwapFree", mm.pages().swap().swap_free().get()),
        ("Zswap", 0),
        ("Zswapped", 0),
        ("Dirty", pending.dirty),
        ("Writeback", pending.writeback),
        ("AnonPages", user.anon),
        ("Mapped", user.mapped),
        ("Shmem", user.shmem),
        ("KReclaimable", slab.reclaimable),
        ("Slab", slab.reclaimable + slab.unreclaimable),
        ("SReclaimable", slab.reclaimable),
        ("SUnreclaim", slab.unreclaimable),
        ("KernelStack", 0),
        ("PageTables", user.page_tables),
        ("SecPageTables", 0),
        ("NFS_Unstable", 0),
        ("Bounce", 0),
        ("WritebackTmp", 0),
        ("CommitLimit", 0),
        ("Committed_AS", 0),
        ("VmallocTotal", 0),
        ("VmallocUsed", 0),
        ("VmallocChunk", 0),
        ("Percpu", 0),
        ("AnonHugePages", user.anon_thps * Order::PAGEBLOCK.pages().get()),
        ("ShmemHugePages", user.shmem_thps * Order::PAGEBLOCK.pages().get()),
        ("ShmemPmdMapped", user.shmem_pmdmapped * Order::PAGEBLOCK.pages().get()),
        ("FileHugePages", 0),
        ("FilePmdMapped", 0),
        ("CmaTotal", cma),
        ("CmaFree", cma_free),
        ("Balloon", 0),
        ("HugePages_Total", pool.total),
        ("HugePages_Free", pool.free),
        ("HugePages_Rsvd", pool.reserved),
        ("HugePages_Surp", pool.surplus),
        ("Hugepagesize", Order::PAGEBLOCK.pages().get()),
        ("Hugetlb", pool.total * Order::PAGEBLOCK.pages().get()),
        ("DirectMap4k", 0),
        ("DirectMap2M", 0),
        ("DirectMap1G", 0),
    ];
    let (has_cma, policy) = (cma > 0, &mm.policy().thp);
    let shown = pages.into_iter().filter(move |&(name, _)| match name {
        "CmaTotal" | "CmaFree" => has_cma,
        "ShmemHugePages" | "ShmemPmdMapped" => policy.shmem,
        "FileHugePages" | "FilePmdMapped" => policy.interface >= HugeInterface::File,
        "Hugetlb" => policy.interface >= HugeInterface::HugetlbTotal,
        _ => true,
    });
    shown.map(|(name, pages)| (name, if is_number(name) { pages } else { Pages::new(pages).bytes().get() / 1024 }))
}

fn is_number(name: &str) -> bool {
    name.starts_with("HugePages_")
}
