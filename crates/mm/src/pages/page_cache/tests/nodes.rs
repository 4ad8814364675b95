//! Memory of the trees of files.

use alloc::vec::Vec;

use order9_units::{Order, Pages, Pfn};

use super::{Shadow, read_pages};
use crate::fs_cache::FsStep;
use crate::fs_cache::tests::{KERNEL, mounted};
use crate::page_cache::FileId;
use crate::policy::Policy;
use crate::slab::CacheSpec;
use crate::{Gfp, Mm, Request};

/// A machine with a file of 300 pages that is in use.
fn machine(policy: Policy) -> (Mm, FileId) {
    let mut mm = mounted(policy);
    let file = mm.fs_create(Pages::new(300)).expect("there is room");
    assert!(matches!(mm.fs_open_fast(file, &KERNEL), FsStep::Done { .. }));
    (mm, file)
}

/// Live nodes.
fn nodes(mm: &Mm) -> u64 {
    mm.pages
        .slab
        .slab_caches()
        .filter(|cache| cache.spec == CacheSpec::RADIX_TREE_NODE)
        .map(|cache| cache.objects)
        .sum()
}

fn reclaim(mm: &mut Mm, file: FileId, index: u64) {
    let idx = mm.pages.cache.folio_at(file, index, &mm.phys).expect("it was read").head;
    mm.pages.reclaim_from_file(file, index, Some(Shadow(9)), &mut mm.phys);
    mm.pages.disown(idx, 0, &mut mm.phys);
}

#[test]
fn sixty_four_places_take_a_node_until_neither_page_nor_shadow_is_left() {
    let (mut mm, file) = machine(Policy::default());
    read_pages(&mut mm, file, 0, 1);
    assert_eq!(nodes(&mm), 0, "a file of one page needs none");
    read_pages(&mut mm, file, 1, 128);
    assert_eq!(nodes(&mm), 3);
    mm.check().expect("every law holds");
    for index in 0..64 {
        reclaim(&mut mm, file, index);
    }
    assert_eq!(mm.pages.invalidate(file, 64, 0, &mut mm.phys).0, 65);
    assert_eq!(nodes(&mm), 1, "shadows keep the first");
    mm.check().expect("every law holds");
    mm.pages.evict(file, 0, u64::MAX, 0, &mut mm.phys);
    assert_eq!(nodes(&mm), 0);
    mm.check().expect("every law holds");
}

#[test]
fn who_may_not_reclaim_wakes_kswapd_for_a_slab_of_four_pages() {
    for (xarray, order) in [(false, None), (true, Order::new(2))] {
        let mut policy = Policy::default();
        (policy.reclaim.xarray, policy.frames.watermark.boost_factor) = (xarray, None);
        let (mut mm, file) = machine(policy);
        read_pages(&mut mm, file, 0, 1);
        let request = Request::new(Order::ZERO, Gfp::GFP_HIGHUSER_MOVABLE);
        let held: Vec<Pfn> = core::iter::from_fn(|| mm.alloc_fast(&request).ok()).collect();
        mm.add_to_page_cache(file, 1, held[0], 0).expect("the inode is in memory");
        assert_eq!(nodes(&mm), 1, "there is memory above the min mark");
        assert_eq!(mm.phys.daemons.kswapd[0].request.map(|asked| asked.order), order, "xarray {xarray}");
        mm.check().expect("every law holds");
    }
}
