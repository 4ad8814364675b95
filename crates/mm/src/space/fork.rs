//! `fork`: the child gets the parent's mappings and shares its private pages until one of them writes.

use super::addr::{TASK_END, Vpn, VpnRange};
use super::pte::{Pte, PteFlag};
use super::table::Table;
use super::{Errno, Mapping, Owner, SpaceId, TableStep, Vma};
use crate::Mm;
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

impl Fork {
    /// The child.
    #[must_use]
    pub const fn child(&self) -> SpaceId {
        self.child
    }
}

impl<T: Tracer> Mm<T> {
    /// Starts a fork: the child has all mappings, none locked, and no page yet. [`Mm::fork_step`] does the rest; if it
    /// cannot be finished, [`Mm::exit`] ends the child.
    ///
    /// # Errors
    /// `ESRCH` without a parent, `EAGAIN` as [`Mm::create_space`].
    pub fn fork(&mut self, parent: SpaceId) -> Result<Fork, Errno> {
        let vmas = &self.user.space(parent)?.vmas;
        let generation = vmas.generation;
        let copies: alloc::vec::Vec<Vma> = vmas.iter().map(|vma| Vma { locked: false, ..*vma }).collect();
        let child = self.create_space()?;
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
        if self.user.space(fork.child)?.table.table(piece.start).is_none() {
            return Ok(TableStep::NeedTable(piece.start));
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

    /// Copies the entries of `piece`, which lies in one slot where both have a table.
    fn share_pages(&mut self, fork: &Fork, piece: VpnRange) {
        let mut take = |id| {
            let (_, table) = self.user.living(id).table.take_next(piece).expect("both have a table");
            table
        };
        let (mut from, mut to) = (take(fork.parent), take(fork.child));
        for vpn in piece.iter() {
            if !from.get(vpn).is_none() {
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
