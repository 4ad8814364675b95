//! /proc/PID/numa_maps: the memory policy of every mapping of a program, and on which nodes its pages lie.

use alloc::vec;
use alloc::vec::Vec;
use core::fmt::{Result, Write};

use order9_units::{NodeId, Order, PAGE_SIZE};

use crate::Mm;
use crate::frame::{Flag, Idx};
use crate::lru::LruList;
use crate::space::{Owner, Pte, PteFlag, Space, Vma, VmaKind};
use crate::trace::Tracer;

/// Pages of a mapping; of one of a hugetlb pool, huge pages.
#[derive(Default)]
struct NumaUse {
    pages: u64,
    anon: u64,
    dirty: u64,
    active: u64,
    writeback: u64,
    swapcache: u64,
    mapmax: u32,
    by_node: Vec<u64>,
}

impl<T: Tracer> Mm<T> {
    /// Writes /proc/PID/numa_maps of the program that has `space`.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn render_numa_maps(&self, space: &Space, out: &mut impl Write) -> Result {
        for vma in space.vmas() {
            write!(out, "{:08x} ", vma.range.start.addr().get())?;
            match self.shown_policy(space, vma) {
                Some(policy) => write!(out, "{policy}")?,
                None => out.write_str("default")?,
            }
            match vma.kind {
                VmaKind::Anon => {}
                // A path may not hold blanks here.
                VmaKind::File { file, .. } => write!(out, " file=/memfd:{}\\040(deleted)", file.index())?,
                VmaKind::Hugetlb { .. } => out.write_str(" file=/anon_hugepage\\040(deleted) huge")?,
            }
            self.numa_use(space, vma).render(out, matches!(vma.kind, VmaKind::Hugetlb { .. }))?;
        }
        Ok(())
    }

    /// Pages that a program has mapped, by node: the sums of its numa_maps, huge pages of pools as so many base pages.
    #[must_use]
    pub fn pages_by_node(&self, space: &Space) -> Vec<u64> {
        let mut sums = vec![0; self.nodes.len()];
        for vma in space.vmas() {
            let order = if matches!(vma.kind, VmaKind::Hugetlb { .. }) { Order::PAGEBLOCK } else { Order::ZERO };
            let by_node = self.numa_use(space, vma).by_node;
            sums.iter_mut().zip(by_node).for_each(|(sum, pages)| *sum += pages * order.pages().get());
        }
        sums
    }

    fn numa_use(&self, space: &Space, vma: &Vma) -> NumaUse {
        let mut found = NumaUse { by_node: vec![0; self.nodes.len()], ..NumaUse::default() };
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
}

impl NumaUse {
    fn add<T: Tracer>(&mut self, mm: &Mm<T>, pte: Pte, idx: Idx, mapcount: u32) {
        // Of a huge page the first frame carries what is known.
        let head = mm.huge_head(idx).or_else(|| mm.file_huge_head(idx)).unwrap_or(idx);
        let word = mm.frames.word(head);
        let active = matches!(word.lru_list(), LruList::ActiveAnon | LruList::ActiveFile | LruList::Unevictable);
        self.pages += 1;
        self.anon += u64::from(!matches!(mm.user.rmap.owner(head), Owner::File { .. } | Owner::Hugetlb));
        self.dirty += u64::from(pte.has(PteFlag::Dirty) || word.has(Flag::Dirty));
        self.active += u64::from(active && word.is_lru_page());
        self.writeback += u64::from(word.has(Flag::Writeback));
        self.swapcache += u64::from(word.has(Flag::SwapCache));
        self.mapmax = self.mapmax.max(mapcount);
        self.by_node[mm.node_of(idx).index()] += 1;
    }

    fn render(&self, out: &mut impl Write, hugetlb: bool) -> Result {
        if self.pages == 0 {
            return writeln!(out);
        }
        let fields = [
            ("anon", self.anon, self.anon > 0),
            ("dirty", self.dirty, self.dirty > 0),
            ("mapped", self.pages, self.pages != self.anon && self.pages != self.dirty),
            ("mapmax", u64::from(self.mapmax), self.mapmax > 1),
            ("swapcache", self.swapcache, self.swapcache > 0),
            ("active", self.active, self.active < self.pages && !hugetlb),
            ("writeback", self.writeback, self.writeback > 0),
        ];
        fields.iter().filter(|(.., shown)| *shown).try_for_each(|(name, pages, _)| write!(out, " {name}={pages}"))?;
        for (node, &pages) in (0..).map(NodeId).zip(&self.by_node).filter(|&(_, &pages)| pages > 0) {
            write!(out, " N{node}={pages}")?;
        }
        let page = if hugetlb { Order::PAGEBLOCK.pages().bytes() } else { PAGE_SIZE };
        writeln!(out, " kernelpagesize_kB={}", page.get() / 1024)
    }
}
