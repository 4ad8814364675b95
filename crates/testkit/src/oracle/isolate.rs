//! Pins, page contents and isolation.

use order9_units::Migratetype::{self, Isolate, Movable};

use super::{Frame, Oracle, PAGEBLOCK, size};

impl Oracle {
    /// Changes the live allocation that starts at `pfn`; `false` where there is none or `change` refuses.
    fn change_live(&mut self, pfn: u64, change: impl FnOnce(&mut Frame) -> bool) -> bool {
        let mut frame = self.frame(pfn);
        match frame {
            Frame::Live { first, order, .. } if first == pfn => {
                let changed = change(&mut frame);
                self.own(pfn, order, frame);
                changed
            }
            _ => false,
        }
    }

    /// Adds a pin.
    pub fn pin(&mut self, pfn: u64) -> bool {
        self.change_live(pfn, |frame| {
            let Frame::Live { pins, .. } = frame else { return false };
            *pins += 1;
            true
        })
    }

    /// Takes a pin off; `None` where there is none, else whether it was the last.
    pub fn unpin(&mut self, pfn: u64) -> Option<bool> {
        let mut last = None;
        self.change_live(pfn, |frame| {
            if let Frame::Live { pins, .. } = frame
                && *pins > 0
            {
                *pins -= 1;
                last = Some(*pins == 0);
            }
            true
        });
        last
    }

    /// Says whether compaction may move the allocation's content.
    pub fn set_movable_content(&mut self, pfn: u64, movable: bool) -> bool {
        self.change_live(pfn, |frame| {
            if let Frame::Live { movable_content, .. } = frame {
                *movable_content = movable;
            }
            true
        })
    }

    /// Takes the allocation off its LRU or puts it back.
    pub fn set_isolated(&mut self, pfn: u64, on: bool) -> bool {
        self.change_live(pfn, |frame| {
            if let Frame::Live { isolated, .. } = frame {
                *isolated = on;
            }
            true
        })
    }

    /// Takes a free block as a target of compaction.
    pub fn isolate_free_block(&mut self, pfn: u64, boosted: bool) -> bool {
        let Frame::Free { first, order, .. } = self.frame(pfn) else { return false };
        if first != pfn || self.type_of(pfn) == Isolate {
            return false;
        }
        let z = self.zone_of(pfn).expect("a free block lies in a zone");
        let zone = &self.zones[z];
        let mark = zone.min + if boosted { zone.boost } else { 0 } + size(order);
        let withheld = if self.policy.frames.highatomic.only_free_part_withheld {
            zone.free_of(Migratetype::HighAtomic)
        } else {
            zone.reserved_highatomic
        };
        if zone.free() <= mark + withheld {
            return false;
        }
        self.take_off(z, pfn);
        self.own(pfn, order, Frame::Held { first: pfn, order });
        if order >= 8 {
            for block in (pfn..pfn + size(order)).step_by(PAGEBLOCK as usize) {
                let hygiene = self.policy.frames.fallback.freelist_hygiene;
                if self.type_of(block).is_mergeable() && (!hygiene || self.is_whole(z, block)) {
                    self.set_type(block, Movable);
                    if hygiene {
                        self.relist_block(z, block, Movable);
                    }
                }
            }
        }
        true
    }

    /// Gives a held block back.
    pub fn release_free_block(&mut self, pfn: u64) -> bool {
        match self.frame(pfn) {
            Frame::Held { first, order } if first == pfn => {
                self.release_to_own_lists(pfn, order);
                true
            }
            _ => false,
        }
    }

    /// Takes a pageblock out of circulation; its former type, or `None` where that cannot be.
    pub fn isolate_pageblock(&mut self, pfn: u64) -> Option<Migratetype> {
        let z = self.zone_of(pfn)?;
        let old = self.type_of(pfn);
        if old == Isolate || !self.is_whole(z, pfn) {
            return None;
        }
        self.retype(z, pfn, Isolate);
        Some(old)
    }

    /// Puts an isolated pageblock back into circulation.
    pub fn unisolate_pageblock(&mut self, pfn: u64, mt: Migratetype) -> bool {
        match self.zone_of(pfn) {
            Some(z) if self.type_of(pfn) == Isolate => {
                self.retype(z, pfn, mt);
                true
            }
            _ => false,
        }
    }

    /// Whether all frames of a pageblock lie in the zone's span.
    pub(super) fn is_whole(&self, z: usize, pfn: u64) -> bool {
        let start = pfn / PAGEBLOCK * PAGEBLOCK;
        self.zones[z].start <= start && start + PAGEBLOCK <= self.zones[z].end
    }

    /// Gives a pageblock another type, and its free blocks to that type's lists.
    pub(super) fn retype(&mut self, z: usize, pfn: u64, mt: Migratetype) {
        self.halve_largest(z, pfn);
        for (of, sign) in [(self.type_of(pfn), -1), (mt, 1)] {
            if of == Migratetype::HighAtomic {
                let reserved = &mut self.zones[z].reserved_highatomic;
                *reserved = reserved.checked_add_signed(sign * PAGEBLOCK as i64).expect("blocks of the reserve");
            }
        }
        self.set_type(pfn, mt);
        self.relist_block(z, pfn, mt);
    }

    /// Splits a free block that covers the pageblock of `pfn` and its neighbour, so that each can be on its own list.
    fn halve_largest(&mut self, z: usize, pfn: u64) {
        if let Frame::Free { first, order: 10, list } = self.frame(pfn) {
            self.take_off(z, first);
            for half in [first, first + PAGEBLOCK] {
                self.put(z, half, 9, list, self.policy.frames.moved_blocks);
            }
        }
    }
}
