//! Slab caches on a small machine: where objects and pages come from and where they go.

use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;

use order9_frames::Request;
use order9_units::{Bytes, Migratetype, NodeId, Order, PAGE_SIZE, Pages, Pfn, PfnRange, ZoneKind};

use super::{CacheError, CacheId, CacheSpec, NewSlab, Object, ObjectStep, SlabError};
use crate::alloc_error::AllocError;
use crate::policy::Policy;
use crate::{Gfp, Layout, Mm, MmBuilder, NodeSpec, ZoneSpec};

const KERNEL: Request = Request::new(Order::ZERO, Gfp::GFP_KERNEL);

/// `nodes` nodes of 32 MiB each.
fn machine(nodes: u64) -> Mm {
    let zone = |node: u64| ZoneSpec {
        node: NodeId(node as u16),
        kind: ZoneKind::Normal,
        span: PfnRange::of(Pfn::new((1 << 20) + (node << 14)), Pages::new(1 << 13)),
    };
    let distances = |node| (0..nodes).map(|other| if node == other { 10 } else { 20 }).collect();
    let layout = Layout {
        nodes: (0..nodes).map(|node| NodeSpec { distances: distances(node) }).collect(),
        zones: (0..nodes).map(zone).collect(),
        cpus: vec![NodeId(0); 1],
        ..Layout::default()
    };
    MmBuilder::new(&layout, Policy::default()).expect("the layout is sound").boot()
}

fn create(mm: &mut Mm, spec: CacheSpec) -> CacheId {
    mm.kmem_cache_create(spec).expect("the cache is sound")
}

fn take(mm: &mut Mm, cache: CacheId) -> Object {
    match mm.kmem_cache_alloc_fast(cache, &KERNEL) {
        ObjectStep::Done(object) => object,
        other => panic!("{other:?}"),
    }
}

fn free(mm: &mut Mm, object: Object) -> u64 {
    mm.kmem_cache_free(object, 0).expect("the object lives")
}

/// Source of the same numbers on every machine.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        (1..items.len()).rev().for_each(|last| items.swap(last, self.below(last as u64 + 1) as usize));
    }
}

#[test]
fn typical_caches_have_the_published_numbers_of_objects() {
    let mut mm = machine(1);
    let specs = [CacheSpec::DENTRY, CacheSpec::EXT4_INODE, CacheSpec::XFS_INODE];
    let caches = specs.map(|spec| create(&mut mm, spec));
    assert_eq!(caches.map(|cache| mm.pages.slab.caches[cache.index()].per_slab), [21, 30, 32]);
    assert_eq!(caches.map(|cache| mm.pages.slab.caches[cache.index()].min_partial), [5, 5, 5]);
}

#[test]
fn impossible_caches_are_refused() {
    let mut mm = machine(1);
    let spec = |bytes, order| CacheSpec {
        name: "odd",
        object_size: Bytes::new(bytes),
        order: Order::new(order).expect("an order"),
        reclaimable: false,
    };
    for (spec, error) in [
        (spec(0, 0), CacheError::Size(spec(0, 0))),
        (spec(1 << 23, 10), CacheError::Size(spec(1 << 23, 10))),
        (spec(4097, 0), CacheError::Order(spec(4097, 0))),
        (spec(8, 10), CacheError::Order(spec(8, 10))),
    ] {
        assert_eq!(mm.kmem_cache_create(spec), Err(error));
    }
    let none = CacheId(7);
    assert_eq!(mm.kmem_cache_alloc(none, &KERNEL), ObjectStep::Failed(SlabError::NoSuchCache(none)));
    let cache = create(&mut mm, CacheSpec::DENTRY);
    let nowhere = Request { node: NodeId(9), ..KERNEL };
    let error = SlabError::NoPage(AllocError::NoSuchNode(NodeId(9)));
    assert_eq!(mm.kmem_cache_alloc(cache, &nowhere), ObjectStep::Failed(error));
    let object = Object { cache, number: 3 };
    assert_eq!(mm.kmem_cache_free(object, 0), Err(SlabError::NotLive(object)));
}

#[test]
fn one_live_object_pins_all_frames_of_its_slab() {
    let mut mm = machine(1);
    let cache = create(&mut mm, CacheSpec::EXT4_INODE);
    let objects: Vec<_> = (0..30 * 7).map(|_| take(&mut mm, cache)).collect();
    assert_eq!(mm.pages.slab.slab_levels(NodeId(0)).reclaimable, 7 * 8);
    // Five slabs with room stay, empty or not; the others go with their last object.
    for slab in objects.chunks(30) {
        assert!(slab[1..].iter().all(|&object| free(&mut mm, object) == 0));
    }
    let freed: Vec<_> = objects.chunks(30).map(|slab| free(&mut mm, slab[0])).collect();
    assert_eq!(freed, [8, 8, 8, 0, 0, 0, 0], "only while five or more slabs have room");
    mm.check().expect("every law holds");
}

#[test]
fn pages_are_of_the_type_that_a_shrinker_can_free_or_not() {
    let mut mm = machine(1);
    let kept = create(&mut mm, CacheSpec { name: "task_struct", reclaimable: false, ..CacheSpec::XFS_INODE });
    let freed = create(&mut mm, CacheSpec::XFS_INODE);
    for (cache, mt) in [(kept, Migratetype::Unmovable), (freed, Migratetype::Reclaimable)] {
        let ObjectStep::NeedPage(need) = mm.kmem_cache_alloc(cache, &KERNEL) else { panic!("there is no slab") };
        assert_eq!(need.request().gfp.migratetype(), Some(mt));
        let page = mm.alloc_fast(&need.request()).expect("there is memory");
        assert!(matches!(mm.kmem_cache_give(&need, Ok(page)), ObjectStep::Done(_)));
        assert!(mm.free(page, 0).is_err(), "a slab is its cache's");
    }
    assert_eq!((mm.pages.slab.total().reclaimable, mm.pages.slab.total().unreclaimable), (8, 8));
    mm.check().expect("every law holds");
}

#[test]
fn the_preferred_order_is_tried_without_reclaim_and_then_the_smallest_one() {
    let mut mm = machine(1);
    let cache = create(&mut mm, CacheSpec::XFS_INODE);
    let need = |step: ObjectStep| -> NewSlab {
        match step {
            ObjectStep::NeedPage(need) => need,
            other => panic!("{other:?}"),
        }
    };
    let first = need(mm.kmem_cache_alloc(cache, &KERNEL));
    let gfp = first.request().gfp;
    assert_eq!(first.request().order.get(), 3);
    assert!(gfp.has(Gfp::NORETRY | Gfp::NOWARN) && !gfp.has(Gfp::DIRECT_RECLAIM) && !gfp.has(Gfp::KSWAPD_RECLAIM));
    let second = need(mm.kmem_cache_give(&first, Err(AllocError::NoneAboveWatermark)));
    assert_eq!((second.request().order, second.request().gfp), (Order::ZERO, Gfp::GFP_KERNEL | Gfp::RECLAIMABLE));
    let page = mm.alloc_fast(&second.request()).expect("there is memory");
    assert!(matches!(mm.kmem_cache_give(&second, Ok(page)), ObjectStep::Done(_)));
    for _ in 1..4 {
        take(&mut mm, cache);
    }
    assert_eq!(mm.pages.slab.slab_levels(NodeId(0)).reclaimable, 1, "four inodes fit a page");
    take(&mut mm, cache);
    assert_eq!(mm.pages.slab.slab_levels(NodeId(0)).reclaimable, 9);
    mm.check().expect("every law holds");
    let refused = mm.kmem_cache_give(&second, Err(AllocError::NoZone));
    assert_eq!(refused, ObjectStep::Failed(SlabError::NoPage(AllocError::NoZone)));
}

#[test]
fn a_pin_keeps_the_page_of_a_slab_that_is_gone() {
    let mut mm = machine(1);
    let spec = CacheSpec { name: "page", object_size: PAGE_SIZE, order: Order::ZERO, reclaimable: false };
    let cache = create(&mut mm, spec);
    let objects: Vec<_> = (0..7).map(|_| take(&mut mm, cache)).collect();
    let frames: Vec<_> = mm.pages.slab.caches[0].slabs().map(|(_, slab)| mm.phys.frames.pfn(slab.frame)).collect();
    frames.iter().for_each(|&pfn| mm.pin(pfn).expect("it is allocated"));
    let freed: u64 = objects.into_iter().map(|object| free(&mut mm, object)).sum();
    mm.check().expect("every law holds");
    assert_eq!((freed, mm.pages.slab.total().unreclaimable), (1, 6), "half of log2 4096 slabs stay");
    for pfn in frames {
        mm.unpin(pfn).expect("it is pinned");
    }
    mm.check().expect("every law holds");
}

#[test]
fn slabs_of_other_nodes_serve_before_new_ones_are_made() {
    let mut mm = machine(2);
    let cache = create(&mut mm, CacheSpec::DENTRY);
    let far = Request { node: NodeId(1), ..KERNEL };
    assert!(matches!(mm.kmem_cache_alloc_fast(cache, &far), ObjectStep::Done(_)));
    assert!(matches!(mm.kmem_cache_alloc(cache, &KERNEL), ObjectStep::Done(_)));
    assert_eq!(
        (mm.pages.slab.slab_levels(NodeId(0)).reclaimable, mm.pages.slab.slab_levels(NodeId(1)).reclaimable),
        (0, 1)
    );
    mm.check().expect("every law holds");
}

#[test]
fn objects_and_pages_balance_whatever_is_done() {
    let mut mm = machine(2);
    let caches = [CacheSpec::DENTRY, CacheSpec::EXT4_INODE].map(|spec| create(&mut mm, spec));
    let (mut random, mut live) = (Random(1), Vec::new());
    for step in 0..6_000 {
        let grows = random.below(100) < if step / 1_500 % 2 == 0 { 70 } else { 25 };
        if grows || live.is_empty() {
            let asked = Request { node: NodeId(random.below(2) as u16), ..KERNEL };
            match mm.kmem_cache_alloc_fast(caches[random.below(2) as usize], &asked) {
                ObjectStep::Done(object) => live.push(object),
                other => panic!("{other:?}"),
            }
        } else {
            let object = live.swap_remove(random.below(live.len() as u64) as usize);
            free(&mut mm, object);
            assert_eq!(mm.kmem_cache_free(object, 0), Err(SlabError::NotLive(object)), "twice");
        }
        if step % 500 == 0 {
            mm.check().expect("every law holds");
        }
    }
    assert_eq!(live.iter().collect::<BTreeSet<_>>().len(), live.len(), "no object is handed out twice");
    for object in live {
        free(&mut mm, object);
    }
    let left = mm.pages.slab.total();
    assert!(left.reclaimable <= 2 * (5 + 5 * 8) && left.unreclaimable == 0, "{left:?}");
    mm.check().expect("every law holds");
}

/// Share of the slabs of dentries that are left when a random share of the dentries is freed, in 1/1000.
fn left_after_freeing(percent: usize) -> u64 {
    let mut mm = machine(1);
    let cache = create(&mut mm, CacheSpec::DENTRY);
    let mut objects: Vec<_> = (0..21 * 4_000).map(|_| take(&mut mm, cache)).collect();
    Random(2).shuffle(&mut objects);
    for &object in &objects[..objects.len() * percent / 100] {
        free(&mut mm, object);
    }
    mm.check().expect("every law holds");
    mm.pages.slab.slab_levels(NodeId(0)).reclaimable * 1_000 / 4_000
}

#[test]
fn freeing_half_of_all_dentries_at_random_frees_hardly_a_page() {
    assert_eq!(left_after_freeing(50), 1_000);
}

#[test]
fn slabs_come_free_with_the_power_of_the_share_freed() {
    // 0.9^21 is 0.11 and 0.99^21 is 0.81.
    let (most, nearly_all) = (left_after_freeing(90), left_after_freeing(99));
    assert!((870..=910).contains(&most), "{most}");
    assert!((170..=210).contains(&nearly_all), "{nearly_all}");
}

#[test]
fn an_object_costs_little_to_keep() {
    let mut mm = machine(1);
    let cache = create(&mut mm, CacheSpec::DENTRY);
    for _ in 0..21 * 4_096 {
        take(&mut mm, cache);
    }
    let bits = mm.pages.slab.bytes() as u64 * 8 / (21 * 4_096);
    assert!(bits <= 10, "{bits} bits per dentry, of which its slab is 160/21");
}
