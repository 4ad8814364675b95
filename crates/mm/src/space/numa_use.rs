//! On which nodes the pages of a mapping lie: the figures of /proc/PID/numa_maps.

use alloc::vec;
use alloc::vec::Vec;

use order9_units::Order;

use super::{Owner, Pte, PteFlag, Space, Vma, VmaKind};
use crate::Mm;
use crate::lru_list::LruList;
use crate::page_flags::{PageFlag, PageWord};
use crate::trace::Tracer;
use order9_frames::Idx;

/// Pages that a mapping shows, by what they are; of a mapping of a hugetlb pool, huge pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NumaUse {
    /// All of them: present ones.
    pub pages: u64,
    /// Those of the program alone, or shared by fork until written.
    pub anon: u64,
    /// Those written by way of this mapping, or not yet on their disk.
    pub dirty: u64,
    /// Those that reclaim takes last.
    pub active: u64,
    /// Those being written to a disk.
    pub writeback: u64,
    /// Those in the swap cache.
    pub swapcache: u64,
    /// The most page table entries that map one of them.
    pub mapmax: u32,
    /// How many lie on each node.
    pub by_node: Vec<u64>,
}

impl<T: Tracer> Mm<T> {
    /// What a mapping of `space` shows, by node.
    #[must_use]
    pub fn numa_use(&self, space: &Space, vma: &Vma) -> NumaUse {
        let mut found = NumaUse { by_node: vec![0; self.frames.nodes().len()], ..NumaUse::default() };
        let mapped = |pte: Pte| Some((pte, pte.idx()?));
        for (pte, idx) in space.entries(vma.range).filter_map(mapped) {
            let mapcount = self.mapcount(self.frames.pfn(idx));
            found.add(self, pte, idx, mapcount);
        }
        for (pte, head) in space.table.hugetlb_slots(vma.range).filter_map(|(_, pte)| mapped(pte)) {
            found.add(self, pte, head, 1);
        }
        found
    }

    /// Pages that a program has mapped, by node: the sums of its numa_maps, huge pages of pools as so many base pages.
    #[must_use]
    pub fn pages_by_node(&self, space: &Space) -> Vec<u64> {
        let mut sums = vec![0; self.frames.nodes().len()];
        for vma in space.vmas() {
            let order = if matches!(vma.kind, VmaKind::Hugetlb { .. }) { Order::PAGEBLOCK } else { Order::ZERO };
            let by_node = self.numa_use(space, vma).by_node;
            sums.iter_mut().zip(by_node).for_each(|(sum, pages)| *sum += pages * order.pages().get());
        }
        sums
    }
}

impl NumaUse {
    fn add<T: Tracer>(&mut self, mm: &Mm<T>, pte: Pte, idx: Idx, mapcount: u32) {
        // Of a huge page the first frame carries what is known.
        let head = mm.huge_head(idx).or_else(|| mm.file_huge_head(idx)).unwrap_or(idx);
        let word = mm.frames.word(head);
        let active = matches!(word.lru_list(), LruList::ActiveAnon | LruList::ActiveFile | LruList::Unevictable);
        self.pages += 1;
        self.anon += u64::from(!matches!(mm.user.rmap.owner(head), Owner::File { .. } | Owner::Hugetlb));
        self.dirty += u64::from(pte.has(PteFlag::Dirty) || word.has(PageFlag::Dirty));
        self.active += u64::from(active && word.is_lru_page());
        self.writeback += u64::from(word.has(PageFlag::Writeback));
        self.swapcache += u64::from(word.has(PageFlag::SwapCache));
        self.mapmax = self.mapmax.max(mapcount);
        self.by_node[mm.node_of(idx).index()] += 1;
    }
}
