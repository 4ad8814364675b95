//! /proc/buddyinfo: free blocks by zone and order.

use core::fmt::{Result, Write};

use order9_mm::Mm;

use super::populated;

/// Writes /proc/buddyinfo.
///
/// # Errors
/// Those of `out`.
pub fn render_buddyinfo(mm: &Mm, out: &mut impl Write) -> Result {
    for zone in populated(mm) {
        write!(out, "Node {}, zone {:>8} ", zone.node(), zone.kind())?;
        for area in zone.areas() {
            write!(out, "{:>6} ", area.total())?;
        }
        out.write_char('\n')?;
    }
    Ok(())
}
