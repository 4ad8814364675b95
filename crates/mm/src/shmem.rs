//! Memory of tmpfs files, memfds and shared anonymous mappings: pages that belong to a file and are mapped by many.
//!
//! Key types: [`FileId`], [`File`] (size, pages, who maps it). A page stays until it is truncated, punched out, or the file
//! goes with its last handle and mapping; unmapping alone never frees it. A page beyond the size cannot be had.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};

use order9_units::{Pages, Pfn};

use crate::Mm;
use crate::frame::Idx;
use crate::lru::LruList;
use crate::space::{Errno, Mapping, Owner, UserMemory, Zap};
use crate::trace::Tracer;

/// A file; the number is never given to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub(crate) u32);

impl FileId {
    /// The number, counted from 0 in the order of creation.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Largest size of a file: what the place of a page in it can name.
const PAGES_MAX: Pages = Pages::new(1 << 35);
/// Files that can exist in one run.
const FILES_MAX: usize = 1 << 26;
const CHUNK_PAGES: usize = 512;
/// Where a chunk has no page.
const HOLE: u32 = u32::MAX;

/// A file in memory.
#[derive(Clone, Default)]
pub struct File {
    size: Pages,
    /// Somebody has it open.
    open: bool,
    /// Start of every mapping of the file.
    pub(crate) mapped_by: BTreeSet<Mapping>,
    chunks: BTreeMap<u64, Box<Chunk>>,
}

/// Pages of 2 MiB of a file, with the number of mappings of each.
#[derive(Clone)]
struct Chunk {
    used: u16,
    frames: [u32; CHUNK_PAGES],
    mappings: [u32; CHUNK_PAGES],
}

const fn place(index: u64) -> (u64, usize) {
    (index / CHUNK_PAGES as u64, index as usize % CHUNK_PAGES)
}

impl File {
    /// Its size.
    #[must_use]
    pub const fn size(&self) -> Pages {
        self.size
    }

    /// Pages it holds.
    #[must_use]
    pub fn pages(&self) -> Pages {
        Pages::new(self.chunks.values().map(|chunk| u64::from(chunk.used)).sum())
    }

    #[inline]
    pub(crate) fn page(&self, index: u64) -> Option<Idx> {
        let (chunk, at) = place(index);
        let frame = self.chunks.get(&chunk)?.frames[at];
        (frame != HOLE).then_some(Idx(frame))
    }

    /// Every page: place, frame and number of mappings.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, Idx, u32)> {
        self.chunks.iter().flat_map(|(&chunk, pages)| {
            let present = move |&at: &usize| pages.frames[at] != HOLE;
            let page = move |at| (chunk * CHUNK_PAGES as u64 + at as u64, Idx(pages.frames[at]), pages.mappings[at]);
            (0..CHUNK_PAGES).filter(present).map(page)
        })
    }

    /// Mappings of the page at `index`, which exists.
    pub(crate) fn mappings(&self, index: u64) -> u32 {
        let (chunk, at) = place(index);
        self.chunks.get(&chunk).map_or(0, |pages| pages.mappings[at])
    }

    /// Changes the number of mappings of a page by one; returns the new number.
    pub(crate) fn count_mapping(&mut self, index: u64, change: fn(u32, u32) -> u32) -> u32 {
        let (chunk, at) = place(index);
        let pages = self.chunks.get_mut(&chunk).expect("a mapped page is in its file");
        pages.mappings[at] = change(pages.mappings[at], 1);
        pages.mappings[at]
    }

    fn insert(&mut self, index: u64, idx: Idx) {
        let (chunk, at) = place(index);
        let empty = || Box::new(Chunk { used: 0, frames: [HOLE; CHUNK_PAGES], mappings: [0; CHUNK_PAGES] });
        let pages = self.chunks.entry(chunk).or_insert_with(empty);
        pages.frames[at] = idx.0;
        pages.used += 1;
    }

    /// Takes the first page of `[index, end)` out of the file.
    fn take_first(&mut self, index: u64, end: u64) -> Option<(u64, Idx)> {
        if index >= end {
            return None;
        }
        let (first, last) = (place(index).0, place(end - 1).0);
        let (place_found, idx) = self.chunks.range(first..=last).find_map(|(&chunk, pages)| {
            let base = chunk * CHUNK_PAGES as u64;
            let clip = |index: u64| index.saturating_sub(base).min(CHUNK_PAGES as u64) as usize;
            let at = (clip(index)..clip(end)).find(|&at| pages.frames[at] != HOLE)?;
            Some((base + at as u64, Idx(pages.frames[at])))
        })?;
        let (chunk, at) = place(place_found);
        let pages = self.chunks.get_mut(&chunk).expect("the page was found there");
        assert!(pages.mappings[at] == 0, "page {place_found} is taken out of its file while mapped");
        pages.frames[at] = HOLE;
        pages.used -= 1;
        if pages.used == 0 {
            self.chunks.remove(&chunk);
        }
        Some((place_found, idx))
    }
}

impl UserMemory {
    pub(crate) fn file(&self, id: FileId) -> Result<&File, Errno> {
        self.files.get(id.index()).and_then(Option::as_deref).ok_or(Errno::Ebadf)
    }

    /// A file the caller knows to exist.
    pub(crate) fn file_mut(&mut self, id: FileId) -> &mut File {
        let file = self.files.get_mut(id.index()).and_then(Option::as_deref_mut);
        file.expect("a file lives as long as it is open, mapped or holds pages")
    }

    pub(crate) fn open_file(&mut self, id: FileId) -> Result<&mut File, Errno> {
        let file = self.files.get_mut(id.index()).and_then(Option::as_deref_mut);
        file.filter(|file| file.open).ok_or(Errno::Ebadf)
    }

    /// Every living file.
    pub(crate) fn files(&self) -> impl Iterator<Item = (FileId, &File)> {
        let files = self.files.iter().enumerate();
        files.filter_map(|(at, file)| Some((FileId(at as u32), file.as_deref()?)))
    }
}

impl<T: Tracer> Mm<T> {
    /// Creates a file of `size` without pages and opens it, as `memfd_create` and `ftruncate` do.
    ///
    /// # Errors
    /// `EFBIG` above 128 TiB, `EAGAIN` after 2^26 files.
    pub fn create_file(&mut self, size: Pages) -> Result<FileId, Errno> {
        if size > PAGES_MAX {
            return Err(Errno::Efbig);
        }
        if self.user.files.len() >= FILES_MAX {
            return Err(Errno::Eagain);
        }
        self.user.rmap.make_room(self.frames.len());
        let id = FileId(self.user.files.len() as u32);
        self.user.files.push(Some(Box::new(File { size, open: true, ..File::default() })));
        Ok(id)
    }

    /// A file, or `None` once it is gone.
    #[must_use]
    pub fn file(&self, id: FileId) -> Option<&File> {
        self.user.file(id).ok()
    }

    /// The page at `index` of a file, or `None` where it has none.
    #[must_use]
    pub fn file_page(&self, id: FileId, index: u64) -> Option<Pfn> {
        self.user.file(id).ok()?.page(index).map(|idx| self.frames.pfn(idx))
    }

    /// Closes the file: it goes with its last mapping, or at once if there is none.
    ///
    /// # Errors
    /// `EBADF` where it is not open.
    pub fn close_file(&mut self, id: FileId, cpu: usize) -> Result<(), Errno> {
        self.user.open_file(id)?.open = false;
        self.drop_if_unused(id, cpu);
        Ok(())
    }

    /// Gives the file the page just allocated, zeroed, at `index`, as a write or `fallocate` does. If it has one there by
    /// now, the new one is freed.
    ///
    /// # Errors
    /// `EBADF` where the file is not open, `EFBIG` beyond its size; the page is still the caller's then.
    ///
    /// # Panics
    /// If `page` is not a single page that was just allocated.
    pub fn add_file_page(&mut self, id: FileId, index: u64, page: Pfn, cpu: usize) -> Result<(), Errno> {
        if index >= self.user.open_file(id)?.size.get() {
            return Err(Errno::Efbig);
        }
        let idx = self.fresh(page);
        self.fill_hole(id, index, idx, cpu);
        Ok(())
    }

    /// Puts a fresh page into a hole within the file; frees it where there is none.
    pub(crate) fn fill_hole(&mut self, id: FileId, index: u64, idx: Idx, cpu: usize) {
        let file = self.user.file(id).ok();
        if file.is_none_or(|file| index >= file.size.get() || file.page(index).is_some()) {
            self.free_fresh(idx, cpu);
            return;
        }
        self.adopt_page(idx, Owner::File { file: id, index }, LruList::InactiveAnon);
        self.user.file_mut(id).insert(index, idx);
        self.user.levels.shmem += 1;
        self.clear_page(idx);
    }

    /// Sets the size. Pages beyond it are unmapped everywhere, private copies included, and freed.
    ///
    /// # Errors
    /// `EBADF` where the file is not open, `EFBIG` above 128 TiB.
    pub fn truncate(&mut self, id: FileId, size: Pages, cpu: usize) -> Result<(), Errno> {
        if size > PAGES_MAX {
            return Err(Errno::Efbig);
        }
        let file = self.user.open_file(id)?;
        let old = core::mem::replace(&mut file.size, size);
        if size < old {
            self.unmap_file_range(id, size.get(), u64::MAX, Zap::All, cpu);
            self.evict(id, size.get(), u64::MAX, cpu);
        }
        Ok(())
    }

    /// Frees `pages` pages from `index` on, as `FALLOC_FL_PUNCH_HOLE` does: the size stays, and so do private copies.
    ///
    /// # Errors
    /// `EBADF` where the file is not open.
    pub fn punch_hole(&mut self, id: FileId, index: u64, pages: Pages, cpu: usize) -> Result<(), Errno> {
        self.user.open_file(id)?;
        self.unmap_file_range(id, index, pages.get(), Zap::FilePages, cpu);
        self.evict(id, index, pages.get(), cpu);
        Ok(())
    }

    /// Unmaps part of a file wherever it is mapped.
    fn unmap_file_range(&mut self, id: FileId, index: u64, pages: u64, which: Zap, cpu: usize) {
        let mappings: alloc::vec::Vec<Mapping> = self.user.file_mut(id).mapped_by.iter().copied().collect();
        for Mapping { space, vpn } in mappings {
            let vma = self.user.space(space).ok().and_then(|space| space.vmas.at(vpn));
            let range = vma.expect("a file knows its mappings").pages_of(index, pages);
            self.zap(space, range, which, cpu);
            if let Some(tags) = self.user.tags.as_mut().filter(|_| which == Zap::All) {
                tags.discard(space, range);
            }
        }
    }

    /// Takes the unmapped page at `index`, which exists, out of a file.
    pub(crate) fn take_from_file(&mut self, id: FileId, index: u64) {
        self.user.file_mut(id).take_first(index, index + 1).expect("the page is in its file");
        self.user.levels.shmem -= 1;
    }

    /// Takes unmapped pages out of a file.
    fn evict(&mut self, id: FileId, index: u64, pages: u64, cpu: usize) {
        let end = index.saturating_add(pages);
        let mut from = index;
        while let Some((found, idx)) = self.user.file_mut(id).take_first(from, end) {
            from = found + 1;
            self.user.levels.shmem -= 1;
            self.disown(idx, cpu);
        }
        if let Some(tags) = &mut self.user.tags {
            tags.discard_file(id, index, pages);
        }
    }

    /// Ends a file that nobody has open or mapped.
    pub(crate) fn drop_if_unused(&mut self, id: FileId, cpu: usize) {
        let file = self.user.file_mut(id);
        if !file.open && file.mapped_by.is_empty() {
            self.evict(id, 0, u64::MAX, cpu);
            self.user.files[id.index()] = None;
        }
    }
}
