//! `mremap`: a mapping shrinks, grows, or moves with its pages.

use alloc::vec::Vec;

use order9_units::{Bytes, Pages};

use super::mmap::Place;
use super::pte::Pte;
use super::{Errno, Mapping, SpaceId, TableStep, Vma, VmaKind};
use crate::addr::{VirtAddr, Vpn, VpnRange, range_of_call};
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::Spaces;

/// Whether and where a mapping may move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MremapTo {
    /// The mapping stays in its place.
    InPlace,
    /// `MREMAP_MAYMOVE`: it moves if it cannot grow where it is.
    MayMove,
    /// `MREMAP_FIXED`: it moves here, in place of what is mapped there.
    Fixed(VirtAddr),
}

/// Next step of `mremap`.
#[derive(Clone, Copy, Debug)]
pub enum Mremap {
    /// The move is done; the mapping starts here.
    Done(VirtAddr),
    /// Pages have to move: [`Mm::move_step`](crate::Mm::move_step) does it.
    Moving(Move),
}

/// A mapping on its way: both places are mapped, pages move slot by slot, and at the end the old place is unmapped.
#[derive(Clone, Copy, Debug)]
pub struct Move {
    space: SpaceId,
    from: VpnRange,
    to: Vpn,
    /// Pages of `from` that have moved.
    moved: Pages,
    /// The mappings as they were when both places were mapped.
    generation: u64,
}

/// Arguments of `mremap`.
#[derive(Clone, Copy, Debug)]
pub struct MremapRequest {
    /// Start of the mapping.
    pub addr: VirtAddr,
    /// Bytes of it that are resized or moved.
    pub old_length: Bytes,
    /// Bytes that it is to have.
    pub new_length: Bytes,
    /// Place where the mapping may go.
    pub to: MremapTo,
}

impl Move {
    /// The space.
    #[must_use]
    pub const fn space(&self) -> SpaceId {
        self.space
    }

    /// Start of the mapping after the move.
    #[must_use]
    pub const fn to(&self) -> VirtAddr {
        self.to.addr()
    }
}

impl UsedPages {
    /// `mremap`. An old length of 0, which duplicates a shared mapping, is not taken.
    pub(crate) fn mremap(
        &mut self,
        id: SpaceId,
        request: &MremapRequest,
        cpu: usize,
        phys: &mut PhysMem,
    ) -> Result<Mremap, Errno> {
        let MremapRequest { addr, old_length, new_length, to } = *request;
        let vmas = &self.spaces.get(id)?.vmas;
        phys.work.vma_lookups += 1;
        let mut old = range_of_call(addr, old_length, Errno::Einval)?;
        let new = range_of_call(addr, new_length, Errno::Enomem)?.len();
        if old.is_empty() || new == Pages::ZERO {
            return Err(Errno::Einval);
        }
        if let VmaKind::Hugetlb { .. } = vmas.find(old.start).ok_or(Errno::Efault)?.kind {
            return Err(Errno::Einval);
        }
        if let MremapTo::Fixed(target) = to {
            let target = range_of_call(target, new.bytes(), Errno::Einval)?;
            if !target.intersect(old).is_empty() {
                return Err(Errno::Einval);
            }
            self.spaces.place(id, Place::Fixed(target.start.addr()), new, Pages::new(1))?;
            self.spaces.room_to_move(id)?;
            self.unmap_range(id, target, cpu, phys)?;
        }
        if new < old.len() {
            let kept = VpnRange::of(old.start, new);
            self.unmap_range(id, VpnRange::new(kept.end, old.end), cpu, phys)?;
            old = kept;
        }
        let vma = *self.spaces.living(id).vmas.find(old.start).ok_or(Errno::Efault)?;
        if let MremapTo::Fixed(target) = to {
            return self.start_move(id, &vma, old, VpnRange::of(target.vpn(), new));
        }
        if new <= old.len() {
            return Ok(Mremap::Done(addr));
        }
        if old.end > vma.range.end {
            return Err(Errno::Efault);
        }
        let grown = VpnRange::of(old.start, new);
        if old.end == vma.range.end && self.grow(id, &vma, grown.end) {
            return Ok(Mremap::Done(addr));
        }
        if to == MremapTo::InPlace {
            return Err(Errno::Enomem);
        }
        self.spaces.room_to_move(id)?;
        let target = self.spaces.place(id, Place::Anywhere, new, Pages::new(1))?;
        self.start_move(id, &vma, old, target)
    }

    /// Lets a mapping reach up to `end` if nothing is in the way.
    fn grow(&mut self, id: SpaceId, vma: &Vma, end: Vpn) -> bool {
        let added = VpnRange::new(vma.range.end, end);
        if self.spaces.living(id).vmas.first_within(added).is_some() {
            return false;
        }
        self.remove_vma(id, vma.range.start);
        self.insert_vma(id, Vma { range: VpnRange::new(vma.range.start, end), ..*vma });
        self.merge_at(id, end);
        true
    }

    fn start_move(&mut self, id: SpaceId, vma: &Vma, old: VpnRange, new: VpnRange) -> Result<Mremap, Errno> {
        if old.end > vma.range.end {
            return Err(Errno::Efault);
        }
        let fresh = vma.kind == VmaKind::Anon && !vma.touched;
        let offset = if fresh { new.start.get() } else { vma.index(old.start) };
        self.insert_vma(id, Vma { range: new, offset, ..*vma });
        let generation = self.spaces.living(id).vmas.generation;
        Ok(Mremap::Moving(Move { space: id, from: old, to: new.start, moved: Pages::ZERO, generation }))
    }

    /// Moves the pages of the next slot; after the last, unmaps the old place.
    pub(crate) fn move_step(&mut self, run: &mut Move, cpu: usize, phys: &mut PhysMem) -> Result<TableStep, Errno> {
        let space = self.spaces.get(run.space)?;
        if space.vmas.generation != run.generation {
            return Err(Errno::Eagain);
        }
        let rest = VpnRange::new(run.from.start + run.moved, run.from.end);
        let Some((slot, _)) = space.table.used_slots(rest).next() else {
            self.finish_move(run, cpu, phys)?;
            return Ok(TableStep::Done);
        };
        let source = slot.intersect(rest);
        let target = run.to + (source.start - run.from.start);
        if space.table.huge(source.start).is_some() {
            let fits = source == slot && target.slot().start == target && space.table.table(target).is_none();
            if fits {
                self.move_huge(run.space, source, target, phys);
                run.moved = source.end - run.from.start;
            } else {
                self.split_pmd(run.space, source.start, phys);
            }
            return Ok(TableStep::Progress);
        }
        if space.table.table(target).is_none() {
            return Ok(TableStep::NeedTable(target));
        }
        let pages = (target.slot().end - target).min(source.len());
        self.move_pages(run.space, VpnRange::of(source.start, pages), target, phys);
        run.moved = source.start + pages - run.from.start;
        Ok(TableStep::Progress)
    }

    /// Moves the entries of `source` to `target`; each lies in one slot with a table, perhaps the same.
    fn move_pages(&mut self, id: SpaceId, source: VpnRange, target: Vpn, phys: &mut PhysMem) {
        let table = &mut self.spaces.living(id).table;
        let from = table.table_mut(source.start).expect("the source has a table");
        let taken = source.iter().map(|vpn| (vpn, from.set(vpn, Pte::NONE)));
        let taken: Vec<(Vpn, Pte)> = taken.filter(|(_, pte)| !pte.is_none()).collect();
        for &(vpn, pte) in &taken {
            let there = target + (vpn - source.start);
            let table = &mut self.spaces.living(id).table;
            table.table_mut(there).expect("the target has a table").set(there, pte);
            if let Some(idx) = pte.idx() {
                let mapping = |vpn| Mapping { space: id, vpn };
                let place = if self.rmap.huge_head(idx, phys).is_some() { self.rmap.of_subpage(idx) } else { idx };
                self.rmap.relocate(place, mapping(vpn), mapping(there));
            }
        }
        phys.work.ptes_cleared += taken.len() as u64;
        phys.work.ptes_set += taken.len() as u64;
        phys.work.tlb_flushes += u64::from(!taken.is_empty());
        if let Some(tags) = &mut self.tags {
            tags.relocate(id, source, target);
        }
    }

    fn finish_move(&mut self, run: &Move, cpu: usize, phys: &mut PhysMem) -> Result<(), Errno> {
        let moved = *self.spaces.living(run.space).vmas.at(run.to).expect("no mapping has changed since the start");
        self.unmap_range(run.space, run.from, cpu, phys)?;
        self.merge_at(run.space, moved.range.start);
        self.merge_at(run.space, moved.range.end);
        Ok(())
    }
}

impl Spaces {
    /// A move splits up to three mappings before it is through.
    fn room_to_move(&self, id: SpaceId) -> Result<(), Errno> {
        if self.get(id)?.vmas.len() + 3 >= self.map_limit.now { Err(Errno::Enomem) } else { Ok(()) }
    }
}
