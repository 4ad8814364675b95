//! Recounts the laws of filesystem caches: every object is a file's, and lists hold what they should.

use alloc::format;
use alloc::vec::Vec;

use order9_frames::{FrameState, Idx, Verdict, require};
use order9_units::Order;

use super::lru::ObjectLru;
use super::{FsCache, NONE};
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::slab::CacheId;
use crate::slab::SlabMemory;

impl UsedPages {
    /// Checks every law of filesystem caches.
    pub(crate) fn check_fs(&self, phys: &PhysMem) -> Verdict {
        let Some(fs) = &self.fs else { return Ok(()) };
        let (mut dentries, mut inodes) = (Vec::new(), Vec::new());
        for (id, number) in self.cache.files.inodes() {
            let inode = &fs.inodes[number as usize];
            require(inode.file == id, "a cached inode is its file's", || {
                format!("{id:?} has that of {:?}", inode.file)
            })?;
            inodes.push((number, inode.listed));
            if inode.dentry != NONE {
                let dentry = fs.dentries[inode.dentry as usize];
                require(dentry.inode == number, "a dentry keeps the inode of its file", || format!("{id:?}"))?;
                require(dentry.users > 0 || dentry.listed, "an unused dentry is listed", || format!("{id:?}"))?;
                dentries.push((inode.dentry, dentry.listed));
            }
        }
        self.check_companions(fs)?;
        self.check_buffers(fs, phys)?;
        let FsCache { dentry_cache, inode_cache, dentry_lru, inode_lru, .. } = &**fs;
        self.slab.check_objects(*dentry_cache, dentries, dentry_lru, phys)?;
        self.slab.check_objects(*inode_cache, inodes, inode_lru, phys)
    }
}

impl UsedPages {
    /// Objects that are kept beside inodes live, and are kept for cached inodes alone.
    fn check_companions(&self, fs: &FsCache) -> Verdict {
        let cached: Vec<u32> = self.cache.files.inodes().map(|(_, number)| number).collect();
        let companions = fs.companions.iter().map(|of| (of.cache, of.objects()));
        let all = companions.chain(fs.names.as_ref().map(|(cache, names)| (*cache, names)));
        for (cache, objects) in all {
            let (slab, kept) = (&self.slab.caches[cache.index()], objects.len());
            let of_cached = cached.iter().map(|&inode| objects.get(inode)).filter(|&number| number != NONE);
            let (mut found, mut live) = (0, true);
            of_cached.for_each(|number| (found, live) = (found + 1, live && slab.slab_of(number).is_some()));
            require(live && found == kept, "what is kept beside inodes lives, as long as they", || {
                format!("{}: {kept} kept, {found} of cached inodes", slab.spec.name)
            })?;
        }
        Ok(())
    }

    /// Buffers count the inodes that hold them, have pages, and are listed once nobody holds them.
    fn check_buffers(&self, fs: &FsCache, phys: &PhysMem) -> Verdict {
        let Some(buffers) = &fs.buffers else { return Ok(()) };
        let heads = &self.slab.caches[buffers.heads.index()];
        let mut holders: Vec<u32> = alloc::vec![0; buffers.of_inodes.len()];
        let holding = self.cache.files.inodes().filter(|&(_, number)| fs.inodes[number as usize].holds_buffer);
        holding.for_each(|(id, _)| holders[buffers.group_of(id) as usize] += 1);
        for (group, &number) in buffers.of_inodes.iter().enumerate() {
            let buffer = buffers.buffers.get(number as usize).filter(|_| number != NONE);
            let counted = buffer.map_or(0, |buffer| buffer.holders);
            require(holders[group] == counted, "a buffer counts the inodes that hold it", || {
                format!("group {group}: {} hold it, {counted} counted", holders[group])
            })?;
        }
        let mut listed = Vec::new();
        for node in 0..phys.frames.nodes().len() {
            listed.extend(buffers.lru.iter(node).take(heads.objects() as usize + 1));
        }
        for &number in &listed {
            let buffer = &buffers.buffers[number as usize];
            let is_whole = buffer.listed && buffer.holders == 0 && buffer.has == buffer.needs;
            require(
                is_whole && heads.slab_of(number).is_some(),
                "a listed buffer is whole, and nobody holds it",
                || format!("buffer {number} with {} of {} pages", buffer.has, buffer.needs),
            )?;
            let is_page = |&page: &Idx| phys.frames.word(page).state() == FrameState::Allocated { order: Order::ZERO };
            require(
                buffer.pages[..usize::from(buffer.has)].iter().all(is_page),
                "pages of a buffer are in use",
                || format!("buffer {number}"),
            )?;
        }
        Ok(())
    }
}

impl SlabMemory {
    /// Objects in use by files, with whether they are listed, are those that live; and the lists hold those listed.
    fn check_objects(&self, cache: CacheId, mut used: Vec<(u32, bool)>, lru: &ObjectLru, phys: &PhysMem) -> Verdict {
        let slab = &self.caches[cache.index()];
        let live = used.iter().all(|&(number, _)| slab.slab_of(number).is_some());
        require(live && used.len() as u64 == slab.objects(), "objects of the filesystem are its files'", || {
            format!("{}: {} in use by files, {} live", slab.spec.name, used.len(), slab.objects())
        })?;
        used.retain(|&(_, listed)| listed);
        let mut listed = Vec::new();
        for node in 0..phys.frames.nodes().len() {
            let before = listed.len() as u64;
            listed.extend(lru.iter(node).take(used.len() + 1));
            let length = listed.len() as u64 - before;
            require(length == lru.len(node), "a list of unused objects is as long as it says", || {
                format!("{}, node {node}: {length} on the list, {} counted", slab.spec.name, lru.len(node))
            })?;
            let local =
                lru.iter(node).all(|number| slab.slab_of(number).is_some_and(|slab| usize::from(slab.node) == node));
            require(local, "an unused object is on the list of its node", || {
                format!("{}, node {node}", slab.spec.name)
            })?;
        }
        let mut used: Vec<u32> = used.into_iter().map(|(number, _)| number).collect();
        used.sort_unstable();
        listed.sort_unstable();
        require(used == listed, "listed objects are on one list", || {
            format!("{}: {} say so, {} on lists", slab.spec.name, used.len(), listed.len())
        })
    }
}
