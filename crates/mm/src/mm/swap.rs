//! Swap space.

use order9_units::Pages;

use crate::Mm;
use crate::swap::SwapWrite;

impl Mm {
    /// Adds swap space on a disk without moving parts, where huge pages have room in one piece if the policy has it so.
    ///
    /// # Panics
    /// Beyond `SWAP_MAX` in all.
    pub fn swapon_solid_state(&mut self, slots: Pages) {
        self.pages.swap.swapon_solid_state(slots, &self.phys);
    }

    /// Adds swap space that is memory, as of zram: a page that goes there is free in the same pass of reclaim. Its write is among those of the
    /// run all the same, for the time that it takes.
    ///
    /// # Panics
    /// Beyond `SWAP_MAX` in all.
    pub fn swapon_in_memory(&mut self, slots: Pages) {
        self.pages.swap.swapon_in_memory(slots, &self.phys);
    }

    /// Ends a write: the page is the oldest of its list now, if reclaim still waits for it. A write to memory has ended before.
    ///
    /// # Panics
    /// If the page is not being written there.
    pub fn swap_written(&mut self, write: SwapWrite, cpu: usize) {
        self.pages.swap_written(write, cpu, &mut self.phys);
    }
}
