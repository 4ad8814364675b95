//! Faults on pages of files, of tmpfs and on disk.

use order9_frames::Idx;
use order9_units::{Nanos, Pages};

use super::fault::{Access, Answer, Fault, FaultStep, Need};
use super::pte::PteFlag;
use super::resolve::Seen;
use super::{Mapping, Owner, Prot, SpaceId, Vma};
use crate::addr::{VirtAddr, Vpn, VpnRange};
use crate::page_cache::FileId;
use crate::page_flags::PageFlag;
use crate::pages::UsedPages;
use crate::phys::PhysMem;

/// Pages around a read fault that are mapped with it where their file has them. A divisor of a slot's.
const FAULT_AROUND: Pages = Pages::new(16);

impl UsedPages {
    /// Goes on with a write after [`FaultStep::NeedMkwrite`]: at the time `now` the page becomes dirty. Like every writer, the
    /// program should then be held up if too much is dirty.
    pub fn page_mkwrite(
        &mut self,
        id: SpaceId,
        addr: VirtAddr,
        now: Nanos,
        cpu: usize,
        phys: &mut PhysMem,
    ) -> FaultStep {
        let vpn = addr.vpn();
        let table = self.spaces.get(id).ok().and_then(|space| space.table.table(vpn));
        let seen = table.map(|table| table.get(vpn));
        self.resolve(id.into(), vpn, Access::Write, Seen { entry: seen, now: Some(now) }, phys.node_of_cpu(cpu), phys)
    }

    /// A page of a file that is not mapped yet.
    pub(super) fn answer_from_file(
        &mut self,
        at: Mapping,
        vma: &Vma,
        file: FileId,
        access: Access,
        now: Option<Nanos>,
        phys: &mut PhysMem,
    ) -> Answer {
        let Mapping { space: id, vpn } = at;
        let index = vma.index(vpn);
        if self.cache.files.size(file).is_none_or(|size| index >= size.get()) {
            return Answer::Beyond;
        }
        let on_disk = self.cache.files.is_on_disk(file);
        let page = self.shown_at(file, index, phys);
        if let Some(slot) = self.cache.swapped_at(file, index) {
            return Answer::Need(Need::SwapIn(slot));
        }
        phys.counters.pgmajfault += u64::from(on_disk && page.is_none());
        let Some(idx) = page.filter(|&idx| !phys.page_word(idx).has(PageFlag::Locked)) else {
            return if on_disk { Answer::Read(file, index) } else { Answer::Hole(file) };
        };
        if phys.page_word(idx).has(PageFlag::Readahead) {
            return Answer::Read(file, index);
        }
        if access == Access::Write && vma.kind.is_private() {
            return Answer::Need(Need::CopyOf(phys.frames.pfn(idx)));
        }
        if access == Access::Write && !self.mkwrite(idx, now, phys) {
            return Answer::Mkwrite;
        }
        let notes_writes = on_disk && access == Access::Read;
        let writable = vma.prot.has(Prot::WRITE) && !vma.kind.is_private() && !notes_writes;
        if access == Access::Read {
            let first = Vpn::new(vpn.get() & !(FAULT_AROUND.get() - 1));
            self.map_around(id, vma, file, (vpn, VpnRange::of(first, FAULT_AROUND)), (access, writable), phys);
        }
        let folio = phys.folio(index, idx);
        // Read faults map the last folio of a file no further than any other page: 6.18 does so.
        let is_last = self.cache.files.size(file).is_some_and(|size| folio.end() >= size.get());
        if on_disk && folio.pages > 1 && !(is_last && access == Access::Read) {
            let shown = vma.pages_of(folio.index, folio.pages).intersect(vpn.slot());
            self.map_around(id, vma, file, (vpn, shown), (access, writable), phys);
        }
        Answer::Map(access.mark(self.map_file_page(id, idx, vma.locked, phys)).with(PteFlag::Write, writable))
    }

    /// Maps what the file has of `around` the page of a fault: of the aligned 64 KiB, as `fault_around_bytes` has it by default, or
    /// of the folio, all of which a fault maps from 6.18 on. The page itself is left to the caller, and the one whose fault reads
    /// ahead to that.
    fn map_around(
        &mut self,
        id: SpaceId,
        vma: &Vma,
        file: FileId,
        (vpn, around): (Vpn, VpnRange),
        (access, writable): (Access, bool),
        phys: &mut PhysMem,
    ) {
        let size = self.cache.files.size(file).map_or(0, Pages::get);
        let is_other = |near: &Vpn| *near != vpn && vma.index(*near) < size;
        for near in around.intersect(vma.range).iter().filter(is_other) {
            let page = self.cache.file(file).ok().and_then(|file| file.page(vma.index(near)));
            let fits = |&idx: &Idx| {
                let word = phys.page_word(idx);
                let waits = word.has(PageFlag::Locked) || word.has(PageFlag::Readahead);
                self.spaces.living(id).table.get(near).is_none() && !waits
            };
            let Some(idx) = page.filter(fits) else { continue };
            // A folio is locked as a whole, if at all, when the page of the fault is mapped.
            let locked = vma.locked && !phys.frames.word(idx).is_compound();
            let entry = access.mark(self.map_file_page(id, idx, locked, phys)).with(PteFlag::Write, writable);
            self.spaces.living(id).table.table_mut(near).expect("it is the slot of the fault").set(near, entry);
            phys.work.ptes_set += 1;
        }
    }

    /// A page of a file is about to be written through a mapping: one on disk becomes dirty, if the time is known. Says
    /// whether the write may go on.
    pub(super) fn mkwrite(&mut self, idx: Idx, now: Option<Nanos>, phys: &mut PhysMem) -> bool {
        let Owner::File { file, index } = self.rmap.owner(idx) else { unreachable!("the page is of a file") };
        if !self.cache.files.is_on_disk(file) {
            return true;
        }
        let folio = phys.folio(index, idx);
        let is_dirty = phys.frames.word(folio.head).has(PageFlag::Dirty);
        if !is_dirty && now.is_none() {
            return false;
        }
        // Whoever maps one page to write to it has all of the folio written that is within the file.
        let size = self.cache.files.size(file).map_or(0, Pages::get);
        for (index, idx) in folio.places().filter(|&(index, _)| index < size) {
            match now.filter(|_| !is_dirty) {
                Some(now) => self.cache.set_page_dirty(file, index, idx, now, phys),
                None => self.cache.mark_page_dirty(file, index, idx, phys),
            }
        }
        true
    }

    /// The page that its file shows at the place of a fault.
    pub(super) fn shown_by_file(&self, fault: &Fault, phys: &PhysMem) -> Option<Idx> {
        let vma = self.spaces.get(fault.space).ok()?.vmas.find(fault.vpn)?;
        let page = self.cache.file(vma.kind.file()?).ok()?.page(vma.index(fault.vpn));
        page.filter(|&idx| !phys.page_word(idx).has(PageFlag::Locked))
    }
}
