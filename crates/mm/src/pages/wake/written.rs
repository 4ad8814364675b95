//! Tasks that wait until enough pages of a node are written.

use order9_frames::Idx;
use order9_units::NodeId;

use crate::phys::PhysMem;
use crate::reclaimer::CHUNK;

impl PhysMem {
    pub(crate) fn begin_writeback_wait(&mut self, node: NodeId) {
        let node = &mut self.daemons.reclaimed[node.index()];
        if node.writeback_waiters == 0 {
            node.written_since = 0;
        }
        node.writeback_waiters += 1;
    }

    /// Pages were written: reclaimers that wait for it go on once there is more than a chunk for each.
    pub(crate) fn note_written(&mut self, idx: Idx, pages: u64) {
        let id = self.frames.zones()[self.frames.zone_around(idx).index()].node();
        let node = &mut self.daemons.reclaimed[id.index()];
        if node.writeback_waiters == 0 {
            return;
        }
        node.written_since += pages;
        if node.written_since > CHUNK * node.writeback_waiters {
            self.daemons.wakeups.written |= 1 << id.0;
        }
    }
}
