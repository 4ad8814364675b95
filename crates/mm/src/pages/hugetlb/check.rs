//! Recounts the laws of pools from page tables, maps and frames.

use alloc::collections::BTreeMap;
use alloc::format;

use order9_frames::{Flag, Idx, Verdict, require};
use order9_units::Order;

use crate::hugetlb::Hugetlb;
use crate::page_flags::PageWord;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::Rmap;
use crate::space::{Owner, Prot, PteFlag, Space, SpaceId, TASK_END, VmaKind, Vpn, VpnRange};

impl UsedPages {
    /// Checks every law of pools.
    pub(crate) fn check_hugetlb(&self, phys: &PhysMem) -> Verdict {
        let (mut mappings, mut vmas) = (BTreeMap::new(), BTreeMap::new());
        for (id, space) in self.spaces.iter() {
            self.hugetlb.check_hugetlb_space(id, space, &mut mappings)?;
            for vma in space.vmas() {
                if let VmaKind::Hugetlb { map, .. } = vma.kind {
                    *vmas.entry(map.0).or_insert(0) += 1;
                }
            }
        }
        let hugetlb = &self.hugetlb;
        for (number, map) in &hugetlb.maps {
            let shown = vmas.get(number).copied().unwrap_or(0);
            require(shown == map.vmas() && shown > 0, "a map of a pool counts the mappings that show it", || {
                format!("map {number}: {shown} mappings, {} counted", map.vmas())
            })?;
            let kept = |idx: Idx| hugetlb.used.get(&idx.0).is_some_and(|page| page.shared);
            require(map.pages().all(kept), "a shared map keeps its pages", || format!("map {number}"))?;
        }
        let promised: u64 = hugetlb.maps.values().map(super::HugetlbMap::promised).sum();
        require(promised == hugetlb.reserved, "resv_hugepages equals a recount", || {
            format!("{promised} promised, {} counted", hugetlb.reserved)
        })?;
        for (&head, page) in &hugetlb.used {
            let entries = mappings.get(&head).copied().unwrap_or(0);
            require(entries == page.mappings, "a page of a pool counts its mappings", || {
                format!("{:?}: {entries} entries, {} counted", phys.frames.pfn(Idx(head)), page.mappings)
            })?;
            let kept = entries > 0 || page.shared || phys.frames.word(Idx(head)).has(Flag::Pinned);
            require(kept, "a page of a pool that nobody uses is free", || format!("{:?}", phys.frames.pfn(Idx(head))))?;
            self.rmap.check_pool_page(Idx(head), phys)?;
        }
        self.check_pools(phys)
    }

    fn check_pools(&self, phys: &PhysMem) -> Verdict {
        let pool = self.hugetlb.hugetlb_pool();
        require(pool.reserved <= pool.free, "what is promised of a pool is free", || format!("{pool:?}"))?;
        for node in phys.frames.nodes() {
            let (id, pool) = (node, self.hugetlb.hugetlb_pool_of(node));
            let free = self.hugetlb.nodes.get(id.index()).map_or(&[][..], |pool| &pool.free);
            for &head in free {
                self.rmap.check_pool_page(head, phys)?;
                let idle = !self.hugetlb.used.contains_key(&head.0) && phys.node_of(head) == id;
                require(idle, "a free page of a pool is in that of its node alone", || {
                    format!("{:?}", phys.frames.pfn(head))
                })?;
            }
            let used = self.hugetlb.used.keys().filter(|&&head| phys.node_of(Idx(head)) == id).count() as u64;
            require(pool.total == pool.free + used && pool.surplus <= pool.total, "pools equal a recount", || {
                format!("{id:?}: {pool:?}, {used} in use")
            })?;
        }
        Ok(())
    }
}

impl Hugetlb {
    fn check_hugetlb_space(&self, id: SpaceId, space: &Space, mappings: &mut BTreeMap<u32, u32>) -> Verdict {
        let mut mapped = 0;
        for (slot, pte) in space.table.hugetlb_slots(VpnRange::new(Vpn::new(0), TASK_END)) {
            mapped += 1;
            let found = || format!("{id:?} at {slot:?}");
            let vma = space.vmas.find(slot.start).filter(|vma| slot.intersect(vma.range) == slot);
            let Some((vma, head)) = vma.zip(pte.idx()) else {
                return require(false, "a page of a pool lies in one mapping", found);
            };
            let VmaKind::Hugetlb { shared, .. } = vma.kind else {
                return require(false, "a page of a pool lies in a mapping of it", found);
            };
            *mappings.entry(head.0).or_insert(0) += 1;
            let alone = self.used.get(&head.0).is_some_and(|page| page.mappings == 1);
            let may = vma.prot.has(Prot::WRITE) && (shared || alone);
            require(!pte.has(PteFlag::Write) || may, "a page of a pool that several own is read-only", found)?;
            require(pte.has(PteFlag::Access) == (vma.prot != Prot::NONE), "a page of a pool is accessible", found)?;
        }
        require(mapped == space.hugetlb_pages(), "a space counts its pages of pools", || {
            format!("{id:?}: {mapped} entries, {} counted", space.hugetlb_pages())
        })
    }
}

impl Rmap {
    fn check_pool_page(&self, head: Idx, phys: &PhysMem) -> Verdict {
        let word = phys.frames.word(head);
        let whole = word.is_allocated() && word.order() == Order::PAGEBLOCK && !word.is_lru_page();
        require(whole && self.owner(head) == Owner::Hugetlb, "a page of a pool is one allocation that stays", || {
            format!("{:?}: {:?}", phys.frames.pfn(head), word.state())
        })
    }
}
