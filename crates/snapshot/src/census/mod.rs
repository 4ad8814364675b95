//! Census of a memory map: what every pageblock holds, and what that sums to per zone.
//!
//! [`Census::of`] goes through the map once. [`BlockSummary`] counts one pageblock's frames by class; [`BlockState`] says
//! what compaction can make of it; [`ZoneCensus`] holds those of a zone with their migratetypes, known or inferred.
//! Built on [`crate::classify`] and [`crate::infer`]; [`crate::inspection`] turns it into findings.

mod block;
mod count;
mod pcp;

use std::collections::BTreeMap;
use std::num::NonZero;

use order9_units::{Migratetype, NodeId, Order, Pages, Pfn, PfnRange, ZoneKind};

use crate::classify::{FrameClass, Layout, LayoutError, Piece};
use crate::infer::{FreeLists, infer_types};
use crate::{Snapshot, ZoneInfo};

pub use block::{BlockState, BlockSummary};
use count::Counted;

/// Counts of every pageblock of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Census {
    /// Zones with at least one frame in their span, in the snapshot's order.
    pub zones: Vec<ZoneCensus>,
    /// Contradictions between the map and the kernel's counters, one sentence each.
    pub problems: Vec<String>,
}

/// Free blocks of a pageblock by order. Two free pageblocks that are buddies are one block of the largest order, which the lower has.
pub type FreeBlocks = [u16; Order::COUNT];

/// Counts of the pageblocks of one zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneCensus {
    /// Node of the zone.
    pub node: NodeId,
    /// Kind of the zone.
    pub kind: ZoneKind,
    /// Frames of the zone, holes included.
    pub span: PfnRange,
    /// Pageblocks of the zone, from the one that holds its first frame on. Frames of other zones count as holes.
    pub blocks: Vec<BlockSummary>,
    /// Migratetypes of the pageblocks.
    pub types: Vec<Migratetype>,
    /// Whether the types were inferred from contents.
    pub types_are_inferred: bool,
    /// Blocks whose inferred type contradicts what they hold.
    pub blocks_against_type: u64,
    /// Free blocks by order, as the map shows them.
    pub free_blocks: [u64; Order::COUNT],
    /// Movable frames in folios of more than one page.
    pub movable_in_large_folios: Pages,
    /// Number of frames without a flag that are free pages on per-CPU lists. In blocks that only they may hold, such
    /// frames have the class [`FrameClass::Pcp`]. The place of the others is unknown.
    pub on_cpu_lists: Pages,
}

impl Census {
    /// Takes the census of a snapshot on all CPUs.
    ///
    /// # Errors
    /// Where zones and map do not fit together.
    pub fn of(snapshot: &Snapshot) -> Result<Self, LayoutError> {
        let one = NonZero::<usize>::MIN;
        Self::with_threads(snapshot, std::thread::available_parallelism().unwrap_or(one))
    }

    /// Takes the census of a snapshot on so many threads; the result does not depend on their number.
    ///
    /// # Errors
    /// Where zones and map do not fit together.
    pub fn with_threads(snapshot: &Snapshot, threads: NonZero<usize>) -> Result<Self, LayoutError> {
        let layout = Layout::of(snapshot)?;
        let counted = count_in_parallel(&layout, threads);
        let mut problems = layout.problems().to_vec();
        let mut zones: Vec<_> = layout
            .zones()
            .iter()
            .zip(counted)
            .map(|(zone, counted)| ZoneCensus::new(snapshot, zone.info(), counted))
            .collect();
        if layout.free_heads_only() {
            problems.push(
                "this kernel flags only the first frame of a free block: how far it reaches is inferred".to_owned(),
            );
        }
        if snapshot.block_types.is_none() {
            estimate_reclaimable_slab(snapshot, &mut zones);
        }
        for (zone, layout_zone) in zones.iter().zip(layout.zones()) {
            zone.compare(layout_zone.info(), &mut problems);
        }
        Ok(Self { zones, problems })
    }

    /// The census of one zone.
    #[must_use]
    pub fn zone(&self, node: NodeId, kind: ZoneKind) -> Option<&ZoneCensus> {
        self.zones.iter().find(|zone| zone.node == node && zone.kind == kind)
    }
}

impl ZoneCensus {
    fn new(snapshot: &Snapshot, info: &ZoneInfo, counted: Counted) -> Self {
        let first = info.span.start.align_down(Order::PAGEBLOCK);
        let mut zone = Self {
            node: info.node,
            kind: info.kind,
            span: info.span,
            types: Vec::new(),
            types_are_inferred: snapshot.block_types.is_none(),
            blocks_against_type: 0,
            free_blocks: [0; Order::COUNT],
            movable_in_large_folios: Pages::new(counted.movable_in_folios),
            on_cpu_lists: Pages::ZERO,
            blocks: counted.blocks,
        };
        let mut free_blocks = counted.free_blocks;
        zone.pair_up_pageblocks(first, &mut free_blocks);
        for (order, sum) in zone.free_blocks.iter_mut().enumerate() {
            *sum = free_blocks.iter().map(|blocks| u64::from(blocks[order])).sum();
        }
        // Before types are inferred: free pages say nothing of a block's type.
        zone.on_cpu_lists = pcp::mark(&mut zone.blocks, info.pcp.iter().map(|pcp| pcp.count).sum());
        match &snapshot.block_types {
            Some(types) => {
                let from = (first.get() / Order::PAGEBLOCK.pages().get()) as usize;
                let known = types.iter().skip(from).copied().chain(std::iter::repeat(Migratetype::Movable));
                zone.types = known.take(zone.blocks.len()).collect();
            }
            None => {
                let lists = FreeLists { of_blocks: &free_blocks, by_type: &info.free_by_type };
                let inferred = infer_types(&zone.blocks, &info.block_counts, lists);
                zone.blocks_against_type = inferred.contradicted;
                zone.types = inferred.types;
            }
        }
        zone
    }

    /// First frame of block number `block`; it may lie below the zone.
    #[must_use]
    pub fn start_of(&self, block: usize) -> Pfn {
        self.span.start.align_down(Order::PAGEBLOCK) + Order::PAGEBLOCK.pages() * block as u64
    }

    /// Frames of one class.
    #[must_use]
    pub fn frames(&self, class: FrameClass) -> Pages {
        Pages::new(self.blocks.iter().map(|block| u64::from(block.count(class))).sum())
    }

    /// Frames by class, present ones only: the classes that occur.
    #[must_use]
    pub fn by_class(&self) -> BTreeMap<FrameClass, Pages> {
        let present = FrameClass::ALL.into_iter().filter(|class| class.is_present());
        present.map(|class| (class, self.frames(class))).filter(|&(_, pages)| pages > Pages::ZERO).collect()
    }

    /// Two free pageblocks that are buddies form one block of the largest order.
    fn pair_up_pageblocks(&self, first: Pfn, free_blocks: &mut [FreeBlocks]) {
        let from = usize::from(!first.is_aligned(Order::MAX)).min(self.blocks.len());
        let is_free = |block: &BlockSummary| block.state() == BlockState::Free;
        for (pair, blocks) in self.blocks[from..].chunks_exact(2).zip(free_blocks[from..].chunks_exact_mut(2)) {
            if pair.iter().all(is_free) {
                blocks.fill(FreeBlocks::default());
                blocks[0][Order::MAX.index()] = 1;
            }
        }
    }

    /// Compares the map with the zone's counters.
    fn compare(&self, info: &ZoneInfo, problems: &mut Vec<String>) {
        let mut compare = |what: &str, expected: Pages, found: Pages| {
            if expected != found {
                problems.push(format!(
                    "node {} zone {}: {what}: the zone's counter says {}, the map shows {}",
                    self.node,
                    self.kind,
                    expected.get(),
                    found.get()
                ));
            }
        };
        let present = self.by_class().into_values().sum();
        compare("present frames", info.present, present);
        compare("free frames", info.free, self.frames(FrameClass::Free));
        let whole = |blocks: &[u64; Order::COUNT]| {
            let from = Order::PAGEBLOCK;
            from.to(Order::MAX).map(|order| order.pages() * blocks[order.index()]).sum()
        };
        compare("free frames in huge pages", whole(&info.free_blocks), whole(&self.free_blocks));
    }
}

/// Counts every zone's pieces, each thread a run of adjacent ones.
fn count_in_parallel(layout: &Layout<'_>, threads: NonZero<usize>) -> Vec<Counted> {
    let pieces: Vec<Piece> = (0..layout.zones().len()).flat_map(|zone| layout.pieces(zone)).collect();
    let share = pieces.len().div_ceil(threads.get()).max(1);
    let parts: Vec<Vec<(usize, Counted)>> = std::thread::scope(|scope| {
        let parts: Vec<_> = pieces.chunks(share).map(|part| scope.spawn(|| count_part(layout, part))).collect();
        parts.into_iter().map(|part| part.join().expect("counting does not panic")).collect()
    });
    let mut zones = vec![Counted::default(); layout.zones().len()];
    for (zone, counted) in parts.into_iter().flatten() {
        zones[zone].append(counted);
    }
    zones
}

/// Counts of each zone that has a piece in `pieces`, in order.
fn count_part(layout: &Layout<'_>, pieces: &[Piece]) -> Vec<(usize, Counted)> {
    let mut tokens = Vec::new();
    let of_zone = pieces.chunk_by(|a, b| a.zone == b.zone);
    of_zone
        .map(|pieces| {
            let mut counted = Counted::default();
            pieces.iter().for_each(|piece| counted.add(layout, piece, &mut tokens));
            (pieces[0].zone, counted)
        })
        .collect()
}

/// Takes the slab of Reclaimable blocks to be reclaimable, upward, up to each node's counter of reclaimable slab.
fn estimate_reclaimable_slab(snapshot: &Snapshot, zones: &mut [ZoneCensus]) {
    for node in &snapshot.nodes {
        let mut left = reclaimable_slab(snapshot, node.id);
        for zone in zones.iter_mut().filter(|zone| zone.node == node.id) {
            let blocks = zone.blocks.iter_mut().zip(&zone.types);
            for (block, _) in blocks.filter(|&(_, &mt)| mt == Migratetype::Reclaimable) {
                let slab = u64::from(block.count(FrameClass::Slab));
                if slab <= left {
                    left -= slab;
                    block.mark_slab_reclaimable();
                }
            }
        }
    }
}

/// `nr_slab_reclaimable` of a node: kept per node since 4.13, per zone before.
fn reclaimable_slab(snapshot: &Snapshot, node: NodeId) -> u64 {
    const NAME: &str = "nr_slab_reclaimable";
    let of_node = snapshot.nodes.iter().find(|info| info.id == node).and_then(|info| info.counters.get(NAME).copied());
    of_node.unwrap_or_else(|| {
        let zones = snapshot.zones.iter().filter(|zone| zone.node == node);
        zones.filter_map(|zone| zone.counters.get(NAME)).sum()
    })
}
