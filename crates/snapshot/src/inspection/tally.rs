//! Adds up pageblocks, zone by zone, to what [`Findings`] says.

use order9_units::{Migratetype, Nanos, PAGEBLOCK_PAGES, Pages};

use super::Gigabytes;
use super::findings::{BlockTally, Drop, Findings, Goal, HeldBy, HeldByFew, HugeInUse, Losses, OnCpuLists, Recovery};
use crate::bounds::{Block, Zone};
use crate::census::{BlockState, BlockSummary, ZoneCensus};
use crate::classify::{FrameClass, Mobility};
use crate::prices::Prices;

const CLASSES: usize = FrameClass::COUNT;

/// Fewest and most immovable frames of the classes in [`Losses::by_pages`].
const FEW: [(u16, u16); 9] = [(1, 1), (2, 2), (3, 4), (5, 8), (9, 16), (17, 64), (65, 256), (257, 511), (512, 512)];

/// Sums over zones. Pages never leave their zone, so optima are found per zone; what remains adds up.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    blocks: BlockTally,
    /// Number of blocks by the moves that free them, of the blocks that moving can free; the cheapest ones of every
    /// zone.
    costs: Vec<u64>,
    in_linux: Recovery,
    if_drained: Recovery,
    on_cpu_lists: OnCpuLists,
    by_dropping: Drop,
    gigabytes: Gigabytes,
    census: [u64; CLASSES],
    held: [u64; CLASSES],
    held_alone: [u64; CLASSES],
    held_pages: [u64; CLASSES],
    by_pages: [u64; FEW.len()],
    movable_in_large_folios: Pages,
    blocks_against_type: u64,
}

impl Tally {
    pub(super) fn empty() -> Self {
        Self {
            blocks: BlockTally::default(),
            costs: vec![0; PAGEBLOCK_PAGES.get() as usize + 1],
            in_linux: Recovery::default(),
            if_drained: Recovery::default(),
            on_cpu_lists: OnCpuLists::default(),
            by_dropping: Drop::default(),
            gigabytes: Gigabytes::default(),
            census: [0; CLASSES],
            held: [0; CLASSES],
            held_alone: [0; CLASSES],
            held_pages: [0; CLASSES],
            by_pages: [0; FEW.len()],
            movable_in_large_folios: Pages::ZERO,
            blocks_against_type: 0,
        }
    }

    pub(super) fn of(zone: &ZoneCensus, bounds: &Zone) -> Self {
        let mut tally = Self::empty();
        tally.movable_in_large_folios = zone.movable_in_large_folios;
        tally.blocks_against_type = zone.blocks_against_type;
        zone.blocks.iter().for_each(|block| tally.count(block));
        tally.count_pages_on_cpu_lists(zone);
        tally.costs = bounds.costs();
        tally.costs[0] = 0;
        tally.in_linux = recovery_in_linux(bounds);
        tally.if_drained = drain_then_compact(zone, bounds.free_blocks());
        tally.by_dropping = drop_then_compact(zone, bounds.free_blocks());
        tally.gigabytes = Gigabytes::of(zone);
        tally
    }

    /// Adds the tally of another zone or node.
    pub(super) fn add(&mut self, other: &Self) {
        let (a, b) = (&mut self.blocks, &other.blocks);
        a.total += b.total;
        a.free += b.free;
        a.huge += b.huge;
        a.evacuable += b.evacuable;
        a.slab += b.slab;
        a.unmarked += b.unmarked;
        a.lost += b.lost;
        a.partial += b.partial;
        a.deferred += b.deferred;
        for (a, b) in [(&mut self.in_linux, &other.in_linux), (&mut self.if_drained, &other.if_drained)] {
            a.huge_pages += b.huge_pages;
            a.moves += b.moves;
        }
        let (a, b) = (&mut self.on_cpu_lists, &other.on_cpu_lists);
        a.pages += b.pages;
        a.blocks += b.blocks;
        a.pages_there += b.pages_there;
        let (a, b) = (&mut self.by_dropping, &other.by_dropping);
        a.huge_pages += b.huge_pages;
        a.cache_dropped += b.cache_dropped;
        a.slab_freed += b.slab_freed;
        a.moves += b.moves;
        self.gigabytes.add(&other.gigabytes);
        add_each(&mut self.costs, &other.costs);
        add_each(&mut self.census, &other.census);
        add_each(&mut self.held, &other.held);
        add_each(&mut self.held_alone, &other.held_alone);
        add_each(&mut self.held_pages, &other.held_pages);
        add_each(&mut self.by_pages, &other.by_pages);
        self.movable_in_large_folios += other.movable_in_large_folios;
        self.blocks_against_type += other.blocks_against_type;
    }

    pub(super) fn findings(&self, prices: &Prices) -> Findings {
        let priced = |moves| prices.move_page.of(moves);
        let recoverable: u64 = self.costs.iter().sum();
        let moves = self.cheapest(recoverable);
        let dropped = &self.by_dropping;
        let price = |price: &Option<crate::prices::Price>, pages| price.as_ref().map(|price| price.of(pages));
        let drop_time = price(&prices.drop_page, dropped.cache_dropped).unwrap_or(Nanos::ZERO)
            + price(&prices.drop_slab_page, dropped.slab_freed).unwrap_or(Nanos::ZERO);
        Findings {
            blocks: self.blocks,
            by_moving: Recovery { huge_pages: recoverable, moves, time: priced(moves) },
            by_moving_in_linux: Recovery { time: priced(self.in_linux.moves), ..self.in_linux },
            by_moving_if_drained: Recovery { time: priced(self.if_drained.moves), ..self.if_drained },
            by_dropping: Drop {
                time: drop_time + priced(dropped.moves),
                reread_time: price(&prices.reread_page, dropped.cache_dropped),
                ..*dropped
            },
            goals: self.goals(recoverable, prices),
            lost: self.losses(),
            on_cpu_lists: self.on_cpu_lists,
            huge_in_use: self.huge_in_use(),
            gigabytes: self.gigabytes.priced(prices),
            census: FrameClass::ALL
                .into_iter()
                .filter(|class| class.is_present() && self.census[class.index()] > 0)
                .map(|class| (class, self.frames(class)))
                .collect(),
            movable_in_large_folios: self.movable_in_large_folios,
            blocks_against_type: self.blocks_against_type,
        }
    }

    fn count(&mut self, block: &BlockSummary) {
        add_each_u16(&mut self.census, block.counts());
        let state = block.state();
        let tally = &mut self.blocks;
        // A block of which nothing is present lies in a hole.
        tally.total += u64::from(u64::from(block.absent()) < PAGEBLOCK_PAGES.get());
        match state {
            BlockState::Free => tally.free += 1,
            BlockState::Huge(_) => tally.huge += 1,
            BlockState::Evacuable => tally.evacuable += 1,
            BlockState::Slab => tally.slab += 1,
            BlockState::Unmarked => tally.unmarked += 1,
            BlockState::Lost => tally.lost += 1,
            BlockState::Deferred => tally.deferred += 1,
            BlockState::Partial => tally.partial += u64::from(u64::from(block.absent()) < PAGEBLOCK_PAGES.get()),
        }
        if matches!(state, BlockState::Slab | BlockState::Lost) {
            self.count_lost(block);
        }
    }

    /// Counts the pages on per-CPU lists of blocks that they cannot hold alone, too.
    fn count_pages_on_cpu_lists(&mut self, zone: &ZoneCensus) {
        let marked = self.frames(FrameClass::Pcp);
        let elsewhere = zone.on_cpu_lists - marked;
        self.census[FrameClass::Unknown.index()] -= elsewhere.get();
        self.census[FrameClass::Pcp.index()] += elsewhere.get();
        self.on_cpu_lists = OnCpuLists { pages: zone.on_cpu_lists, blocks: self.blocks.unmarked, pages_there: marked };
    }

    fn count_lost(&mut self, block: &BlockSummary) {
        let immovable = block.immovable();
        for class in FrameClass::ALL.into_iter().filter(|class| class.mobility() == Mobility::Immovable) {
            self.held_pages[class.index()] += u64::from(block.count(class));
        }
        if let Some((class, pages)) = block.holder() {
            self.held[class.index()] += 1;
            self.held_alone[class.index()] += u64::from(pages == immovable);
        }
        if let Some(few) = FEW.iter().position(|&(from, to)| (from..=to).contains(&immovable)) {
            self.by_pages[few] += 1;
        }
    }

    /// Least number of moves that free `blocks` more blocks; at most as many as can be.
    fn cheapest(&self, blocks: u64) -> Pages {
        let mut left = blocks;
        let moves = self.costs.iter().enumerate().map(|(cost, &blocks)| {
            let now = blocks.min(left);
            left -= now;
            now * cost as u64
        });
        Pages::new(moves.sum())
    }

    fn goals(&self, recoverable: u64, prices: &Prices) -> Vec<Goal> {
        let counts = [("1", 1), ("10", 10)].into_iter().filter(|&(_, n)| n <= recoverable);
        let shares = [("10 %", 10), ("50 %", 2), ("all", 1)];
        let shares = shares.map(|(goal, part)| (goal, recoverable.div_ceil(part))).into_iter();
        counts
            .chain(shares.filter(|&(_, n)| n > 0))
            .map(|(goal, huge_pages)| {
                let moves = self.cheapest(huge_pages);
                Goal { goal, huge_pages, moves, time: prices.move_page.of(moves) }
            })
            .collect()
    }

    fn losses(&self) -> Losses {
        let mut by_holder: Vec<_> = FrameClass::ALL
            .into_iter()
            .filter(|class| self.held_pages[class.index()] > 0)
            .map(|class| HeldBy {
                class,
                blocks: self.held[class.index()],
                alone: self.held_alone[class.index()],
                pages: Pages::new(self.held_pages[class.index()]),
            })
            .collect();
        by_holder.sort_by_key(|held| (std::cmp::Reverse(held.blocks), held.class));
        let by_pages = FEW.iter().zip(self.by_pages).map(|(&(from, to), blocks)| HeldByFew { from, to, blocks });
        Losses {
            blocks: self.blocks.lost + self.blocks.slab,
            by_one_page: self.by_pages[0],
            by_holder,
            by_pages: by_pages.collect(),
        }
    }

    fn huge_in_use(&self) -> HugeInUse {
        let anon = self.frames(FrameClass::AnonHuge);
        let anon_total = anon + self.frames(FrameClass::Anon);
        HugeInUse {
            anon,
            file: self.frames(FrameClass::FileHuge),
            shmem: self.frames(FrameClass::ShmemHuge),
            hugetlb: self.frames(FrameClass::Hugetlb),
            anon_total,
            anon_share: (anon_total > Pages::ZERO).then(|| anon.get() as f64 / anon_total.get() as f64),
        }
    }

    fn frames(&self, class: FrameClass) -> Pages {
        Pages::new(self.census[class.index()])
    }
}

/// The blocks of a zone as the bounds see them.
pub(super) fn bounds_of(zone: &ZoneCensus) -> Vec<Block> {
    let blocks = zone.blocks.iter().zip(&zone.types);
    blocks.map(|(block, &mt)| Block { free: block.free(), movable: block.movable(), target: is_target(mt) }).collect()
}

/// Whether Linux' free scanner takes frames from blocks of this type.
fn is_target(mt: Migratetype) -> bool {
    matches!(mt, Migratetype::Movable | Migratetype::Cma)
}

fn recovery_in_linux(bounds: &Zone) -> Recovery {
    let blocks = bounds.max_free_blocks_into_targets();
    let moves = bounds.min_moves_into_targets(blocks).unwrap_or(Pages::ZERO);
    Recovery { huge_pages: blocks.saturating_sub(bounds.free_blocks()), moves, time: Nanos::ZERO }
}

/// Every block that unmarked frames hold alone counts as freed of them as far as there are pages on per-CPU lists; the
/// rest of these pages is room elsewhere. More blocks cannot come of it, wherever the pages really lie.
fn drain_then_compact(zone: &ZoneCensus, free_blocks: u64) -> Recovery {
    let marked = zone.frames(FrameClass::Pcp);
    let drained = zone.blocks.iter().map(|block| Block {
        free: block.free() + block.count(FrameClass::Pcp),
        movable: block.movable(),
        target: true,
    });
    let bounds = Zone::new(drained).with_room(zone.on_cpu_lists - marked);
    let blocks = bounds.max_free_blocks();
    let moves = bounds.min_moves(blocks).unwrap_or(Pages::ZERO);
    Recovery { huge_pages: blocks - free_blocks, moves, time: Nanos::ZERO }
}

fn drop_then_compact(zone: &ZoneCensus, free_blocks: u64) -> Drop {
    let dropped = |block: &BlockSummary| block.count(FrameClass::FileClean);
    let freed = |block: &BlockSummary| block.count(FrameClass::SlabReclaimable);
    let bounds = Zone::new(zone.blocks.iter().map(|block| Block {
        free: block.free() + dropped(block) + freed(block),
        movable: block.movable() - dropped(block),
        target: true,
    }));
    let blocks = bounds.max_free_blocks();
    let sum = |of: &dyn Fn(&BlockSummary) -> u16| Pages::new(zone.blocks.iter().map(|b| u64::from(of(b))).sum());
    Drop {
        huge_pages: blocks - free_blocks,
        cache_dropped: sum(&dropped),
        slab_freed: sum(&freed),
        moves: bounds.min_moves(blocks).unwrap_or(Pages::ZERO),
        time: Nanos::ZERO,
        reread_time: None,
    }
}

fn add_each(sums: &mut [u64], more: &[u64]) {
    sums.iter_mut().zip(more).for_each(|(sum, n)| *sum += n);
}

fn add_each_u16(sums: &mut [u64], more: &[u16]) {
    sums.iter_mut().zip(more).for_each(|(sum, &n)| *sum += u64::from(n));
}
