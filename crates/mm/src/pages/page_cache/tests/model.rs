//! Random work on a few files, compared after each step with a model that knows only what should be where.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use order9_units::{Nanos, Pages};

use super::page;
use crate::Mm;
use crate::fs_cache::FsStep;
use crate::fs_cache::tests::{KERNEL, mounted};
use crate::page_cache::{Added, CachedPage, DropPagecache, FileId, FileWrite, Shadow};
use crate::policy::{InodeCache, Policy};
use crate::slab::tests::Random;

/// A page of a file as the model has it.
#[derive(Clone, Copy, Default)]
struct Page {
    dirty: bool,
    writeback: bool,
    locked: bool,
}

#[derive(Default)]
struct Model {
    files: Vec<FileId>,
    pages: BTreeMap<(FileId, u64), Page>,
    shadows: BTreeMap<(FileId, u64), Shadow>,
    writes: Vec<FileWrite>,
    /// Reads under way, and whether their page was lost.
    reads: Vec<(FileId, u64)>,
    /// Pages lost while they were being written.
    lost_writes: Vec<(FileId, u64)>,
    lost_reads: Vec<(FileId, u64)>,
}

const PAGES: u64 = 130;

impl Model {
    fn lose(&mut self, lost: impl Fn(&(FileId, u64), &Page) -> bool) {
        let gone: Vec<_> =
            self.pages.iter().filter(|(at, page)| lost(at, page)).map(|(&at, &page)| (at, page)).collect();
        for (at, page) in gone {
            self.pages.remove(&at);
            if page.writeback {
                self.lost_writes.push(at);
            }
            if page.locked {
                self.lost_reads.push(at);
            }
        }
    }

    fn forget_lost(list: &mut Vec<(FileId, u64)>, at: (FileId, u64)) -> bool {
        let found = list.iter().position(|&lost| lost == at);
        found.map(|found| list.remove(found)).is_some()
    }

    fn compare(&self, mm: &Mm) {
        let count = |of: fn(&Page) -> bool| self.pages.values().filter(|page| of(page)).count() as u64;
        let pending = mm.write_pending(None);
        assert_eq!(mm.pages.user_levels().file, self.pages.len() as u64);
        assert_eq!(pending.dirty, count(|page| page.dirty));
        assert_eq!(pending.writeback, count(|page| page.writeback) + self.lost_writes.len() as u64);
        let queued = self.files.iter().filter_map(|&id| mm.file(id)).any(|file| file.dirtied_when().is_some());
        assert_eq!(mm.pages.cache.next_dirty(None).is_some(), queued);
        for (&(file, index), page) in &self.pages {
            let found = mm.pages.cache.find_page(file, index, &mm.phys);
            let fits = if page.locked {
                matches!(found, CachedPage::BeingRead(_))
            } else {
                matches!(found, CachedPage::Uptodate(_))
            };
            assert!(fits, "page {index} of {file:?}: {found:?}");
        }
    }

    /// One step; what cannot be done is passed over.
    fn step(&mut self, mm: &mut Mm, random: &mut Random, now: u64) {
        let at = random.below(self.files.len() as u64) as usize;
        let (file, index, now) = (self.files[at], random.below(PAGES), Nanos::new(now));
        let is_cached = mm.pages.is_cached(file).is_some_and(|(inode, _)| inode);
        match random.below(16) {
            0 => drop(mm.fs_open_fast(file, &KERNEL)),
            1 => drop(mm.pages.fs_close(file)),
            2..=4 if is_cached => self.write(mm, file, index, now),
            5..=6 if is_cached => self.start_read(mm, file, index),
            7 if !self.reads.is_empty() => {
                let at = random.below(self.reads.len() as u64) as usize;
                let (file, index) = self.reads.swap_remove(at);
                mm.end_page_read(file, index, Pages::new(1), 0);
                if !Self::forget_lost(&mut self.lost_reads, (file, index)) {
                    self.pages.get_mut(&(file, index)).expect("it is being read").locked = false;
                }
            }
            8..=9 => self.start_write(mm, random),
            10..=11 if !self.writes.is_empty() => {
                let at = random.below(self.writes.len() as u64) as usize;
                let write = self.writes.swap_remove(at);
                mm.file_written(&write, now, 0);
                for index in write.index..write.index + write.pages.get() {
                    if !Self::forget_lost(&mut self.lost_writes, (write.file, index)) {
                        self.pages.get_mut(&(write.file, index)).expect("it is being written").writeback = false;
                    }
                }
            }
            12 => self.reclaim(mm, file, index),
            13 => {
                let size = Pages::new(index);
                if mm.truncate(file, size, 0).is_ok() {
                    self.lose(|&(of, at), _| of == file && at >= index);
                    self.shadows.retain(|&(of, at), _| of != file || at < index);
                }
            }
            14 if random.below(4) == 0 && mm.fs_unlink(file, 0).is_ok() => {
                self.lose(|&(of, _), _| of == file);
                self.shadows.retain(|&(of, _), _| of != file);
                self.files[at] = mm.fs_create(Pages::new(PAGES)).expect("there is room");
            }
            15 if random.below(8) == 0 => {
                let mut drop = DropPagecache::new(0, &mut mm.phys);
                while drop.step(&mut mm.pages, &mut mm.phys).is_none() {}
                self.lose(|_, page| !page.dirty && !page.writeback && !page.locked);
            }
            15 if mm.pages.start_inode_write(file, &mm.phys) => mm.inode_written(file),
            _ => {}
        }
    }

    fn write(&mut self, mm: &mut Mm, file: FileId, index: u64, now: Nanos) {
        let known = self.pages.get(&(file, index)).copied();
        match mm.write_page(file, index, now) {
            CachedPage::Missing => {
                let shadow = self.shadows.remove(&(file, index));
                let pfn = page(mm);
                assert_eq!(mm.pages.write_new_page(file, index, pfn, now, 0, &mut mm.phys), Ok(Added::New(shadow)));
                assert!(known.is_none());
            }
            CachedPage::BeingRead(_) => return,
            CachedPage::Uptodate(_) => assert!(known.is_some()),
        }
        self.pages.entry((file, index)).or_default().dirty = true;
    }

    fn start_read(&mut self, mm: &mut Mm, file: FileId, index: u64) {
        let pfn = page(mm);
        match mm.add_to_page_cache(file, index, pfn, 0) {
            Ok(Added::New(shadow)) => {
                assert_eq!(shadow, self.shadows.remove(&(file, index)));
                let old = self.pages.insert((file, index), Page { locked: true, ..Page::default() });
                assert!(old.is_none());
                self.reads.push((file, index));
            }
            Ok(Added::Present) => assert!(self.pages.contains_key(&(file, index))),
            Err(_) => mm.free(pfn, 0).expect("it is still ours"),
        }
    }

    fn start_write(&mut self, mm: &mut Mm, random: &mut Random) {
        let Some(file) = mm.pages.cache.next_dirty(None) else { return };
        let Some(write) = mm.pages.start_writeback(file, Pages::new(random.below(5)), &mut mm.phys) else { return };
        for index in write.index..write.index + write.pages.get() {
            let page = self.pages.get_mut(&(file, index)).expect("a page that is written exists");
            assert!(page.dirty && !page.writeback);
            (page.dirty, page.writeback) = (false, true);
        }
        self.writes.push(write);
    }

    fn reclaim(&mut self, mm: &mut Mm, file: FileId, index: u64) {
        let Some(page) = self.pages.get(&(file, index)).filter(|page| !page.locked) else { return };
        let pfn = mm.file_page(file, index).expect("the model has it");
        if page.dirty && !page.writeback {
            self.writes.push(mm.pages.start_page_write(pfn, &mut mm.phys).expect("it is dirty"));
            *self.pages.entry((file, index)).or_default() = Page { writeback: true, ..Page::default() };
        } else if !page.dirty && !page.writeback {
            let shadow = Shadow(index as u32 | 1 << 31);
            let idx = mm.phys.frames.at(pfn);
            mm.pages.reclaim_from_file(file, index, Some(shadow), &mut mm.phys);
            mm.pages.disown(idx, 0, &mut mm.phys);
            self.pages.remove(&(file, index));
            self.shadows.insert((file, index), shadow);
        }
    }
}

#[test]
fn random_work_agrees_with_a_model() {
    for (seed, inode_cache) in [(1, InodeCache::DroppedWithInode), (2, InodeCache::KeepsInode)] {
        let mut policy = Policy::default();
        policy.reclaim.inode_cache = inode_cache;
        let (mut mm, mut random) = (mounted(policy).with_content_tags(), Random(seed));
        let mut model = Model::default();
        for _ in 0..6 {
            let file = mm.fs_create(Pages::new(PAGES)).expect("there is room");
            assert!(matches!(mm.fs_open_fast(file, &KERNEL), FsStep::Done { .. }));
            model.files.push(file);
        }
        for now in 0..3_000 {
            model.step(&mut mm, &mut random, now);
            model.compare(&mm);
            mm.check().unwrap_or_else(|violation| panic!("step {now}: {violation}"));
        }
        assert!(mm.counters().nr_written > 100, "{}", mm.counters().nr_written);
    }
}
