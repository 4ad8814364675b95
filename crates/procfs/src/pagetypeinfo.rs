//! /proc/pagetypeinfo: free blocks by type, and pageblocks by type.

use core::fmt::{Result, Write};

use order9_mm::{Mm, Zone};
use order9_units::{Migratetype, Order};

use super::{populated, shown_types};

/// The kernel stops counting a list here, since 5.4: holding the zone lock for longer lists stalled machines.
const LIST_SHOWN_MAX: u32 = 100_000;

/// Writes /proc/pagetypeinfo.
///
/// # Errors
/// Those of `out`.
pub fn render_pagetypeinfo(mm: &Mm, out: &mut impl Write) -> Result {
    writeln!(out, "Page block order: {}", Order::PAGEBLOCK)?;
    writeln!(out, "Pages per block:  {}\n", Order::PAGEBLOCK.pages().get())?;
    write!(out, "{:<43} ", "Free pages count per migrate type at order")?;
    for order in Order::all() {
        write!(out, "{:>6} ", order.get())?;
    }
    out.write_char('\n')?;
    for zone in populated(mm) {
        for mt in shown_types(mm) {
            render_lists(out, zone, mt)?;
        }
    }
    render_blocks(mm, out)
}

fn render_lists(out: &mut impl Write, zone: &Zone, mt: Migratetype) -> Result {
    write!(out, "Node {:>4}, zone {:>8}, type {mt:>12} ", zone.node().0, zone.kind())?;
    for area in zone.areas() {
        match area.blocks[mt.index()] {
            blocks if blocks >= LIST_SHOWN_MAX => write!(out, ">{LIST_SHOWN_MAX:>6} ")?,
            blocks => write!(out, "{blocks:>6} ")?,
        }
    }
    out.write_char('\n')
}

fn render_blocks(mm: &Mm, out: &mut impl Write) -> Result {
    write!(out, "\n{:<23}", "Number of blocks type ")?;
    for mt in shown_types(mm) {
        write!(out, "{mt:>12} ")?;
    }
    out.write_char('\n')?;
    for zone in populated(mm) {
        let blocks = mm.phys().pageblocks_by_type(zone.id());
        write!(out, "Node {}, zone {:>8} ", zone.node(), zone.kind())?;
        for mt in shown_types(mm) {
            write!(out, "{:>12} ", blocks[mt.index()])?;
        }
        out.write_char('\n')?;
    }
    Ok(())
}
