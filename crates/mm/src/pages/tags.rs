//! Page contents as tags: a lost, swapped or stale page becomes a failure of `check()` instead of a guess.
//!
//! Every write of a program gives the page a tag never used before, made from the one it had, since a write leaves most of a
//! page as it was. It is noted twice: on the frame, where copying and clearing carry it along, and with the page of the
//! space or file, which must read it until it is written again or discarded. Off unless asked for, since it keeps a note
//! for every written page.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::page_cache::FileId;
use crate::space::{Mapping, SpaceId, Vpn, VpnRange};
use order9_frames::Idx;

/// Content of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tag(u64);

impl Tag {
    /// Zeros.
    pub const ZERO: Self = Self(0);

    /// The content after the `n`-th write of all.
    const fn after_write(self, n: u64) -> Self {
        // A multiplication by an odd number and a rotation lose nothing, so that different histories stay different.
        Self((self.0.rotate_left(29) ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }
}

/// Contents of frames, and what programs must find.
#[derive(Clone)]
pub(crate) struct Tags {
    frames: Vec<Tag>,
    private: BTreeMap<Mapping, Tag>,
    files: BTreeMap<(FileId, u64), Tag>,
    /// Contents of files on disks.
    disk: BTreeMap<(FileId, u64), Tag>,
    writes: u64,
}

impl Tags {
    pub(crate) fn new(frames: usize) -> Self {
        Self {
            frames: alloc::vec![Tag::ZERO; frames],
            private: BTreeMap::new(),
            files: BTreeMap::new(),
            disk: BTreeMap::new(),
            writes: 0,
        }
    }

    /// Bytes on the host, without the notes of what programs must read.
    pub(crate) fn bytes(&self) -> usize {
        self.frames.capacity() * size_of::<Tag>()
    }

    pub(crate) fn frame(&self, idx: Idx) -> Tag {
        self.frames[idx.at()]
    }

    pub(crate) fn clear(&mut self, idx: Idx) {
        self.frames[idx.at()] = Tag::ZERO;
    }

    /// The frame holds what was read from elsewhere.
    pub(crate) fn put(&mut self, idx: Idx, tag: Tag) {
        self.frames[idx.at()] = tag;
    }

    pub(crate) fn copy(&mut self, from: Idx, to: Idx) {
        self.frames[to.at()] = self.frames[from.at()];
    }

    /// A program writes to a page of its own; before its first write that read as page `behind` of a file, or as zeros.
    pub(crate) fn write_private(&mut self, idx: Idx, page: Mapping, behind: Option<(FileId, u64)>) {
        let shared = behind.and_then(|place| self.files.get(&place)).copied().unwrap_or_default();
        let old = self.private.get(&page).copied().unwrap_or(shared);
        let tag = self.write(idx, old);
        self.private.insert(page, tag);
    }

    /// A program writes to a page of a file.
    pub(crate) fn write_file(&mut self, idx: Idx, file: FileId, index: u64) {
        let old = self.files.get(&(file, index)).copied().unwrap_or_default();
        let tag = self.write(idx, old);
        self.files.insert((file, index), tag);
    }

    /// A program writes all of a page of a file, into a fresh frame.
    pub(crate) fn overwrite_file(&mut self, idx: Idx, file: FileId, index: u64) {
        self.clear(idx);
        let tag = self.write(idx, Tag::ZERO);
        self.files.insert((file, index), tag);
    }

    /// A page of a file goes to disk as it is now.
    pub(crate) fn write_to_disk(&mut self, idx: Idx, file: FileId, index: u64) {
        self.disk.insert((file, index), self.frames[idx.at()]);
    }

    /// A page of a file has been read from disk.
    pub(crate) fn read_from_disk(&mut self, idx: Idx, file: FileId, index: u64) {
        self.frames[idx.at()] = self.on_disk(file, index);
    }

    /// Content of a page of a file on its disk.
    pub(crate) fn on_disk(&self, file: FileId, index: u64) -> Tag {
        self.disk.get(&(file, index)).copied().unwrap_or_default()
    }

    /// Changes what the frame holds; returns what it must hold if it held `old`.
    fn write(&mut self, idx: Idx, old: Tag) -> Tag {
        self.writes += 1;
        let held = &mut self.frames[idx.at()];
        *held = held.after_write(self.writes);
        old.after_write(self.writes)
    }

    /// Private pages of `range` are discarded.
    pub(crate) fn discard(&mut self, space: SpaceId, range: VpnRange) {
        self.take(space, range);
    }

    /// Pages of a file from `index` on are discarded.
    pub(crate) fn discard_file(&mut self, file: FileId, index: u64, pages: u64) {
        let end = index.saturating_add(pages);
        for notes in [&mut self.files, &mut self.disk] {
            let gone: Vec<_> = notes.range((file, index)..(file, end)).map(|(&page, _)| page).collect();
            for page in gone {
                notes.remove(&page);
            }
        }
    }

    /// The private pages of `range` appear in space `to` as well.
    pub(crate) fn fork(&mut self, from: SpaceId, to: SpaceId, range: VpnRange) {
        let of = |vpn| Mapping { space: from, vpn };
        let pages: Vec<_> = self.private.range(of(range.start)..of(range.end)).map(|(&p, &tag)| (p.vpn, tag)).collect();
        self.private.extend(pages.into_iter().map(|(vpn, tag)| (Mapping { space: to, vpn }, tag)));
    }

    /// The private pages of `range` are found from `to` on instead.
    pub(crate) fn relocate(&mut self, space: SpaceId, range: VpnRange, to: Vpn) {
        let pages = self.take(space, range);
        let moved = |vpn: Vpn| Mapping { space, vpn: to + (vpn - range.start) };
        self.private.extend(pages.into_iter().map(|(vpn, tag)| (moved(vpn), tag)));
    }

    fn take(&mut self, space: SpaceId, range: VpnRange) -> Vec<(Vpn, Tag)> {
        let of = |vpn| Mapping { space, vpn };
        let pages: Vec<_> = self.private.range(of(range.start)..of(range.end)).map(|(p, &tag)| (p.vpn, tag)).collect();
        for &(vpn, _) in &pages {
            self.private.remove(&of(vpn));
        }
        pages
    }

    /// Contents that pages of spaces must have if they are private and were written.
    pub(crate) fn private(&self) -> impl Iterator<Item = (Mapping, Tag)> {
        self.private.iter().map(|(&page, &tag)| (page, tag))
    }

    /// Contents that written pages of files must have.
    pub(crate) fn files(&self) -> impl Iterator<Item = (FileId, u64, Tag)> {
        self.files.iter().map(|(&(file, index), &tag)| (file, index, tag))
    }

    /// Whether a program wrote this page of a file and has not discarded it.
    pub(crate) fn is_file_written(&self, file: FileId, index: u64) -> bool {
        self.files.contains_key(&(file, index))
    }

    /// Whether a program wrote this private page and has not discarded it.
    pub(crate) fn is_written(&self, page: Mapping) -> bool {
        self.private.contains_key(&page)
    }
}
