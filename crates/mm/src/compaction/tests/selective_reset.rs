//! The selective reset of skip hints.

use crate::slab::tests::Random;
use order9_frames::Idx;
use order9_units::{Migratetype, Order};

use super::*;

/// Nine pageblocks of kernel memory but for these frames, of which all hints are set.
fn marked(frames: &[(u64, F)]) -> World {
    let mut all = vec![F::Kernel; 9 * 512];
    frames.iter().for_each(|&(at, frame)| all[at as usize] = frame);
    let world = World::new(classic_with(|rules| rules.skip_reset = SkipReset::Selective), &all);
    world.with(|mm| (0..9).for_each(|block| mm.compaction.skip.set(block, true)));
    world
}

/// A zone of many pageblocks, most of them huge and most hints set.
fn mostly_huge(seed: u64) -> World {
    let mut random = Random(seed);
    let mut frames = Vec::new();
    let kinds = [F::Kernel, F::Page, F::Free];
    let blocks = 40 + random.below(300);
    for _ in 0..blocks {
        let kind = kinds.get(random.below(40) as usize).copied().unwrap_or(F::Huge);
        frames.extend([kind; 512]);
    }
    let world = World::new(classic_with(|rules| rules.skip_reset = SkipReset::Selective), &frames);
    world.with(|mm| (0..blocks as usize).for_each(|block| mm.compaction.skip.set(block, random.below(8) > 0)));
    world
}

#[test]
fn huge_pageblocks_that_are_known_are_walked_as_those_that_are_not() {
    for seed in 0..60 {
        let [known, unknown] = [true, false].map(|known| {
            let world = mostly_huge(seed);
            let blocks = world.with(|mm| mm.phys.frames.blocks().len());
            if known {
                world.with(|mm| {
                    for block in 0..blocks {
                        mm.phys.note_huge_block(Idx((block as u32) << Order::PAGEBLOCK.get()));
                    }
                });
            }
            let marked = reset(&world, true);
            world.with(|mm| {
                let of = &mm.compaction.zones[0];
                (
                    marked,
                    of.cached_migrate,
                    of.cached_free,
                    of.init_migrate,
                    of.init_free,
                    mm.phys.work.scanned_unlocked,
                )
            })
        });
        assert_eq!(known, unknown, "seed {seed}");
    }
}

/// Resets the hints, on demand or without; the pageblocks that are marked after that.
fn reset(world: &World, demand: bool) -> Vec<u64> {
    world.with(|mm| {
        mm.compaction.zones[0].blockskip_flush = demand;
        mm.compaction.reset_selectively(crate::ZoneId(0), &mut mm.phys);
        assert!(!mm.compaction.zones[0].blockskip_flush, "the demand is met");
    });
    world.skipped()
}

#[test]
fn hints_are_forgotten_on_demand_where_there_is_something_to_do() {
    let world = marked(&[(2 * 512, F::Page), (6 * 512, F::Free)]);
    assert_eq!(reset(&world, false), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(reset(&world, true), [0, 1, 3, 4, 5, 7, 8]);
    let zone = |mm: &mut Mm| {
        let of = &mm.compaction.zones[0];
        [of.cached_migrate[0], of.cached_migrate[1], of.init_migrate, of.cached_free, of.init_free]
    };
    let starts = [2, 2, 2, 6, 6].map(|block| Pfn::new(BASE + 512 * block));
    assert_eq!(world.with(zone), starts, "runs start at the outermost of them");
}

#[test]
fn one_frame_in_eight_is_looked_at_all_over_the_pageblock() {
    let world = marked(&[(2 * 512 + 504, F::Page), (3 * 512 + 505, F::Page), (6 * 512 + 504, F::Free)]);
    assert_eq!(reset(&world, true), [0, 1, 3, 4, 5, 7, 8], "frame 505 is no sample");
}

#[test]
fn pages_are_moved_to_movable_pageblocks_only() {
    let world = marked(&[(2 * 512, F::Page), (6 * 512, F::Free), (7 * 512, F::Free)]);
    world.with(|mm| {
        let block = mm.phys.frames.at(Pfn::new(BASE + 7 * 512)).block();
        mm.phys.frames.retype_block(block, Migratetype::Unmovable);
    });
    assert_eq!(reset(&world, true), [0, 1, 3, 4, 5, 7, 8]);
}
