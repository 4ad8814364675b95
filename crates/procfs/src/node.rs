//! /sys/devices/system/node/nodeN: meminfo, vmstat and numastat of one node, its CPUs and distances.
//!
//! What the engine counts for the machine alone takes a walk over the frames of the node. Events that Linux counts by node
//! and the engine does not are left out of `vmstat`.

use alloc::vec::Vec;
use core::fmt::{Result, Write};

use order9_units::{Migratetype, NodeId, Order, Pages, write_list};

use order9_mm::policy::HugeInterface;
use order9_mm::{LruList, LruType, Mm, NodeLevels, NumaCounters, Zone};

use super::{labelled, zones_of};
use crate::by_kind::by_list;

/// Fields of a file: names with their values.
type Fields = Vec<(&'static str, u64)>;

/// Writes /sys/devices/system/node/nodeN/meminfo with the fields of Linux 6.18, those of huge pages by release; 0 stands
/// where the engine does not have the mechanism.
///
/// # Errors
/// Those of `out`.
pub fn render_node_meminfo(mm: &Mm, node: NodeId, out: &mut impl Write) -> Result {
    for (name, pages) in node_meminfo(mm, node) {
        write!(out, "Node {node} ")?;
        labelled(out, name, Pages::new(pages).bytes().get() / 1024, " kB")?;
    }
    let pool = mm.pages().hugetlb().hugetlb_pool_of(node);
    for (name, pages) in [("Total:", pool.total), ("Free:", pool.free), ("Surp:", pool.surplus)] {
        writeln!(out, "Node {node} HugePages_{name:<6} {pages:>5}")?;
    }
    Ok(())
}

/// Writes /sys/devices/system/node/nodeN/vmstat as far as the engine counts by node.
///
/// # Errors
/// Those of `out`.
pub fn render_node_vmstat(mm: &Mm, node: NodeId, out: &mut impl Write) -> Result {
    node_vmstat(mm, node).into_iter().try_for_each(|(name, value)| writeln!(out, "{name} {value}"))
}

/// Writes /sys/devices/system/node/nodeN/numastat.
///
/// # Errors
/// Those of `out`.
pub fn render_numastat(mm: &Mm, node: NodeId, out: &mut impl Write) -> Result {
    let NumaCounters { hit, miss, foreign, interleave_hit, local, other } = numa_counters(mm, node);
    for (name, value) in [
        ("numa_hit", hit),
        ("numa_miss", miss),
        ("numa_foreign", foreign),
        ("interleave_hit", interleave_hit),
        ("local_node", local),
        ("other_node", other),
    ] {
        writeln!(out, "{name} {value}")?;
    }
    Ok(())
}

/// Writes /sys/devices/system/node/nodeN/distance: how far each node is, 10 being the node itself.
///
/// # Errors
/// Those of `out`.
pub fn render_node_distance(mm: &Mm, node: NodeId, out: &mut impl Write) -> Result {
    for to in mm.frames().nodes() {
        let blank = if to == NodeId(0) { "" } else { " " };
        write!(out, "{blank}{}", mm.frames().distance(node, to))?;
    }
    out.write_char('\n')
}

/// Writes /sys/devices/system/node/nodeN/cpulist: the CPUs of the node, as ranges.
///
/// # Errors
/// Those of `out`.
pub fn render_node_cpulist(mm: &Mm, node: NodeId, out: &mut impl Write) -> Result {
    let cpus = (0..).zip(mm.frames().cpus()).filter(|&(_, &of)| of == node);
    write_list(out, cpus.map(|(cpu, _)| cpu))?;
    out.write_char('\n')
}

fn numa_counters(mm: &Mm, node: NodeId) -> NumaCounters {
    mm.frames().numa_counters().get(node.index()).copied().unwrap_or_default()
}

/// The fields of a node's meminfo in the kernel's order, in pages, without those of its hugetlb pool.
pub fn node_meminfo(mm: &Mm, node: NodeId) -> impl Iterator<Item = (&'static str, u64)> {
    let sum = |of: fn(&Zone) -> u64| zones_of(mm, node).map(of).sum::<u64>();
    let (managed, free, slab) = (sum(Zone::managed), sum(Zone::free), mm.pages().slab().slab_levels(node));
    let (NodeLevels { user, swap_cached }, pending) = (mm.node_levels(node), mm.write_pending(Some(node)));
    let [inactive_anon, active_anon, inactive_file, active_file, unevictable] =
        LruList::ALL.map(|list| mm.lru_pages(node, list));
    let huge = |count: u64| count * Order::PAGEBLOCK.pages().get();
    let pages = [
        ("MemTotal", managed),
        ("MemFree", free),
        ("MemUsed", managed - free),
        ("SwapCached", swap_cached),
        ("Active", active_anon + active_file),
        ("Inactive", inactive_anon + inactive_file),
        ("Active(anon)", active_anon),
        ("Inactive(anon)", inactive_anon),
        ("Active(file)", active_file),
        ("Inactive(file)", inactive_file),
        ("Unevictable", unevictable),
        ("Mlocked", mm.mlocked(Some(node))),
        ("Dirty", pending.dirty),
        ("Writeback", pending.writeback),
        ("FilePages", user.file + user.shmem + swap_cached),
        ("Mapped", user.mapped),
        ("AnonPages", user.anon),
        ("Shmem", user.shmem),
        ("KernelStack", 0),
        ("PageTables", user.page_tables),
        ("SecPageTables", 0),
        ("NFS_Unstable", 0),
        ("Bounce", 0),
        ("WritebackTmp", 0),
        ("KReclaimable", slab.reclaimable),
        ("Slab", slab.reclaimable + slab.unreclaimable),
        ("SReclaimable", slab.reclaimable),
        ("SUnreclaim", slab.unreclaimable),
        ("AnonHugePages", huge(user.anon_thps)),
        ("ShmemHugePages", huge(user.shmem_thps)),
        ("ShmemPmdMapped", huge(user.shmem_pmdmapped)),
        ("FileHugePages", 0),
        ("FilePmdMapped", 0),
    ];
    let policy = &mm.policy().thp;
    pages.into_iter().filter(move |&(name, _)| match name {
        "ShmemHugePages" | "ShmemPmdMapped" => policy.shmem,
        "FileHugePages" | "FilePmdMapped" => policy.interface >= HugeInterface::File,
        _ => true,
    })
}

/// The fields of a node's vmstat that the engine has, in the kernel's order.
fn node_vmstat(mm: &Mm, node: NodeId) -> Fields {
    let sum = |of: fn(&Zone) -> u64| zones_of(mm, node).map(of).sum::<u64>();
    let isolated = |of| zones_of(mm, node).map(|zone| mm.pages().lru().zone_lru(zone.id()).isolated(of)).sum::<u64>();
    let (pair, lru) = (|name, value| (name, value), |list| mm.lru_pages(node, list));
    let (slab, pending) = (mm.pages().slab().slab_levels(node), mm.write_pending(Some(node)));
    let (NodeLevels { user, swap_cached }, numa) = (mm.node_levels(node), numa_counters(mm, node));
    let mut fields: Fields = Vec::with_capacity(48);
    fields.extend([("nr_free_pages", sum(Zone::free)), ("nr_free_pages_blocks", sum(Zone::free_in_pageblocks))]);
    fields.extend(by_list!(pair, "nr_zone", lru));
    fields.extend([
        ("nr_zone_write_pending", pending.total()),
        ("nr_mlock", mm.mlocked(Some(node))),
        ("nr_free_cma", sum(|zone| zone.free_of_type(Migratetype::Cma))),
        ("numa_hit", numa.hit),
        ("numa_miss", numa.miss),
        ("numa_foreign", numa.foreign),
        ("numa_interleave", numa.interleave_hit),
        ("numa_local", numa.local),
        ("numa_other", numa.other),
    ]);
    fields.extend(by_list!(pair, "nr", lru));
    fields.extend([
        ("nr_slab_reclaimable", slab.reclaimable),
        ("nr_slab_unreclaimable", slab.unreclaimable),
        ("nr_isolated_anon", isolated(LruType::Anon)),
        ("nr_isolated_file", isolated(LruType::File)),
        ("nr_anon_pages", user.anon),
        ("nr_mapped", user.mapped),
        ("nr_file_pages", user.file + user.shmem + swap_cached),
        ("nr_dirty", pending.dirty),
        ("nr_writeback", pending.writeback),
        ("nr_shmem", user.shmem),
        ("nr_shmem_hugepages", user.shmem_thps),
        ("nr_shmem_pmdmapped", user.shmem_pmdmapped),
        ("nr_file_hugepages", 0),
        ("nr_file_pmdmapped", 0),
        ("nr_anon_transparent_hugepages", user.anon_thps),
        ("nr_page_table_pages", user.page_tables),
        ("nr_swapcached", swap_cached),
    ]);
    fields
}
