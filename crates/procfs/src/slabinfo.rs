//! /proc/slabinfo: every slab cache.

use core::fmt::{Result, Write};

use order9_mm::Mm;
use order9_mm::slab::SlabCacheUse;

/// Writes /proc/slabinfo in format 2.1 as SLUB fills it: tunables are 0, and every slab counts as active. The newest
/// cache comes first.
///
/// # Errors
/// Those of `out`.
pub fn render_slabinfo(mm: &Mm, out: &mut impl Write) -> Result {
    writeln!(out, "slabinfo - version: 2.1")?;
    write!(out, "# name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab>")?;
    write!(out, " : tunables <limit> <batchcount> <sharedfactor>")?;
    writeln!(out, " : slabdata <active_slabs> <num_slabs> <sharedavail>")?;
    mm.pages().slab().slab_caches().rev().try_for_each(
        |SlabCacheUse { spec, objects, capacity, objects_per_slab, slabs }| {
            write!(out, "{:<17} {objects:>6} {capacity:>6} {:>6}", spec.name, spec.object_size.get())?;
            write!(out, " {objects_per_slab:>4} {:>4} : tunables    0    0    0", spec.order.pages().get())?;
            writeln!(out, " : slabdata {slabs:>6} {slabs:>6}      0")
        },
    )
}
