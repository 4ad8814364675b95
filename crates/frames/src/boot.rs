//! Setting a machine's memory up: nodes, zones, holes and reserved frames first, then every frame's state.
//!
//! Key type: [`FramesBuilder`], which fills a [`Layout`] frame by frame, or as Linux does at boot, in [`Tables`].

use order9_units::{Migratetype, Order, PAGEBLOCK_PAGES, Pages, Pfn, PfnRange, ZoneKind};

use crate::Frames;
use crate::block_types::TypeBits;
use crate::count::Class;
use crate::counters::{FrameCounters, NumaCounters};
use crate::frame::{Flag, FrameTable, Idx, Word};
use crate::index::{Index, IndexTables};
use crate::layout::{BuildError, Layout};
use crate::nodes::Nodes;
use crate::pageblock::Pageblock;
use crate::pcp::{Pcp, cached_as, cached_word};
use crate::policy::FramesPolicy;
use crate::settings::FrameSettings;
#[cfg(feature = "alloc")]
use crate::storage::Heap;
use crate::storage::{Storage, Usual};
use crate::tables::{PER_ZONE, Sizes, Tables};
use crate::watch::Watch;
use crate::work::FrameWork;
use crate::zone::{Zone, ZoneId, ZoneSet};

/// Setting frames up: [`FramesBuilder`] calls these in order, as do layers above that build themselves around frames.
impl<W: Watch, S: Storage> Frames<W, S> {
    /// Frames with the zones of `layout`, pageblocks Movable or CMA, and no frame given a state. `sizes` are those of `layout`.
    ///
    /// # Errors
    /// The first contradiction in `layout`; [`BuildError::Table`] where a table is not as long as `sizes` say.
    pub fn unset(
        layout: &Layout<'_>,
        policy: FramesPolicy,
        watch: W,
        sizes: &Sizes,
        tables: Tables<S>,
    ) -> Result<Self, BuildError> {
        tables.check(layout, &policy, sizes)?;
        Ok(Self::unset_in(layout, policy, watch, sizes, tables))
    }

    /// Frames as [`unset`](Self::unset) makes them, in tables that have been checked. The tables of the index are not used.
    fn unset_in(layout: &Layout<'_>, policy: FramesPolicy, watch: W, sizes: &Sizes, tables: Tables<S>) -> Self {
        let Tables { words, links, mut blocks, type_bits, mut zones, mut pcps, mut cpus, .. } = tables;
        let Tables { mut distances, zonelists, zonelist_entries, mut numa, .. } = tables;
        let table = FrameTable::new(sizes.base, words, links);
        blocks.fill(Pageblock::absent(ZoneId(u8::MAX)));
        let per_pcp = policy.pcp.lists.count() as u32;
        let mut next_list = sizes.own_lists as u32;
        for (at, spec) in layout.zones.iter().enumerate() {
            zones[at] = Zone::new(ZoneId(at as u8), spec.node, spec.kind, spec.span, table.list(next_list));
            next_list += PER_ZONE as u32;
            for pcp in pcps.iter_mut().skip(at).step_by(layout.zones.len()) {
                *pcp = Pcp::new(table.list(next_list));
                next_list += per_pcp;
            }
        }
        cpus.copy_from_slice(layout.cpus);
        distances.copy_from_slice(layout.distances);
        numa.fill(NumaCounters::default());
        let mut frames = Self {
            table,
            blocks,
            types: TypeBits::new(type_bits),
            zones,
            pcps,
            nodes: Nodes::new(distances, zonelists, zonelist_entries),
            cpus,
            numa,
            index: None,
            settings: FrameSettings::at_boot(&policy),
            policy,
            mobility_grouping: true,
            boot_allocated: 0,
            counters: FrameCounters::default(),
            work: FrameWork::NONE,
            locked: ZoneId(0),
            wanted: ZoneSet::EMPTY,
            watch,
        };
        frames.lay_out(layout);
        frames
    }

    /// Marks frames as present, reserved or holes, and counts them by zone and pageblock.
    fn lay_out(&mut self, layout: &Layout<'_>) {
        for zone in 0..layout.zones.len() {
            let span = layout.zones[zone].span;
            self.mark(span, Word::TAIL);
            for block in self.at(span.start).block()..=self.at(Pfn::new(span.end.get() - 1)).block() {
                self.blocks[block].zone = ZoneId(zone as u8);
            }
            for hole in layout.holes {
                self.mark(span.intersect(*hole), Word::HOLE);
            }
            for reserved in layout.reserved {
                self.mark_present(span.intersect(*reserved), Word::RESERVED);
            }
            for deferred in layout.deferred {
                let deferred = span.intersect(*deferred);
                if !deferred.is_empty() {
                    self.mark(deferred, Word::RESERVED);
                    self.zones[zone].deferred = deferred;
                }
            }
            self.count_frames(ZoneId(zone as u8));
        }
        for area in layout.cma {
            for pfn in area.iter().step_by(PAGEBLOCK_PAGES.get() as usize) {
                let block = self.at(pfn).block();
                self.retype_block(block, Migratetype::Cma);
            }
        }
    }

    fn mark(&mut self, range: PfnRange, word: Word) {
        for pfn in range.iter() {
            let idx = self.at(pfn);
            self.table.set(idx, word);
        }
    }

    /// As `mark`, but leaves holes alone.
    fn mark_present(&mut self, range: PfnRange, word: Word) {
        for pfn in range.iter() {
            let idx = self.at(pfn);
            if self.table.word(idx) != Word::HOLE {
                self.table.set(idx, word);
            }
        }
    }

    /// Counts present, managed, absent and reserved frames of a zone from their words.
    fn count_frames(&mut self, id: ZoneId) {
        let span = self.zones[id.index()].span;
        let (mut present, mut managed) = (0, 0);
        for pfn in span.iter() {
            let idx = self.at(pfn);
            let block = &mut self.blocks[idx.block()];
            let word = self.table.word(idx);
            if word == Word::HOLE {
                continue;
            }
            block.absent -= 1;
            present += 1;
            if word == Word::RESERVED {
                block.immovable += 1;
            } else {
                managed += 1;
            }
        }
        let zone = &mut self.zones[id.index()];
        (zone.present, zone.managed) = (present, managed);
    }

    /// Sets the type of the pageblock that holds `pfn`.
    ///
    /// # Errors
    /// [`BuildError::Taken`] outside the zones.
    pub fn set_block_type(&mut self, pfn: Pfn, mt: Migratetype) -> Result<(), BuildError> {
        let idx = self.table.idx(pfn).ok_or(BuildError::Taken(pfn))?;
        let zone = self.blocks[idx.block()].zone;
        self.zones.get(zone.index()).ok_or(BuildError::Taken(pfn))?;
        self.retype_block(idx.block(), mt);
        Ok(())
    }

    /// Gives the block at `pfn` to the free lists of its pageblock's type, at the end that blocks given at boot go to.
    ///
    /// # Errors
    /// [`BuildError`] where the frames are not free to be given.
    pub fn assign_free(&mut self, pfn: Pfn, order: Order) -> Result<(), BuildError> {
        let idx = self.assign(pfn, order)?;
        self.free_to_own_lists_at(idx, order, Some(self.policy.moved_blocks));
        Ok(())
    }

    /// Makes the block at `pfn` a live allocation.
    ///
    /// # Errors
    /// [`BuildError`] where the frames are not free to be given.
    pub fn assign_allocated(&mut self, pfn: Pfn, order: Order, contents: Contents) -> Result<(), BuildError> {
        let idx = self.assign(pfn, order)?;
        let word = Word::allocated(order)
            .with(Flag::CountedImmovable, contents == Contents::Unmovable)
            .with(Flag::MovableContent, matches!(contents, Contents::Movable | Contents::Pinned))
            .with(Flag::Pinned, contents == Contents::Pinned);
        self.table.set(idx, word);
        self.count_in(idx, order, Class::of_used(word));
        self.boot_allocated += order.pages().get();
        Ok(())
    }

    /// Puts the block at `pfn`, which is free, at the end of a per-CPU list: the list of `cpu`, or of the last CPU that there is,
    /// for the type of its pageblock. Where no such list takes blocks of the order, its pages go to that for single pages.
    ///
    /// # Errors
    /// [`BuildError`] where the block is not free to be given.
    pub fn assign_cached(&mut self, pfn: Pfn, order: Order, cpu: usize) -> Result<(), BuildError> {
        let idx = self.assign(pfn, order)?;
        let Pageblock { migratetype: mt, zone, .. } = self.blocks[idx.block()];
        let Some(list) = self.policy.pcp.lists.list_for(order, cached_as(mt).unwrap_or(Migratetype::Movable)) else {
            let mut pages = PfnRange::of(pfn, order.pages()).iter();
            return pages.try_for_each(|page| self.assign_cached(page, Order::ZERO, cpu));
        };
        let word = cached_word(order, mt);
        let at = self.pcp_at(zone, cpu.min(self.cpus.len() - 1));
        self.pcps[at].inherit(&mut self.table, list, idx, order, word);
        self.count_in(idx, order, Class::of_used(word));
        Ok(())
    }

    fn assign(&mut self, pfn: Pfn, order: Order) -> Result<Idx, BuildError> {
        if !pfn.is_aligned(order) {
            return Err(BuildError::Misaligned(pfn, order));
        }
        let frames = PfnRange::of(pfn, order.pages());
        let first = self.table.idx(pfn).ok_or(BuildError::Taken(pfn))?;
        // Outside the zones and in given blocks a frame is no tail; inside them only tails follow a given frame.
        let zone = self.zones.get(self.blocks[first.block()].zone.index()).ok_or(BuildError::Taken(pfn))?;
        if frames.end > zone.span.end || pfn < zone.span.start {
            return Err(BuildError::Taken(pfn));
        }
        if let Some(taken) = frames.iter().find(|&pfn| self.table.word(self.at(pfn)) != Word::TAIL) {
            return Err(BuildError::Taken(taken));
        }
        Ok(first)
    }

    /// Frees every frame that has no state yet.
    pub fn free_all(&mut self) {
        for id in 0..self.zones.len() {
            let span = self.zones[id].span;
            let mut pfn = span.start;
            while pfn < span.end {
                pfn = match self.largest_block(pfn, span.end) {
                    Some(order) => {
                        let idx = self.at(pfn);
                        let mt = self.blocks[idx.block()].migratetype;
                        self.free_to_buddy_at(idx, order, mt, Some(self.policy.moved_blocks));
                        pfn + order.pages()
                    }
                    None => pfn + Pages::new(1),
                };
            }
        }
    }

    /// Largest aligned block of unassigned frames that starts at `pfn`, in pageblocks of one type.
    fn largest_block(&self, pfn: Pfn, end: Pfn) -> Option<Order> {
        let available = |pfn: Pfn| self.table.word(self.at(pfn)) == Word::TAIL;
        let mt = self.pageblock(pfn)?.migratetype;
        let fits = |order: &Order| {
            let block = PfnRange::of(pfn, order.pages());
            let last = Pfn::new(block.end.get() - 1);
            pfn.is_aligned(*order)
                && block.end <= end
                && self.pageblock(last).is_some_and(|block| block.migratetype == mt)
                && block.iter().all(available)
        };
        Order::all().rev().find(fits)
    }

    /// Every frame has its state: sets up zonelists and the index. [`Frames::setup_watermarks`] comes next.
    pub fn set_up(&mut self, index: Option<IndexTables<S>>) {
        for at in 0..self.zones.len() {
            // A zone starts with some memory, however little of it the kernel has initialised.
            if self.zones[at].managed == 0 {
                self.grow_zone(ZoneId(at as u8));
            }
        }
        let cpus = &self.cpus;
        self.nodes.build_zonelists(&self.zones, |node| cpus.contains(&node));
        let managed: u64 = self.zones.iter().map(|zone| zone.managed).sum();
        self.mobility_grouping = managed >= PAGEBLOCK_PAGES.get() * Migratetype::COUNT as u64;
        self.index = index.map(|tables| Index::new(tables, &self.blocks, &self.table));
        self.work = FrameWork::NONE;
    }
}

/// Builds a [`Frames`]. Every frame that is neither hole nor reserved must be given a state before
/// [`FramesBuilder::finish`].
pub struct FramesBuilder<W: Watch = (), S: Storage = Usual> {
    frames: Frames<W, S>,
    index: Option<IndexTables<S>>,
}

#[cfg(feature = "alloc")]
impl<W: Watch> FramesBuilder<W, Heap> {
    /// Starts on the heap with the zones of `layout`, pageblocks Movable or CMA, and no frame given a state.
    ///
    /// # Errors
    /// The first contradiction in `layout`.
    pub fn new(layout: &Layout<'_>, policy: FramesPolicy, watch: W) -> Result<Self, BuildError> {
        let sizes = Sizes::new(layout, &policy, 0)?;
        let index = policy.alloc.needs_index();
        Self::in_storage(layout, policy, watch, &sizes, Tables::new(&sizes, index))
    }
}

impl<W: Watch, S: Storage> FramesBuilder<W, S> {
    /// Starts in given tables with the zones of `layout`, pageblocks Movable or CMA, and no frame given a state. `sizes` are
    /// those of `layout`.
    ///
    /// # Errors
    /// The first contradiction in `layout`; [`BuildError::Table`] where a table is not as long as `sizes` say.
    pub fn in_storage(
        layout: &Layout<'_>,
        policy: FramesPolicy,
        watch: W,
        sizes: &Sizes,
        mut tables: Tables<S>,
    ) -> Result<Self, BuildError> {
        tables.check(layout, &policy, sizes)?;
        let index = tables.index.take();
        Ok(Self { frames: Frames::unset_in(layout, policy, watch, sizes, tables), index })
    }

    /// Sets `vm.min_free_kbytes`, in kB, as [`Frames::set_min_free_kbytes`] does.
    #[must_use]
    pub const fn min_free_kbytes(mut self, kbytes: u64) -> Self {
        self.frames.settings.min_free_by_hand = Some(kbytes);
        self
    }

    /// Sets `vm.lowmem_reserve_ratio`, by zone; 0 switches a zone's reserve off.
    #[must_use]
    pub const fn lowmem_reserve_ratio(mut self, ratios: [u64; ZoneKind::COUNT]) -> Self {
        self.frames.settings.lowmem_reserve_ratio = ratios;
        self
    }

    /// Sets the type of the pageblock that holds `pfn`.
    ///
    /// # Errors
    /// [`BuildError::Taken`] outside the zones.
    pub fn set_block_type(&mut self, pfn: Pfn, mt: Migratetype) -> Result<(), BuildError> {
        self.frames.set_block_type(pfn, mt)
    }

    /// Gives the block at `pfn` to the free lists of its pageblock's type, at the head.
    ///
    /// # Errors
    /// [`BuildError`] where the frames are not free to be given.
    pub fn free(&mut self, pfn: Pfn, order: Order) -> Result<(), BuildError> {
        self.frames.assign_free(pfn, order)
    }

    /// Makes the block at `pfn` a live allocation.
    ///
    /// # Errors
    /// [`BuildError`] where the frames are not free to be given.
    pub fn allocate(&mut self, pfn: Pfn, order: Order, contents: Contents) -> Result<(), BuildError> {
        self.frames.assign_allocated(pfn, order, contents)
    }

    /// Frees every frame as Linux does at boot: ascending, in the largest aligned blocks.
    #[must_use]
    pub fn boot(mut self) -> Frames<W, S> {
        self.frames.free_all();
        self.finish()
    }

    /// Sets up zonelists, the index, watermarks and per-CPU lists.
    #[must_use]
    pub fn finish(self) -> Frames<W, S> {
        let Self { mut frames, index } = self;
        frames.set_up(index);
        frames.setup_watermarks();
        frames
    }
}

/// Contents of a live allocation, where [`FramesBuilder::allocate`] puts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Pages that compaction may move.
    Movable,
    /// Pages asked for as movable that compaction leaves where they are, such as hugetlb pages.
    Fixed,
    /// Kernel memory that stays where it is.
    Unmovable,
    /// Movable pages that somebody pins.
    Pinned,
}
