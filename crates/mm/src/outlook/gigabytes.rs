//! Areas of 1 GiB: which are free, which moving pages could free, which hold something that stays.
//!
//! An area is aligned to its length, lies in one zone and has no hole, as `alloc_contig_pages()` demands of a page of 1 GiB.

use alloc::vec;

use order9_frames::{Idx, Pageblock, ZoneId};
use order9_units::{Order, PAGEBLOCK_PAGES};

use crate::phys::PhysMem;

/// Pageblocks of an area.
const AREA: u64 = 512;

/// Areas of 1 GiB without a hole, by what they hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GigabyteOutlook {
    /// Free from end to end.
    pub free: u64,
    /// Areas of free pages and pages that can be moved, which are not all free.
    pub clean: u64,
    /// Areas with pages that stay: unmovable or pinned ones.
    pub tainted: u64,
    /// Clean areas that could be free at the same time beside those that are: their zone has room for no more.
    pub recoverable: u64,
}

/// Areas of one zone.
#[derive(Clone, Copy, Default)]
struct Tally {
    free: u64,
    clean: u64,
    tainted: u64,
    /// Free frames of all its pageblocks.
    room: u64,
}

/// Sums over the pageblocks of an area.
#[derive(Clone, Copy, Default)]
struct Area {
    free: u64,
    staying: u64,
    absent: u64,
}

impl Area {
    fn of(blocks: &[Pageblock]) -> Self {
        blocks.iter().fold(Self::default(), |sum, block| Self {
            free: sum.free + u64::from(block.free),
            staying: sum.staying + u64::from(block.immovable) + u64::from(block.pinned),
            absent: sum.absent + u64::from(block.absent),
        })
    }
}

impl PhysMem {
    /// The outlook as it is now, from one look at each pageblock.
    pub(crate) fn gigabyte_outlook(&self) -> GigabyteOutlook {
        let blocks = self.frames.blocks();
        let base = self.frames.table().pfn(Idx::default()).get() >> Order::PAGEBLOCK.get();
        let below = (base.next_multiple_of(AREA) - base).min(blocks.len() as u64) as usize;
        let mut tallies = vec![Tally::default(); self.frames.zones().len()];
        let (lowest, above) = blocks.split_at(below);
        for area in core::iter::once(lowest).chain(above.chunks(AREA as usize)) {
            area.chunk_by(|one, next| one.zone == next.zone).for_each(|part| count(&mut tallies, part[0].zone, part));
        }
        let mut outlook = GigabyteOutlook::default();
        for tally in &tallies {
            let room = tally.room / (AREA * PAGEBLOCK_PAGES.get());
            outlook.free += tally.free;
            outlook.clean += tally.clean;
            outlook.tainted += tally.tainted;
            outlook.recoverable += tally.clean.min(room.saturating_sub(tally.free));
        }
        outlook
    }
}

/// Counts the part of an area that belongs to one zone.
fn count(tallies: &mut [Tally], zone: ZoneId, part: &[Pageblock]) {
    let Some(tally) = tallies.get_mut(zone.index()) else { return };
    let area = Area::of(part);
    tally.room += area.free;
    let is_whole = part.len() as u64 == AREA && area.absent == 0;
    if !is_whole {
        return;
    }
    match area {
        Area { staying: 1.., .. } => tally.tainted += 1,
        Area { free, .. } if free == AREA * PAGEBLOCK_PAGES.get() => tally.free += 1,
        Area { .. } => tally.clean += 1,
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use order9_units::{NodeId, Pages, Pfn, PfnRange, ZoneKind};

    use super::*;
    use crate::policy::Policy;
    use crate::{Gfp, Layout, Mm, MmBuilder, NodeSpec, Request, ZoneSpec};

    const GIB: u64 = 1 << 18;

    /// Four areas from 1.5 GiB on: half of one, two whole ones, half of another.
    fn machine() -> Mm {
        let span = PfnRange::of(Pfn::new(GIB + GIB / 2), Pages::new(3 * GIB));
        let layout = Layout {
            nodes: vec![NodeSpec { distances: vec![10] }],
            zones: vec![ZoneSpec { node: NodeId(0), kind: ZoneKind::Normal, span }],
            cpus: vec![NodeId(0)],
            ..Layout::default()
        };
        let mut mm = MmBuilder::new(&layout, Policy::default()).expect("one zone is a layout").boot();
        mm.phys.frames.drain_all();
        mm
    }

    fn take(mm: &mut Mm, gfp: Gfp, order: Order) -> Vec<Pfn> {
        let request = Request::new(order, gfp);
        core::iter::from_fn(|| mm.alloc_fast(&request).ok()).collect()
    }

    #[test]
    fn areas_are_free_then_clean_then_tainted() {
        let mut mm = machine();
        let empty = GigabyteOutlook { free: 2, ..GigabyteOutlook::default() };
        assert_eq!(mm.gigabyte_outlook(), empty);
        let movable = take(&mut mm, Gfp::GFP_HIGHUSER_MOVABLE, Order::PAGEBLOCK);
        let full = mm.gigabyte_outlook();
        assert_eq!((full.free, full.clean, full.tainted, full.recoverable), (0, 2, 0, 0), "no room is left");
        // A gigabyte of free memory and a bit, half of it outside of whole areas.
        for &page in movable.iter().filter(|page| page.get() % (4 * 512) < 2 * 512) {
            mm.free(page, 0).expect("it lives");
        }
        let half = mm.gigabyte_outlook();
        assert_eq!((half.free, half.clean, half.recoverable), (0, 2, 1));
        let used = movable.iter().filter(|page| page.get() % (4 * 512) >= 2 * 512);
        let lower = used.copied().find(|page| (2 * GIB..3 * GIB).contains(&page.get()));
        mm.pin(lower.expect("half of that area is in use")).expect("it lives");
        let pinned = mm.gigabyte_outlook();
        assert_eq!((pinned.clean, pinned.tainted, pinned.recoverable), (1, 1, 1));
    }
}
