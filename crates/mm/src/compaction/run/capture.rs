//! Capture: a block of the wanted order that the compacting task itself frees goes to that task, before others can take
//! it.
//!
//! [`Capturing`] is the environment of a task in direct compaction: it watches what each step of the task frees.

use order9_frames::{Class, Flag, Idx, Search, Word};
use order9_units::{Migratetype, Pfn};

use crate::compaction::run::control::CompactControl;
use crate::heard::capture::Capture;
use crate::pages::UsedPages;
use crate::phys::PhysMem;

impl Capture {
    /// Names the block that a run waits for, if the run has got nothing yet.
    pub(crate) fn wanted_by(run: &CompactControl) -> Option<Self> {
        let order = run.order.filter(|_| run.captured.is_none())?;
        Some(Self { zone: run.zone, order })
    }
}

impl PhysMem {
    /// Block that the present step has captured, if any; the caller owns it from now on.
    pub(crate) fn take_captured(&mut self) -> Option<Idx> {
        let caught = self.frames.watch_mut().caught.take();
        self.counters.compact_captured += u64::from(caught.is_some());
        caught
    }
}

impl UsedPages {
    /// Gives the block that a run has captured to the request that the run was for.
    pub(crate) fn hand_out_captured(&self, idx: Idx, search: &Search, phys: &mut PhysMem) -> Pfn {
        let order = search.request.order;
        let word = Word::allocated(order);
        phys.frames.count_out(idx, order, Class::Isolated);
        phys.frames.set(idx, word);
        if search.mt != Migratetype::Movable {
            phys.frames.reflag(idx, Flag::CountedImmovable, true);
        }
        phys.touch(idx, order);
        self.huge.account_alloc(phys.frames.zone_around(idx), search, phys);
        phys.frames.pfn(idx)
    }
}
