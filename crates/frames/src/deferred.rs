//! Memory whose pages the kernel has not initialised yet, and so not given to the allocator: the top of a zone, which is
//! given out section by section as requests find too little (Linux: `CONFIG_DEFERRED_STRUCT_PAGE_INIT`, `deferred_grow_zone`).
//!
//! Such frames are present and reserved. Machines that boot here have none; those taken from a host that initialises memory
//! lazily do. Never decides when a zone grows: that is the allocator's.

use order9_units::{Order, Pages, Pfn, PfnRange};

use crate::Frames;
use crate::count::Class;
use crate::frame::Word;
use crate::storage::Storage;
use crate::watch::Watch;
use crate::zone::{Zone, ZoneId};

/// Most frames that are given out at once: a section of sparse memory on x86-64, 128 MiB.
const SECTION: u64 = 1 << 15;

impl Zone {
    /// Frames that have not been given to the allocator yet.
    #[must_use]
    pub const fn deferred(&self) -> PfnRange {
        self.deferred
    }
}

impl<W: Watch, S: Storage> Frames<W, S> {
    /// Frames of all zones that have not been given to the allocator yet; they count as free memory.
    #[must_use]
    pub fn deferred_pages(&self) -> Pages {
        self.zones.iter().map(|zone| zone.deferred.len()).sum()
    }

    /// Gives the rest of the first section that is deferred to the allocator, and says whether there was one.
    #[cold]
    pub(crate) fn grow_zone(&mut self, id: ZoneId) -> bool {
        let deferred = self.zones[id.index()].deferred;
        if deferred.is_empty() {
            return false;
        }
        let end = Pfn::new((deferred.start.get() / SECTION + 1) * SECTION).min(deferred.end);
        let zone = &mut self.zones[id.index()];
        zone.managed += (end - deferred.start).get();
        zone.deferred.start = end;
        let mut pfn = deferred.start;
        while pfn < end {
            let fits = |order: &Order| pfn.is_aligned(*order) && pfn + order.pages() <= end;
            let order = Order::all().rev().filter(|order| *order <= Order::PAGEBLOCK).find(fits).unwrap_or(Order::ZERO);
            self.give_out(pfn, order);
            pfn += order.pages();
        }
        self.set_marks(self.settings.min_free_kbytes);
        true
    }

    fn give_out(&mut self, pfn: Pfn, order: Order) {
        let idx = self.at(pfn);
        (0..order.pages().get() as u32).for_each(|frame| self.table.set(idx.plus(frame), Word::TAIL));
        self.count_out(idx, order, Class::Immovable);
        let mt = self.blocks[idx.block()].migratetype;
        self.free_to_buddy_at(idx, order, mt, Some(self.policy.moved_blocks));
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use order9_units::{NodeId, ZoneKind};

    use super::*;
    use crate::ZoneSpec;
    use crate::policy::FramesPolicy;
    use crate::testing::{Layout, NodeSpec};
    use crate::{Gfp, Request};

    /// One zone of four sections, of which the last three, but for the first page, are deferred.
    fn lazy() -> Frames {
        let start = 8 * SECTION;
        let layout = Layout {
            nodes: vec![NodeSpec { distances: vec![10] }],
            zones: vec![ZoneSpec {
                node: NodeId(0),
                kind: ZoneKind::Normal,
                span: PfnRange::of(Pfn::new(start), Pages::new(4 * SECTION)),
            }],
            cpus: vec![NodeId(0)],
            deferred: vec![PfnRange::new(Pfn::new(start + SECTION + 512), Pfn::new(start + 4 * SECTION))],
            ..Layout::default()
        };
        layout.builder(FramesPolicy::default()).expect("the layout is sound").boot()
    }

    #[test]
    fn sections_are_given_out_as_they_are_needed() {
        let mut mm = lazy();
        mm.check().expect("every law holds");
        let all = 4 * SECTION;
        assert_eq!((mm.zones()[0].managed(), mm.deferred_pages().get()), (SECTION + 512, 3 * SECTION - 512));
        assert_eq!(mm.zones()[0].free() + mm.deferred_pages().get(), all, "what is deferred is there, and free");
        let (mut sizes, mut taken) = (vec![mm.zones()[0].managed()], 0);
        while mm.alloc(&Request::new(Order::PAGEBLOCK, Gfp::GFP_TRANSHUGE_LIGHT)).is_ok() {
            taken += Order::PAGEBLOCK.pages().get();
            let managed = mm.zones()[0].managed();
            if sizes.last() != Some(&managed) {
                mm.check().expect("every law holds");
                sizes.push(managed);
            }
        }
        assert_eq!(sizes, [SECTION + 512, 2 * SECTION, 3 * SECTION, 4 * SECTION], "to the ends of sections");
        assert_eq!((mm.deferred_pages(), taken + mm.zones()[0].free()), (Pages::ZERO, all));
        mm.check().expect("every law holds");
    }
}
