//! Files by number, on disk and of tmpfs: what exists of a file whether or not anything of it is in memory, and what is.
//!
//! Key types: [`FileId`], [`File`] (what is in memory of one), [`FileTable`] (all of them). A file costs 16 bytes for good;
//! a [`File`] lives while something of it is in memory: pages, shadows, mappings, data or an inode to be written.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::{Bound, Range};

use order9_frames::Idx;
use order9_units::{Nanos, Pages};

use crate::fs_cache::FsError;
use crate::ids::FileId;
use crate::pages::page_cache::Shadow;
use crate::pages::page_cache::nodes::TreeNodes;
use crate::pages::page_cache::shadows::ShadowChunks;
use crate::pages::page_cache::tree::PageTree;
use crate::shmem::MountId;
use crate::space::{Errno, FILES, Mapping, PLACES};
use crate::swap::SlotId;

/// Largest size of a file: places in it that the owner of a frame can name.
pub(crate) const PAGES_MAX: Pages = PLACES;

/// Pages of a file in memory.
#[derive(Clone, Default)]
pub struct File {
    pub(super) id: FileId,
    pub(super) tree: PageTree,
    pub(super) nr_pages: u32,
    pub(super) nr_dirty: u32,
    pub(super) nr_writeback: u32,
    /// The inode itself has to be written.
    pub(super) inode_dirty: bool,
    /// Mappings hold the file on disk open.
    open_by_mappings: bool,
    /// The tmpfs file is open.
    pub(crate) open: bool,
    /// Writes of the inode under way.
    pub(super) inode_writes: u16,
    /// When the first change was made that is not written yet; while the file is in the queue.
    pub(super) dirtied_when: Nanos,
    /// Neighbours in the queue of dirty files, by position; both are the file's own outside it.
    pub(super) queue: QueueLink,
    /// Every mapping of the file, by its start, with the places of the file that it shows.
    pub(crate) mapped_by: BTreeMap<Mapping, Range<u64>>,
}

const _: () = assert!(size_of::<File>() <= 96, "machines have millions of small files");

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct QueueLink {
    pub(super) prev: u32,
    pub(super) next: u32,
    pub(super) queued: bool,
}

impl File {
    /// Pages it holds.
    #[must_use]
    pub fn pages(&self) -> Pages {
        Pages::new(self.nr_pages.into())
    }

    /// Pages of these that are dirty.
    #[must_use]
    pub fn dirty_pages(&self) -> Pages {
        Pages::new(self.nr_dirty.into())
    }

    /// Pages of these that are being written back.
    #[must_use]
    pub fn writeback_pages(&self) -> Pages {
        Pages::new(self.nr_writeback.into())
    }

    /// When the first change was made that has to be written; `None` where there is none, or all is being written.
    #[must_use]
    pub fn dirtied_when(&self) -> Option<Nanos> {
        self.queue.queued.then_some(self.dirtied_when)
    }

    /// Whether its inode has to stay in memory: dirty, or being written back.
    #[must_use]
    pub const fn is_dirty(&self) -> bool {
        self.nr_dirty > 0 || self.nr_writeback > 0 || self.inode_dirty || self.inode_writes > 0
    }

    #[inline]
    pub(crate) fn page(&self, index: u64) -> Option<Idx> {
        self.tree.page(index)
    }

    /// The mapping of the file after `last`, or the first one, in the order of [`File::mapped_by`].
    pub(crate) fn next_mapping(&self, last: Option<Mapping>) -> Option<Mapping> {
        let from = last.map_or(Bound::Unbounded, Bound::Excluded);
        self.mapped_by.range((from, Bound::Unbounded)).next().map(|(&start, _)| start)
    }

    /// Every page: place, frame and number of mappings.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, Idx, u32)> {
        self.tree.iter().map(|(index, idx, mappings, _)| (index, idx, mappings))
    }

    /// Mappings of the page at `index`, which exists.
    pub(crate) fn mappings(&self, index: u64) -> u32 {
        self.tree.mappings(index)
    }

    /// Changes the number of mappings of a page by one; returns the new number.
    pub(crate) fn count_mapping(&mut self, index: u64, change: fn(u32, u32) -> u32) -> u32 {
        self.tree.count_mapping(index, change)
    }

    /// Puts a page where there is none; returns the shadow that was there, or on tmpfs the slot.
    pub(crate) fn insert(&mut self, index: u64, idx: Idx) -> Option<Shadow> {
        self.nr_pages += 1;
        self.tree.insert(index, idx)
    }

    /// Puts another frame in the place of the page at `index`, which exists and stays what it is.
    pub(crate) fn replace(&mut self, index: u64, idx: Idx) {
        self.tree.replace(index, idx);
    }

    /// Takes out a page that is clean and unmapped, leaving a shadow or nothing.
    fn take(&mut self, index: u64, shadow: Option<Shadow>, freed: &mut Vec<u32>) -> Idx {
        self.nr_pages -= 1;
        self.tree.take(index, shadow, freed)
    }

    /// The first page of `[from, end)`.
    pub(crate) fn first_page(&self, from: u64, end: u64) -> Option<(u64, Idx)> {
        self.tree.first_page(from, end)
    }

    /// The slot of swap that has what a place of a tmpfs file holds.
    pub(crate) fn swapped(&self, index: u64) -> Option<SlotId> {
        self.tree.shadow(index).map(|Shadow(slot)| SlotId(slot))
    }

    /// The first place of `[from, end)` of a tmpfs file that is in swap, and its slot.
    pub(crate) fn first_swapped(&self, from: u64, end: u64) -> Option<(u64, SlotId)> {
        self.tree.first_shadow(from, end).map(|(index, Shadow(slot))| (index, SlotId(slot)))
    }

    /// Places of a tmpfs file that are in swap.
    pub(crate) fn swapped_pages(&self) -> Pages {
        let next = |from| self.first_swapped(from, u64::MAX).map(|(index, _)| index + 1);
        Pages::new(core::iter::successors(next(0), |&from| next(from)).count() as u64)
    }

    /// Notes whether mappings hold the file on disk open; says whether that is new.
    pub(crate) fn set_open_by_mappings(&mut self, open: bool) -> bool {
        core::mem::replace(&mut self.open_by_mappings, open) != open
    }

    /// Nothing of it is in memory.
    pub(super) fn is_unused(&self) -> bool {
        self.tree.is_empty() && self.mapped_by.is_empty() && !self.open_by_mappings && !self.is_dirty()
    }
}

/// Whether the filesystem of a file knows how to move its pages; Linux' `migratepage` of an address space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MigrateHandler {
    /// The handler moves pages, dirty ones included.
    #[default]
    Present,
    /// The handler is missing: only clean pages can be moved.
    Absent,
    /// The handler is missing, and every page has data of the filesystem that it does not give up: no page can be moved.
    AbsentPrivate,
}

/// Facts about a file for as long as it exists.
#[derive(Clone, Copy)]
struct Entry {
    size: Pages,
    /// Position of its [`File`], or `NONE`.
    file: u32,
    /// Inode of the file: an object number, or one of the values below.
    inode: u32,
}

const NONE: u32 = u32::MAX;
/// The file is on disk, its inode is not cached.
const UNCACHED: u32 = u32::MAX;
/// The file is gone.
const GONE: u32 = u32::MAX - 1;
/// Pages of a disk that a machine starts with: no file of its filesystem, and without an inode that could be freed.
const DEVICE: u32 = u32::MAX - 2;
/// A file of tmpfs, which lives in memory and swap alone, on the first mount; those of others follow.
const TMPFS: u32 = DEVICE - MountId::MAX as u32;

const _: () = assert!(size_of::<Entry>() == 16, "files outnumber everything else");

/// Home of a new file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Home {
    Disk,
    Tmpfs(MountId),
    Device,
}

/// All files.
#[derive(Clone, Default)]
pub(crate) struct FileTable {
    entries: Vec<Entry>,
    pub(super) files: Vec<File>,
    unused: Vec<u32>,
    /// Ends of the queue of dirty files, by position.
    pub(super) queue: Option<(u32, u32)>,
    pub(super) shadows: ShadowChunks,
    /// Memory of the trees of all files.
    pub(super) nodes: TreeNodes,
    /// Files with another handler than most.
    handlers: BTreeMap<FileId, MigrateHandler>,
}

impl FileTable {
    /// Files that were ever made.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Makes a file; `None` after too many.
    pub(crate) fn create(&mut self, size: Pages, home: Home) -> Option<FileId> {
        let id = FileId(self.entries.len() as u32);
        let inode = match home {
            Home::Disk => UNCACHED,
            Home::Tmpfs(mount) => TMPFS + u32::from(mount.0),
            Home::Device => DEVICE,
        };
        (id.0 < FILES).then(|| self.entries.push(Entry { size, file: NONE, inode }))?;
        Some(id)
    }

    pub(crate) fn migrate_handler(&self, id: FileId) -> MigrateHandler {
        if self.handlers.is_empty() {
            return MigrateHandler::Present;
        }
        self.handlers.get(&id).copied().unwrap_or_default()
    }

    pub(crate) fn set_migrate_handler(&mut self, id: FileId, handler: MigrateHandler) {
        match handler {
            MigrateHandler::Present => self.handlers.remove(&id),
            other => self.handlers.insert(id, other),
        };
    }

    /// Ends a file of which nothing is in memory.
    pub(crate) fn remove(&mut self, id: FileId) {
        self.drop_file(id);
        self.handlers.remove(&id);
        self.entries[id.index()] = Entry { size: Pages::ZERO, file: NONE, inode: GONE };
    }

    /// Size of a file that exists.
    pub(crate) fn size(&self, id: FileId) -> Option<Pages> {
        self.entries.get(id.index()).filter(|entry| entry.inode != GONE).map(|entry| entry.size)
    }

    /// Makes a file that exists at least so large.
    pub(crate) fn grow(&mut self, id: FileId, size: Pages) {
        let entry = &mut self.entries[id.index()];
        entry.size = entry.size.max(size);
    }

    /// Sets the size of a file that exists; returns the old one.
    pub(crate) fn set_size(&mut self, id: FileId, size: Pages) -> Pages {
        core::mem::replace(&mut self.entries[id.index()].size, size)
    }

    #[inline]
    pub(crate) fn is_on_disk(&self, id: FileId) -> bool {
        self.entries
            .get(id.index())
            .is_some_and(|entry| !((TMPFS..DEVICE).contains(&entry.inode) || entry.inode == GONE))
    }

    /// The mount of a file of tmpfs.
    pub(crate) fn mount_of(&self, id: FileId) -> Option<MountId> {
        let entry = self.entries.get(id.index()).filter(|entry| (TMPFS..DEVICE).contains(&entry.inode))?;
        Some(MountId((entry.inode - TMPFS) as u16))
    }

    /// Whether it is a device's, which needs no inode.
    pub(crate) fn is_device(&self, id: FileId) -> bool {
        self.entries.get(id.index()).is_some_and(|entry| entry.inode == DEVICE)
    }

    /// The cached inode of a file on disk, by object number.
    pub(crate) fn inode_of(&self, id: FileId) -> Result<Option<u32>, FsError> {
        match self.entries.get(id.index()).map(|entry| entry.inode) {
            None | Some(GONE | TMPFS..=DEVICE) => Err(FsError::NoSuchFile(id)),
            Some(UNCACHED) => Ok(None),
            Some(inode) => Ok(Some(inode)),
        }
    }

    /// Notes that the inode of a file on disk is cached as this object, or no longer.
    pub(crate) fn set_inode(&mut self, id: FileId, inode: Option<u32>) {
        self.entries[id.index()].inode = inode.unwrap_or(UNCACHED);
    }

    /// Files on disk with a cached inode.
    pub(crate) fn inodes(&self) -> impl Iterator<Item = (FileId, u32)> {
        let cached = |entry: &Entry| (entry.inode < TMPFS).then_some(entry.inode);
        self.entries.iter().enumerate().filter_map(move |(at, entry)| Some((FileId(at as u32), cached(entry)?)))
    }

    fn position(&self, id: FileId) -> Option<usize> {
        self.entries.get(id.index()).filter(|entry| entry.file != NONE).map(|entry| entry.file as usize)
    }

    /// Pages of a file in memory, if there are any.
    #[inline]
    pub(crate) fn get(&self, id: FileId) -> Result<&File, Errno> {
        self.position(id).map(|at| &self.files[at]).ok_or(Errno::Ebadf)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: FileId) -> Option<&mut File> {
        self.position(id).map(|at| &mut self.files[at])
    }

    /// A file of which something is in memory, beside the list of nodes that come free.
    pub(super) fn with_freed(&mut self, id: FileId) -> Option<(&mut File, &mut Vec<u32>)> {
        let at = self.position(id)?;
        Some((&mut self.files[at], &mut self.nodes.freed))
    }

    /// Takes a page that is clean and unmapped out of a file, leaving a shadow or nothing.
    ///
    /// # Panics
    /// If the file has no such page.
    pub(crate) fn take(&mut self, id: FileId, index: u64, shadow: Option<Shadow>) -> Idx {
        let (file, freed) = self.with_freed(id).expect("the page is in its file");
        file.take(index, shadow, freed)
    }

    /// Takes an unmapped page out of a tmpfs file, in whose place its slot of swap is named.
    pub(crate) fn take_to_swap(&mut self, id: FileId, index: u64, slot: SlotId) -> Idx {
        self.take(id, index, Some(Shadow(slot.0)))
    }

    /// Names no slot at a place of a tmpfs file any more.
    pub(crate) fn forget_swapped(&mut self, id: FileId, index: u64) {
        if let Some((file, freed)) = self.with_freed(id) {
            file.tree.forget_shadow(index, freed);
        }
    }

    /// Forgets the shadows of a file from `index` on.
    pub(super) fn drop_shadows(&mut self, id: FileId, index: u64) {
        if let Some((file, freed)) = self.with_freed(id) {
            file.tree.drop_shadows(index, freed);
        }
    }

    /// Position of what is in memory of a file that exists; makes a [`File`] where there is none.
    pub(super) fn ensure_at(&mut self, id: FileId) -> u32 {
        let entry = &mut self.entries[id.index()];
        if entry.file == NONE {
            entry.file = self.unused.pop().unwrap_or(self.files.len() as u32);
            let file = File { id, ..File::default() };
            match self.files.get_mut(entry.file as usize) {
                Some(unused) => *unused = file,
                None => self.files.push(file),
            }
        }
        entry.file
    }

    pub(crate) fn ensure(&mut self, id: FileId) -> &mut File {
        let at = self.ensure_at(id);
        &mut self.files[at as usize]
    }

    /// Forgets a [`File`], with its shadows.
    pub(crate) fn drop_file(&mut self, id: FileId) {
        let Some(at) = self.position(id) else { return };
        let file = core::mem::take(&mut self.files[at]);
        self.nodes.freed.extend(file.tree.nodes());
        assert!(file.nr_pages == 0 && !file.queue.queued, "{id:?} is forgotten while something of it is in memory");
        self.entries[id.index()].file = NONE;
        self.unused.push(at as u32);
    }

    /// Every file of which something is in memory.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (FileId, &File)> {
        let living = self.entries.iter().enumerate().filter(|(_, entry)| entry.file != NONE);
        living.map(|(at, entry)| (FileId(at as u32), &self.files[entry.file as usize]))
    }
}
