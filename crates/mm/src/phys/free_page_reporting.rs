//! Free page reporting: the kernel of a virtual machine tells the hypervisor which large blocks are free, and the hypervisor takes
//! their memory back. Whoever touches a block first after that waits until the hypervisor has found memory for it.
//!
//! Key type: [`FreePageReporting`], one bit for each pageblock. Sources: Linux 5.7, commits "mm: introduce Reported pages" (blocks of a pageblock
//! or more, two seconds after a free, reported ones go to the tail) and "mm/page_reporting: add budget limit on how many pages can be
//! reported per pass" (a sixteenth of each list). Blocks stay on their lists while they are reported, where Linux holds up to 32 of
//! them for the length of a call; a pageblock counts as touched when a part of it is allocated or copied to.

use alloc::vec::Vec;
use core::ops::Range;

use order9_frames::policy::ListEnd;
use order9_frames::{Idx, Zone, ZoneId};
use order9_units::{Migratetype, Order, Pfn};

use super::PhysMem;
use crate::heard::block_bits::BlockBits;

/// Blocks that one report carries, `PAGE_REPORTING_CAPACITY` of Linux' header; a pass makes one report for a short list.
const REPORT: usize = 32;
/// Share of a list that one pass may report, as a divisor.
const PASSES: usize = 16;

/// Pageblocks whose memory the hypervisor has, and counts of a machine that reports them.
#[derive(Clone, Debug)]
pub(crate) struct FreePageReporting {
    blocks: BlockBits,
    counts: ReportedBlocks,
}

/// Counts of free page reporting, in pageblocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReportedBlocks {
    /// Pageblocks whose memory the hypervisor has now.
    pub missing: u64,
    /// Pageblocks that were reported since boot.
    pub reported: u64,
    /// Pageblocks that were touched since boot and had to get memory of the hypervisor first.
    pub faults: u64,
}

impl FreePageReporting {
    fn new(blocks: usize) -> Self {
        Self { blocks: BlockBits::new(blocks), counts: ReportedBlocks::default() }
    }

    fn has_all(&self, mut blocks: Range<usize>) -> bool {
        blocks.all(|block| self.blocks.get(block))
    }

    fn take(&mut self, blocks: Range<usize>) {
        for block in blocks {
            self.counts.missing += u64::from(!self.blocks.get(block));
            self.blocks.set(block, true);
        }
    }

    /// Whether the hypervisor has to find memory for this pageblock, which it keeps then.
    fn touch(&mut self, block: usize) -> bool {
        let is_missing = self.blocks.get(block);
        if is_missing {
            self.blocks.set(block, false);
            self.counts.missing -= 1;
        }
        is_missing
    }
}

/// Pageblocks of a block of `order` at `idx`; the one around it where it is smaller.
fn pageblocks(idx: Idx, order: Order) -> Range<usize> {
    let first = idx.block();
    first..first + (order.pages().get() / Order::PAGEBLOCK.pages().get()).max(1) as usize
}

impl PhysMem {
    /// From here on free blocks are reported, and those of now have been: nobody has touched them for long.
    pub fn start_free_page_reporting(&mut self) {
        let of_list = |(zone, order, mt)| self.frames.free_list(zone, order, mt).map(move |pfn| (pfn, order));
        let all: Vec<(Pfn, Order)> = self.reportable_lists().flat_map(of_list).collect();
        self.inherit_free_page_reporting(all);
    }

    /// From here on free blocks are reported, and these have been, as on a running machine.
    pub fn inherit_free_page_reporting(&mut self, reported: impl IntoIterator<Item = (Pfn, Order)>) {
        let mut reporting = FreePageReporting::new(self.frames.blocks().len());
        for (pfn, order) in reported {
            reporting.take(pageblocks(self.frames.at(pfn), order));
        }
        self.reporting = Some(reporting);
    }

    /// Free blocks are not reported any longer, and the hypervisor has none.
    pub fn stop_free_page_reporting(&mut self) {
        self.reporting = None;
    }

    /// Whether the memory of a block is with the hypervisor, all of it.
    #[must_use]
    pub fn hypervisor_has(&self, pfn: Pfn, order: Order) -> bool {
        let blocks = || pageblocks(self.frames.at(pfn), order);
        order >= Order::PAGEBLOCK && self.reporting.as_ref().is_some_and(|reporting| reporting.has_all(blocks()))
    }

    /// Counts of free page reporting; `None` where free pages are not reported.
    #[must_use]
    pub fn reported_blocks(&self) -> Option<ReportedBlocks> {
        self.reporting.as_ref().map(|reporting| reporting.counts)
    }

    /// Free lists whose blocks are large enough to be reported.
    pub(crate) fn reportable_lists(&self) -> impl Iterator<Item = (ZoneId, Order, Migratetype)> + use<> {
        let zones: Vec<ZoneId> = self.frames.zones().iter().map(Zone::id).collect();
        let orders = || (Order::PAGEBLOCK.get()..=Order::MAX.get()).filter_map(Order::new);
        let types = || Migratetype::ALL.into_iter().filter(|&mt| mt != Migratetype::Isolate);
        zones.into_iter().flat_map(move |zone| orders().flat_map(move |order| types().map(move |mt| (zone, order, mt))))
    }

    /// Reports blocks of one list, as many as one pass may.
    pub(crate) fn report_free_pages(&mut self, (zone, order, mt): (ZoneId, Order, Migratetype)) {
        let Some(reporting) = &mut self.reporting else { return };
        let listed = self.frames.free_list(zone, order, mt).count();
        let budget = (listed / PASSES).max(REPORT);
        let frames = &self.frames;
        let fresh =
            frames.free_list(zone, order, mt).filter(|&pfn| !reporting.has_all(pageblocks(frames.at(pfn), order)));
        let fresh: Vec<Pfn> = fresh.take(budget).collect();
        if fresh.is_empty() {
            return;
        }
        self.frames.lock_zone(zone);
        for pfn in fresh {
            let idx = self.frames.at(pfn);
            let blocks = pageblocks(idx, order);
            reporting.counts.reported += blocks.len() as u64;
            reporting.take(blocks);
            self.frames.remove_from_list(zone, idx);
            self.frames.add_to_list(zone, idx, order, mt, ListEnd::Tail);
        }
    }

    /// The memory of a block is about to be written.
    #[inline]
    pub(crate) fn touch(&mut self, idx: Idx, order: Order) {
        if self.reporting.is_some() {
            self.touch_reported(idx, order);
        }
    }

    #[cold]
    fn touch_reported(&mut self, idx: Idx, order: Order) {
        let Some(reporting) = &mut self.reporting else { return };
        let missing = pageblocks(idx, order).filter(|&block| reporting.touch(block)).count() as u64;
        self.work.hypervisor_faults += missing;
        reporting.counts.faults += missing;
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use order9_frames::{Gfp, Request, ZoneSpec};
    use order9_units::{NodeId, Pages, PfnRange, ZoneKind};

    use super::*;
    use crate::policy::Policy;
    use crate::{Layout, Mm, MmBuilder, NodeSpec};

    /// Memory of so many pageblocks, all of it free and reported.
    fn guest(blocks: u64) -> Mm {
        let span = PfnRange::of(Pfn::new(1 << 20), Pages::new(512 * blocks));
        let layout = Layout {
            nodes: vec![NodeSpec { distances: vec![10] }],
            zones: vec![ZoneSpec { node: NodeId(0), kind: ZoneKind::Normal, span }],
            cpus: vec![NodeId(0)],
            ..Layout::default()
        };
        let mut mm = MmBuilder::new(&layout, Policy::default()).expect("a small machine").boot();
        mm.phys.start_free_page_reporting();
        mm
    }

    fn alloc(mm: &mut Mm, order: u8) -> Pfn {
        let order = Order::new(order).expect("an order of Linux");
        mm.alloc_fast(&Request::new(order, Gfp::GFP_HIGHUSER_MOVABLE)).expect("there is free memory")
    }

    /// Frees a block to the buddy lists: what lies on a per-CPU list is not reported.
    fn free(mm: &mut Mm, pfn: Pfn) {
        mm.free(pfn, 0).expect("it is in use");
        mm.phys.drain_all();
    }

    /// Reports as a pass does, list after list.
    fn pass(mm: &mut Mm) {
        for list in mm.phys.reportable_lists() {
            mm.phys.report_free_pages(list);
        }
        mm.check().expect("lists stay whole");
    }

    fn counts(mm: &Mm) -> (u64, u64, u64) {
        let ReportedBlocks { missing, reported, faults } = mm.phys.reported_blocks().expect("it reports");
        (missing, reported, faults)
    }

    #[test]
    fn whoever_touches_a_block_first_waits_once() {
        let mut mm = guest(16);
        assert_eq!(counts(&mm), (16, 0, 0));
        let huge = alloc(&mut mm, 9);
        assert_eq!((counts(&mm), mm.phys.work.hypervisor_faults), ((15, 0, 1), 1));
        let base = alloc(&mut mm, 0);
        assert_eq!(counts(&mm), (14, 0, 2), "a part of a block is enough");
        let beside = alloc(&mut mm, 0);
        assert_eq!((base.get() / 512, counts(&mm)), (beside.get() / 512, (14, 0, 2)), "the rest of it is there");
        free(&mut mm, huge);
        assert_eq!(alloc(&mut mm, 9), huge, "what was freed last is taken first");
        assert_eq!(counts(&mm), (14, 0, 2), "nobody has reported it in the meantime");
    }

    #[test]
    fn a_pass_reports_a_part_of_a_long_list_and_puts_it_behind_the_rest() {
        let mut mm = guest(64);
        let blocks: Vec<Pfn> = (0..60).map(|_| alloc(&mut mm, 9)).collect();
        assert_eq!(counts(&mm), (4, 0, 60));
        // Every other one, so that none merges.
        let freed: Vec<Pfn> = blocks.iter().copied().filter(|pfn| pfn.get() / 512 % 2 == 0).collect();
        freed.iter().for_each(|&pfn| free(&mut mm, pfn));
        pass(&mut mm);
        assert_eq!(counts(&mm), (4 + freed.len() as u64, freed.len() as u64, 60), "a short list at once");
        let fresh = blocks.iter().copied().find(|pfn| pfn.get() / 512 % 2 == 1).expect("half of them");
        free(&mut mm, fresh);
        assert_eq!(counts(&mm).0, 4 + freed.len() as u64, "its neighbour is still with the hypervisor");
        pass(&mut mm);
        pass(&mut mm);
        let (missing, reported, _) = counts(&mm);
        assert_eq!(missing, 5 + freed.len() as u64);
        assert_eq!(reported, 2 + freed.len() as u64, "a merged block is reported as a whole, once");
    }
}
