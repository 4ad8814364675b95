//! Calls of the superblock shrinker on a machine with files.

use alloc::vec::Vec;

use order9_units::{NodeId, Pages};

use super::{DropSlab, LruScan, ShrinkControl, ShrinkSlab, ShrinkStep, ShrinkerKind, Shrunk};
use crate::fs_cache::tests::{KERNEL, mounted, used};
use crate::page_cache::FileId;
use crate::page_cache::tests::{flush, read_pages, write_page};
use crate::policy::{InodeCache, Policy, SlabDeferred};
use crate::reclaim::Reclaimer;
use crate::slab::tests::Random;
use crate::trace::Event;
use crate::{Gfp, Mm};

const NODE: NodeId = NodeId(0);

fn control(priority: u8) -> ShrinkControl {
    let by = Reclaimer::Kswapd;
    ShrinkControl { node: NODE, gfp: Gfp::GFP_KERNEL, priority, lru: LruScan::default(), by, cpu: 0 }
}

fn with_files(files: u64) -> Mm {
    let mut mm = mounted(Policy::default());
    for _ in 0..files {
        used(&mut mm);
    }
    mm
}

fn shrink(mm: &mut Mm, control: ShrinkControl) -> Shrunk {
    let mut run = ShrinkSlab::new(control);
    loop {
        match run.step(&mut mm.pages, &mut mm.phys) {
            ShrinkStep::Progress => {}
            ShrinkStep::Done(shrunk) => return shrunk,
        }
    }
}

fn deferred(mm: &Mm) -> u64 {
    mm.pages.deferred_shrinking(NODE).map(|(_, objects)| objects).sum()
}

#[test]
fn a_call_frees_objects_in_order_and_counts_the_frames_that_came_with_them() {
    let mut mm = with_files(2_100);
    let (before, free) = (
        mm.pages.slab.slab_levels(NODE).reclaimable,
        mm.phys.frames.zones()[0].free() + mm.phys.frames.pcp(order9_frames::ZoneId(0), 0).expect("a CPU").count(),
    );
    let shrunk = shrink(&mut mm, control(0));
    mm.check().expect("every law holds");
    // Twice 2100 in whole batches; the first ones meet dentries, and as inodes are left behind, those.
    assert_eq!(mm.counters().slabs_scanned, 4_096);
    assert_eq!(before - mm.pages.slab.slab_levels(NODE).reclaimable, shrunk.pages);
    assert_eq!(mm.counters().slab_pages_freed, shrunk.pages);
    let now =
        mm.phys.frames.zones()[0].free() + mm.phys.frames.pcp(order9_frames::ZoneId(0), 0).expect("a CPU").count();
    assert_eq!(now - free, shrunk.pages);
    assert!(shrunk.objects > 3_000 && shrunk.pages > 100, "{shrunk:?}");
}

#[test]
fn what_makes_no_batch_is_put_off_and_taken_up_later() {
    let mut mm = with_files(4_096);
    let calls = [(); 3].map(|()| {
        shrink(&mut mm, control(3));
        (deferred(&mm), mm.counters().slabs_scanned)
    });
    // A quarter of 4096 makes a batch, that of the 4095 objects left does not.
    assert_eq!(calls, [(0, 1_024), (1_022, 1_024), (1_020, 2_048)]);
}

#[test]
fn requests_that_may_not_enter_filesystems_put_everything_off() {
    let mut mm = with_files(4_096);
    let nofs = ShrinkControl { gfp: Gfp::GFP_NOFS, ..control(0) };
    assert_eq!(shrink(&mut mm, nofs), Shrunk::default());
    assert_eq!((deferred(&mm), mm.counters().slabs_scanned), (8_192, 0));
}

#[test]
fn work_put_off_since_5_13_is_at_most_twice_the_objects() {
    let mut mm = with_files(2_000);
    mm.phys.policy.reclaim.slab_deferred = SlabDeferred::Scaled;
    for _ in 0..9 {
        shrink(&mut mm, ShrinkControl { gfp: Gfp::GFP_NOFS, ..control(0) });
        assert!(deferred(&mm) <= 4_000);
    }
}

#[test]
fn vfs_cache_pressure_scales_what_can_be_freed() {
    let mut mm = with_files(1_000);
    assert_eq!(mm.pages.fs_freeable(NODE, &mm.phys), 1_000);
    for (pressure, freeable) in [(50, 500), (0, 0), (200, 2_000)] {
        mm.tune(|tunables| tunables.vfs_cache_pressure = pressure);
        assert_eq!(mm.pages.fs_freeable(NODE, &mm.phys), freeable);
    }
    mm.tune(|tunables| tunables.vfs_cache_pressure = 0);
    assert_eq!(shrink(&mut mm, control(0)), Shrunk::default());
}

#[test]
fn page_cache_dropped_with_inodes_is_counted_by_who_reclaims() {
    for (by, counted) in [(Reclaimer::Kswapd, (0, 700)), (Reclaimer::Direct, (700, 0))] {
        let mut mm = with_files(0);
        for _ in 0..100 {
            let id = used(&mut mm);
            read_pages(&mut mm, id, 0, 7);
        }
        let mut pages = 0;
        for _ in 0..3 {
            let mut run = ShrinkSlab::new(ShrinkControl { by, ..control(0) });
            loop {
                match run.step(&mut mm.pages, &mut mm.phys) {
                    ShrinkStep::Progress => {}
                    ShrinkStep::Done(shrunk) => break pages += shrunk.pages,
                }
            }
        }
        assert_eq!((mm.counters().pginodesteal, mm.counters().kswapd_inodesteal), counted);
        assert!(pages >= 700, "{pages} pages, of which 700 were page cache");
        assert_eq!(mm.pages.fs_freeable(NODE, &mm.phys), 0, "everything went in the end");
        mm.check().expect("every law holds");
    }
}

#[test]
fn a_call_is_traced_as_on_linux() {
    let mut mm = with_files(4_096).traced();
    let mut run = ShrinkSlab::new(control(3));
    while !matches!(run.step(&mut mm.pages, &mut mm.phys), ShrinkStep::Done(_)) {}
    let shrinking = |event: &&Event| matches!(event, Event::ShrinkSlabStart { .. } | Event::ShrinkSlabEnd { .. });
    let events: Vec<_> = mm.phys.events_mut().iter().filter(shrinking).copied().collect();
    let (shrinker, node) = (ShrinkerKind::Superblock, NODE);
    let start = Event::ShrinkSlabStart {
        shrinker,
        node,
        deferred: 0,
        gfp: Gfp::GFP_KERNEL,
        cache_items: 4_096,
        delta: 1_024,
        total_scan: 1_024,
        priority: 3,
    };
    let end = Event::ShrinkSlabEnd { shrinker, node, freed: 1_025, deferred: 0, new_deferred: 0, total_scan: 0 };
    assert_eq!(events, [start, end]);
}

#[test]
fn dropping_slab_leaves_what_is_in_use() {
    for doubles in [false, true] {
        let mut mm = with_files(3_000);
        mm.phys.policy.reclaim.drop_slab_doubles = doubles;
        let held = mm.fs_create(Pages::new(8)).expect("there is room");
        mm.fs_open_fast(held, &KERNEL);
        let mut drop = DropSlab::new(0, &mut mm.phys);
        let dropped = loop {
            match drop.step(&mut mm.pages, &mut mm.phys) {
                ShrinkStep::Done(dropped) => break dropped,
                step => assert_eq!(step, ShrinkStep::Progress),
            }
        };
        assert_eq!((dropped.objects, mm.counters().drop_slab), (6_000, 1));
        assert_eq!(mm.pages.is_cached(held), Some((true, true)));
        // What is left pins two slabs, and a few empty ones stay with their caches.
        assert!(mm.pages.slab.slab_levels(NODE).reclaimable <= 6 * (8 + 1), "{:?}", mm.pages.slab.slab_levels(NODE));
        mm.check().expect("every law holds");
    }
}

#[test]
fn files_and_shrinkers_that_take_turns_keep_every_law() {
    for inode_cache in [InodeCache::DroppedWithInode, InodeCache::KeepsInode] {
        let mut policy = Policy::default();
        policy.reclaim.inode_cache = inode_cache;
        let (mut mm, mut random) = (mounted(policy), Random(3));
        let mut files: Vec<FileId> = (0..3_000).map(|_| mm.fs_create(Pages::new(8)).expect("there is room")).collect();
        let mut runs = [0, 1].map(|priority| ShrinkSlab::new(control(priority)));
        for step in 0..40_000 {
            let at = random.below(files.len() as u64) as usize;
            let id = files[at];
            let is_cached = mm.pages.is_cached(id).is_some_and(|(inode, _)| inode);
            match random.below(8) {
                0..=1 => drop(mm.fs_open_fast(id, &KERNEL)),
                2..=4 => drop(mm.pages.fs_close(id)),
                5 if is_cached => read_pages(&mut mm, id, 0, 3),
                6 if is_cached => write_page(&mut mm, id, random.below(4), step),
                5..=6 => flush(&mut mm, step),
                _ if mm.fs_unlink(id, 0).is_ok() => files[at] = mm.fs_create(Pages::new(8)).expect("there is room"),
                _ => {}
            }
            if step % 5 == 0 {
                let run = &mut runs[random.below(2) as usize];
                if let ShrinkStep::Done(_) = run.step(&mut mm.pages, &mut mm.phys) {
                    *run = ShrinkSlab::new(control(random.below(4) as u8));
                }
            }
            if step % 2_000 == 0 {
                mm.check().expect("every law holds");
            }
        }
        assert!(mm.counters().slabs_scanned > 5_000, "{}", mm.counters().slabs_scanned);
    }
}
