//! What happens to pages behind the back of programs: reclaim, writes to swap, pins, isolation.

use order9_mm::SpaceId;
use order9_mm::reclaim::{PageWrite, ReclaimControl, ReclaimStep};
use order9_mm::space::PageView;

use super::{CPU, Pair, addr};

impl Pair {
    pub(super) fn reclaim(&mut self, steps: usize, control: ReclaimControl) {
        let run = self.mm.begin_reclaim(control);
        for zone in 0..self.mm.frames().zones().len() {
            self.mm.begin_lru_pass(run, self.mm.frames().zones()[zone].id());
            for _ in 0..steps {
                if self.mm.reclaim_step(run, CPU) == ReclaimStep::Done {
                    break;
                }
                self.compare();
            }
        }
        self.writes.extend(self.mm.end_reclaim(run).writes);
    }

    pub(super) fn hold(&mut self, id: SpaceId, vpn: u64, isolate: bool) {
        let PageView::Present { pfn, .. } = self.mm.page_at(id, addr(vpn)) else { return };
        if isolate && self.held.contains(&(pfn, true)) {
            return;
        }
        let done = if isolate { self.mm.set_isolated(pfn, true) } else { self.mm.pin(pfn) };
        done.expect("a mapped page is allocated");
        self.held.push((pfn, isolate));
    }

    pub(super) fn end_writes(&mut self, writes: usize) {
        let count = writes.min(self.writes.len());
        for write in self.writes.drain(..count) {
            match write {
                PageWrite::Swap(write) => self.mm.swap_written(write, CPU),
                PageWrite::File(write) => panic!("{write:?} is of no file on disk"),
            }
        }
    }
}
