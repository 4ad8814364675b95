//! Free lists: placing, merging and splitting blocks.

use order9_mm::policy::ListEnd;
use order9_units::{Migratetype, Pfn};

use super::{Frame, Oracle, PAGEBLOCK, Zone, size};

impl Zone {
    /// Free pages on lists of `mt`.
    pub(crate) fn free_of(&self, mt: Migratetype) -> u64 {
        (0..=10).map(|order| self.lists[order as usize][mt.index()].len() as u64 * size(order)).sum()
    }

    /// `nr_free_pages`: all but what is isolated.
    pub(crate) fn free(&self) -> u64 {
        Migratetype::ALL.into_iter().filter(|&mt| mt != Migratetype::Isolate).map(|mt| self.free_of(mt)).sum()
    }
}

impl Oracle {
    pub(crate) fn frame(&self, pfn: u64) -> Frame {
        pfn.checked_sub(self.base).and_then(|at| self.frames.get(at as usize)).copied().unwrap_or(Frame::Hole)
    }

    /// The nth frame, counting round from the first.
    pub(crate) fn nth_frame(&self, nth: usize) -> Pfn {
        Pfn::new(self.base + (nth % self.frames.len()) as u64)
    }

    /// Gives all frames of a block to `owner`.
    pub(super) fn own(&mut self, first: u64, order: u8, owner: Frame) {
        let at = (first - self.base) as usize;
        self.frames[at..at + size(order) as usize].fill(owner);
    }

    /// Position of the zone whose span holds the frame.
    pub(crate) fn zone_of(&self, pfn: u64) -> Option<usize> {
        self.zones.iter().position(|zone| (zone.start..zone.end).contains(&pfn))
    }

    pub(crate) fn type_of(&self, pfn: u64) -> Migratetype {
        self.types[((pfn - self.base) / PAGEBLOCK) as usize]
    }

    pub(super) fn set_type(&mut self, pfn: u64, mt: Migratetype) {
        self.types[((pfn - self.base) / PAGEBLOCK) as usize] = mt;
    }

    /// Whether a free block of exactly `order` starts here, on a list of zone `z`.
    fn is_free_block(&self, z: usize, pfn: u64, order: u8) -> bool {
        matches!(self.frame(pfn), Frame::Free { first, order: found, .. } if first == pfn && found == order)
            && self.zone_of(pfn) == Some(z)
    }

    /// Puts a block on a list.
    pub(super) fn put(&mut self, z: usize, pfn: u64, order: u8, mt: Migratetype, end: ListEnd) {
        self.own(pfn, order, Frame::Free { first: pfn, order, list: mt });
        let list = &mut self.zones[z].lists[usize::from(order)][mt.index()];
        match end {
            ListEnd::Head => list.push_front(pfn),
            ListEnd::Tail => list.push_back(pfn),
        }
    }

    /// Takes the free block that starts here off its list; its order and the list's type.
    pub(super) fn take_off(&mut self, z: usize, pfn: u64) -> (u8, Migratetype) {
        let Frame::Free { first, order, list } = self.frame(pfn) else { panic!("{pfn:#x} is not free") };
        assert_eq!(first, pfn, "a block is taken at its first frame");
        let blocks = &mut self.zones[z].lists[usize::from(order)][list.index()];
        let at = blocks.iter().position(|&block| block == pfn).expect("a free block is on its list");
        blocks.remove(at);
        (order, list)
    }

    /// Frees a block to the lists of `mt`: merges it upward, then puts it at `end`, or where its neighbours suggest.
    pub(super) fn release(&mut self, pfn: u64, order: u8, mt: Migratetype, end: Option<ListEnd>) {
        let z = self.zone_of(pfn).expect("a freed block lies in a zone");
        let (mut pfn, mut order) = (pfn, order);
        while order < 10 {
            let buddy = pfn ^ size(order);
            if !self.is_free_block(z, buddy, order) || order == 9 && !self.may_join(pfn, buddy) {
                break;
            }
            self.take_off(z, buddy);
            if self.policy.frames.fallback.freelist_hygiene && order == 9 {
                self.set_type(buddy, mt);
            }
            pfn = pfn.min(buddy);
            order += 1;
        }
        let end = end.unwrap_or_else(|| self.natural_end(z, pfn, order));
        self.put(z, pfn, order, mt, end);
    }

    /// Frees a block to the lists of its pageblock's type. Two pageblocks that must not lie on one list go separately.
    pub(super) fn release_to_own_lists(&mut self, pfn: u64, order: u8) {
        let upper = pfn + PAGEBLOCK;
        let apart = |of: &Self| {
            of.type_of(pfn) != of.type_of(upper)
                && (of.policy.frames.fallback.freelist_hygiene || !of.may_join(pfn, upper))
        };
        if order == 10 && apart(self) {
            self.release(pfn, 9, self.type_of(pfn), None);
            self.release(upper, 9, self.type_of(upper), None);
        } else {
            self.release(pfn, order, self.type_of(pfn), None);
        }
    }

    /// Whether two free pageblocks may become one block.
    fn may_join(&self, pfn: u64, buddy: u64) -> bool {
        let (a, b) = (self.type_of(pfn), self.type_of(buddy));
        if self.policy.frames.merge_guards_all_types || self.policy.frames.fallback.freelist_hygiene {
            a == b || a.is_mergeable() && b.is_mergeable()
        } else {
            a == b || a != Migratetype::Isolate && b != Migratetype::Isolate
        }
    }

    /// The tail if the block that would form with the buddy could merge on at once, else the head.
    fn natural_end(&self, z: usize, pfn: u64, order: u8) -> ListEnd {
        if order > 8 {
            return ListEnd::Head;
        }
        let parent = pfn & !size(order);
        let uncle = parent ^ size(order + 1);
        if self.is_free_block(z, uncle, order + 1) { ListEnd::Tail } else { ListEnd::Head }
    }

    /// Keeps the first `to` block of a `from` block that is on no list; the upper halves go to lists of `mt`.
    pub(super) fn split(&mut self, z: usize, pfn: u64, from: u8, to: u8, mt: Migratetype) {
        for order in (to..from).rev() {
            self.put(z, pfn + size(order), order, mt, ListEnd::Head);
        }
    }

    /// Takes a block of `order` from lists of `mt`: the head of the smallest order that has one.
    pub(super) fn grab(&mut self, z: usize, order: u8, mt: Migratetype) -> Option<u64> {
        let from = (order..=10).find(|&from| !self.zones[z].lists[usize::from(from)][mt.index()].is_empty())?;
        let pfn = self.zones[z].lists[usize::from(from)][mt.index()][0];
        self.take_off(z, pfn);
        self.split(z, pfn, from, order, mt);
        Some(pfn)
    }

    /// Moves a free block to the list of `mt`.
    pub(super) fn relist(&mut self, z: usize, pfn: u64, mt: Migratetype) {
        let (order, _) = self.take_off(z, pfn);
        self.put(z, pfn, order, mt, self.policy.frames.moved_blocks);
    }
}
