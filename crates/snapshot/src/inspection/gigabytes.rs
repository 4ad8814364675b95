//! Areas of 1 GiB: which could become one page of 1 GiB, which cannot, and what the former cost.
//!
//! An area is 262,144 frames, aligned to their number, as `alloc_contig_pages()` looks for them. Its state follows from the counts
//! of its 512 pageblocks; no frame is looked at again. Definitions and their limits: docs/inspect.md.

use order9_units::{Nanos, PAGEBLOCK_PAGES, Pages};
use schemars::JsonSchema;
use serde::Serialize;

use crate::census::{BlockSummary, ZoneCensus};
use crate::classify::{FrameClass, Mobility};
use crate::prices::Prices;

/// Pageblocks of an area of 1 GiB.
const AREA_BLOCKS: u64 = 512;
/// Frames of an area of 1 GiB.
const AREA: Pages = Pages::new(AREA_BLOCKS * PAGEBLOCK_PAGES.get());

/// Fewest and most pageblocks of the classes in [`Gigabytes::tainted_by`].
const FEW: [(u16, u16); 6] = [(1, 1), (2, 4), (5, 16), (17, 64), (65, 256), (257, 512)];

/// Aligned areas of 1 GiB by what can be made of them. `free`, `clean`, `tainted`, `hugetlb` and `partial` sum to `total`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Gigabytes {
    /// Areas that hold at least one frame of the zone.
    pub total: u64,
    /// Free from end to end.
    pub free: u64,
    /// Areas of free and movable frames only, huge pages in use included, without a hole and inside one zone.
    pub clean: u64,
    /// Areas that hold at least one frame which stays, and no hole.
    pub tainted: u64,
    /// Areas of hugetlb pages only: a page of 1 GiB, or smaller ones.
    pub hugetlb: u64,
    /// Areas with a hole, with memory that is offline or not initialised yet, or of more than one zone.
    pub partial: u64,
    /// Clean areas that moving pages within their zone could free, all at the same time: beyond those that are free now.
    pub recoverable: u64,
    /// Least number of moves for all of these.
    pub moves: Pages,
    /// CPU time of these moves.
    pub time: Nanos,
    /// Tainted areas by the number of pageblocks in which the frames that stay lie, fewest first.
    pub tainted_by: Vec<TaintedBy>,
}

/// Areas that frames in a few pageblocks taint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TaintedBy {
    /// Least number of pageblocks with frames that stay.
    pub from: u16,
    /// Largest number of pageblocks with frames that stay.
    pub to: u16,
    /// Number of areas.
    pub areas: u64,
}

impl Gigabytes {
    /// The areas of a zone.
    pub(super) fn of(zone: &ZoneCensus) -> Self {
        let first = zone.start_of(0).get() / PAGEBLOCK_PAGES.get();
        let mut areas = Self { tainted_by: TaintedBy::none(), ..Self::default() };
        // Moves that each clean area costs.
        let mut costs = Vec::new();
        let mut free_frames = 0;
        let mut rest = zone.blocks.as_slice();
        let mut at = first;
        while !rest.is_empty() {
            let until_boundary = (AREA_BLOCKS - at % AREA_BLOCKS) as usize;
            let (blocks, above) = rest.split_at(until_boundary.min(rest.len()));
            let area = Area::of(blocks);
            free_frames += area.free;
            areas.count(&area);
            costs.extend((area.state() == State::Clean).then_some(area.to_move));
            (rest, at) = (above, at + blocks.len() as u64);
        }
        costs.sort_unstable();
        // The law of pageblocks: emptied areas hold as many frames in all as there are free ones, whichever they are.
        areas.recoverable = (free_frames / AREA.get()).saturating_sub(areas.free).min(areas.clean);
        areas.moves = Pages::new(costs.iter().take(areas.recoverable as usize).sum());
        areas
    }

    /// Adds the areas of another zone.
    pub(super) fn add(&mut self, other: &Self) {
        self.total += other.total;
        self.free += other.free;
        self.clean += other.clean;
        self.tainted += other.tainted;
        self.hugetlb += other.hugetlb;
        self.partial += other.partial;
        self.recoverable += other.recoverable;
        self.moves += other.moves;
        if self.tainted_by.is_empty() {
            self.tainted_by = TaintedBy::none();
        }
        self.tainted_by.iter_mut().zip(&other.tainted_by).for_each(|(sum, more)| sum.areas += more.areas);
    }

    /// The areas with a price for their moves.
    pub(super) fn priced(&self, prices: &Prices) -> Self {
        Self { time: prices.move_page.of(self.moves), ..self.clone() }
    }

    fn count(&mut self, area: &Area) {
        let state = area.state();
        self.total += u64::from(state != State::Absent);
        match state {
            State::Absent => {}
            State::Partial => self.partial += 1,
            State::Free => self.free += 1,
            State::Hugetlb => self.hugetlb += 1,
            State::Clean => self.clean += 1,
            State::Tainted { blocks } => {
                self.tainted += 1;
                let few = self.tainted_by.iter_mut().find(|few| (few.from..=few.to).contains(&blocks));
                few.expect("an area has 1 to 512 such blocks").areas += 1;
            }
        }
    }
}

impl TaintedBy {
    fn none() -> Vec<Self> {
        FEW.iter().map(|&(from, to)| Self { from, to, areas: 0 }).collect()
    }
}

/// State of an area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No frame of the zone.
    Absent,
    Partial,
    Free,
    Hugetlb,
    Clean,
    /// With frames that stay, in so many pageblocks.
    Tainted {
        blocks: u16,
    },
}

/// Sums over the pageblocks of an area, or of the part of it that belongs to the zone.
#[derive(Clone, Copy, Default)]
struct Area {
    free: u64,
    to_move: u64,
    hugetlb: u64,
    staying: u64,
    /// Frames that do not exist, or that the allocator does not have yet.
    missing: u64,
    /// Pageblocks with frames that stay.
    tainting: u16,
}

impl Area {
    fn of(blocks: &[BlockSummary]) -> Self {
        let mut area = Self::default();
        for block in blocks {
            let mut staying = 0;
            for class in FrameClass::ALL {
                let frames = u64::from(block.count(class));
                match fate(class) {
                    Fate::Free => area.free += frames,
                    Fate::Moves => area.to_move += frames,
                    Fate::Missing => area.missing += frames,
                    Fate::Stays => staying += frames,
                }
            }
            area.hugetlb += u64::from(block.count(FrameClass::Hugetlb));
            area.staying += staying;
            area.tainting += u16::from(staying > 0);
        }
        area.missing += AREA.get() - PAGEBLOCK_PAGES.get() * blocks.len() as u64;
        area
    }

    fn state(&self) -> State {
        let whole = AREA.get();
        match self {
            area if area.missing == whole => State::Absent,
            area if area.missing > 0 => State::Partial,
            area if area.free == whole => State::Free,
            area if area.hugetlb == whole => State::Hugetlb,
            area if area.staying == 0 => State::Clean,
            area => State::Tainted { blocks: area.tainting },
        }
    }
}

/// Fate of a frame when its area is to become one page.
enum Fate {
    Free,
    Moves,
    Stays,
    Missing,
}

/// Fate of frames of a class. Huge pages in use move, as they do for `alloc_contig_pages()` and unlike for compaction, and per-CPU
/// lists are drained before; hugetlb pages stay, since that function passes over them.
const fn fate(class: FrameClass) -> Fate {
    match (class, class.mobility()) {
        (FrameClass::Deferred, _) | (_, Mobility::Absent) => Fate::Missing,
        (FrameClass::Pcp, _) | (_, Mobility::Free) => Fate::Free,
        (FrameClass::AnonHuge | FrameClass::FileHuge | FrameClass::ShmemHuge, _) | (_, Mobility::Movable) => {
            Fate::Moves
        }
        (_, Mobility::Immovable) => Fate::Stays,
    }
}

#[cfg(test)]
mod tests {
    use order9_units::{Migratetype, NodeId, Order, Pfn, PfnRange, ZoneKind};

    use super::*;

    /// A zone from this pageblock on, of runs of blocks that hold one class each.
    fn zone(first: u64, runs: &[(usize, FrameClass)]) -> ZoneCensus {
        let blocks: Vec<_> = runs
            .iter()
            .flat_map(|&(length, class)| std::iter::repeat_n(BlockSummary::uniform(class), length))
            .collect();
        let start = Pfn::new(first * 512);
        ZoneCensus {
            node: NodeId(0),
            kind: ZoneKind::Normal,
            span: PfnRange::of(start, PAGEBLOCK_PAGES * blocks.len() as u64),
            types: vec![Migratetype::Movable; blocks.len()],
            types_are_inferred: false,
            blocks_against_type: 0,
            free_blocks: [0; Order::COUNT],
            movable_in_large_folios: Pages::ZERO,
            on_cpu_lists: Pages::ZERO,
            blocks,
        }
    }

    fn counts(areas: &Gigabytes) -> [u64; 6] {
        [areas.total, areas.free, areas.clean, areas.tainted, areas.hugetlb, areas.partial]
    }

    #[test]
    fn every_area_has_one_state() {
        use FrameClass::{Anon, AnonHuge, Free, Hole, Hugetlb, Slab};
        let areas = Gigabytes::of(&zone(
            256,
            &[
                (256, Free), // The upper half of an area: the lower one is another zone's.
                (512, Free),
                (500, Anon),
                (12, AnonHuge),
                (510, Free),
                (2, Slab),
                (512, Hugetlb),
                (511, Anon),
                (1, Hole),
                (512, Hole),
            ],
        ));
        assert_eq!(counts(&areas), [6, 1, 1, 1, 1, 2]);
        let tainted: Vec<u64> = areas.tainted_by.iter().map(|few| few.areas).collect();
        assert_eq!(tainted, [0, 1, 0, 0, 0, 0]);
        // Free frames: 256 + 512 + 510 blocks, which is room for one area beside the free one.
        assert_eq!((areas.recoverable, areas.moves), (1, Pages::new(512 * 512)));
    }

    #[test]
    fn room_decides_how_many_clean_areas_can_be_free_at_once() {
        use FrameClass::{Anon, Free};
        let halves = [(256, Free), (256, Anon), (128, Free), (384, Anon), (140, Free), (372, Anon)];
        let areas = Gigabytes::of(&zone(512, &halves));
        assert_eq!((areas.clean, areas.recoverable), (3, 1), "524 free pageblocks are one area and a bit");
        assert_eq!(areas.moves, PAGEBLOCK_PAGES * 256, "the cheapest area");
        let mut sum = Gigabytes::default();
        sum.add(&areas);
        sum.add(&areas);
        assert_eq!((sum.clean, sum.recoverable, sum.tainted_by.len()), (6, 2, FEW.len()));
    }

    #[test]
    fn a_single_pageblock_taints_an_area() {
        let areas = Gigabytes::of(&zone(0, &[(511, FrameClass::Free), (1, FrameClass::PageTable)]));
        assert_eq!(counts(&areas), [1, 0, 0, 1, 0, 0]);
        assert_eq!(areas.tainted_by[0], TaintedBy { from: 1, to: 1, areas: 1 });
    }
}
