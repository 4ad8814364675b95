//! Text from and to the engine: files of /proc and /sys about memory, byte for byte as Linux lays them out, settings by their
//! names in Linux, options of mounts, and the kernel's command line.
//!
//! Key types and functions: [`sysctl::read`] and [`sysctl::write`], [`CommandLine`](command_line::CommandLine), and functions that
//! take the engine and a place to write to: [`render_vmstat`], [`render_smaps`] and so on. [`vmstat`], [`meminfo`] and
//! [`node_meminfo`] are the same as names and values. Values come from public views of [`Mm`] alone; the engine itself knows no
//! text, and nothing here changes it but by its typed setters. Counters of mechanisms the engine does not have are left out; where readers expect every field, in `meminfo` and
//! `smaps`, they are 0, which is what such a machine would show. Layout: the kernel's `proc(5)` files as printed by 6.x, fields
//! of huge pages being those of the release; a `CMA` column appears on machines with contiguous memory areas, as on kernels
//! built with them.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod buddyinfo;
mod by_kind;
pub mod command_line;
mod meminfo;
mod memparse;
mod node;
mod numa_maps;
mod pagetypeinfo;
mod slabinfo;
mod smaps;
mod status;
pub mod sysctl;
mod tmpfs;
mod vmstat;
mod words;
mod zoneinfo;

use core::fmt::{Result, Write};

use order9_mm::{Mm, Zone};
use order9_units::{Migratetype, NodeId, ZoneKind};

pub use buddyinfo::render_buddyinfo;
pub use meminfo::{meminfo, render_meminfo};
pub use node::{
    node_meminfo, render_node_cpulist, render_node_distance, render_node_meminfo, render_node_vmstat, render_numastat,
};
pub use numa_maps::render_numa_maps;
pub use pagetypeinfo::render_pagetypeinfo;
pub use slabinfo::render_slabinfo;
pub use smaps::{render_smaps, render_smaps_rollup};
pub use status::render_status;
pub use tmpfs::tmpfs_options;
pub use vmstat::{Field, render_vmstat, vmstat, vmstat_fields};
pub use words::Words;
pub use zoneinfo::render_zoneinfo;

/// A line of `meminfo` or `smaps`: `name`, a colon, and `value` aligned to the right.
fn labelled(out: &mut impl Write, name: &str, value: u64, unit: &str) -> Result {
    let blanks = 15usize.saturating_sub(name.len());
    writeln!(out, "{name}:{:blanks$}{value:>8}{unit}", "")
}

/// Zones of a node.
fn zones_of(mm: &Mm, node: NodeId) -> impl Iterator<Item = &Zone> {
    mm.frames().zones().iter().filter(move |zone| zone.node() == node)
}

/// Zones that have frames, in the order of the files: by node, lowest zone first.
fn populated(mm: &Mm) -> impl Iterator<Item = &Zone> {
    mm.frames().nodes().flat_map(move |node| {
        let mut zones: [Option<&Zone>; ZoneKind::COUNT] = [None; ZoneKind::COUNT];
        let of_node = zones_of(mm, node).filter(|zone| zone.present() > 0);
        of_node.for_each(|zone| zones[zone.kind().index()] = Some(zone));
        zones.into_iter().flatten()
    })
}

/// Types that have a column or row.
fn shown_types(mm: &Mm) -> impl Iterator<Item = Migratetype> {
    let has_cma = mm.frames().zones().iter().any(|zone| mm.phys().cma_pages(zone.id()) > 0);
    Migratetype::ALL.into_iter().filter(move |&mt| mt != Migratetype::Cma || has_cma)
}
