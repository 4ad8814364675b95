//! The files of /proc, and of /sys about nodes, that show the allocator and address spaces, rendered byte for byte as Linux lays them out.
//!
//! Values come from engine state alone. Counters of mechanisms the engine does not have are left out; where readers expect
//! every field, in `meminfo` and `smaps`, they are 0, which is what such a machine would show. Layout: the kernel's `proc(5)`
//! files as printed by 6.x, fields of huge pages being those of the release; a `CMA` column appears on machines with contiguous
//! memory areas, as on kernels built with them.

mod buddyinfo;
mod meminfo;
mod node;
mod numa_maps;
mod pagetypeinfo;
mod slabinfo;
mod smaps;
mod status;
mod vmstat;
mod zoneinfo;

use core::fmt::{Result, Write};

use order9_units::Migratetype;

use crate::Mm;
use crate::trace::Tracer;
use crate::zone::Zone;

/// A line of `meminfo` or `smaps`: `name`, a colon, and `value` aligned to the right.
fn labelled(out: &mut impl Write, name: &str, value: u64, unit: &str) -> Result {
    let blanks = 15usize.saturating_sub(name.len());
    writeln!(out, "{name}:{:blanks$}{value:>8}{unit}", "")
}

impl<T: Tracer> Mm<T> {
    /// Zones that have frames, in the order of the files: by node, lowest zone first.
    fn populated(&self) -> impl Iterator<Item = &Zone> {
        (0..self.nodes.len()).flat_map(move |node| {
            let of_node = move |zone: &&Zone| zone.node.index() == node && zone.present > 0;
            let mut zones: [Option<&Zone>; order9_units::ZoneKind::COUNT] = [None; order9_units::ZoneKind::COUNT];
            self.zones.iter().filter(of_node).for_each(|zone| zones[zone.kind.index()] = Some(zone));
            zones.into_iter().flatten()
        })
    }

    /// Types that have a column or row.
    fn shown_types(&self) -> impl Iterator<Item = Migratetype> {
        let has_cma = self.blocks.iter().any(|block| block.migratetype == Migratetype::Cma);
        Migratetype::ALL.into_iter().filter(move |&mt| mt != Migratetype::Cma || has_cma)
    }
}
