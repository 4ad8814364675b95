//! Random work on a few files, compared after each step with a model that knows only what should be where.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::ops::Range;

use order9_frames::Request;
use order9_units::{Nanos, Order, Pages, Pfn};

use crate::fs_cache::FsStep;
use crate::fs_cache::tests::{KERNEL, mounted};
use crate::page_cache::{Added, CachedPage, DropPagecache, FileId, FileWrite, Shadow};
use crate::policy::{InodeCache, Policy};
use crate::slab::tests::Random;
use crate::{Gfp, Mm};

/// Place of a page or folio: its file and its first page.
type At = (FileId, u64);

/// A page, or a large folio, of a file as the model has it.
#[derive(Clone, Default)]
struct Folio {
    pages: u64,
    /// Places that have to be written.
    dirty: BTreeSet<u64>,
    writeback: bool,
    locked: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Read,
    Write,
}

/// The way of a folio to or from the disk.
struct Transfer {
    kind: Kind,
    of: At,
    pages: u64,
    /// Places that are transferred.
    places: Range<u64>,
    left: u64,
    /// The file has lost the folio since.
    lost: bool,
}

#[derive(Default)]
struct Model {
    files: Vec<FileId>,
    folios: BTreeMap<At, Folio>,
    shadows: BTreeMap<At, Shadow>,
    transfers: Vec<Transfer>,
    /// Transfers that the disk still has to end, a few pages at a time.
    pieces: Vec<(Kind, FileWrite)>,
    /// The largest folio.
    order: u64,
    /// Folios that were cut and stayed, and that were split.
    cut: [u64; 2],
}

const PAGES: u64 = 130;
/// Pages that the disk has side by side.
const PIECE: u64 = 3;

impl Model {
    fn folio(&self, file: FileId, index: u64) -> Option<(At, &Folio)> {
        let (&at, folio) = self.folios.range((file, 0)..=(file, index)).next_back()?;
        (index < at.1 + folio.pages).then_some((at, folio))
    }

    fn lose(&mut self, at: At) {
        self.folios.remove(&at);
        self.transfers
            .iter_mut()
            .filter(|transfer| transfer.of == at && !transfer.lost)
            .for_each(|way| way.lost = true);
    }

    fn lose_if(&mut self, lost: impl Fn(&At, &Folio) -> bool) {
        let gone: Vec<At> = self.folios.iter().filter(|(at, folio)| lost(at, folio)).map(|(&at, _)| at).collect();
        gone.into_iter().for_each(|at| self.lose(at));
    }

    fn is_lost(&self, kind: Kind, file: FileId, places: Range<u64>) -> bool {
        let meets = |way: &&Transfer| way.of.1 < places.end && places.start < way.of.1 + way.pages;
        self.transfers.iter().filter(meets).any(|way| way.lost && way.kind == kind && way.of.0 == file)
    }

    fn compare(&self, mm: &Mm) {
        let count = |of: fn(&Folio) -> bool| -> u64 {
            self.folios.values().filter(|folio| of(folio)).map(|folio| folio.pages).sum()
        };
        let lost = self.transfers.iter().filter(|way| way.lost && way.kind == Kind::Write);
        let pending = mm.write_pending(None);
        assert_eq!(mm.pages.user_levels().file, count(|_| true));
        assert_eq!(pending.dirty, count(|folio| !folio.dirty.is_empty()));
        assert_eq!(pending.writeback, count(|folio| folio.writeback) + lost.map(|way| way.pages).sum::<u64>());
        let queued = self.files.iter().filter_map(|&id| mm.file(id)).any(|file| file.dirtied_when().is_some());
        assert_eq!(mm.pages.cache.next_dirty(None).is_some(), queued);
        for &file in &self.files {
            for index in 0..PAGES {
                let found = mm.pages.cache.find_page(file, index, &mm.phys);
                let fits = match self.folio(file, index) {
                    Some((_, folio)) if !folio.locked => matches!(found, CachedPage::Uptodate(_)),
                    None if !self.is_lost(Kind::Read, file, index..index + 1) => found == CachedPage::Missing,
                    _ => matches!(found, CachedPage::BeingRead(_)),
                };
                assert!(fits, "page {index} of {file:?}: {found:?}");
            }
        }
    }

    /// One step; what cannot be done is passed over.
    fn step(&mut self, mm: &mut Mm, random: &mut Random, now: u64) {
        let at = random.below(self.files.len() as u64) as usize;
        let (file, index, now) = (self.files[at], random.below(PAGES), Nanos::new(now));
        let order = Order::new(random.below(self.order + 1) as u8).expect("it is small");
        let is_cached = mm.pages.is_cached(file).is_some_and(|(inode, _)| inode);
        match random.below(16) {
            0 => drop(mm.fs_open_fast(file, &KERNEL)),
            1 => drop(mm.pages.fs_close(file)),
            2..=4 if is_cached => self.write(mm, (file, index), order, now),
            5..=6 if is_cached => self.start_read(mm, (file, index), order),
            7..=8 => self.start_write(mm, random),
            9..=11 if !self.pieces.is_empty() => {
                let at = random.below(self.pieces.len() as u64) as usize;
                let (kind, piece) = self.pieces.swap_remove(at);
                match kind {
                    Kind::Read => mm.end_page_read(piece.file, piece.index, piece.pages, 0),
                    Kind::Write => mm.file_written(&piece, now, 0),
                }
                self.transferred(kind, &piece);
            }
            12 => self.reclaim(mm, file, index),
            13 => self.truncate(mm, file, index),
            14 if random.below(4) == 0 && mm.fs_unlink(file, 0).is_ok() => {
                self.lose_if(|&(of, _), _| of == file);
                self.shadows.retain(|&(of, _), _| of != file);
                self.files[at] = mm.fs_create(Pages::new(PAGES)).expect("there is room");
            }
            15 if random.below(8) == 0 => {
                let mut drop = DropPagecache::new(0, &mut mm.phys);
                while drop.step(&mut mm.pages, &mut mm.phys).is_none() {}
                self.lose_if(|_, folio| folio.dirty.is_empty() && !folio.writeback && !folio.locked);
            }
            15 if mm.pages.start_inode_write(file, &mm.phys) => mm.inode_written(file),
            _ => {}
        }
    }

    /// A block for a folio at `index`, and the places it takes.
    fn block(mm: &mut Mm, index: u64, order: Order) -> (Pfn, Range<u64>) {
        let request = Request::new(order, Gfp::GFP_HIGHUSER_MOVABLE);
        let start = index & !(order.pages().get() - 1);
        (mm.alloc_fast(&request).expect("there is memory"), start..start + order.pages().get())
    }

    fn is_empty(&self, file: FileId, places: Range<u64>) -> bool {
        places.into_iter().all(|index| self.folio(file, index).is_none())
    }

    /// The last shadow of a range, all of which go.
    fn take_shadows(&mut self, file: FileId, places: Range<u64>) -> Option<Shadow> {
        places.fold(None, |last, index| self.shadows.remove(&(file, index)).or(last))
    }

    fn write(&mut self, mm: &mut Mm, (file, index): At, order: Order, now: Nanos) {
        match mm.write_page(file, index, now) {
            CachedPage::Missing => {
                let (pfn, places) = Self::block(mm, index, order);
                let done = mm.pages.write_new_page(file, places.start, pfn, now, 0, &mut mm.phys);
                if !self.is_empty(file, places.clone()) {
                    return assert_eq!(done, Ok(Added::Present));
                }
                assert_eq!(done, Ok(Added::New(self.take_shadows(file, places.clone()))));
                let pages = order.pages().get();
                let folio = Folio { pages, dirty: places.clone().collect(), ..Folio::default() };
                self.folios.insert((file, places.start), folio);
            }
            CachedPage::BeingRead(_) => {}
            CachedPage::Uptodate(_) => {
                let (at, _) = self.folio(file, index).expect("the model has it");
                self.folios.get_mut(&at).expect("it was just found").dirty.insert(index);
            }
        }
    }

    fn start_read(&mut self, mm: &mut Mm, (file, index): At, order: Order) {
        let (pfn, places) = Self::block(mm, index, order);
        match mm.add_to_page_cache(file, places.start, pfn, 0) {
            Ok(Added::New(shadow)) => {
                assert!(self.is_empty(file, places.clone()));
                assert_eq!(shadow, self.take_shadows(file, places.clone()));
                let folio = Folio { pages: order.pages().get(), locked: true, ..Folio::default() };
                self.folios.insert((file, places.start), folio);
                self.begin(Kind::Read, file, places);
            }
            Ok(Added::Present) => {
                let is_lost = self.is_lost(Kind::Read, file, places.clone());
                assert!(is_lost || !self.is_empty(file, places));
            }
            Err(_) => mm.free(pfn, 0).expect("it is still ours"),
        }
    }

    fn start_write(&mut self, mm: &mut Mm, random: &mut Random) {
        let Some(file) = mm.pages.cache.next_dirty(None) else { return };
        let Some(write) = mm.pages.start_writeback(file, Pages::new(random.below(5)), &mut mm.phys) else { return };
        self.begin(Kind::Write, file, write.index..write.index + write.pages.get());
    }

    /// A transfer of some folios begins.
    fn begin(&mut self, kind: Kind, file: FileId, places: Range<u64>) {
        let mut index = places.start;
        while index < places.end {
            let (of, folio) = self.folio(file, index).expect("a page that is transferred exists");
            let pages = folio.pages;
            let own = index..places.end.min(of.1 + pages);
            let folio = self.folios.get_mut(&of).expect("it was just found");
            if kind == Kind::Write {
                assert!(folio.dirty.first() == Some(&own.start) && folio.dirty.last() == Some(&(own.end - 1)));
                assert!(!core::mem::replace(&mut folio.writeback, true));
                folio.dirty.clear();
            }
            index = own.end;
            let left = own.end - own.start;
            self.transfers.push(Transfer { kind, of, pages, places: own, left, lost: false });
        }
        for index in places.clone().step_by(PIECE as usize) {
            let pages = Pages::new(PIECE.min(places.end - index));
            self.pieces.push((kind, FileWrite { file, index, pages }));
        }
    }

    /// The disk is through with a few pages.
    fn transferred(&mut self, kind: Kind, piece: &FileWrite) {
        for index in piece.index..piece.index + piece.pages.get() {
            let fits = |way: &Transfer| way.kind == kind && way.of.0 == piece.file && way.places.contains(&index);
            let at = self.transfers.iter().position(fits).expect("a transfer ends that has begun");
            self.transfers[at].left -= 1;
            if self.transfers[at].left == 0 {
                let Transfer { of, lost, .. } = self.transfers.swap_remove(at);
                let Some(folio) = self.folios.get_mut(&of).filter(|_| !lost) else { continue };
                *(if kind == Kind::Read { &mut folio.locked } else { &mut folio.writeback }) = false;
            }
        }
    }

    fn truncate(&mut self, mm: &mut Mm, file: FileId, end: u64) {
        let before = mm.pages.cache.file_size(file).expect("the file exists");
        if mm.truncate(file, Pages::new(end), 0).is_err() || before <= Pages::new(end) {
            return;
        }
        self.shadows.retain(|&(of, at), _| of != file || at < end);
        self.lose_if(|&(of, at), _| of == file && at >= end);
        let Some((at, folio)) = self.folio(file, end).map(|(at, folio)| (at, folio.clone())) else { return };
        if folio.dirty.is_empty() && !folio.writeback && !folio.locked {
            self.lose(at);
            let base = Folio { pages: 1, ..Folio::default() };
            self.folios.extend((at.1..end).map(|index| ((file, index), base.clone())));
            self.cut[1] += 1;
        } else {
            self.folios.get_mut(&at).expect("it was just found").dirty.retain(|&index| index < end);
            self.cut[0] += 1;
        }
    }

    fn reclaim(&mut self, mm: &mut Mm, file: FileId, index: u64) {
        let Some((at, folio)) = self.folio(file, index).map(|(at, folio)| (at, folio.clone())) else { return };
        if folio.locked || folio.writeback {
            return;
        }
        let pfn = mm.file_page(file, at.1).expect("the model has it");
        if let (Some(&first), Some(&last)) = (folio.dirty.first(), folio.dirty.last()) {
            let write = mm.pages.start_page_write(pfn, &mut mm.phys);
            let is_lost = self.is_lost(Kind::Write, file, at.1..at.1 + folio.pages);
            assert_eq!(write.is_none(), is_lost, "it is dirty");
            if write.is_some() {
                self.begin(Kind::Write, file, first..last + 1);
            }
            return;
        }
        let shadow = Shadow(index as u32 | 1 << 31);
        let idx = mm.phys.frames.at(pfn);
        mm.pages.reclaim_from_file(file, at.1, Some(shadow), &mut mm.phys);
        mm.pages.disown(idx, 0, &mut mm.phys);
        self.folios.remove(&at);
        self.shadows.extend((at.1..at.1 + folio.pages).map(|index| ((file, index), shadow)));
    }
}

#[test]
fn random_work_agrees_with_a_model() {
    for (seed, inode_cache, order) in [
        (1, InodeCache::DroppedWithInode, 0),
        (2, InodeCache::KeepsInode, 0),
        (3, InodeCache::DroppedWithInode, 5),
        (4, InodeCache::KeepsInode, 3),
    ] {
        let mut policy = Policy::default();
        policy.reclaim.inode_cache = inode_cache;
        let (mut mm, mut random) = (mounted(policy).with_content_tags(), Random(seed));
        let mut model = Model { order, ..Model::default() };
        for _ in 0..6 {
            let file = mm.fs_create(Pages::new(PAGES)).expect("there is room");
            assert!(matches!(mm.fs_open_fast(file, &KERNEL), FsStep::Done { .. }));
            model.files.push(file);
        }
        for now in 0..3_000 {
            model.step(&mut mm, &mut random, now);
            model.compare(&mm);
            mm.check().unwrap_or_else(|violation| panic!("seed {seed}, step {now}: {violation}"));
        }
        assert!(mm.counters().nr_written > 100, "{}", mm.counters().nr_written);
        assert_eq!(model.cut.iter().all(|&count| count > 0), order > 0, "{:?}", model.cut);
    }
}
