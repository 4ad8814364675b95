//! Faults in mappings of pools.

use order9_frames::Idx;
use order9_units::{NodeId, Pfn};

use super::NR;
use super::map::place;
use super::{HugetlbMap, POOL_GFP};
use crate::hugetlb::Hugetlb;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::{Access, Fault, FaultStep, Mapping, Need, Prot, Pte, PteFlag, Vma, VmaKind};
use crate::thp::subpages;

impl UsedPages {
    /// A fault in a mapping of a pool: done where it takes no page.
    pub(crate) fn resolve_hugetlb(&mut self, fault: Fault, vma: &Vma, phys: &mut PhysMem) -> FaultStep {
        let VmaKind::Hugetlb { map: number, shared } = vma.kind else { unreachable!("the mapping is of a pool") };
        let map = &self.hugetlb.maps[&number.0];
        let at = Mapping { space: fault.space, vpn: fault.vpn.slot().start };
        match self.spaces.get(fault.space).ok().and_then(|space| space.table.hugetlb(fault.vpn)) {
            Some(entry) if fault.access.allowed_by_entry(entry) => {
                self.set_hugetlb(&fault, fault.access.mark(entry), phys)
            }
            Some(entry) if shared || self.hugetlb.hugetlb_mappings(entry) == 1 => {
                self.set_hugetlb(&fault, Access::Write.mark(entry).with(PteFlag::Write, true), phys)
            }
            None if map.is_robbed(fault.space) => FaultStep::Bus,
            None => match map.page(place(vma, fault.vpn.slot())).filter(|_| shared) {
                Some(head) => {
                    self.map_hugetlb(at, fresh_entry(head, vma, fault.access), phys);
                    FaultStep::Done
                }
                None => FaultStep::NeedPool(fault),
            },
            Some(_) => FaultStep::NeedPool(fault),
        }
    }

    fn set_hugetlb(&mut self, fault: &Fault, entry: Pte, phys: &mut PhysMem) -> FaultStep {
        *self.spaces.living(fault.space).table.hugetlb_mut(fault.vpn).expect("the slot has a page of a pool") = entry;
        phys.work.ptes_set += 1;
        self.wrote(fault.space, fault.vpn, fault.access, phys);
        FaultStep::Done
    }

    /// Goes on with a fault that takes a page from the pool, for a program on `cpu` of `node`: what was promised to it, else
    /// one that is promised to nobody, else a surplus page.
    pub(crate) fn hugetlb_fault(&mut self, fault: &Fault, node: NodeId, cpu: usize, phys: &mut PhysMem) -> FaultStep {
        let Some(vma) = self.spaces.get(fault.space).ok().and_then(|space| space.vmas.find(fault.vpn)).copied() else {
            return FaultStep::Retry;
        };
        let VmaKind::Hugetlb { map: number, .. } = vma.kind else { return FaultStep::Retry };
        let old = self.spaces.living(fault.space).table.hugetlb(fault.vpn);
        let index = place(&vma, fault.vpn.slot());
        let pool = self.hugetlb.hugetlb_pool();
        let map = self.hugetlb.map_mut(number);
        let promised = old.is_none() && map.promises(index, fault.space) && map.take_promise(index);
        self.hugetlb.reserved -= u64::from(promised);
        let page = if promised || pool.available() > 0 { self.take_pool_page(fault, &vma, node, phys) } else { None };
        if promised && page.is_none() {
            // There is one, but not on a node that the policy of the mapping allows.
            self.hugetlb.map_mut(number).put_promise(index);
            self.hugetlb.reserved += 1;
        }
        match page {
            Some(head) => self.map_from_pool(fault, &vma, old, head, cpu, phys),
            None if self.hugetlb.may_overcommit() => {
                FaultStep::NeedPage(Fault { need: Need::Surplus, gfp: POOL_GFP, search: None, ..*fault })
            }
            None => self.hugetlb_refused(fault, cpu, phys),
        }
    }

    fn map_from_pool(
        &mut self,
        fault: &Fault,
        vma: &Vma,
        old: Option<Pte>,
        head: Idx,
        cpu: usize,
        phys: &mut PhysMem,
    ) -> FaultStep {
        let VmaKind::Hugetlb { map, shared } = vma.kind else { unreachable!("the mapping is of a pool") };
        let slot = fault.vpn.slot();
        let at = Mapping { space: fault.space, vpn: slot.start };
        if let Some(source) = old.and_then(Pte::idx) {
            subpages(head).zip(0..NR).for_each(|(to, offset)| self.copy_page(source.plus(offset), to, phys));
            self.unmap_hugetlb(at, cpu, phys);
        } else {
            self.clear_huge_page(head, phys);
        }
        if shared {
            self.hugetlb.map_mut(map).keep(place(vma, slot), head);
            self.hugetlb.used.get_mut(&head.0).expect("it was just taken").shared = true;
        }
        self.map_hugetlb(at, fresh_entry(head, vma, fault.access), phys);
        self.wrote(fault.space, fault.vpn, fault.access, phys);
        FaultStep::Done
    }

    /// Takes the surplus page that a fault needed.
    pub(crate) fn finish_surplus(&mut self, fault: &Fault, page: Pfn, cpu: usize, phys: &mut PhysMem) -> FaultStep {
        self.hugetlb_give_surplus(Some(page), phys);
        let step = match self.resolve_again(fault, phys) {
            FaultStep::NeedPool(fault) => self.hugetlb_fault(&fault, phys.node_of_cpu(cpu), cpu, phys),
            step => step,
        };
        self.trim_surplus(cpu, phys);
        step
    }

    /// There is no page for a fault: whoever made a private mapping keeps the page that it shares with children, which lose
    /// it. Everybody else gets `SIGBUS`.
    pub(crate) fn hugetlb_refused(&mut self, fault: &Fault, cpu: usize, phys: &mut PhysMem) -> FaultStep {
        let Ok(space) = self.spaces.get(fault.space) else { return FaultStep::Retry };
        let vma = space.vmas.find(fault.vpn).copied();
        let (Some(entry), Some(VmaKind::Hugetlb { map, .. })) =
            (space.table.hugetlb(fault.vpn), vma.map(|vma| vma.kind))
        else {
            return FaultStep::Bus;
        };
        if !self.hugetlb.map_mut(map).is_owner(fault.space) {
            return FaultStep::Bus;
        }
        let at = fault.vpn.slot();
        for id in self.spaces.ids().filter(|&id| id != fault.space) {
            let theirs = self.spaces.get(id).ok().and_then(|space| space.table.hugetlb(at.start));
            if theirs.and_then(Pte::idx) == entry.idx() {
                self.unmap_hugetlb(Mapping { space: id, vpn: at.start }, cpu, phys);
                self.hugetlb.map_mut(map).rob(id);
                if let Some(tags) = &mut self.tags {
                    tags.discard(id, at);
                }
            }
        }
        self.set_hugetlb(fault, Access::Write.mark(entry).with(PteFlag::Write, true), phys)
    }
}

impl Hugetlb {
    fn hugetlb_mappings(&self, entry: Pte) -> u32 {
        let page = entry.idx().and_then(|head| self.used.get(&head.0));
        page.map_or(0, |page| page.mappings)
    }

    fn map_mut(&mut self, number: super::HugetlbId) -> &mut HugetlbMap {
        self.maps.get_mut(&number.0).expect("a mapping knows its map")
    }
}

/// The entry of a page that is mapped for an access. A private page that was only read stays read-only, so that a write
/// is noticed.
fn fresh_entry(head: Idx, vma: &Vma, access: Access) -> Pte {
    let may_write = vma.prot.has(Prot::WRITE) && (access == Access::Write || !vma.kind.is_private());
    access.mark(Pte::present(head)).with(PteFlag::Write, may_write)
}
