//! /proc/buddyinfo: free blocks by zone and order.

use core::fmt::{Result, Write};

use crate::Mm;
use crate::trace::Tracer;

impl<T: Tracer> Mm<T> {
    /// Writes /proc/buddyinfo.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn render_buddyinfo(&self, out: &mut impl Write) -> Result {
        for zone in self.populated() {
            write!(out, "Node {}, zone {:>8} ", zone.node, zone.kind)?;
            for area in &zone.areas {
                write!(out, "{:>6} ", area.total())?;
            }
            out.write_char('\n')?;
        }
        Ok(())
    }
}
