//! `fork`: the child gets the parent's mappings and shares its private pages until one of them writes. Of pages that are
//! pinned it may get copies at once ("mm: Trial do_wp_page() simplification" and "mm: Do early cow for pinned pages
//! during fork()", LKML, 2020).

use alloc::vec::Vec;

use order9_frames::{Flag, Idx};
use order9_units::{Pages, Pfn};

use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::Rmap;

use super::pte::{Pte, PteFlag};
use super::table::Huge;
use super::{Errno, Mapping, Owner, Prot, SpaceId, TableStep, Vma};
use crate::addr::{TASK_END, Vpn, VpnRange};
use crate::mempolicy::SpaceTask;

/// A fork under way: the child exists, and its page table fills up slot by slot.
#[derive(Clone, Copy, Debug)]
pub struct Fork {
    parent: SpaceId,
    child: SpaceId,
    /// Everything below has been copied.
    at: Vpn,
    /// The parent's mappings as they were at the start.
    generation: u64,
}

/// A page of which the child of a fork gets a copy at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForkCopy {
    parent: SpaceId,
    child: SpaceId,
    vpn: Vpn,
}

impl Fork {
    /// The child.
    #[must_use]
    pub const fn child(&self) -> SpaceId {
        self.child
    }
}

impl UsedPages {
    /// Starts a fork by `parent`, or the first task of it: the child has all mappings, none locked, and no page yet. [`Mm::fork_step`] does the rest; if it
    /// cannot be finished, [`Mm::exit`] ends the child.
    pub(crate) fn fork(&mut self, parent: impl Into<SpaceTask>, phys: &mut PhysMem) -> Result<Fork, Errno> {
        let task = parent.into();
        let parent = task.space;
        let space = self.spaces.get(parent)?;
        let (vmas, thp_disabled, unprivileged) = (&space.vmas, space.thp_disabled, space.unprivileged);
        let generation = vmas.generation;
        let copies: alloc::vec::Vec<Vma> = vmas.iter().map(|vma| Vma { locked: false, ..*vma }).collect();
        let child = self.create_space(phys)?;
        let space = self.spaces.living(child);
        (space.thp_disabled, space.unprivileged) = (thp_disabled, unprivileged);
        self.spaces.inherit_mempolicy(task, child)?;
        for vma in copies {
            self.insert_vma(child, vma);
        }
        phys.work.tlb_flushes += 1;
        Ok(Fork { parent, child, at: Vpn::new(0), generation })
    }

    /// Shares the pages of the next slot. Mappings whose pages can be had from their file again are left to later faults.
    pub(crate) fn fork_step(&mut self, fork: &mut Fork, phys: &mut PhysMem) -> Result<TableStep, Errno> {
        let parent = self.spaces.get(fork.parent)?;
        if parent.vmas.generation != fork.generation {
            return Err(Errno::Eagain);
        }
        let to_copy = parent.vmas.within(VpnRange::new(fork.at, TASK_END));
        let to_copy = to_copy.filter(|vma| vma.kind.is_private() && vma.touched);
        let next = to_copy.map(|vma| VpnRange::new(vma.range.start.max(fork.at), vma.range.end)).find_map(|range| {
            let (slot, _) = parent.table.used_slots(range).next()?;
            Some(slot.intersect(range))
        });
        let Some(piece) = next else {
            self.fork_hugetlb(fork.parent, fork.child, phys);
            return Ok(TableStep::Done);
        };
        let huge = parent.table.huge(piece.start);
        if huge.is_some_and(|huge| self.rmap.is_of_file(huge, phys)) {
            fork.at = piece.end; // It can be had from the file again.
            return Ok(TableStep::Progress);
        }
        if huge.and_then(Huge::head).is_some_and(|head| self.rmap.must_copy(head, phys)) {
            self.split_pmd(fork.parent, piece.start, phys);
            return Ok(TableStep::Progress);
        }
        if self.spaces.get(fork.child)?.table.table(piece.start).is_none() {
            return Ok(TableStep::NeedTable(piece.start));
        }
        if let Some(copy) = self.next_to_copy(fork.parent, fork.child, piece, phys) {
            return Ok(TableStep::NeedCopy(copy));
        }
        match huge {
            Some(_) => self.fork_huge(fork.parent, fork.child, piece, phys),
            None => self.share_pages(fork, piece, phys),
        }
        if let Some(tags) = &mut self.tags {
            tags.fork(fork.parent, fork.child, piece);
        }
        fork.at = piece.end;
        Ok(TableStep::Progress)
    }

    /// The first page of `piece` of which the child still needs a copy.
    fn next_to_copy(&self, parent: SpaceId, child: SpaceId, piece: VpnRange, phys: &PhysMem) -> Option<ForkCopy> {
        if !phys.policy.thp.fork_pin_copy {
            return None;
        }
        let of = |id| self.spaces.get(id).ok()?.table.table(piece.start);
        let (from, to) = (of(parent)?, of(child)?);
        let missing =
            |&vpn: &Vpn| to.get(vpn).is_none() && from.get(vpn).idx().is_some_and(|idx| self.rmap.must_copy(idx, phys));
        piece.iter().find(missing).map(|vpn| ForkCopy { parent, child, vpn })
    }

    /// Gives the child of a fork a copy of its own, on behalf of `cpu`; frees the page where none is needed (any more).
    pub(crate) fn give_copy(&mut self, copy: &ForkCopy, page: Pfn, cpu: usize, phys: &mut PhysMem) {
        let &ForkCopy { parent, child, vpn } = copy;
        let idx = phys.fresh(page);
        let wanted = self.next_to_copy(parent, child, VpnRange::of(vpn, Pages::new(1)), phys).is_some();
        let pte = self.spaces.get(parent).map_or(Pte::NONE, |space| space.table.get(vpn));
        let Some(source) = pte.idx().filter(|_| wanted) else { return phys.free_fresh(idx, cpu) };
        self.copy_page(source, idx, phys);
        self.adopt_anon(idx, Owner::Anon(Mapping { space: child, vpn }), false, phys);
        self.levels.anon += 1;
        let space = self.spaces.living(child);
        let writable = space.vmas.find(vpn).is_some_and(|vma| vma.prot.has(Prot::WRITE));
        let entry = Pte::present(idx).with(PteFlag::Access, pte.answered().has(PteFlag::Access));
        let entry = entry.with(PteFlag::Write, writable).with(PteFlag::Dirty, true);
        space.table.table_mut(vpn).expect("the child has a table").set(vpn, entry);
        space.rss.anon_pages += 1;
        phys.work.ptes_set += 1;
    }

    /// Copies the entries of `piece`, which lies in one slot where both have a table.
    fn share_pages(&mut self, fork: &Fork, piece: VpnRange, phys: &mut PhysMem) {
        const BOTH: &str = "both have a table";
        let table = |id| self.spaces.get(id).ok()?.table.table(piece.start);
        let (from, to) = (table(fork.parent).expect(BOTH), table(fork.child).expect(BOTH));
        // A page of which the child has a copy stays the parent's alone.
        let entries = piece.iter().map(|vpn| (vpn, from.get(vpn)));
        let mut shared: Vec<(Vpn, Pte)> =
            entries.filter(|(vpn, pte)| !pte.is_none() && to.get(*vpn).is_none()).collect();
        for (vpn, pte) in &mut shared {
            *pte = self.share_page(*pte, Mapping { space: fork.child, vpn: *vpn }, phys);
        }
        phys.work.ptes_set += shared.len() as u64;
        let parent = self.spaces.living(fork.parent).table.table_mut(piece.start).expect(BOTH);
        for &(vpn, pte) in shared.iter().filter(|(_, pte)| pte.slot().is_none()) {
            parent.set(vpn, pte);
        }
        let child = self.spaces.living(fork.child).table.table_mut(piece.start).expect(BOTH);
        for (vpn, pte) in shared {
            child.set(vpn, pte.with(PteFlag::Young, false));
        }
    }

    /// Shares what the parent's entry shows; returns the entry without the right to write, which both have from now on.
    fn share_page(&mut self, pte: Pte, child: Mapping, phys: &mut PhysMem) -> Pte {
        if let Some(slot) = pte.slot() {
            self.share_swap_entry(slot, child.space);
            return Pte::swap(slot);
        }
        let pte = pte.with(PteFlag::Write, false);
        if let Some(idx) = pte.idx() {
            if let Owner::File { .. } = self.rmap.owner(idx) {
                self.map_file_page(child.space, idx, false, phys);
            } else {
                match self.rmap.huge_head(idx, phys) {
                    Some(_) => self.map_subpage(child, idx, phys),
                    None => self.rmap.share(idx, child),
                }
                self.spaces.living(child.space).rss.anon_pages += 1;
            }
        }
        pte
    }
}

impl Rmap {
    /// Whether a child gets a copy of an anonymous page at once: a device may be writing to the parent's.
    fn must_copy(&self, idx: Idx, phys: &PhysMem) -> bool {
        let (head, owner) = (self.huge_head(idx, phys), self.owner(idx));
        let anon = head.is_some() || matches!(owner, Owner::Anon(_) | Owner::Shared { .. });
        phys.policy.thp.fork_pin_copy && anon && phys.frames.word(head.unwrap_or(idx)).has(Flag::Pinned)
    }
}
