//! Maps of large machines: a tile stands for many pageblocks, and is filled by the shares of their looks.
//!
//! One cell for each of half a million blocks is confetti, and a picture of them has no end. So tiles are made as large as it
//! takes to have some thousand of them, whatever the machine; within a tile looks are stacked from the bottom in the
//! order of the legend, so that a row of tiles reads as a chart of shares over addresses.

use super::Shape;
use crate::look::Look;
use crate::map::{MemoryMap, TileRow};

/// Blocks above which a map has tiles: those of 128 GiB.
const CELLS_MAX: u64 = 1 << 16;
/// Tiles in a row.
pub(super) const COLUMNS: u64 = 64;
/// Rows that tiles are made large enough for; holes and ends of zones may take some more.
const ROWS: u64 = 32;
/// Pixels of a tile.
pub(super) const WIDTH: u32 = 18;
const HEIGHT: u32 = 22;
/// Pixels from row to row.
pub(super) const PITCH: u32 = 24;

/// Blocks that a tile stands for; `None` where every block has a cell of its own.
pub(super) fn blocks_per_tile(map: &MemoryMap) -> Option<u64> {
    let blocks = map.counts().blocks();
    (blocks > CELLS_MAX).then(|| blocks.div_ceil(COLUMNS * ROWS).next_power_of_two())
}

/// Shapes of some rows that follow each other, the first at `x` and `y`.
pub(super) fn shapes(rows: &[TileRow], per_tile: u64, x: u32, y: u32) -> impl Iterator<Item = Shape> {
    let mut rects: Vec<Vec<[u32; 4]>> = vec![Vec::new(); Look::COUNT];
    for (row, top) in rows.iter().zip((y..).step_by(PITCH as usize)) {
        for (tile, left) in row.tiles.iter().zip((x..).step_by(WIDTH as usize)) {
            let pixel = |blocks: u64| (blocks * u64::from(HEIGHT) + per_tile / 2) / per_tile;
            let mut below = 0;
            for (look, count) in tile.present() {
                let (from, to) = (pixel(below) as u32, pixel(below + count) as u32);
                below += count;
                if to > from {
                    add(&mut rects[look.index()], [left, top + HEIGHT - to, WIDTH, to - from]);
                }
            }
        }
    }
    let shape = |(look, rects): (Look, Vec<[u32; 4]>)| Shape::Rects { fill: look.colour(), rects };
    Look::ALL.into_iter().zip(rects).filter(|(_, rects)| !rects.is_empty()).map(shape)
}

/// Neighbours of one height are one rectangle.
fn add(rects: &mut Vec<[u32; 4]>, [x, y, width, height]: [u32; 4]) {
    match rects.last_mut() {
        Some(last) if last[0] + last[2] == x && (last[1], last[3]) == (y, height) => last[2] += width,
        _ => rects.push([x, y, width, height]),
    }
}

#[cfg(test)]
mod tests {
    use order9_units::{NodeId, ZoneKind};

    use super::*;
    use crate::map::Strip;
    use crate::picture::{Caption, Picture, svg};

    /// Blocks of which every fourth is held.
    fn map(blocks: usize) -> MemoryMap {
        let looks = (0..blocks).map(|i| if i % 4 == 0 { Look::HeldByFew } else { Look::FreeHuge }).collect();
        MemoryMap { strips: vec![Strip { node: NodeId(0), zone: ZoneKind::Normal, first: 0, looks }] }
    }

    #[test]
    fn a_tile_has_the_shares_of_its_blocks() {
        let map = map(1 << 19);
        assert_eq!(blocks_per_tile(&map), Some(256));
        let rows = map.strips[0].tiles(COLUMNS, 256);
        assert_eq!(rows.len(), 32);
        let shapes: Vec<_> = shapes(&rows[..1], 256, 0, 0).collect();
        let of = |wanted: Look| {
            let rects = shapes.iter().find_map(|shape| match shape {
                Shape::Rects { fill, rects } if *fill == wanted.colour() => Some(rects.clone()),
                _ => None,
            });
            rects.expect("it is there")
        };
        let (held, free) = (of(Look::HeldByFew), of(Look::FreeHuge));
        // All tiles are alike: one rectangle each, over the whole row, a quarter and three quarters high.
        assert_eq!((held.len(), free.len()), (1, 1));
        assert_eq!(held[0][2], WIDTH * 64);
        assert_eq!(held[0][3] + free[0][3], HEIGHT);
        assert!((5..=6).contains(&held[0][3]), "{held:?}");
    }

    #[test]
    fn pictures_have_an_end() {
        assert_eq!(blocks_per_tile(&map(1 << 16)), None);
        for blocks in [1 << 17, 1 << 19, 1 << 22] {
            let picture = Picture::new(&map(blocks), &Caption::default());
            assert!(picture.height < 1200 && picture.width < 1400, "{} x {}", picture.width, picture.height);
            let mut file = Vec::new();
            svg::write(&picture, &mut file).expect("memory takes it");
            assert!(file.len() < 1 << 20, "{} bytes", file.len());
        }
    }
}
