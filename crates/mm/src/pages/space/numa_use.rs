//! On which nodes the pages of a mapping lie: the figures of /proc/PID/numa_maps.

use alloc::vec;
use alloc::vec::Vec;

use order9_frames::Idx;
use order9_units::Order;

use super::{Owner, Pte, PteFlag, Space, Vma, VmaKind};
use crate::lru_list::LruList;
use crate::page_flags::{PageFlag, PageWord};
use crate::pages::UsedPages;
use crate::phys::PhysMem;

/// Pages that a mapping shows, by what they are; of a mapping of a hugetlb pool, huge pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NumaUse {
    /// All of them: present ones.
    pub pages: u64,
    /// Pages of the program alone, or shared by fork until written.
    pub anon: u64,
    /// Pages written by way of this mapping, or not yet on their disk.
    pub dirty: u64,
    /// Pages that reclaim takes last.
    pub active: u64,
    /// Pages being written to a disk.
    pub writeback: u64,
    /// Pages in the swap cache.
    pub swapcache: u64,
    /// The most page table entries that map one of them.
    pub mapmax: u32,
    /// Number of pages on each node.
    pub by_node: Vec<u64>,
}

impl UsedPages {
    /// Pages that a mapping of `space` shows, by node.
    #[must_use]
    pub(crate) fn numa_use(&self, space: &Space, vma: &Vma, phys: &PhysMem) -> NumaUse {
        let mut found = NumaUse { by_node: vec![0; phys.frames.nodes().len()], ..NumaUse::default() };
        let mapped = |pte: Pte| Some((pte, pte.idx()?));
        for (pte, idx) in space.entries(vma.range).filter_map(mapped) {
            let mapcount = self.mapcount(phys.frames.pfn(idx), phys);
            found.add(phys, self, pte, idx, mapcount);
        }
        for (pte, head) in space.table.hugetlb_slots(vma.range).filter_map(|(_, pte)| mapped(pte)) {
            found.add(phys, self, pte, head, 1);
        }
        found
    }

    /// Pages that a program has mapped, by node: the sums of its numa_maps, huge pages of pools as so many base pages.
    #[must_use]
    pub(crate) fn pages_by_node(&self, space: &Space, phys: &PhysMem) -> Vec<u64> {
        let mut sums = vec![0; phys.frames.nodes().len()];
        for vma in space.vmas() {
            let order = if matches!(vma.kind, VmaKind::Hugetlb { .. }) { Order::PAGEBLOCK } else { Order::ZERO };
            let by_node = self.numa_use(space, vma, phys).by_node;
            sums.iter_mut().zip(by_node).for_each(|(sum, pages)| *sum += pages * order.pages().get());
        }
        sums
    }
}

impl NumaUse {
    fn add(&mut self, phys: &PhysMem, pages: &UsedPages, pte: Pte, idx: Idx, mapcount: u32) {
        // Of a huge page the first frame carries what is known.
        let head = pages.rmap.folio_head(idx, phys).unwrap_or(idx);
        let word = phys.frames.word(head);
        let active = matches!(word.lru_list(), LruList::ActiveAnon | LruList::ActiveFile | LruList::Unevictable);
        self.pages += 1;
        self.anon += u64::from(!matches!(pages.rmap.owner(head), Owner::File { .. } | Owner::Hugetlb));
        self.dirty += u64::from(pte.has(PteFlag::Dirty) || word.has(PageFlag::Dirty));
        self.active += u64::from(active && word.is_lru_page());
        self.writeback += u64::from(word.has(PageFlag::Writeback));
        self.swapcache += u64::from(word.has(PageFlag::SwapCache));
        self.mapmax = self.mapmax.max(mapcount);
        self.by_node[phys.node_of(idx).index()] += 1;
    }
}
