//! Slots that khugepaged collapses, by release.

use alloc::vec::Vec;

use order9_units::{NodeId, NodeMask, Pages, Pfn, PfnRange, ZoneKind};

use super::khugepaged::{base_pages, pass, set};
use super::splits::reclaim;
use super::{CPU, HUGE, HugeEnabled, access, at, boot, fork, frame, is_huge, pages, program, write};
use crate::policy::{NewAnon, Policy};
use crate::space::{Access, Madvise, Pte, PteFlag, SpaceId};
use crate::thp::rules::Collapser;
use crate::thp::{CollapseFailure, KhugepagedStep};
use crate::{Gfp, Layout, Mm, MmBuilder, NodeSpec, ZoneSpec};

/// The rules of a release, by the two switches that they follow from.
fn release(max_ptes_swap: bool, max_ptes_shared: bool) -> Policy {
    let mut policy = Policy::default();
    (policy.thp.max_ptes_swap, policy.thp.max_ptes_shared) = (max_ptes_swap, max_ptes_shared);
    policy
}

/// Rules of 4.4 to 4.7, 4.8 to 5.7, and 5.8 on.
fn releases() -> [Policy; 3] {
    [release(false, false), release(true, false), release(true, true)]
}

/// Writes the pages of the first slot up to `count`.
fn fill(mm: &mut Mm, space: SpaceId, count: u64) {
    mm.phys.set_thp_enabled(HugeEnabled::Never);
    (0..count).for_each(|page| write(mm, space, page));
    mm.phys.set_thp_enabled(HugeEnabled::Always);
}

/// Why the slot of a plan fails with the huge page in hand, if it was found at all.
fn in_hand(mm: &mut Mm) -> Option<Result<(), CollapseFailure>> {
    mm.pages.huge.khugepaged_begin_pass();
    mm.khugepaged_next()?;
    let KhugepagedStep::Found(found) = mm.khugepaged_scan() else { return None };
    let page = mm.alloc_fast(&found.request(CPU)).expect("memory is free");
    Some(mm.collapse_finish(&found, page, CPU))
}

/// Makes all pages of the first slot old.
fn age(mm: &mut Mm, space: SpaceId, count: u64) {
    let table = mm.pages.spaces.living(space).table.table_mut(at(0).vpn()).expect("the slot has a table");
    for page in 0..count {
        let pte = table.get(at(page).vpn());
        table.set(at(page).vpn(), pte.with(PteFlag::Young, false));
    }
}

#[test]
fn empty_pages_are_taken_up_to_a_limit() {
    for policy in releases() {
        let (mut mm, spaces) = base_pages(policy, &[1]);
        fill(&mut mm, spaces[0], 412);
        set(&mut mm, "max_ptes_none", 99);
        pass(&mut mm, true);
        assert!(!is_huge(&mm, spaces[0], 0), "100 are empty");
        set(&mut mm, "max_ptes_none", 100);
        pass(&mut mm, true);
        assert!(is_huge(&mm, spaces[0], 0));
        assert_eq!(mm.space(spaces[0]).unwrap().rss().anon_pages, 512, "the program has more memory than it used");
    }
}

#[test]
fn pages_of_others_are_taken_from_5_8_on_up_to_a_limit() {
    for (policy, limit, huge) in [
        (release(false, false), 511, false),
        (release(true, false), 511, false),
        (release(true, true), 300, true),
        (release(true, true), 299, false),
    ] {
        let has_limit = policy.thp.max_ptes_shared;
        let (mut mm, spaces) = base_pages(policy, &[1]);
        fill(&mut mm, spaces[0], 400);
        let _child = fork(&mut mm, spaces[0]);
        fill(&mut mm, spaces[0], 100);
        if has_limit {
            set(&mut mm, "max_ptes_shared", limit);
        }
        pass(&mut mm, true);
        assert_eq!(is_huge(&mm, spaces[0], 0), huge, "300 are shared, {limit} may be");
    }
}

#[test]
fn pages_in_swap_are_read_back_up_to_a_limit() {
    let found = |mut policy: Policy, limit| {
        policy.reclaim.new_anon = NewAnon::Inactive;
        let has_limit = policy.thp.max_ptes_swap;
        let mut mm = boot(policy);
        mm.pages.swap.swapon(Pages::new(4096));
        let space = program(&mut mm, HUGE);
        fill(&mut mm, space, 64);
        (0..4).for_each(|_| {
            reclaim(&mut mm);
        });
        assert_eq!(mm.space(space).unwrap().swapped(), Pages::new(64));
        (64..400).for_each(|page| write(&mut mm, space, page));
        mm.madvise(space, at(0), pages(HUGE), Madvise::HugePage, CPU).unwrap();
        if has_limit {
            set(&mut mm, "max_ptes_swap", limit);
        }
        mm.pages.huge.khugepaged_begin_pass();
        mm.khugepaged_next().expect("the space is registered");
        let KhugepagedStep::Found(found) = mm.khugepaged_scan() else { return false };
        let page = mm.alloc_fast(&found.request(CPU)).expect("memory is free");
        while let Some(addr) = mm.pages.collapse_swapped(&found, &mm.phys) {
            access(&mut mm, space, addr, Access::Read, true);
        }
        assert_eq!(mm.collapse_finish(&found, page, CPU), Ok(()));
        assert!(mm.counters().pswpin > 0 && mm.space(space).unwrap().swapped() == Pages::ZERO);
        true
    };
    let [first, second, third] = releases();
    assert!(!found(first, 0), "no page may be in swap");
    assert!(!found(second.clone(), 63) && found(second, 64));
    assert!(!found(third.clone(), 63) && found(third, 64));
}

#[test]
fn parts_of_huge_pages_are_collapsed_from_5_8_on() {
    for (policy, huge) in releases().into_iter().zip([false, false, true]) {
        let mut mm = boot(policy);
        let space = program(&mut mm, HUGE);
        write(&mut mm, space, 0);
        mm.madvise(space, at(0), pages(7), Madvise::DontNeed, CPU).unwrap();
        pass(&mut mm, true);
        assert_eq!(is_huge(&mm, space, 0), huge);
    }
}

#[test]
fn pinned_pages_forbid_it() {
    for policy in releases() {
        let (mut mm, spaces) = base_pages(policy, &[1]);
        mm.pin(frame(&mm, spaces[0], 0)).unwrap();
        pass(&mut mm, true);
        assert_eq!((is_huge(&mm, spaces[0], 0), mm.counters().thp_collapse_alloc), (false, 0));
    }
}

#[test]
fn something_must_be_writable() {
    for policy in releases() {
        let mut mm = boot(policy);
        mm.phys.set_thp_enabled(HugeEnabled::Never);
        let space = program(&mut mm, HUGE);
        access(&mut mm, space, at(0), Access::Read, true);
        mm.phys.set_thp_enabled(HugeEnabled::Always);
        mm.madvise(space, at(0), pages(HUGE), Madvise::HugePage, CPU).unwrap();
        pass(&mut mm, true);
        assert!(!is_huge(&mm, space, 0));
    }
}

#[test]
fn something_must_have_been_used() {
    for policy in releases() {
        let (mut mm, spaces) = base_pages(policy, &[1]);
        fill(&mut mm, spaces[0], 400);
        age(&mut mm, spaces[0], 400);
        assert_eq!(in_hand(&mut mm), None);
    }
}

#[test]
fn from_4_8_to_5_7_half_must_have_been_used_which_is_asked_late() {
    let ends: Vec<_> = releases()
        .into_iter()
        .map(|policy| {
            let (mut mm, spaces) = base_pages(policy, &[1]);
            fill(&mut mm, spaces[0], 400);
            age(&mut mm, spaces[0], 145);
            in_hand(&mut mm)
        })
        .collect();
    assert_eq!(ends, [Some(Ok(())), Some(Err(CollapseFailure::LackReferencedPage)), Some(Ok(()))]);
    let (mut mm, spaces) = base_pages(release(true, false), &[1]);
    fill(&mut mm, spaces[0], 256);
    assert_eq!(in_hand(&mut mm), Some(Ok(())), "256 were used");
}

/// Two empty nodes at the usual distance.
fn two_nodes(policy: Policy) -> Mm {
    nodes_apart(policy, 20)
}

fn nodes_apart(policy: Policy, far: u32) -> Mm {
    let zone = |node: u16| {
        let span = PfnRange::of(Pfn::new((1 + u64::from(node)) << 20), Pages::new(4 << 10));
        ZoneSpec { node: NodeId(node), kind: ZoneKind::Normal, span }
    };
    let layout = Layout {
        nodes: alloc::vec![NodeSpec { distances: alloc::vec![10, far] }, NodeSpec { distances: alloc::vec![far, 10] }],
        zones: alloc::vec![zone(0), zone(1)],
        cpus: alloc::vec![NodeId(0)],
        ..Layout::default()
    };
    MmBuilder::new(&layout, policy).expect("the layout is sound").boot()
}

#[test]
fn pages_of_far_nodes_stay_apart_where_zone_reclaim_mode_keeps_memory_near() {
    let scan_abort = |mode: u64, far, nodes: &[u64]| {
        let mut mm = nodes_apart(Policy::default(), far);
        mm.tune(|tunables| tunables.zone_reclaim_mode = mode);
        let pages = nodes.iter().zip(0..).map(|(node, at)| mm.phys.frames.at(Pfn::new(((1 + node) << 20) + at)));
        let entries: Vec<Pte> = pages.map(Pte::present).collect();
        mm.phys.scan_abort(&entries)
    };
    assert_eq!(scan_abort(1, 30, &[0, 1, 0]), Ok(()));
    assert_eq!(scan_abort(1, 31, &[0, 1, 0]), Err(CollapseFailure::ScanAbort));
    assert_eq!(scan_abort(1, 31, &[1, 1]), Ok(()), "all on one node");
    assert_eq!(scan_abort(0, 31, &[0, 1]), Ok(()), "it does not matter");
}

/// Node and other nodes that are asked for the frames `near` of node 0 and `far` of node 1.
fn asked(mm: &mut Mm, by: Collapser, near: u64, far: u64) -> (u16, Option<u64>, bool) {
    let frames = |node: u64, count| (0..count).map(move |at| Pfn::new(((1 + node) << 20) + at));
    let pages: Vec<_> = frames(0, near).chain(frames(1, far)).map(|pfn| Some(mm.phys.frames.at(pfn))).collect();
    let request = mm.pages.huge.where_to_collapse(&pages, by, &mm.phys);
    (request.node.0, request.nodemask.map(NodeMask::bits), request.gfp.has(Gfp::THISNODE))
}

#[test]
fn of_equal_nodes_the_next_one_is_taken() {
    use Collapser::{Khugepaged, Madvise};
    let mut mm = two_nodes(Policy::default());
    let full = [(2, 2), (2, 2), (2, 2), (1, 2), (2, 1), (2, 2)];
    let nodes = full.map(|(near, far)| asked(&mut mm, Khugepaged, near, far));
    let at = |node| (node, None, true);
    assert_eq!(nodes, [at(0), at(1), at(0), at(1), at(0), at(1)]);
    assert_eq!([0; 2].map(|_| asked(&mut mm, Madvise, 2, 2)), [at(0), at(0)], "MADV_COLLAPSE has no turn");
}

#[test]
fn from_6_2_on_any_of_equal_nodes_will_do() {
    let mut policy = Policy::default();
    policy.thp.collapse_equal_nodes = true;
    let mut mm = two_nodes(policy);
    for by in [Collapser::Khugepaged, Collapser::Madvise] {
        let asked = [(2, 2), (2, 2), (1, 2), (2, 1)].map(|(near, far)| asked(&mut mm, by, near, far));
        let of = |node, mask| (node, Some(mask), false);
        assert_eq!(asked, [of(0, 0b11), of(0, 0b11), of(1, 0b10), of(0, 0b01)], "{by:?}");
    }
}
