//! Physical memory as one [`Look`] per pageblock, in strips of one zone each.

use order9_snapshot::census::Census;
use order9_units::{NodeId, PAGEBLOCK_PAGES, Pages, ZoneKind};

use crate::look::Look;

/// Every pageblock of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryMap {
    /// One strip per populated zone, by node and address.
    pub strips: Vec<Strip>,
}

/// The pageblocks of one zone, from the one its span starts in to the one it ends in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strip {
    /// Node of the zone.
    pub node: NodeId,
    /// Kind of the zone.
    pub zone: ZoneKind,
    /// Number of the first block; block 0 starts at pfn 0.
    pub first: u64,
    /// Look of each block, upward.
    pub looks: Vec<Look>,
}

/// Number of blocks by look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LookCounts([u64; Look::COUNT]);

impl LookCounts {
    /// Number of blocks with the look `look`.
    #[must_use]
    pub fn of(&self, look: Look) -> u64 {
        self.0[look.index()]
    }

    /// The looks that occur, in the order of the legend, without [`Look::Hole`].
    pub fn present(&self) -> impl Iterator<Item = (Look, u64)> {
        Look::ALL.into_iter().map(|look| (look, self.of(look))).filter(|&(look, n)| n > 0 && look != Look::Hole)
    }

    /// Blocks that hold memory.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.present().map(|(_, n)| n).sum()
    }

    fn add(&mut self, look: Look) {
        self.0[look.index()] += 1;
    }
}

impl MemoryMap {
    /// The map of a census.
    #[must_use]
    pub fn of(census: &Census) -> Self {
        let strips = census.zones.iter().map(|zone| Strip {
            node: zone.node,
            zone: zone.kind,
            first: zone.span.start.get() / PAGEBLOCK_PAGES.get(),
            looks: zone.blocks.iter().map(Look::of).collect(),
        });
        Self { strips: strips.collect() }
    }

    /// Number of blocks by look.
    #[must_use]
    pub fn counts(&self) -> LookCounts {
        let mut counts = LookCounts::default();
        self.strips.iter().flat_map(|strip| &strip.looks).for_each(|&look| counts.add(look));
        counts
    }
}

impl Strip {
    /// `Node 0, zone Normal`, as /proc/buddyinfo names it.
    #[must_use]
    pub fn title(&self) -> String {
        format!("Node {}, zone {}", self.node, self.zone)
    }

    /// One past the last block.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.first + self.looks.len() as u64
    }

    /// The rows of a grid of `columns` cells of `per_cell` blocks each, without rows that hold no memory.
    ///
    /// Rows start at multiples of their length, so that the same address is in the same column in every zone.
    #[must_use]
    pub fn rows(&self, columns: u64, per_cell: u64) -> Vec<Row> {
        let row_blocks = columns * per_cell;
        let mut fold = Fold::default();
        let mut rows = Vec::new();
        let mut start = self.first / row_blocks * row_blocks;
        while start < self.end() {
            let cells: Vec<_> = (0..columns).map(|i| fold.cell(self.blocks(start + i * per_cell, per_cell))).collect();
            if cells.iter().any(|cell| cell.is_some_and(|look| look != Look::Hole)) {
                rows.push(Row { start, cells });
            }
            start += row_blocks;
        }
        rows
    }

    /// The rows of a grid of `columns` tiles of `per_tile` blocks each, without rows that hold no memory. They start where
    /// those of [`rows`](Self::rows) do.
    #[must_use]
    pub fn tiles(&self, columns: u64, per_tile: u64) -> Vec<TileRow> {
        let row_blocks = columns * per_tile;
        let first = self.first / row_blocks * row_blocks;
        let starts = (first..self.end()).step_by(row_blocks as usize);
        let tile = |start: u64| {
            let mut counts = LookCounts::default();
            self.blocks(start, per_tile).iter().for_each(|&look| counts.add(look));
            counts
        };
        let row = |start: u64| TileRow { start, tiles: (0..columns).map(|i| tile(start + i * per_tile)).collect() };
        starts.map(row).filter(|row| row.tiles.iter().any(|tile| tile.blocks() > 0)).collect()
    }

    /// Whether at least half of the blocks of `[start, start + n)` look other than `before`, a strip of the same zone.
    #[must_use]
    pub fn differs(&self, before: &Self, start: u64, n: u64) -> bool {
        let (now, then) = (self.blocks(start, n), before.blocks(start, n));
        let changed = now.iter().zip(then).filter(|(now, then)| now != then).count() + now.len().abs_diff(then.len());
        changed > 0 && changed * 2 >= now.len()
    }

    /// The blocks of `[start, start + n)` that belong to this strip.
    fn blocks(&self, start: u64, n: u64) -> &[Look] {
        let from = start.clamp(self.first, self.end()) - self.first;
        let to = (start + n).clamp(self.first, self.end()) - self.first;
        &self.looks[from as usize..to as usize]
    }
}

/// One row of a grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// First block of the row.
    pub start: u64,
    /// Look of each cell; `None` outside the zone.
    pub cells: Vec<Option<Look>>,
}

/// One row of tiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TileRow {
    /// First block of the row.
    pub start: u64,
    /// Number of blocks by look in each tile.
    pub tiles: Vec<LookCounts>,
}

/// The frames of `n` pageblocks.
#[must_use]
pub fn blocks(n: u64) -> Pages {
    PAGEBLOCK_PAGES * n
}

/// Chooses one look for a cell that stands for several blocks, so that areas on the map stay true to the counts.
///
/// Of the looks in a cell the one wins that is owed most, and what it got too much is owed to the others: error
/// diffusion, as printers make greys. One lost block among eight healthy ones shows up in about every eighth such place
/// instead of never.
#[derive(Debug, Default)]
struct Fold {
    owed: [i64; Look::COUNT],
}

impl Fold {
    fn cell(&mut self, blocks: &[Look]) -> Option<Look> {
        blocks.iter().for_each(|look| self.owed[look.index()] += 1);
        let shown = blocks.iter().copied().max_by_key(|look| (self.owed[look.index()], look.index()))?;
        self.owed[shown.index()] -= blocks.len() as i64;
        Some(shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strip(first: u64, looks: Vec<Look>) -> Strip {
        Strip { node: NodeId(0), zone: ZoneKind::Normal, first, looks }
    }

    #[test]
    fn rows_start_at_multiples_of_their_length() {
        let rows = strip(6, vec![Look::FreeHuge; 6]).rows(4, 1);
        let starts: Vec<_> = rows.iter().map(|row| row.start).collect();
        assert_eq!(starts, [4, 8]);
        assert_eq!(rows[0].cells, [None, None, Some(Look::FreeHuge), Some(Look::FreeHuge)]);
    }

    #[test]
    fn rows_without_memory_are_left_out() {
        let mut looks = vec![Look::Hole; 12];
        looks[9] = Look::HeldByMany;
        let rows = strip(0, looks).rows(4, 1);
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].start, 8);
    }

    #[test]
    fn a_cell_differs_when_half_of_it_does() {
        let before = strip(0, vec![Look::FreeHuge; 8]);
        let mut after = before.clone();
        after.looks[1] = Look::HugeInUse;
        assert!(after.differs(&before, 0, 2));
        assert!(!after.differs(&before, 0, 4));
        assert!(!after.differs(&before, 4, 4));
    }

    #[test]
    fn a_rare_look_gets_its_share_of_the_cells() {
        let looks = (0..8000).map(|i| if i % 8 == 3 { Look::HeldByFew } else { Look::FreeHuge }).collect();
        let rows = strip(0, looks).rows(50, 4);
        let cells: Vec<_> = rows.into_iter().flat_map(|row| row.cells).flatten().collect();
        let rare = cells.iter().filter(|&&look| look == Look::HeldByFew).count();
        assert_eq!(cells.len(), 2000);
        assert!((245..=255).contains(&rare), "{rare} of 2000 cells for one block in eight");
    }
}
