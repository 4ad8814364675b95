//! The buffer cache of a filesystem: blocks of metadata in pages of their own, until a shrinker takes them.
//!
//! Key types: [`BufferCache`], [`Buffer`]. A buffer has a head, which is an object of slab, and pages, which are taken one by one;
//! it is in use until it has all of them. One with inodes is held while any of them is to be written, as the log holds it on
//! Linux. Then it is listed, and the shrinker passes it over so many times before it frees it. Never reads or writes metadata: that is the
//! disk's.

use alloc::vec::Vec;

use order9_frames::Idx;
use order9_units::NodeId;

use super::filesystem::{BUFFER_PAGES, Buffers};
use super::lru::ObjectLru;
use super::{NONE, Shrunk};
use crate::page_cache::FileId;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::slab::{CacheId, Object};

/// Buffers of a filesystem.
#[derive(Clone)]
pub(super) struct BufferCache {
    kind: Buffers,
    pub(super) heads: CacheId,
    /// By object number of the head.
    pub(super) buffers: Vec<Buffer>,
    /// The buffer of each group of inodes, by the order of creation.
    pub(super) of_inodes: Vec<u32>,
    /// The block of directories that does not have its page yet.
    block: u32,
    /// Files that were made since directories and indexes needed a block.
    made: u32,
    pub(super) lru: ObjectLru,
}

/// Buffer of the cache: its pages, and who holds it.
#[derive(Clone, Copy)]
pub(super) struct Buffer {
    pub(super) pages: [Idx; BUFFER_PAGES],
    /// Number of pages that it has, and needs.
    pub(super) has: u8,
    pub(super) needs: u8,
    /// Times that the shrinker passes it over.
    rounds: u8,
    pub(super) listed: bool,
    /// Inodes of it that are to be written.
    pub(super) holders: u32,
    /// Group of its inodes; none of a block of directories.
    group: u32,
}

/// Content of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Group of inodes.
    Inodes(u32),
    /// Directories and indexes.
    Block,
}

/// Part that a buffer lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lacking {
    Head(Content),
    Page(u32),
}

impl BufferCache {
    pub(super) fn new(kind: Buffers, heads: CacheId, nodes: usize) -> Self {
        let (buffers, of_inodes) = (Vec::new(), Vec::new());
        Self { kind, heads, buffers, of_inodes, block: NONE, made: 0, lru: ObjectLru::new(nodes) }
    }

    /// The group of inodes that a file's belongs to.
    pub(super) fn group_of(&self, file: FileId) -> u32 {
        file.index() as u32 / self.kind.inodes
    }

    fn of_group(&self, group: u32) -> u32 {
        self.of_inodes.get(group as usize).copied().unwrap_or(NONE)
    }

    /// Part that buffers lack for a file that is being created.
    pub(super) fn lacking_for(&self, file: FileId) -> Option<Lacking> {
        let group = self.group_of(file);
        let needs_block = self.made >= self.kind.files_per_block;
        self.lacking(self.of_group(group), Content::Inodes(group))
            .or_else(|| self.lacking(self.block, Content::Block).filter(|_| needs_block))
    }

    fn lacking(&self, number: u32, content: Content) -> Option<Lacking> {
        match self.buffers.get(number as usize) {
            None => Some(Lacking::Head(content)),
            Some(buffer) => (buffer.has < buffer.needs).then_some(Lacking::Page(number)),
        }
    }

    /// Makes object `number` the head of a buffer without pages.
    pub(super) fn add_head(&mut self, content: Content, number: u32) {
        let (group, needs) = match content {
            Content::Inodes(group) => (group, self.kind.inode_pages),
            Content::Block => (NONE, 1),
        };
        let rounds = self.kind.rounds;
        let buffer = Buffer { pages: [Idx(0); BUFFER_PAGES], has: 0, needs, rounds, listed: false, holders: 0, group };
        if self.buffers.len() <= number as usize {
            self.buffers.resize(number as usize + 1, buffer);
        }
        self.buffers[number as usize] = buffer;
        match content {
            Content::Block => self.block = number,
            Content::Inodes(group) => {
                let groups = self.of_inodes.len().max(group as usize + 1);
                self.of_inodes.resize(groups, NONE);
                self.of_inodes[group as usize] = number;
            }
        }
    }

    /// Gives a buffer a page. A block of directories that is whole is listed on `node`.
    pub(super) fn add_page(&mut self, number: u32, page: Idx, node: usize) {
        let buffer = &mut self.buffers[number as usize];
        buffer.pages[usize::from(buffer.has)] = page;
        buffer.has += 1;
        if number == self.block {
            self.block = NONE;
            self.made -= self.kind.files_per_block;
            self.list(number, node);
        }
    }

    /// A file has been created: the buffer of its inode is held until that is written.
    pub(super) fn hold(&mut self, file: FileId, node: impl Fn(u32) -> usize) {
        self.made += 1;
        let number = self.of_group(self.group_of(file));
        let buffer = &mut self.buffers[number as usize];
        buffer.holders += 1;
        if core::mem::take(&mut buffer.listed) {
            self.lru.remove(node(number), number);
        }
    }

    /// An inode of the buffer is written, which the last of them lists.
    pub(super) fn release(&mut self, file: FileId, node: impl Fn(u32) -> usize) {
        let number = self.of_group(self.group_of(file));
        let buffer = &mut self.buffers[number as usize];
        buffer.holders -= 1;
        if buffer.holders == 0 {
            self.list(number, node(number));
        }
    }

    fn list(&mut self, number: u32, node: usize) {
        let buffer = &mut self.buffers[number as usize];
        (buffer.listed, buffer.rounds) = (true, self.kind.rounds);
        self.lru.push(node, number);
    }

    /// Decides about the buffer unused for longest: takes it off its list if it goes.
    fn take_oldest(&mut self, node: usize) -> Option<Option<Object>> {
        let number = self.lru.first(node)?;
        let buffer = &mut self.buffers[number as usize];
        if buffer.rounds > 0 {
            buffer.rounds -= 1;
            self.lru.rotate(node, number);
            return Some(None);
        }
        buffer.listed = false;
        self.lru.remove(node, number);
        if let Some(group) = self.of_inodes.get_mut(buffer.group as usize) {
            *group = NONE;
        }
        Some(Some(Object { cache: self.heads, number }))
    }
}

impl UsedPages {
    /// Buffers of a node that the shrinker may free.
    pub(crate) fn buffers_freeable(&self, node: NodeId) -> u64 {
        let buffers = self.fs.as_ref().and_then(|fs| fs.buffers.as_ref());
        buffers.map_or(0, |buffers| buffers.lru.len(node.index()))
    }

    /// Looks at so many buffers. Pages that come free are not counted as reclaimed, only slabs of heads.
    pub(crate) fn scan_buffers(
        &mut self,
        node: NodeId,
        count: u64,
        shrunk: &mut Shrunk,
        cpu: usize,
        phys: &mut PhysMem,
    ) {
        for _ in 0..count {
            let buffers = self.fs.as_mut().and_then(|fs| fs.buffers.as_mut());
            let Some((buffers, oldest)) =
                buffers.and_then(|of| of.take_oldest(node.index()).map(|oldest| (of, oldest)))
            else {
                return;
            };
            phys.work.slab_objects_scanned += 1;
            let Some(head) = oldest else { continue };
            let Buffer { pages, has, .. } = buffers.buffers[head.number as usize];
            for &page in &pages[..usize::from(has)] {
                phys.frames.free_block(page, phys.frames.word(page), cpu);
            }
            shrunk.objects += 1;
            shrunk.pages += self.kmem_cache_free(head, cpu, phys).expect("the head of a buffer lives");
        }
    }
}
