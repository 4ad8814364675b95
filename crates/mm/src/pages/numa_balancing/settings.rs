//! Settings of NUMA balancing by the administrator. Linux' Documentation/scheduler/sched-debug.rst and
//! admin-guide/sysctl/kernel.rst.

use crate::numa_balancing::NumaBalancing;
use crate::phys::PhysMem;

impl PhysMem {
    /// Whether `kernel.numa_balancing` is on.
    #[must_use]
    pub const fn numa_balancing(&self) -> bool {
        self.settings.numa_balancing.on
    }
}

impl NumaBalancing {
    /// Whether `kernel.numa_balancing` has ever been on.
    #[must_use]
    pub fn numa_balancing_was_on(&self) -> bool {
        self.was_on()
    }

    /// Sets `kernel.numa_balancing`. Accesses that are away when it is switched off come back one by one.
    pub(crate) fn set_numa_balancing(&mut self, on: bool, phys: &mut PhysMem) {
        phys.settings.numa_balancing.on = on;
        if on {
            self.make_room(phys.frames.table().len(), phys.frames.nodes().len());
        }
    }
}
