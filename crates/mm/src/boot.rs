//! Setting a machine's memory up: nodes, zones, holes and reserved frames first, then every frame's state.
//!
//! Key type: [`MmBuilder`], which fills a [`Layout`], frame by frame or as Linux does at boot.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use order9_units::{Migratetype, NodeId, Order, PAGEBLOCK_PAGES, Pages, Pfn, PfnRange, ZoneKind};

use crate::Mm;
use crate::block_types::TypeBits;
use crate::compaction::{BlockBits, CompactionState};
use crate::count::Class;
use crate::frame::{Flag, FrameTable, Idx, Word};
use crate::index::Index;
use crate::kswapd::KswapdNode;
use crate::layout::{BuildError, Layout, NodeSpec};
use crate::lru::{Locked, LruBatch, LruList, LruState, ZoneLru};
use crate::node::{Node, build_zonelists};
use crate::page_cache::WritePending;
use crate::pageblock::Pageblock;
use crate::pcp::Pcp;
use crate::policy::Policy;
use crate::reclaim::ReclaimState;
use crate::settings::Settings;
use crate::slab::SlabMemory;
use crate::space::{Inherited, UserMemory};
use crate::swap::SwapArea;
use crate::tags::Tags;
use crate::thp::{Filled, HugeEnabled, HugeMemory, ThpSettings};
use crate::trace::{NoTrace, Tracer};
use crate::vmstat::Counters;
use crate::wakeups::Wakeups;
use crate::work::Work;
use crate::zone::{Zone, ZoneId};

/// Machines with less memory start without huge pages.
const LEAST_FOR_THP: Pages = Pages::new((512 << 20) >> 12);

/// Builds an [`Mm`]. Every frame that is neither hole nor reserved must be given a state before [`MmBuilder::finish`].
pub struct MmBuilder<T: Tracer = NoTrace> {
    pub(crate) mm: Mm<T>,
    /// Frames that have no state yet.
    unassigned: u64,
    pub(crate) inherited: Inherited,
}

impl MmBuilder {
    /// Starts with the zones of `layout`, pageblocks Movable or CMA, and no frame given a state.
    ///
    /// # Errors
    /// The first contradiction in `layout`.
    pub fn new(layout: &Layout, policy: Policy) -> Result<Self, BuildError> {
        Self::with_tracer(layout, policy, NoTrace)
    }
}

impl<T: Tracer> MmBuilder<T> {
    /// The same with a tracer that sees everything from boot on.
    ///
    /// # Errors
    /// The first contradiction in `layout`.
    pub fn with_tracer(layout: &Layout, policy: Policy, tracer: T) -> Result<Self, BuildError> {
        layout.validate()?;
        let base = layout.zones.iter().map(|zone| zone.span.start).min().ok_or(BuildError::NoMemory)?;
        let base = base.align_down(Order::MAX);
        let end = layout.zones.iter().map(|zone| zone.span.end).max().ok_or(BuildError::NoMemory)?.align_up(Order::MAX);
        let per_zone = Order::COUNT * Migratetype::COUNT;
        let per_pcp = policy.pcp.lists.count();
        let scope = policy.reclaim.lru;
        let lru_lists = scope.sets(layout.zones.len(), layout.nodes.len()) * LruList::COUNT;
        let lists = lru_lists + layout.zones.len() * (per_zone + layout.cpus.len() * per_pcp);
        let frames = end - base;
        if frames.get() + lists as u64 > u64::from(u32::MAX) {
            return Err(BuildError::SpanTooLarge(frames));
        }
        let table = FrameTable::new(base, frames.get() as u32, lists as u32);
        let blocks = (frames.get() / PAGEBLOCK_PAGES.get()) as usize;
        let mut next_list = lru_lists as u32;
        let mut zones = Vec::with_capacity(layout.zones.len());
        let mut lru = Vec::with_capacity(layout.zones.len());
        for (at, spec) in layout.zones.iter().enumerate() {
            lru.push(ZoneLru::new(table.list((scope.set(at, spec.node) * LruList::COUNT) as u32)));
            let first_list = table.list(next_list);
            let mut zone = Zone::new(ZoneId(at as u8), spec.node, spec.kind, spec.span, first_list);
            next_list += per_zone as u32;
            for _ in &layout.cpus {
                zone.pcps.push(Pcp::new(table.list(next_list)));
                next_list += per_pcp as u32;
            }
            zones.push(zone);
        }
        let node = |(at, spec): (usize, &NodeSpec)| Node {
            id: NodeId(at as u16),
            distances: spec.distances.clone(),
            fallback_list: Vec::new(),
            this_node_list: Vec::new(),
        };
        let filled = policy.thp.shrink_underused.then(|| Filled::new(table.len()));
        let huge = HugeMemory::new(filled);
        let mm = Mm {
            frames: table,
            blocks: alloc::vec![Pageblock::absent(ZoneId(u8::MAX)); blocks],
            types: TypeBits::new(blocks),
            skip: BlockBits::new(blocks),
            known_huge: BlockBits::new(blocks),
            zones,
            nodes: layout.nodes.iter().enumerate().map(node).collect(),
            cpus: layout.cpus.clone(),
            settings: Settings::at_boot(&policy),
            policy,
            mobility_grouping: true,
            more_pins: BTreeMap::new(),
            lru: LruState { zones: lru },
            user: UserMemory {
                huge,
                mapped: alloc::vec![0; layout.nodes.len()],
                write_pending: alloc::vec![WritePending::default(); layout.zones.len()],
                ..UserMemory::default()
            },
            kswapd: alloc::vec![KswapdNode::default(); layout.nodes.len()],
            swap: SwapArea::default(),
            reclaim: ReclaimState::new(
                scope.sets(layout.zones.len(), layout.nodes.len()),
                layout.nodes.len(),
                frames.get(),
            ),
            compaction: CompactionState::new(layout.zones.len(), layout.nodes.len()),
            index: None,
            costs: None,
            slab: SlabMemory::new(layout.nodes.len(), blocks),
            fs: None,
            shrinkers: Vec::new(),
            boot_allocated: 0,
            counters: Counters::new(layout.nodes.len()),
            work: Work::NONE,
            locked_last: Locked { zone: ZoneId(0), lru: NodeId(0) },
            lru_batch: LruBatch::default(),
            wakeups: Wakeups::default(),
            tracer,
        };
        let mut builder = Self { mm, unassigned: 0, inherited: Inherited::default() };
        builder.lay_out(layout);
        Ok(builder)
    }

    /// Marks frames as present, reserved or holes, and counts them by zone and pageblock.
    fn lay_out(&mut self, layout: &Layout) {
        for zone in 0..layout.zones.len() {
            let span = layout.zones[zone].span;
            self.mark(span, Word::TAIL);
            for block in self.mm.at(span.start).block()..=self.mm.at(Pfn::new(span.end.get() - 1)).block() {
                self.mm.blocks[block].zone = ZoneId(zone as u8);
            }
            for hole in &layout.holes {
                self.mark(span.intersect(*hole), Word::HOLE);
            }
            for reserved in &layout.reserved {
                self.mark_present(span.intersect(*reserved), Word::RESERVED);
            }
            for deferred in &layout.deferred {
                let deferred = span.intersect(*deferred);
                if !deferred.is_empty() {
                    self.mark(deferred, Word::RESERVED);
                    self.mm.zones[zone].deferred = deferred;
                }
            }
            self.count_frames(ZoneId(zone as u8));
        }
        for area in &layout.cma {
            for pfn in area.iter().step_by(PAGEBLOCK_PAGES.get() as usize) {
                let block = self.mm.at(pfn).block();
                self.mm.retype_block(block, Migratetype::Cma);
            }
        }
    }

    fn mark(&mut self, range: PfnRange, word: Word) {
        for pfn in range.iter() {
            let idx = self.mm.at(pfn);
            self.mm.frames.set(idx, word);
        }
    }

    /// As `mark`, but leaves holes alone.
    fn mark_present(&mut self, range: PfnRange, word: Word) {
        for pfn in range.iter() {
            let idx = self.mm.at(pfn);
            if self.mm.frames.word(idx) != Word::HOLE {
                self.mm.frames.set(idx, word);
            }
        }
    }

    /// Counts present, managed, absent and reserved frames of a zone from their words.
    fn count_frames(&mut self, id: ZoneId) {
        let span = self.mm.zones[id.index()].span;
        let (mut present, mut managed) = (0, 0);
        for pfn in span.iter() {
            let idx = self.mm.at(pfn);
            let block = &mut self.mm.blocks[idx.block()];
            let word = self.mm.frames.word(idx);
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
        let zone = &mut self.mm.zones[id.index()];
        (zone.present, zone.managed) = (present, managed);
        self.unassigned += managed;
    }

    /// Sets `vm.min_free_kbytes`, in kB, as [`Mm::set_min_free_kbytes`] does.
    #[must_use]
    pub fn min_free_kbytes(mut self, kbytes: u64) -> Self {
        self.mm.settings.min_free_by_hand = Some(kbytes);
        self
    }

    /// Sets `transparent_hugepage=`: which memory gets huge pages, all unless said otherwise. Any but `Never` raises
    /// `min_free_kbytes`. A machine with less than 512 MiB has none, whatever is said here.
    #[must_use]
    pub fn transparent_hugepage(mut self, enabled: HugeEnabled) -> Self {
        self.mm.settings.thp.enabled = enabled;
        self
    }

    /// Tracks what every page of a program holds, so that `check()` finds a page that was lost or mixed up. Costs a note per
    /// written page; off unless asked for.
    #[must_use]
    pub fn content_tags(mut self) -> Self {
        self.mm.user.tags = Some(Tags::new(self.mm.frames.len()));
        self
    }

    /// Sets `vm.lowmem_reserve_ratio`, by zone; 0 switches a zone's reserve off.
    #[must_use]
    pub fn lowmem_reserve_ratio(mut self, ratios: [u64; ZoneKind::COUNT]) -> Self {
        self.mm.settings.lowmem_reserve_ratio = ratios;
        self
    }

    /// Sets the type of the pageblock that holds `pfn`.
    ///
    /// # Errors
    /// [`BuildError::Taken`] outside the zones.
    pub fn set_block_type(&mut self, pfn: Pfn, mt: Migratetype) -> Result<(), BuildError> {
        let idx = self.mm.frames.idx(pfn).ok_or(BuildError::Taken(pfn))?;
        let zone = self.mm.blocks[idx.block()].zone;
        self.mm.zones.get(zone.index()).ok_or(BuildError::Taken(pfn))?;
        self.mm.retype_block(idx.block(), mt);
        Ok(())
    }

    /// Gives the block at `pfn` to the free lists of its pageblock's type, at the head.
    ///
    /// # Errors
    /// [`BuildError`] where the frames are not free to be given.
    pub fn free(&mut self, pfn: Pfn, order: Order) -> Result<(), BuildError> {
        let idx = self.assign(pfn, order)?;
        self.mm.free_to_own_lists(idx, order);
        Ok(())
    }

    /// Makes the block at `pfn` a live allocation.
    ///
    /// # Errors
    /// [`BuildError`] where the frames are not free to be given.
    pub fn allocate(&mut self, pfn: Pfn, order: Order, contents: Contents) -> Result<(), BuildError> {
        let idx = self.assign(pfn, order)?;
        let word = Word::allocated(order)
            .with(Flag::CountedImmovable, contents == Contents::Unmovable)
            .with(Flag::MovableContent, matches!(contents, Contents::Movable | Contents::Pinned))
            .with(Flag::Pinned, contents == Contents::Pinned);
        self.mm.frames.set(idx, word);
        self.mm.count_in(idx, order, Class::of_used(word));
        self.mm.boot_allocated += order.pages().get();
        Ok(())
    }

    fn assign(&mut self, pfn: Pfn, order: Order) -> Result<Idx, BuildError> {
        if !pfn.is_aligned(order) {
            return Err(BuildError::Misaligned(pfn, order));
        }
        let frames = PfnRange::of(pfn, order.pages());
        let first = self.mm.frames.idx(pfn).ok_or(BuildError::Taken(pfn))?;
        // Outside the zones and in given blocks a frame is no tail; inside them only tails follow a given frame.
        let zone = self.mm.zones.get(self.mm.blocks[first.block()].zone.index()).ok_or(BuildError::Taken(pfn))?;
        if frames.end > zone.span.end || pfn < zone.span.start {
            return Err(BuildError::Taken(pfn));
        }
        if let Some(taken) = frames.iter().find(|&pfn| self.mm.frames.word(self.mm.at(pfn)) != Word::TAIL) {
            return Err(BuildError::Taken(taken));
        }
        self.unassigned = self.unassigned.saturating_sub(order.pages().get());
        Ok(first)
    }

    /// Frees every frame as Linux does at boot: ascending, in the largest aligned blocks.
    #[must_use]
    pub fn boot(mut self) -> Mm<T> {
        for id in 0..self.mm.zones.len() {
            let span = self.mm.zones[id].span;
            let mut pfn = span.start;
            while pfn < span.end {
                pfn = match self.largest_block(pfn, span.end) {
                    Some(order) => {
                        let idx = self.mm.at(pfn);
                        let mt = self.mm.blocks[idx.block()].migratetype;
                        self.mm.free_to_buddy_at(idx, order, mt, Some(self.mm.policy.moved_blocks));
                        pfn + order.pages()
                    }
                    None => pfn + Pages::new(1),
                };
            }
        }
        self.unassigned = 0;
        self.finish()
    }

    /// Largest aligned block of unassigned frames that starts at `pfn`, in pageblocks of one type.
    fn largest_block(&self, pfn: Pfn, end: Pfn) -> Option<Order> {
        let available = |pfn: Pfn| self.mm.frames.word(self.mm.at(pfn)) == Word::TAIL;
        let mt = self.mm.pageblock(pfn)?.migratetype;
        let fits = |order: &Order| {
            let block = PfnRange::of(pfn, order.pages());
            let last = Pfn::new(block.end.get() - 1);
            pfn.is_aligned(*order)
                && block.end <= end
                && self.mm.pageblock(last).is_some_and(|block| block.migratetype == mt)
                && block.iter().all(available)
        };
        Order::all().rev().find(fits)
    }

    /// Frames that have no state yet.
    #[must_use]
    pub const fn unassigned(&self) -> u64 {
        self.unassigned
    }

    /// Sets up zonelists, watermarks and per-CPU lists.
    #[must_use]
    pub fn finish(mut self) -> Mm<T> {
        self.settle_inherited();
        self.grow_empty_zones();
        let mut mm = self.mm;
        let mut has_cpus = alloc::vec![false; mm.nodes.len()];
        for cpu in &mm.cpus {
            has_cpus[cpu.index()] = true;
        }
        build_zonelists(&mut mm.nodes, &mm.zones, &has_cpus);
        let managed: u64 = mm.zones.iter().map(|zone| zone.managed).sum();
        mm.mobility_grouping = managed >= PAGEBLOCK_PAGES.get() * Migratetype::COUNT as u64;
        if !mm.has_memory_for_thp() {
            mm.settings.thp = ThpSettings::OFF;
        }
        mm.register_thp_shrinkers();
        mm.setup_watermarks();
        if mm.policy.needs_index() {
            mm.index = Some(Box::new(Index::new(mm.zones.len(), &mm.blocks, &mm.frames)));
        }
        (mm.work, mm.lru_batch) = (Work::NONE, LruBatch::default());
        mm
    }
}

impl<T: Tracer> Mm<T> {
    /// Whether there is memory to spare for huge pages.
    pub(crate) fn has_memory_for_thp(&self) -> bool {
        let managed: u64 = self.zones.iter().map(|zone| zone.managed).sum();
        managed >= LEAST_FOR_THP.get()
    }
}

/// What a live allocation holds, where [`MmBuilder::allocate`] puts it.
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
