//! Pages that somebody names are gathered in a free block.

use alloc::vec::Vec;

use order9_frames::{Flag, Idx, IsolateError, Word};
use order9_units::{Order, Pfn};

use crate::pages::UsedPages;
use crate::pages::migrate::DriverAnswer;
use crate::phys::PhysMem;

impl PhysMem {
    /// Takes the free block at `pfn` off the free lists, as single frames, the lowest last.
    pub(crate) fn hold_frames(&mut self, pfn: Pfn) -> Result<Vec<Idx>, IsolateError> {
        let order = self.frames.isolate_free_block(pfn, false)?;
        let first = self.frames.at(pfn);
        let frames = (0..order.pages().get() as u32).rev().map(|frame| first.plus(frame));
        Ok(frames.inspect(|&idx| self.frames.set(idx, Word::held(Order::ZERO))).collect())
    }

    pub(crate) fn release_held(&mut self, idx: Idx) {
        self.frames.release_free_block(self.frames.pfn(idx)).expect("it is held");
    }
}

impl UsedPages {
    /// Isolates the single page at `pfn`, if it is one that can be moved and is not isolated yet.
    pub(crate) fn isolate_movable(&mut self, pfn: Pfn, phys: &mut PhysMem) -> Option<Idx> {
        let (idx, word) = phys.frames.live(pfn).ok()?;
        let fits = word.order() == Order::ZERO && word.has(Flag::MovableContent) && !word.has(Flag::Isolated);
        let allowed = self.drivers.answer(idx) != Some(DriverAnswer::Keeps);
        (fits && allowed).then(|| {
            self.lru.isolate_lru(idx, phys);
            self.lru.count_isolation(idx, phys);
            idx
        })
    }
}
