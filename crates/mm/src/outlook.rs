//! The outlook for huge pages: how many are free, how many moving pages could make, how many are out of reach.
//!
//! Key types: [`HugeOutlook`], and [`GigabyteOutlook`] for pages of 1 GiB. Each takes one look at each pageblock and none at any
//! frame, so that a machine of 1 TiB can be asked every second. Where compaction would really get is another matter: this counts
//! what it could make at best.

mod gigabytes;

use alloc::vec;

use order9_frames::{Pageblock, Zone};
use order9_units::metrics::{FreeBlocks, external_fragmentation, fragmentation_index};
use order9_units::{Migratetype, NodeId, Order, PAGEBLOCK_PAGES, ZoneKind};

use crate::pages::UsedPages;
use crate::phys::PhysMem;

pub use gigabytes::GigabyteOutlook;

/// Huge pages that exist and that could be made, and the obstacles to more. All counts are of pageblocks that hold no hole,
/// but for `polluting_pages`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HugeOutlook {
    /// Free pageblocks.
    pub free: u64,
    /// In use by nothing that could not be moved, as far as there is room to move it to: free pages of pageblocks in use
    /// in the same zone.
    pub recoverable: u64,
    /// All others.
    pub lost: u64,
    /// Movable pageblocks that hold something which cannot be moved.
    pub polluted_blocks: u64,
    /// Pages in them that cannot be moved.
    pub polluting_pages: u64,
    /// Pageblocks that hold slab.
    pub slab_blocks: u64,
    /// Share of free memory, in percent, that is not in free blocks of order 9 or above, weighted by zone: the fragmentation
    /// score of proactive compaction, for all nodes together.
    pub fragmentation_score: u64,
}

/// Fragmentation of the free memory of a zone, as a request for a huge page sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneFragmentation {
    /// Node of the zone.
    pub node: NodeId,
    /// Kind of the zone.
    pub kind: ZoneKind,
    /// Share of free memory, in percent, that is not in free blocks of order 9 or above: the zone's score.
    pub score: u64,
    /// Fragmentation index of order 9, as [`fragmentation_index`] defines it.
    pub index: i64,
}

/// Pageblocks whose sums fit 32 bits.
const TOGETHER: usize = 1 << 16;

/// Pageblocks of one zone.
#[derive(Clone, Copy, Default)]
struct Tally {
    whole: u64,
    free: u64,
    /// In use, by nothing that cannot be moved.
    evacuable: u64,
    /// Free pages of pageblocks in use.
    room: u64,
    /// Movable, with something that cannot be moved.
    polluted: u64,
    /// Pages in them that cannot be moved.
    polluting: u64,
}

impl Tally {
    /// Without a branch, and in narrow sums: a large machine has half a million pageblocks, each unlike the one before.
    fn count(&mut self, blocks: &[Pageblock]) {
        for together in blocks.chunks(TOGETHER) {
            let [mut whole, mut free, mut evacuable, mut room, mut polluted, mut polluting] = [0_u32; 6];
            for block in together {
                let (is_whole, is_free) = (block.absent == 0, block.free == PAGEBLOCK_PAGES.get() as u16);
                let is_polluted = (block.migratetype == Migratetype::Movable) & (block.immovable > 0) & is_whole;
                whole += u32::from(is_whole);
                free += u32::from(is_free);
                evacuable += u32::from(block.is_evacuable() & !is_free);
                room += if is_free { 0 } else { u32::from(block.free) };
                polluted += u32::from(is_polluted);
                polluting += if is_polluted { u32::from(block.immovable) } else { 0 };
            }
            self.whole += u64::from(whole);
            self.free += u64::from(free);
            self.evacuable += u64::from(evacuable);
            self.room += u64::from(room);
            self.polluted += u64::from(polluted);
            self.polluting += u64::from(polluting);
        }
    }

    /// Emptying a block fills up as many pages elsewhere as it holds, and takes its own free pages out of the room: a whole
    /// block of room, whatever it holds.
    fn recoverable(&self) -> u64 {
        self.evacuable.min(self.room / PAGEBLOCK_PAGES.get())
    }
}

impl UsedPages {
    /// The outlook as it is now.
    #[must_use]
    pub(crate) fn huge_outlook(&self, phys: &PhysMem) -> HugeOutlook {
        let mut tallies = vec![Tally::default(); phys.frames.zones().len()];
        let mut outlook = HugeOutlook {
            slab_blocks: self.slab.blocks.used(),
            fragmentation_score: phys.fragmentation_score(),
            ..HugeOutlook::default()
        };
        for blocks in phys.frames.blocks().chunk_by(|one, next| one.zone == next.zone) {
            let Some(tally) = tallies.get_mut(blocks[0].zone.index()) else { continue };
            tally.count(blocks);
        }
        for tally in &tallies {
            outlook.polluted_blocks += tally.polluted;
            outlook.polluting_pages += tally.polluting;
            outlook.free += tally.free;
            outlook.recoverable += tally.recoverable();
            outlook.lost += tally.whole - tally.free - tally.recoverable();
        }
        outlook
    }
}

impl PhysMem {
    /// Every zone that has memory, in the order of [`Frames::zones`](order9_frames::Frames::zones).
    pub fn zone_fragmentation(&self) -> impl Iterator<Item = ZoneFragmentation> {
        self.frames.zones().iter().filter(|zone| zone.present() > 0).map(|zone| ZoneFragmentation {
            node: zone.node(),
            kind: zone.kind(),
            score: external_fragmentation(&free_blocks(zone), Order::PAGEBLOCK),
            index: fragmentation_index(&free_blocks(zone), Order::PAGEBLOCK),
        })
    }

    fn fragmentation_score(&self) -> u64 {
        let present: u64 = self.frames.zones().iter().map(|zone| zone.present()).sum();
        let score = |zone| external_fragmentation(&free_blocks(zone), Order::PAGEBLOCK);
        self.frames.zones().iter().map(|zone| score(zone) * zone.present()).sum::<u64>() / (present + 1)
    }
}

fn free_blocks(zone: &Zone) -> FreeBlocks {
    zone.areas().map(|area| area.total())
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use order9_units::{Bytes, NodeId, Pages, Pfn, PfnRange, ZoneKind};

    use super::*;
    use crate::Mm;
    use crate::policy::Policy;
    use crate::slab::{CacheSpec, ObjectStep};
    use crate::{Contents, Gfp, Layout, MmBuilder, NodeSpec, Request, ZoneSpec};

    /// 32 MiB: 16 pageblocks.
    fn layout() -> Layout {
        let span = PfnRange::of(Pfn::new(1 << 20), Pages::new(1 << 13));
        Layout {
            nodes: vec![NodeSpec { distances: vec![10] }],
            zones: vec![ZoneSpec { node: NodeId(0), kind: ZoneKind::Normal, span }],
            cpus: vec![NodeId(0)],
            ..Layout::default()
        }
    }

    fn machine() -> Mm {
        let mut mm = MmBuilder::new(&layout(), Policy::default()).expect("one zone is a layout").boot();
        mm.phys.frames.drain_all();
        mm
    }

    fn take(mm: &mut Mm, gfp: Gfp, pages: usize) -> Vec<Pfn> {
        (0..pages).map(|_| mm.alloc_fast(&Request::new(Order::ZERO, gfp)).expect("there is room")).collect()
    }

    #[test]
    fn blocks_with_movable_pages_are_recoverable_as_far_as_there_is_room() {
        let mut mm = machine();
        let empty = mm.huge_outlook();
        assert_eq!((empty.free, empty.recoverable, empty.lost), (16, 0, 0));
        assert_eq!(empty.fragmentation_score, 0);
        let pages = take(&mut mm, Gfp::GFP_HIGHUSER_MOVABLE, 4 * 512);
        // Every other page: four blocks, half empty, make two.
        for &page in pages.iter().filter(|page| page.get() % 2 == 0) {
            mm.free(page, 0).expect("it lives");
        }
        mm.phys.frames.drain_all();
        let half = mm.huge_outlook();
        assert_eq!((half.recoverable, half.lost), (2, 16 - half.free - 2));
        assert_eq!(half.fragmentation_score, 4 * 256 * 100 / (16 * 512 - 4 * 256) * 8192 / 8193);
        let zone = mm.phys.zone_fragmentation().next().expect("there is one zone");
        assert_eq!((zone.score, zone.index), (4 * 256 * 100 / (16 * 512 - 4 * 256), -1000), "huge pages are free");
        mm.pin(*pages.iter().find(|page| page.get() % 2 == 1).expect("half are left")).expect("it lives");
        assert_eq!(mm.huge_outlook().recoverable, 2, "three blocks still have room for two");
    }

    #[test]
    fn what_cannot_be_moved_pollutes_movable_blocks_only() {
        let base = Pfn::new(1 << 20);
        let mut builder = MmBuilder::new(&layout(), Policy::default()).expect("one zone is a layout");
        let mut place = |at: u64, contents| builder.allocate(base + Pages::new(at), Order::ZERO, contents);
        for at in 0..512 {
            place(at, if at < 3 { Contents::Unmovable } else { Contents::Movable }).expect("it is there");
        }
        for at in 512..1024 {
            place(at, Contents::Unmovable).expect("it is there");
        }
        builder.set_block_type(base + Pages::new(512), Migratetype::Unmovable).expect("it is there");
        (2..16).for_each(|block| builder.free(base + Pages::new(block * 512), Order::PAGEBLOCK).expect("it is there"));
        let outlook = builder.finish().huge_outlook();
        assert_eq!((outlook.polluted_blocks, outlook.polluting_pages), (1, 3));
        assert_eq!((outlook.free, outlook.recoverable, outlook.lost), (14, 0, 2));
    }

    #[test]
    fn blocks_with_slab_are_counted_until_it_is_gone() {
        let mut mm = machine();
        let spec = CacheSpec { object_size: Bytes::new(4096), order: Order::PAGEBLOCK, ..CacheSpec::DENTRY };
        let caches = [CacheSpec::DENTRY, spec].map(|spec| mm.kmem_cache_create(spec).expect("the cache is sound"));
        let asked = Request::new(Order::ZERO, Gfp::GFP_KERNEL);
        let objects = caches.map(|cache| match mm.kmem_cache_alloc_fast(cache, &asked) {
            ObjectStep::Done(object) => object,
            step => panic!("there is room, but {step:?}"),
        });
        assert_eq!(mm.huge_outlook().slab_blocks, 2);
        mm.check().expect("all laws hold");
        for object in objects {
            mm.kmem_cache_free(object, 0).expect("it lives");
        }
        mm.check().expect("all laws hold");
    }
}
