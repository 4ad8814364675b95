//! Huge pages and large folios of files move whole: all base pages, with every mapping, to another free block.
//!
//! Compaction never asks for this of pages of 2 MiB: they are what it works for. Whoever moves pages between nodes or out of a
//! range does ([`crate::mempolicy::move_pages`]). Linux' Documentation/mm/page_migration.rst; LKML: "mm: page migration
//! enhancement for thp" (2017).

use order9_frames::{Flag, Idx};
use order9_units::Pfn;

use super::HugePage;
use crate::page_cache::{FileId, Folio, MigrateHandler};
use crate::page_flags::{PageFlag, PageWord};
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::{Errno, Owner};

impl UsedPages {
    /// Moves the anonymous huge page or the large folio that starts at `source`, and that the caller has isolated, to the fresh
    /// block `target`, on behalf of `cpu`. One step: nobody ever meets a half-moved page.
    ///
    /// # Errors
    /// `EBUSY` where it is pinned, being read or written, or its filesystem cannot move it; the source is isolated as before then, and the target the caller's.
    pub(crate) fn migrate_huge(
        &mut self,
        source: Idx,
        target: Pfn,
        cpu: usize,
        phys: &mut PhysMem,
    ) -> Result<(), Errno> {
        let (word, owner) = (phys.frames.word(source), self.rmap.owner(source));
        let stays = match owner {
            Owner::File { file, .. } => match self.cache.files.migrate_handler(file) {
                MigrateHandler::Present => false,
                MigrateHandler::Absent => word.has(PageFlag::Dirty),
                MigrateHandler::AbsentPrivate => true,
            },
            _ => false,
        };
        let busy = word.has(Flag::Pinned) || word.has(PageFlag::Writeback) || word.has(PageFlag::Locked);
        if stays || busy {
            return Err(Errno::Ebusy);
        }
        let target = phys.fresh_block(target, word.order());
        let parts = phys.parts(source).zip(phys.parts(target));
        parts.for_each(|(from, to)| self.copy_page(from, to, phys));
        phys.work.folios_moved += 1;
        match owner {
            Owner::File { file, index } => self.remap_folio(file, &phys.folio(index, source), target, phys),
            _ => self.remap_huge(source, target, phys),
        }
        if word.has(PageFlag::SwapCache) {
            self.swap.relocate_in_swap_cache(source, target, phys);
        }
        self.lru.end_isolation(source, phys);
        self.adopt_page(target, owner, word.lru_list(), phys);
        self.balancing.copy_user(source, target);
        for flag in [
            PageFlag::Referenced,
            PageFlag::Dirty,
            PageFlag::Workingset,
            PageFlag::LazyFree,
            PageFlag::SwapCache,
            PageFlag::Reclaim,
            PageFlag::Readahead,
        ] {
            let moved = phys.frames.word(target).with(flag, word.has(flag));
            phys.frames.set(target, moved);
        }
        // An unevictable page keeps its type in its flags; the list alone does not tell it.
        let moved = phys.frames.word(target).with(PageFlag::File, word.has(PageFlag::File));
        phys.frames.set(target, moved);
        self.disown_huge(source, cpu, phys);
        Ok(())
    }

    /// Lets a file and every mapping of one of its folios show `target` instead; both blocks keep their words.
    fn remap_folio(&mut self, file: FileId, folio: &Folio, target: Idx, phys: &mut PhysMem) {
        let page = self.huge.take_page(folio.head);
        for ((index, from), to) in folio.places().zip((target.0..).map(Idx)) {
            for &at in &*self.mappings_of(from, phys) {
                let table = self.spaces.living(at.space).table.table_mut(at.vpn).expect("the page has this mapping");
                table.set(at.vpn, table.get(at.vpn).migrated(to));
            }
            if self.cache.file_mut(file).mappings(index) > 0 {
                *self.rmap.mapped_of(from, phys) -= 1;
                *self.rmap.mapped_of(to, phys) += 1;
            }
            self.cache.file_mut(file).replace(index, to);
            self.rmap.set(from, Owner::Nobody);
            self.rmap.set(to, Owner::File { file, index });
        }
        if phys.frames.word(folio.head).has(PageFlag::Dirty) {
            self.cache.write_pending_of(folio.head, phys).dirty -= folio.pages;
            self.cache.write_pending_of(target, phys).dirty += folio.pages;
        }
        phys.work.rmap_walks += 2 * u64::from(page.ptes > 0);
        phys.work.ptes_cleared += u64::from(page.ptes);
        phys.work.ptes_set += u64::from(page.ptes);
        phys.work.tlb_flushes += u64::from(page.ptes > 0);
        if page.ptes > 0 {
            *self.huge.page_mut(target) = page;
        }
    }

    /// Lets every mapping of a huge page show `target` instead; both pages keep their words.
    fn remap_huge(&mut self, source: Idx, target: Idx, phys: &mut PhysMem) {
        let HugePage { queued, partial, .. } = *self.huge.page(source);
        self.huge.leave_queue(source, phys);
        let page = self.huge.take_page(source);
        self.rmap.set(target, Owner::Huge);
        for at in &page.pmds {
            let huge = self.spaces.living(at.space).table.huge_mut(at.vpn).expect("the page has this mapping");
            huge.pte = huge.pte.migrated(target);
        }
        let parts = phys.parts(source).zip(phys.parts(target));
        for (from, to) in parts.filter(|_| page.ptes > 0) {
            for at in self.rmap.own_mappings(from) {
                let table = self.spaces.living(at.space).table.table_mut(at.vpn).expect("the page has this mapping");
                table.set(at.vpn, table.get(at.vpn).migrated(to));
            }
            let (from, to) = (self.rmap.of_subpage(from), self.rmap.of_subpage(to));
            let mappings = self.rmap.owner(from);
            self.rmap.set(to, mappings);
            self.rmap.set(from, Owner::Nobody);
        }
        let entries = page.pmds.len() as u64 + u64::from(page.ptes);
        phys.work.rmap_walks += 2;
        phys.work.ptes_cleared += entries;
        phys.work.ptes_set += entries;
        phys.work.tlb_flushes += 1;
        *self.huge.page_mut(target) = page;
        if queued.is_some() {
            self.huge.enqueue(target, partial, phys);
        }
    }

    /// Isolates the huge page or large folio that starts at `head`; says whether it was not isolated yet.
    pub(crate) fn isolate_huge(&mut self, head: Idx, phys: &mut PhysMem) -> bool {
        let word = phys.frames.word(head);
        let moves = self.rmap.huge_head(head, phys) == Some(head) || self.is_large_folio(head, phys);
        let free = !word.has(Flag::Isolated) && moves;
        if free {
            self.lru.isolate_lru(head, phys);
            self.lru.count_isolation(head, phys);
        }
        free
    }

    /// `FOLL_SPLIT`: makes base pages of the huge page that `pfn` is part of, if it is.
    pub(crate) fn follow_split(&mut self, pfn: Pfn, cpu: usize, phys: &mut PhysMem) -> Result<(), Errno> {
        match phys.frames.idx(pfn).and_then(|idx| self.rmap.folio_head(idx, phys)) {
            Some(head) => self.split_head(head, cpu, phys),
            None => Ok(()),
        }
    }
}
