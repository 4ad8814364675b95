//! The pageblock index: what every pageblock would cost to empty and what it could receive, kept true by the allocator, so
//! that compaction looks at no frame that it does not move.
//!
//! Key types: [`Index`] (all zones), `Kind` (the sets that a zone's pageblocks are in). A pageblock is in at most one set:
//! those without anything that has to stay can be emptied, in order of what there is to move; Movable ones with something
//! that stays can never become a huge page, and take what is moved. Whoever changes the counts or the type of a pageblock
//! calls [`Index::touch`]. There is an index only where the policy asks for one. Never moves anything and never chooses when
//! to: that is for who compacts. Why it is built like this: docs/index.md.

#[cfg(feature = "alloc")]
mod check;
mod find;
mod serve;
mod set;

use order9_units::{Migratetype, Order, PAGEBLOCK_PAGES};

use crate::frame::{FrameTable, Idx, Word};
use crate::pageblock::Pageblock;
#[cfg(feature = "alloc")]
use crate::storage::Heap;
use crate::storage::{Storage, Usual};
use crate::zone::ZoneId;
use set::BUCKETS;

pub use find::{Source, bits};
pub use set::Set;

/// Frames of a pageblock.
const FRAMES: u16 = PAGEBLOCK_PAGES.get() as u16;
/// In no set.
const NOWHERE: u16 = u16::MAX;
/// Failures in a row beyond which a pageblock gets no more expensive.
const PENALTY_MAX: u8 = 8;
/// Members of a bucket, or pageblocks, that are asked at most before something else is tried.
const ASKED_MAX: usize = 8;
/// Frames by which the free frames of a pageblock have to change for one failure to be forgotten.
const FORGETS_AFTER: u16 = 32;

/// The sets of a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Movable pageblocks that can be emptied, by their free frames: sources, and targets.
    Movable,
    /// Unmovable and Reclaimable ones that can be emptied, by their free frames: sources.
    Other,
    /// Movable pageblocks with something that stays and with room, by the number of frames that stay: targets.
    Contaminated,
}

const KINDS: [Kind; 3] = [Kind::Movable, Kind::Other, Kind::Contaminated];

/// Doubly linked rings over pageblocks and, behind them, sentinels.
struct Links<S: Storage>(S::Of<[u32; 2]>);

impl<S: Storage> Links<S> {
    fn new(mut links: S::Of<[u32; 2]>) -> Self {
        (0..).zip(links.iter_mut()).for_each(|(own, link)| *link = [own; 2]);
        Self(links)
    }

    fn first(&self, sentinel: u32) -> u32 {
        self.0[sentinel as usize][0]
    }

    #[inline]
    fn push(&mut self, sentinel: u32, block: u32) {
        let next = self.first(sentinel);
        self.0[block as usize] = [next, sentinel];
        self.0[sentinel as usize][0] = block;
        self.0[next as usize][1] = block;
    }

    #[inline]
    fn unlink(&mut self, block: u32) {
        let [next, prev] = self.0[block as usize];
        self.0[prev as usize][0] = next;
        self.0[next as usize][1] = prev;
    }

    /// Members of a ring, the latest first.
    fn iter(&self, sentinel: u32) -> impl Iterator<Item = u32> {
        let mut at = sentinel;
        core::iter::from_fn(move || {
            at = self.0[at as usize][0];
            (at != sentinel).then_some(at)
        })
    }
}

/// The place of a pageblock in the index, and what it has learnt of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Set and bucket, or `NOWHERE`.
    place: u16,
    /// Free frames when it was put there.
    free: u16,
    /// Free frames at the last change of the penalty.
    free_then: u16,
    /// Attempts to empty it that failed, as far as they are not forgotten.
    penalty: u8,
}

/// Every pageblock of every zone, by what it would cost to empty and what it could receive.
///
/// Law: a pageblock is in the set and bucket that follow from its counts, type and first frame, with the penalty that is
/// noted; a bit of `heads` is set for every first frame of a free block. [`crate::Frames::check`] recounts both.
pub struct Index<S: Storage = Usual> {
    zones: S::Of<[Set; KINDS.len()]>,
    links: Links<S>,
    entries: S::Of<Entry>,
    /// A bit for each frame.
    heads: S::Of<u64>,
}

#[cfg(feature = "alloc")]
impl Clone for Index<Heap> {
    fn clone(&self) -> Self {
        Self {
            zones: self.zones.clone(),
            links: Links(self.links.0.clone()),
            entries: self.entries.clone(),
            heads: self.heads.clone(),
        }
    }
}

/// Tables of an index.
pub struct IndexTables<S: Storage = Usual> {
    /// The three sets of each zone.
    pub zones: S::Of<[Set; KINDS.len()]>,
    /// Rings of buckets: [`IndexTables::links`] links.
    pub links: S::Of<[u32; 2]>,
    /// An entry for each pageblock.
    pub entries: S::Of<Entry>,
    /// Bits of first frames of free blocks: a word for each 64 frames.
    pub heads: S::Of<u64>,
}

impl IndexTables {
    /// Links that an index of so many zones and pageblocks needs.
    #[must_use]
    pub const fn links(zones: usize, blocks: usize) -> usize {
        blocks + zones * KINDS.len() * BUCKETS as usize
    }
}

impl Entry {
    /// The entry of a pageblock that the index has not looked at.
    pub const NONE: Self = Self { place: NOWHERE, free: 0, free_then: 0, penalty: 0 };
}

impl<S: Storage> Index<S> {
    /// The index of a machine as it is now.
    pub(crate) fn new(tables: IndexTables<S>, blocks: &[Pageblock], frames: &FrameTable<S>) -> Self {
        let IndexTables { mut zones, links, mut entries, mut heads } = tables;
        zones.fill(Default::default());
        entries.fill(Entry::NONE);
        heads.fill(0);
        let mut index = Self { zones, links: Links::new(links), entries, heads };
        (0..blocks.len()).for_each(|block| index.touch(block, &blocks[block], frames));
        for idx in (0..frames.len() as u32).map(Idx).filter(|&idx| frames.word(idx).is_free()) {
            index.set_head(idx, true);
        }
        index
    }

    /// Bytes of metadata.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.links.0)
            + size_of_val(&*self.entries)
            + size_of_val(&*self.heads)
            + size_of_val(&*self.zones)
    }

    /// Counts or type of a pageblock have changed: it goes where it belongs now.
    #[inline]
    pub(crate) fn touch(&mut self, block: usize, own: &Pageblock, frames: &FrameTable<S>) {
        if own.zone.index() >= self.zones.len() {
            return;
        }
        let entry = &mut self.entries[block];
        if entry.penalty > 0 && entry.free_then.abs_diff(own.free) >= FORGETS_AFTER {
            entry.penalty -= 1;
            entry.free_then = own.free;
        }
        let before = *entry;
        let place = place(own, before.penalty, block, frames);
        if place == before.place && own.free == before.free {
            return;
        }
        (entry.place, entry.free) = (place, own.free);
        self.relink(block as u32, own.zone, before, place, own.free);
    }

    #[inline]
    fn relink(&mut self, block: u32, zone: ZoneId, before: Entry, place: u16, free: u16) {
        if before.place != NOWHERE {
            let sentinel = self.sentinel(zone.index(), before.place);
            let set = &mut self.zones[zone.index()][usize::from(before.place) / BUCKETS as usize];
            set.remove(&mut self.links, sentinel, before.place % BUCKETS as u16, block);
            set.blocks -= 1;
            set.room -= u64::from(before.free);
        }
        if place != NOWHERE {
            let sentinel = self.sentinel(zone.index(), place);
            let set = &mut self.zones[zone.index()][usize::from(place) / BUCKETS as usize];
            set.insert(&mut self.links, sentinel, place % BUCKETS as u16, block);
            set.blocks += 1;
            set.room += u64::from(free);
        }
    }

    /// The sentinel that closes the ring of a bucket.
    #[inline]
    fn sentinel(&self, zone: usize, place: u16) -> u32 {
        (self.entries.len() + zone * KINDS.len() * BUCKETS as usize) as u32 + u32::from(place)
    }

    /// A free block begins at `idx`, or no longer does.
    #[inline]
    pub(crate) fn set_head(&mut self, idx: Idx, on: bool) {
        let (word, bit) = (&mut self.heads[idx.at() / 64], 1 << (idx.at() % 64));
        if on { *word |= bit } else { *word &= !bit }
    }
}

/// Set and bucket of a pageblock.
#[inline]
fn place<S: Storage>(own: &Pageblock, penalty: u8, block: usize, frames: &FrameTable<S>) -> u16 {
    let stay = own.immovable + own.pinned + own.absent;
    let kind = match own.migratetype {
        Migratetype::Movable if stay > 0 => {
            let bucket = stay.min(BUCKETS as u16 - 1);
            return if own.free > 0 { Kind::Contaminated as u16 * BUCKETS as u16 + bucket } else { NOWHERE };
        }
        Migratetype::Movable => Kind::Movable,
        Migratetype::Unmovable | Migratetype::Reclaimable if stay == 0 => Kind::Other,
        _ => return NOWHERE,
    };
    let nothing_to_move = own.free + own.isolated == FRAMES;
    let whole = || is_whole(frames.word(Idx((block as u32) << Order::PAGEBLOCK.get())));
    if nothing_to_move || own.free == 0 && whole() {
        return NOWHERE;
    }
    kind as u16 * BUCKETS as u16 + rank(own.free, penalty)
}

/// Bucket of a pageblock that can be emptied: its free frames, less what failures have taught. Only full ones are in the
/// lowest, so that whoever looks for room need not look there.
const fn rank(free: u16, penalty: u8) -> u16 {
    if free == 0 {
        return 0;
    }
    let malus = if penalty == 0 { 0 } else { 1 << penalty };
    if free > malus { free - malus } else { 1 }
}

/// Whether a pageblock that starts with this frame and has no free one is part of one block.
pub fn is_whole(first: Word) -> bool {
    first == Word::TAIL || first.is_used_from(Order::PAGEBLOCK)
}
