//! Recounts the laws of the page cache: gauges and counts equal the flags of pages, and the queue holds what is dirty.

use alloc::format;

use order9_frames::{Flag, Idx, Verdict, require};
use order9_units::{Nanos, Pages};

use super::{File, FileId, Folio, WritePending};
use crate::page_cache::PageCache;
use crate::page_flags::PageFlag;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::Owner;

impl UsedPages {
    /// Checks every law of the page cache.
    pub(crate) fn check_page_cache(&self, phys: &PhysMem) -> Verdict {
        self.cache.check_write_pending(phys)?;
        for (id, file) in self.cache.files.iter() {
            self.cache.check_file(id, file, phys)?;
            if self.cache.files.is_on_disk(id) {
                self.check_file_on_disk(id, file, phys)?;
            }
        }
        self.cache.check_queue()?;
        self.cache.check_mounts()?;
        self.check_tree_nodes()?;
        for (index, idx) in self.cache.orphans.iter() {
            let word = phys.frames.word(idx);
            self.cache.check_transfer(&phys.folio(index, idx), phys)?;
            let held = word.has(PageFlag::Locked) || word.has(PageFlag::Writeback);
            require(held && self.rmap.owner(idx) == Owner::Kept, "a page lost by its file waits for I/O", || {
                format!("{:?} is {:?}", phys.frames.pfn(idx), self.rmap.owner(idx))
            })?;
        }
        Ok(())
    }

    fn check_file_on_disk(&self, id: FileId, file: &File, phys: &PhysMem) -> Verdict {
        require(!file.is_unused(), "of a file in memory something is there", || format!("{id:?}"))?;
        let is_device = self.cache.files.is_device(id);
        let cached = is_device || self.cache.files.inode_of(id).is_ok_and(|inode| inode.is_some());
        require(cached, "what is in memory of a file has its inode", || format!("{id:?}"))?;
        let mapped = !file.mapped_by.is_empty();
        require(!mapped || is_device || self.is_open_on_disk(id), "a mapped file is open", || format!("{id:?}"))?;
        let dirty = file.inode_dirty || file.nr_dirty > 0;
        let lost = self.cache.orphans.are_written(id, phys);
        let waits = !file.inode_dirty && (file.nr_writeback > 0 || lost);
        require(dirty == file.queue.queued || dirty && waits, "dirty files are queued or wait for their writes", || {
            format!("{id:?}: dirty {dirty}, queued {}", file.queue.queued)
        })
    }
}

impl PageCache {
    fn check_write_pending(&self, phys: &PhysMem) -> Verdict {
        let mut pending = alloc::vec![WritePending::default(); phys.frames.zones().len()];
        for at in 0..phys.frames.table().len() as u32 {
            let (idx, word) = (Idx(at), phys.frames.word(Idx(at)));
            let Some(pending) = pending.get_mut(phys.frames.blocks()[idx.block()].zone.index()) else { continue };
            let [locked, dirty] = [PageFlag::Locked, PageFlag::Dirty].map(|flag| word.has(flag));
            require(!(locked && dirty), "a page that is being read is not dirty", || {
                format!("{:?}", phys.frames.pfn(idx))
            })?;
            let used = word.is_allocated() && word.has(Flag::Owned);
            let busy = locked || dirty || word.has(PageFlag::Writeback);
            require(used || !busy, "a free page is neither dirty, nor being read or written", || {
                format!("{:?} is {:?}", phys.frames.pfn(idx), word.state())
            })?;
            pending.dirty += if dirty && word.has(PageFlag::File) { word.frames() } else { 0 };
            pending.writeback += if word.has(PageFlag::Writeback) { word.frames() } else { 0 };
        }
        for (zone, recount) in phys.frames.zones().iter().zip(pending) {
            require(
                recount == self.write_pending[zone.id().index()],
                "dirty pages and those being written equal a recount",
                || {
                    format!(
                        "{}: {recount:?} by frames, {:?} counted",
                        zone.kind(),
                        self.write_pending[zone.id().index()]
                    )
                },
            )?;
        }
        Ok(())
    }

    fn check_file(&self, id: FileId, file: &File, phys: &PhysMem) -> Verdict {
        let mut found = (0, 0, 0);
        // What is written of tmpfs goes to swap, behind the back of the file.
        let on_disk = self.files.is_on_disk(id);
        for (index, idx, _, dirty) in file.tree.iter() {
            let folio = phys.folio(index, idx);
            let word = phys.frames.word(folio.head);
            if on_disk && folio.index == index {
                self.check_folio(id, &folio, phys)?;
            }
            let is_known = word.has(PageFlag::Dirty) || !dirty;
            require(is_known, "the folio of a page that has to be written is dirty", || {
                format!("page {index} of {id:?}")
            })?;
            found = (
                found.0 + 1,
                found.1 + u32::from(on_disk && word.has(PageFlag::Dirty)),
                found.2 + u32::from(on_disk && word.has(PageFlag::Writeback)),
            );
        }
        let counted = (file.nr_pages, file.nr_dirty, file.nr_writeback);
        require(found == counted, "a file counts its pages, dirty ones and those being written", || {
            format!("{id:?}: {found:?} found, {counted:?} counted")
        })
    }

    /// Checks that a folio of a file on disk has all of its places in order, and something to write if it is dirty.
    fn check_folio(&self, id: FileId, folio: &Folio, phys: &PhysMem) -> Verdict {
        let at = || format!("{folio:?} of {id:?}");
        require(folio.index.is_multiple_of(folio.pages), "a folio lies at a multiple of its size", at)?;
        let is_there = |(index, idx)| self.file(id).is_ok_and(|file| file.page(index) == Some(idx));
        require(folio.places().all(is_there), "a folio has all of its places in its file", at)?;
        let is_tail = |(_, idx)| phys.frames.word(idx).is_tail();
        require(folio.places().skip(1).all(is_tail), "a folio is one allocation", at)?;
        self.check_transfer(folio, phys)?;
        let is_dirty = phys.frames.word(folio.head).has(PageFlag::Dirty);
        require(is_dirty == self.dirty_places(id, folio).is_some(), "a dirty folio has something to write", at)
    }

    fn check_transfer(&self, folio: &Folio, phys: &PhysMem) -> Verdict {
        let word = phys.frames.word(folio.head);
        let is_busy = word.has(PageFlag::Locked) || word.has(PageFlag::Writeback);
        let known = self.transfers.has(folio) == (is_busy && folio.pages > 1);
        require(known, "the transfer of a large folio is counted", || format!("{folio:?}"))
    }

    /// Checks that mounts count what their files of tmpfs hold, in memory and in swap, and no more than they may.
    fn check_mounts(&self) -> Verdict {
        let mut found = alloc::collections::BTreeMap::new();
        for (id, file) in self.files.iter() {
            let Some(mount) = self.files.mount_of(id) else { continue };
            *found.entry(mount).or_insert(Pages::ZERO) += file.pages() + file.swapped_pages();
        }
        for (id, mount) in self.mounts.iter() {
            let held = found.get(&id).copied().unwrap_or_default();
            require(held == mount.used, "a mount counts what its files hold", || {
                format!("{id:?}: {held:?} found, {:?} counted", mount.used)
            })?;
            require(mount.limit.is_none_or(|limit| held <= limit), "a mount holds no more than it may", || {
                format!("{id:?}: {held:?} of {:?}", mount.limit)
            })?;
        }
        Ok(())
    }

    fn check_queue(&self) -> Verdict {
        let queued = self.files.iter().filter(|(_, file)| file.queue.queued).count();
        let (mut listed, mut before) = (0, Nanos::ZERO);
        for file in self.files.queued().take(queued + 1) {
            listed += 1;
            let here = file.queue.queued && before <= file.dirtied_when;
            require(here, "dirty files are queued by when they became dirty", || {
                format!("{:?} of {:?} behind one of {before:?}", file.id, file.dirtied_when)
            })?;
            before = file.dirtied_when;
        }
        require(listed == queued, "a queued file is in the queue", || format!("{listed} there, {queued} by files"))
    }
}
