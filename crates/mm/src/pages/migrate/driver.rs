//! Movable pages of drivers, such as those that a balloon has taken or that hold compressed swap: they are on no LRU list, and
//! the driver that has one decides whether it moves (Linux' `movable_operations`).
//!
//! A page that is movable and that no driver has registered is one of a machine whose programs are not known; it moves.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;

use order9_frames::{Flag, FreeError, Idx, Verdict, require};
use order9_units::Pfn;

use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::Owner;

/// A movable page of a driver; it keeps the number when it moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DriverPageId(u32);

/// Answer of a driver whose page is to move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DriverAnswer {
    /// The page moves.
    #[default]
    Moves,
    /// Not now (`EAGAIN`).
    Busy,
    /// Not at all (`EBUSY`), though it lets the page be isolated.
    Refuses,
    /// The driver does not even let the page be isolated.
    Keeps,
}

#[derive(Clone, Copy)]
struct DriverPage {
    idx: Idx,
    answer: DriverAnswer,
}

/// All of them.
#[derive(Clone, Default)]
pub struct DriverPages {
    /// By number; `None` once it is released.
    pages: Vec<Option<DriverPage>>,
    by_frame: BTreeMap<u32, DriverPageId>,
}

impl DriverPages {
    fn get(&self, id: DriverPageId) -> Option<DriverPage> {
        self.pages.get(id.0 as usize).copied().flatten()
    }

    /// Answer of the driver for the page in `idx`; `None` if no driver has registered it.
    pub(crate) fn answer(&self, idx: Idx) -> Option<DriverAnswer> {
        let id = self.by_frame.get(&idx.0)?;
        self.get(*id).map(|page| page.answer)
    }

    pub(super) fn relocate(&mut self, from: Idx, to: Idx) {
        if let Some(id) = self.by_frame.remove(&from.0) {
            self.by_frame.insert(to.0, id);
            self.pages[id.0 as usize].as_mut().expect("it is registered").idx = to;
        }
    }
}

impl UsedPages {
    /// Registers the allocation at `pfn`, a single page that nobody owns, as a movable one of a driver, which from now on
    /// knows it by number. It ends with [`Mm::release_driver_page`].
    pub(crate) fn register_driver_page(&mut self, pfn: Pfn, phys: &mut PhysMem) -> Result<DriverPageId, FreeError> {
        let (idx, word) = phys.frames.live(pfn)?;
        if word.has(Flag::Owned) || word.frames() > 1 || self.drivers.answer(idx).is_some() {
            return Err(FreeError::Owned(pfn));
        }
        self.rmap.make_room(phys.frames.table().len());
        phys.frames.set(idx, word.with(Flag::MovableContent, true));
        let id = DriverPageId(self.drivers.pages.len() as u32);
        self.drivers.pages.push(Some(DriverPage { idx, answer: DriverAnswer::default() }));
        self.drivers.by_frame.insert(idx.0, id);
        Ok(id)
    }

    /// The driver no longer needs its page: it is freed on behalf of `cpu`, or when nobody isolates or pins it any more. Says
    /// whether it was there.
    pub(crate) fn release_driver_page(&mut self, id: DriverPageId, cpu: usize, phys: &mut PhysMem) -> bool {
        let Some(page) = self.drivers.pages.get_mut(id.0 as usize).and_then(Option::take) else { return false };
        self.drivers.by_frame.remove(&page.idx.0);
        let word = phys.frames.word(page.idx).with(Flag::MovableContent, false);
        phys.frames.set(page.idx, word);
        self.rmap.adopt(page.idx, Owner::Kept, phys);
        self.disown(page.idx, cpu, phys);
        true
    }
}

impl DriverPages {
    /// Place of a driver's page; `None` once it is released.
    #[must_use]
    pub fn driver_page(&self, id: DriverPageId, phys: &PhysMem) -> Option<Pfn> {
        self.get(id).map(|page| phys.frames.pfn(page.idx))
    }

    /// Says what the driver answers from now on when the page is to move. Of a page that is released nothing is asked any more.
    pub fn set_driver_answer(&mut self, id: DriverPageId, answer: DriverAnswer) {
        if let Some(Some(page)) = self.pages.get_mut(id.0 as usize) {
            page.answer = answer;
        }
    }

    /// Every registered page is allocated, movable, and nobody else's.
    pub(crate) fn check_driver_pages(&self, phys: &PhysMem) -> Verdict {
        for &frame in self.by_frame.keys() {
            let word = phys.frames.word(Idx(frame));
            let fits = word.is_allocated() && word.has(Flag::MovableContent) && !word.has(Flag::Owned);
            require(fits, "a page of a driver is movable and no other's", || {
                format!("{:?} is {:?}", phys.frames.pfn(Idx(frame)), word.state())
            })?;
        }
        Ok(())
    }
}
