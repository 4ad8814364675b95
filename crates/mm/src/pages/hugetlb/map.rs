//! Mappings of pools: what they reserve, and what happens when they end or are copied.

use alloc::collections::{BTreeMap, BTreeSet};

use order9_frames::{Idx, Request};
use order9_units::{Bytes, NodeId, Order, Pages, Pfn};

use super::{NR, POOL_GFP};
use crate::hugetlb::Hugetlb;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::Spaces;
use crate::space::{Errno, Mapping, Prot, Pte, PteFlag, Space, SpaceId, TASK_END, Vma, VmaKind, Vpn, VpnRange};

/// Number of what one `mmap` with `MAP_HUGETLB` made; the number is never given again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HugetlbId(pub(crate) u32);

impl HugetlbId {
    /// The number, counted from 0 in the order of creation.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Pages that one `mmap` with `MAP_HUGETLB` has, in all spaces that show it.
#[derive(Clone)]
pub(crate) struct HugetlbMap {
    shared: bool,
    /// Space that made the mapping. Spaces to which a private one was copied have nothing reserved.
    owner: SpaceId,
    /// Pages promised to it that it has not taken yet, by their place.
    reserved: BTreeSet<u64>,
    /// Pages of a shared one, by their place.
    pages: BTreeMap<u64, Idx>,
    /// Spaces that lost a page to the owner, and may not read zeros in its place.
    robbed: BTreeSet<SpaceId>,
    /// Mappings that show it.
    vmas: u32,
}

impl HugetlbMap {
    /// Whether the page at a place is promised to who faults there.
    pub(super) fn promises(&self, index: u64, space: SpaceId) -> bool {
        (self.shared || self.owner == space) && self.reserved.contains(&index)
    }

    pub(super) fn take_promise(&mut self, index: u64) -> bool {
        self.reserved.remove(&index)
    }

    pub(super) fn put_promise(&mut self, index: u64) {
        self.reserved.insert(index);
    }

    pub(super) const fn is_owner(&self, space: SpaceId) -> bool {
        !self.shared && self.owner.0 == space.0
    }

    pub(super) fn page(&self, index: u64) -> Option<Idx> {
        self.pages.get(&index).copied()
    }

    pub(super) fn keep(&mut self, index: u64, head: Idx) {
        self.pages.insert(index, head);
    }

    /// A page of it has moved.
    pub(super) fn replace(&mut self, source: Idx, target: Idx) {
        self.pages.values_mut().filter(|page| **page == source).for_each(|page| *page = target);
    }

    pub(super) fn rob(&mut self, space: SpaceId) {
        self.robbed.insert(space);
    }

    pub(super) fn is_robbed(&self, space: SpaceId) -> bool {
        self.robbed.contains(&space)
    }

    pub(super) fn promised(&self) -> u64 {
        self.reserved.len() as u64
    }

    pub(super) fn pages(&self) -> impl Iterator<Item = Idx> {
        self.pages.values().copied()
    }

    pub(super) const fn vmas(&self) -> u32 {
        self.vmas
    }
}

/// The place in its map of the slot that `vma` shows at `slot`.
pub(super) fn place(vma: &Vma, slot: VpnRange) -> u64 {
    vma.index(slot.start) / u64::from(NR)
}

/// The length that `mmap` with `MAP_HUGETLB` makes of another one.
pub(crate) fn whole_huge_pages(length: Bytes) -> Pages {
    let huge = u64::from(NR);
    Pages::new(Pages::from_bytes_ceil(length).get().div_ceil(huge) * huge)
}

impl Hugetlb {
    /// The page that the pool lacks for a mapping of `length` that reserves its pages, as long as
    /// `nr_overcommit_hugepages` lets it grow: allocate it, and hand the page in with `hugetlb_give_surplus` before `mmap`.
    #[must_use]
    pub fn hugetlb_shortfall(&self, length: Bytes, node: NodeId, cpu: usize) -> Option<Request> {
        let (pool, wanted) = (self.hugetlb_pool(), whole_huge_pages(length).get() / u64::from(NR));
        let request = Request { node, cpu, ..Request::new(Order::PAGEBLOCK, POOL_GFP) };
        (pool.available() < wanted && self.may_overcommit()).then_some(request)
    }

    /// Whether the pool may have one more surplus page.
    pub(super) fn may_overcommit(&self) -> bool {
        self.hugetlb_pool().surplus < self.overcommit
    }

    /// Makes the map of a new mapping of `pages` base pages, and reserves its pages if it `reserves` any.
    ///
    /// # Errors
    /// `ENOMEM` where the pool has too few.
    pub(crate) fn make_hugetlb(
        &mut self,
        id: SpaceId,
        pages: Pages,
        shared: bool,
        reserves: bool,
    ) -> Result<HugetlbId, Errno> {
        let count = if reserves { pages.get() / u64::from(NR) } else { 0 };
        if count > self.hugetlb_pool().available() {
            return Err(Errno::Enomem);
        }
        let hugetlb = &mut *self;
        let map = HugetlbId(hugetlb.maps_made);
        hugetlb.maps_made += 1;
        hugetlb.reserved += count;
        let (reserved, pages, robbed) = ((0..count).collect(), BTreeMap::new(), BTreeSet::new());
        hugetlb.maps.insert(map.0, HugetlbMap { shared, owner: id, reserved, pages, robbed, vmas: 0 });
        Ok(map)
    }

    /// Bytes of pool pages that a mapping shows: those that nobody else does, then the others.
    pub(crate) fn hugetlb_usage(&self, space: &Space, vma: &Vma) -> [Bytes; 2] {
        let mut bytes = [Bytes::ZERO; 2];
        for (_, pte) in space.table.hugetlb_slots(vma.range) {
            let page = pte.idx().and_then(|head| self.used.get(&head.0));
            bytes[usize::from(page.is_some_and(|page| page.mappings > 1))] += Order::PAGEBLOCK.pages().bytes();
        }
        bytes
    }
}

impl UsedPages {
    /// Adds the surplus page that was needed, or takes note that there is none.
    pub(crate) fn hugetlb_give_surplus(&mut self, page: Option<Pfn>, phys: &mut PhysMem) {
        phys.count_pool_page(page.is_some());
        if let Some(page) = page {
            self.add_pool_page(page, true, phys);
        }
    }

    /// Takes surplus pages back that a mapping did not reserve after all.
    pub(crate) fn hugetlb_trim(&mut self, cpu: usize, phys: &mut PhysMem) {
        self.trim_surplus(cpu, phys);
    }

    /// Whether an edge at `at` would cut a huge page of a pool.
    pub(crate) fn cuts_hugetlb(vma: &Vma, at: Vpn) -> bool {
        let inside = vma.range.start < at && at < vma.range.end;
        matches!(vma.kind, VmaKind::Hugetlb { .. }) && inside && at != at.slot().start
    }

    /// Gives a child what its parent has mapped from pools: pages of private mappings until one of them writes.
    pub(crate) fn fork_hugetlb(&mut self, parent: SpaceId, child: SpaceId, phys: &mut PhysMem) {
        if self.spaces.living(parent).hugetlb_pages() == self.spaces.living(child).hugetlb_pages() {
            return;
        }
        let mut rest = VpnRange::new(Vpn::new(0), TASK_END);
        while let Some(vma) = self.spaces.living(parent).vmas.next_within(&mut rest) {
            let VmaKind::Hugetlb { map, shared } = vma.kind else { continue };
            let map = self.hugetlb.maps.get_mut(&map.0).expect("a mapping knows its map");
            if map.is_robbed(parent) {
                map.rob(child);
            }
            let mut slots = vma.range;
            while let Some((slot, entry)) = self.spaces.living(parent).table.next_hugetlb_mut(&mut slots) {
                *entry = if shared { *entry } else { entry.with(PteFlag::Write, false) };
                let pte = *entry;
                self.map_hugetlb(Mapping { space: child, vpn: slot.start }, pte.with(PteFlag::Young, false), phys);
                if let Some(tags) = self.tags.as_mut().filter(|_| !shared) {
                    tags.fork(parent, child, slot);
                }
            }
        }
    }

    /// Gives an empty slot the page of an entry.
    pub(super) fn map_hugetlb(&mut self, at: Mapping, pte: Pte, phys: &mut PhysMem) {
        let head = pte.idx().expect("an entry of a pool names a page");
        self.spaces.living(at.space).install_hugetlb(at.vpn, pte);
        self.hugetlb.used.get_mut(&head.0).expect("a mapped page is in use").mappings += 1;
        phys.work.ptes_set += 1;
    }

    /// Takes the page of a slot away.
    pub(super) fn unmap_hugetlb(&mut self, at: Mapping, cpu: usize, phys: &mut PhysMem) {
        let space = self.spaces.living(at.space);
        let pte = space.remove_hugetlb(at.vpn).expect("the slot has a page of a pool");
        let head = pte.idx().expect("an entry of a pool names a page");
        self.hugetlb.used.get_mut(&head.0).expect("a mapped page is in use").mappings -= 1;
        self.put_pool_page(head, cpu, phys);
        phys.work.ptes_cleared += 1;
        phys.work.tlb_flushes += 1;
    }

    /// Unmaps the pages of pools in `range`, which cuts none.
    pub(crate) fn zap_hugetlb(&mut self, id: SpaceId, range: VpnRange, cpu: usize, phys: &mut PhysMem) {
        if self.spaces.living(id).hugetlb_pages() == 0 {
            return;
        }
        let mut rest = range;
        while let Some((slot, _)) = self.spaces.living(id).table.next_hugetlb(&mut rest) {
            self.unmap_hugetlb(Mapping { space: id, vpn: slot.start }, cpu, phys);
        }
    }

    /// A mapping has ended: what it reserved is free again, and with the last one so are the pages of the map.
    pub(crate) fn hugetlb_closed(&mut self, id: SpaceId, vma: &Vma, cpu: usize, phys: &mut PhysMem) {
        let VmaKind::Hugetlb { map: number, .. } = vma.kind else { return };
        let hugetlb = &mut self.hugetlb;
        let map = hugetlb.maps.get_mut(&number.0).expect("a mapping knows its map");
        let last = map.vmas == 0;
        let before = map.promised();
        if last {
            map.reserved.clear();
        } else if map.is_owner(id) {
            let first = place(vma, vma.range);
            let end = first + vma.range.len().get() / u64::from(NR);
            map.reserved.retain(|index| !(first..end).contains(index));
        }
        hugetlb.reserved -= before - map.promised();
        if last {
            let map = hugetlb.maps.remove(&number.0).expect("it was found above");
            for head in map.pages() {
                self.hugetlb.used.get_mut(&head.0).expect("a page of a map is in use").shared = false;
                self.put_pool_page(head, cpu, phys);
            }
        }
        self.trim_surplus(cpu, phys);
    }
}

impl Spaces {
    /// Sets what may be done with the pages of pools in `range`.
    pub(crate) fn protect_hugetlb(
        &mut self,
        id: SpaceId,
        range: VpnRange,
        prot: Prot,
        shared: bool,
        phys: &mut PhysMem,
    ) {
        let writable = shared && prot.has(Prot::WRITE);
        let (mut rest, mut changed) = (range, 0);
        while let Some((_, entry)) = self.living(id).table.next_hugetlb_mut(&mut rest) {
            *entry = entry.with(PteFlag::Access, prot != Prot::NONE).with(PteFlag::Write, writable);
            changed += 1;
        }
        phys.work.ptes_set += changed;
        phys.work.tlb_flushes += u64::from(changed > 0);
    }
}

impl super::Hugetlb {
    /// A mapping shows a map, or no longer does.
    pub(crate) fn count_vma(&mut self, kind: VmaKind, change: impl FnOnce(u32, u32) -> u32) {
        if let VmaKind::Hugetlb { map, .. } = kind {
            let map = self.maps.get_mut(&map.0).expect("a mapping knows its map");
            map.vmas = change(map.vmas, 1);
        }
    }
}
