//! [`FreeLists`]: the free lists of a zone, borrowed with all that changes along with them.
//!
//! Everything that comes onto a free list or leaves one passes here. Whoever changes several blocks borrows the lists once.

use order9_units::{Migratetype, Order};

use crate::Frames;
use crate::frame::{FrameTable, Idx, Word};
use crate::index::Index;
use crate::policy::ListEnd;
use crate::storage::Storage;
use crate::watch::Watch;
use crate::work::ZoneLockWork;
use crate::zone::{Zone, ZoneId};

/// The free lists of a zone.
pub(crate) struct FreeLists<'a, W: Watch, S: Storage> {
    zone: &'a mut Zone,
    table: &'a mut FrameTable<S>,
    index: &'a mut Option<Index<S>>,
    work: &'a mut ZoneLockWork,
    watch: &'a mut W,
}

impl<W: Watch, S: Storage> FreeLists<'_, W, S> {
    /// Puts a block that is on no list on that of `mt` and says so on its first frame.
    #[inline(always)]
    pub(crate) fn add(&mut self, idx: Idx, order: Order, mt: Migratetype, end: ListEnd) {
        let list = self.zone.list(order, mt);
        self.watch.listing(self.table, list, self.zone.id, order, mt);
        self.table.push(list, idx, end == ListEnd::Tail);
        self.table.set(idx, Word::free(order, mt));
        self.mark(idx, true);
        self.zone.count_listed(order, mt);
        self.work.list_ops += 1;
    }

    /// Takes a block off the list of `order` and `mt`. Its word stays as it was.
    #[inline(always)]
    pub(crate) fn remove(&mut self, idx: Idx, order: Order, mt: Migratetype) {
        self.watch.unlisting(self.table, self.zone.list(order, mt), self.zone.id, order, idx);
        self.table.unlink(idx);
        self.mark(idx, false);
        self.zone.count_unlisted(order, mt);
        self.work.list_ops += 1;
    }

    /// Tells the index, if there is one, that a free block begins at `idx`, or no longer does.
    #[inline(always)]
    fn mark(&mut self, idx: Idx, on: bool) {
        if let Some(index) = self.index {
            index.set_head(idx, on);
            self.work.index_updates += 1;
        }
    }
}

impl<W: Watch, S: Storage> Frames<W, S> {
    /// The free lists of `zone`.
    #[inline(always)]
    pub(crate) fn free_lists(&mut self, zone: ZoneId) -> FreeLists<'_, W, S> {
        FreeLists {
            zone: &mut self.zones[zone.index()],
            table: &mut self.table,
            index: &mut self.index,
            work: &mut self.work.locked,
            watch: &mut self.watch,
        }
    }

    /// Puts a block that is on no list on the list of `mt` and says so on its first frame.
    pub fn add_to_list(&mut self, zone: ZoneId, idx: Idx, order: Order, mt: Migratetype, end: ListEnd) {
        self.free_lists(zone).add(idx, order, mt, end);
    }

    /// Takes a free block off its list. Its word stays as it was.
    pub fn remove_from_list(&mut self, zone: ZoneId, idx: Idx) {
        let word = self.table.word(idx);
        self.free_lists(zone).remove(idx, word.order(), word.list());
    }

    /// Moves a free block to the list of `mt`; its pageblock keeps its type.
    pub fn move_to_list(&mut self, zone: ZoneId, idx: Idx, mt: Migratetype) {
        let word = self.table.word(idx);
        let end = self.policy.moved_blocks;
        let mut lists = self.free_lists(zone);
        lists.remove(idx, word.order(), word.list());
        lists.add(idx, word.order(), mt, end);
        self.work.locked.blocks_retyped += 1;
    }
}
