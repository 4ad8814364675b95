//! Searches with the cache do what searches without it do.

use alloc::vec;
use alloc::vec::Vec;

use order9_frames::Gfp;
use order9_frames::Request;
use order9_units::{NodeId, Pages, PfnRange, ZoneKind};

use super::*;
use crate::Mm;
use crate::compaction::run::control::{CompactControl, Compactor};
use crate::compaction::source::free_lists::search_orders;
use crate::env::CompactPriority;
use crate::heard::skipped_entries::LOWEST;
use crate::policy::Policy;
use crate::{Layout, MmBuilder, NodeSpec, ZoneSpec};

const BASE: u64 = 1 << 20;
const BLOCKS: u64 = 48;
const ZONE: ZoneId = ZoneId(0);
/// Past the only CPU, so that blocks go to the lists at once.
const NO_CPU: usize = 1;

/// Numbers that look random.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// A zone in use, in blocks of several orders.
fn full() -> (Mm, Vec<Pfn>) {
    let span = PfnRange::of(Pfn::new(BASE), Pages::new(BLOCKS * 512));
    let layout = Layout {
        nodes: vec![NodeSpec { distances: vec![10] }],
        zones: vec![ZoneSpec { node: NodeId(0), kind: ZoneKind::Normal, span }],
        cpus: vec![NodeId(0)],
        ..Layout::default()
    };
    let mut mm = MmBuilder::new(&layout, Policy::default()).expect("one zone is a layout").boot();
    mm.phys.frames.watch_mut().skipped_entries.min_len = 2;
    let mut used = Vec::new();
    for order in [8, 7, 6, 3].into_iter().cycle() {
        match mm.alloc_fast(&request(order)) {
            Ok(pfn) => used.push(pfn),
            Err(_) => break,
        }
    }
    (mm, used)
}

fn request(order: u8) -> Request {
    let order = Order::new(order).expect("an order");
    Request { cpu: NO_CPU, ..Request::new(order, Gfp::GFP_HIGHUSER_MOVABLE) }
}

/// A search of a run whose scanners stand at these pageblocks: what it finds, and how many blocks it visits.
fn searches(mm: &mut Mm, scanners: [u64; 2], fails: u32) -> (Option<Pfn>, u64) {
    let by = Compactor::Direct(CompactPriority::Async);
    let mut run = CompactControl::new(by, ZONE, Some(Order::PAGEBLOCK), ZoneKind::Normal);
    [run.migrate_pfn, run.free_pfn] = scanners.map(|block| Pfn::new(BASE + 512 * block));
    run.fast_search_fail = fails;
    let found = search_orders(&mut mm.phys, &mut mm.compaction, &mut run, Order::PAGEBLOCK, scanners[0] == 0);
    (found.map(|source| source.start), run.totals.migrate_scanned)
}

fn lists(mm: &Mm) -> Vec<Vec<Pfn>> {
    LOWEST
        .to(Order::PAGEBLOCK)
        .map(|order| mm.phys.frames.free_list(ZONE, order, Migratetype::Movable).collect())
        .collect()
}

/// Searches with the cache and searches without find and count alike.
#[test]
fn what_is_passed_as_a_whole_changes_nothing() {
    let mut passed = 0;
    for seed in 0..4 {
        let ((mut mm, mut used), mut dice) = (full(), Dice(seed));
        let mut naive = mm.clone();
        for step in 0..1000 {
            match dice.below(16) {
                0..5 if !used.is_empty() => {
                    let pfn = used.swap_remove(dice.below(used.len() as u64) as usize);
                    [&mut mm, &mut naive].into_iter().for_each(|mm| mm.free(pfn, NO_CPU).expect("it is in use"));
                }
                5..8 => {
                    let request = request(3 + dice.below(6) as u8);
                    let [pfn, other] = [&mut mm, &mut naive].map(|mm| mm.alloc_fast(&request).ok());
                    assert_eq!(pfn, other);
                    used.extend(pfn);
                }
                8 => {
                    let order = Order::new(3 + dice.below(6) as u8).expect("an order");
                    let back = dice.below(8) as usize;
                    for mm in [&mut mm, &mut naive] {
                        let list = mm.phys.frames.zones()[0].list(order, Migratetype::Movable);
                        let chosen = mm.phys.frames.table().iter(list).nth(back);
                        if let Some(idx) = chosen {
                            mm.phys.frames.table_mut().rotate_before(list, idx);
                        }
                    }
                }
                9 if dice.below(40) == 0 => {
                    [&mut mm, &mut naive].into_iter().for_each(|mm| mm.compaction.reset_fully(ZONE, &mut mm.phys));
                }
                _ => {
                    let scanners = [dice.below(3) * 4, BLOCKS - dice.below(20)];
                    let fails = dice.below(6) as u32;
                    passed +=
                        mm.phys.frames.watch().skipped_entries.iter().map(|(.., entries)| entries.len).sum::<u64>();
                    naive.phys.forget_skipped_entries(ZONE);
                    let [remembering, forgetful] = [&mut mm, &mut naive].map(|mm| searches(mm, scanners, fails));
                    assert_eq!(remembering, forgetful, "seed {seed}, step {step}");
                }
            }
            assert_eq!(lists(&mm), lists(&naive), "seed {seed}, step {step}");
            if step % 16 == 0 {
                assert_eq!(mm.check(), Ok(()), "seed {seed}, step {step}");
            }
        }
    }
    assert!(passed > 1000, "there was something to pass: {passed}");
}
