//! Operations on a file of tmpfs, which all programs share, and on its huge pages.

use order9_mm::space::{Backing, Madvise, MmapRequest, Place};
use order9_mm::{Gfp, ShmemHuge, ShmemPage, TmpfsOptions, TmpfsSize, alloc_pages};
use order9_units::{Nanos, Pages};

use super::{HUGE, PAGES, World, at, pages};
use crate::nodes::Choices;

/// Pages of the file: two huge ones, and part of a third.
pub(super) const FILE: u64 = 2 * HUGE + 100;

/// Sizes of the mount.
pub(super) const SIZES: u64 = 4;

/// One of them, which has room for part of the file or all of it.
pub(super) fn size(choice: u64) -> TmpfsSize {
    let pages = [HUGE / 4, HUGE + 100, FILE - 10, 2 * FILE][choice as usize];
    TmpfsSize::Bytes(Pages::new(pages).bytes())
}

impl<C: Choices> World<C> {
    pub(super) fn step_on_file(&mut self) {
        match self.below(6) {
            0 | 1 => self.map_file(),
            2 => self.change_file(),
            3 => self.call_on_file(),
            4 => self.remount(),
            _ => self.advise(Madvise::Remove),
        }
    }

    /// Maps part of the file, at addresses that are congruent to it or not.
    fn map_file(&mut self) {
        let (space, shift) = (self.space(), self.below(4) / 3);
        let (first, offset) = (self.below(4) * HUGE, self.below(2) * HUGE + shift);
        let count = [HUGE, HUGE / 2, 2 * HUGE][self.below(3) as usize].min(PAGES - first);
        let shared = self.below(3) > 0;
        let backing = Backing::File { file: self.file, offset: Pages::new(offset), shared };
        let request = MmapRequest { place: Place::Fixed(at(first)), backing, ..MmapRequest::anon(pages(count)) };
        let _cuts_a_pool_page = self.with(|mm| mm.mmap(space, &request, self.cpu()));
    }

    /// Truncates the file, lets it grow again, or punches a hole.
    fn change_file(&mut self) {
        let (file, index) = (self.file, self.below(FILE));
        let (grain, count) = [(1, 1), (1, 40), (HUGE, HUGE), (HUGE, FILE)][self.below(4) as usize];
        let done = match self.below(4) {
            0 => self.with(|mm| mm.truncate(file, Pages::new(index), self.cpu())),
            1 => self.with(|mm| mm.truncate(file, Pages::new(FILE), self.cpu())),
            _ => self.with(|mm| mm.punch_hole(file, index / grain * grain, Pages::new(count), self.cpu())),
        };
        done.expect("the file is open");
    }

    /// A system call writes a page, or many.
    fn call_on_file(&mut self) {
        let (first, count) = (self.below(FILE), [1, 1, 200][self.below(3) as usize]);
        (first..FILE.min(first + count)).for_each(|index| self.write_page(index));
    }

    fn write_page(&mut self, index: u64) {
        let file = self.file;
        match self.with(|mm| mm.shmem_page(file, index)) {
            ShmemPage::Present(_) => {}
            ShmemPage::Swapped(slot) => {
                let Some(page) = self.page(Gfp::GFP_HIGHUSER_MOVABLE) else { return };
                self.with(|mm| mm.shmem_swap_in(file, index, slot, page, self.cpu()));
            }
            ShmemPage::Hole => self.fill_hole(index),
        }
        self.with(|mm| {
            if let ShmemPage::Present(_) = mm.shmem_page(file, index) {
                mm.write_page(file, index, Nanos::ZERO);
            }
        });
    }

    fn fill_hole(&mut self, index: u64) {
        let space = self.space();
        let Ok(mut hole) = self.with(|mm| mm.shmem_hole(space, self.file, index, self.cpu())) else {
            self.full += 1;
            return;
        };
        let page = loop {
            let request = self.with(|mm| mm.pages().hole_request(space, &hole, self.cpu(), mm.phys()));
            match self.machine.run(alloc_pages(&self.machine, &request)) {
                Ok(page) => break page,
                Err(_) if hole.may_be_refused() => hole = self.with(|mm| mm.shmem_refused(&hole)),
                Err(_) => return,
            }
        };
        self.with(|mm| {
            if mm.fill_shmem_hole(&hole, page, self.cpu()).is_err() {
                mm.free(page, self.cpu()).expect("it was just allocated");
            }
        });
    }

    /// Most of the time the mount has huge pages, and it may get larger or smaller, but not than what it holds.
    fn remount(&mut self) {
        let huge = [ShmemHuge::Never, ShmemHuge::Always, ShmemHuge::WithinSize, ShmemHuge::Always];
        let options = TmpfsOptions::from(huge[self.below(4) as usize]);
        let size = size(self.below(SIZES));
        self.with(|mm| {
            mm.remount_tmpfs(self.mount, options).expect("it exists");
            let _holds_more = mm.remount_tmpfs(self.mount, size);
        });
    }
}
