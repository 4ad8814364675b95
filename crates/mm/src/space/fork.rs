//! `fork`: the child gets the parent's mappings and shares its private pages until one of them writes. Of pages that are
//! pinned it may get copies at once ("mm: Trial do_wp_page() simplification" and "mm: Do early cow for pinned pages
//! during fork()", LKML, 2020).

use order9_frames::{Flag, Idx};
use order9_units::{Pages, Pfn};

use super::addr::{TASK_END, Vpn, VpnRange};
use super::pte::{Pte, PteFlag};
use super::table::{Huge, Table};
use super::{Errno, Mapping, Owner, Prot, SpaceId, TableStep, Vma};
use crate::Mm;
use crate::mempolicy::SpaceTask;
use crate::trace::Tracer;

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

impl<T: Tracer> Mm<T> {
    /// Starts a fork by `parent`, or the first task of it: the child has all mappings, none locked, and no page yet. [`Mm::fork_step`] does the rest; if it
    /// cannot be finished, [`Mm::exit`] ends the child.
    ///
    /// # Errors
    /// `ESRCH` without a parent, `EAGAIN` as [`Mm::create_space`].
    pub fn fork(&mut self, parent: impl Into<SpaceTask>) -> Result<Fork, Errno> {
        let task = parent.into();
        let parent = task.space;
        let space = self.user.space(parent)?;
        let (vmas, thp_disabled, unprivileged) = (&space.vmas, space.thp_disabled, space.unprivileged);
        let generation = vmas.generation;
        let copies: alloc::vec::Vec<Vma> = vmas.iter().map(|vma| Vma { locked: false, ..*vma }).collect();
        let child = self.create_space()?;
        let space = self.user.living(child);
        (space.thp_disabled, space.unprivileged) = (thp_disabled, unprivileged);
        self.inherit_mempolicy(task, child)?;
        for vma in copies {
            self.user.insert_vma(child, vma);
        }
        self.work.tlb_flushes += 1;
        Ok(Fork { parent, child, at: Vpn::new(0), generation })
    }

    /// Shares the pages of the next slot. Mappings whose pages can be had from their file again are left to later faults.
    ///
    /// # Errors
    /// `EAGAIN` if the parent's mappings have changed since the start, `ESRCH` if one of the two is gone.
    pub fn fork_step(&mut self, fork: &mut Fork) -> Result<TableStep, Errno> {
        let parent = self.user.space(fork.parent)?;
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
            self.fork_hugetlb(fork.parent, fork.child);
            return Ok(TableStep::Done);
        };
        let huge = parent.table.huge(piece.start);
        if huge.is_some_and(|huge| self.is_of_file(huge)) {
            fork.at = piece.end; // It can be had from the file again.
            return Ok(TableStep::Progress);
        }
        if huge.and_then(Huge::head).is_some_and(|head| self.must_copy(head)) {
            self.split_pmd(fork.parent, piece.start);
            return Ok(TableStep::Progress);
        }
        if self.user.space(fork.child)?.table.table(piece.start).is_none() {
            return Ok(TableStep::NeedTable(piece.start));
        }
        if let Some(copy) = self.next_to_copy(fork.parent, fork.child, piece) {
            return Ok(TableStep::NeedCopy(copy));
        }
        match huge {
            Some(_) => self.fork_huge(fork.parent, fork.child, piece),
            None => self.share_pages(fork, piece),
        }
        if let Some(tags) = &mut self.user.tags {
            tags.fork(fork.parent, fork.child, piece);
        }
        fork.at = piece.end;
        Ok(TableStep::Progress)
    }

    /// Whether a child gets a copy of an anonymous page at once: a device may be writing to the parent's.
    fn must_copy(&self, idx: Idx) -> bool {
        let (head, owner) = (self.huge_head(idx), self.user.rmap.owner(idx));
        let anon = head.is_some() || matches!(owner, Owner::Anon(_) | Owner::Shared { .. });
        self.policy.thp.fork_pin_copy && anon && self.frames.word(head.unwrap_or(idx)).has(Flag::Pinned)
    }

    /// The first page of `piece` of which the child still needs a copy.
    fn next_to_copy(&self, parent: SpaceId, child: SpaceId, piece: VpnRange) -> Option<ForkCopy> {
        if !self.policy.thp.fork_pin_copy {
            return None;
        }
        let of = |id| self.user.space(id).ok()?.table.table(piece.start);
        let (from, to) = (of(parent)?, of(child)?);
        let missing = |&vpn: &Vpn| to.get(vpn).is_none() && from.get(vpn).idx().is_some_and(|idx| self.must_copy(idx));
        piece.iter().find(missing).map(|vpn| ForkCopy { parent, child, vpn })
    }

    /// Gives the child of a fork a copy of its own, on behalf of `cpu`; frees the page where none is needed (any more).
    ///
    /// # Panics
    /// If `page` is not a single page that was just allocated.
    pub fn give_copy(&mut self, copy: &ForkCopy, page: Pfn, cpu: usize) {
        let &ForkCopy { parent, child, vpn } = copy;
        let idx = self.fresh(page);
        let wanted = self.next_to_copy(parent, child, VpnRange::of(vpn, Pages::new(1))).is_some();
        let pte = self.user.space(parent).map_or(Pte::NONE, |space| space.table.get(vpn));
        let Some(source) = pte.idx().filter(|_| wanted) else { return self.free_fresh(idx, cpu) };
        self.copy_page(source, idx);
        self.adopt_anon(idx, Owner::Anon(Mapping { space: child, vpn }), false);
        self.user.levels.anon += 1;
        let space = self.user.living(child);
        let writable = space.vmas.find(vpn).is_some_and(|vma| vma.prot.has(Prot::WRITE));
        let entry = Pte::present(idx).with(PteFlag::Access, pte.answered().has(PteFlag::Access));
        let entry = entry.with(PteFlag::Write, writable).with(PteFlag::Dirty, true);
        space.table.table_mut(vpn).expect("the child has a table").set(vpn, entry);
        space.rss.anon_pages += 1;
        self.work.ptes_set += 1;
    }

    /// Copies the entries of `piece`, which lies in one slot where both have a table.
    fn share_pages(&mut self, fork: &Fork, piece: VpnRange) {
        let mut take = |id| {
            let (_, table) = self.user.living(id).table.take_next(piece).expect("both have a table");
            table
        };
        let (mut from, mut to) = (take(fork.parent), take(fork.child));
        for vpn in piece.iter() {
            // A page of which the child has a copy stays the parent's alone.
            if !from.get(vpn).is_none() && to.get(vpn).is_none() {
                let shared = self.share_page(&mut from, Mapping { space: fork.child, vpn });
                to.set(vpn, shared);
                self.work.ptes_set += 1;
            }
        }
        self.user.living(fork.parent).table.put_back(piece.start, from);
        self.user.living(fork.child).table.put_back(piece.start, to);
    }

    /// Takes the right to write off the parent's entry; returns the child's.
    fn share_page(&mut self, from: &mut Table, child: Mapping) -> Pte {
        if let Some(slot) = from.get(child.vpn).slot() {
            self.share_swap_entry(slot, child.space);
            return Pte::swap(slot);
        }
        let pte = from.get(child.vpn).with(PteFlag::Write, false);
        from.set(child.vpn, pte);
        if let Some(idx) = pte.idx() {
            if let Owner::File { .. } = self.user.rmap.owner(idx) {
                self.map_file_page(child.space, idx, false);
            } else {
                match self.huge_head(idx) {
                    Some(_) => self.map_subpage(child, idx),
                    None => self.user.rmap.share(idx, child),
                }
                self.user.living(child.space).rss.anon_pages += 1;
            }
        }
        pte.with(PteFlag::Young, false)
    }
}
