//! /proc/slabinfo: every slab cache.

use core::fmt::{Result, Write};

use crate::Mm;
use crate::trace::Tracer;

impl<T: Tracer> Mm<T> {
    /// Writes /proc/slabinfo in format 2.1 as SLUB fills it: tunables are 0, and every slab counts as active. The newest
    /// cache comes first.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn render_slabinfo(&self, out: &mut impl Write) -> Result {
        writeln!(out, "slabinfo - version: 2.1")?;
        write!(out, "# name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab>")?;
        write!(out, " : tunables <limit> <batchcount> <sharedfactor>")?;
        writeln!(out, " : slabdata <active_slabs> <num_slabs> <sharedavail>")?;
        self.slab.caches.iter().rev().try_for_each(|cache| {
            let room: u64 = cache.slabs().map(|(_, slab)| cache.capacity(slab.order)).sum();
            let (spec, slabs) = (&cache.spec, cache.slab_count());
            write!(out, "{:<17} {:>6} {room:>6} {:>6}", spec.name, cache.objects(), spec.object_size.get())?;
            write!(out, " {:>4} {:>4} : tunables    0    0    0", cache.per_slab, spec.order.pages().get())?;
            writeln!(out, " : slabdata {slabs:>6} {slabs:>6}      0")
        })
    }
}
