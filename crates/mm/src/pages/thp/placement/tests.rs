//! Lists of attempts: of each placement, on machines of two and four nodes.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use alloc::{format, vec};

use order9_frames::{AllocFlags, Gfp, Mark, NodeUse, Request};
use order9_units::{NodeId, NodeMask, Order, Pages, Pfn, PfnRange, ZoneKind};

use super::{HugeAsk, HugePlacement, HugePrices, Nodes};
use crate::access_level::AccessLevels;
use crate::policy::{Policy, ThpPolicy};
use crate::space::{Access, Errno, FaultStep, Madvise, MmapRequest, Place, VirtAddr};
use crate::thp::{HugeDefrag, HugeEnabled};
use crate::{Layout, Mm, MmBuilder, NodeSpec, ZoneSpec};

/// Nodes of 32 MiB with these distances, a CPU each.
fn boot(distances: &[Vec<u32>], thp: ThpPolicy) -> Mm {
    let pages = Pages::new(16 * 512);
    let span = |node: u64| PfnRange::of(Pfn::new((1 << 20) + node * pages.get()), pages);
    let zone = |node: u64| ZoneSpec { node: NodeId(node as u16), kind: ZoneKind::Normal, span: span(node) };
    let layout = Layout {
        nodes: distances.iter().map(|row| NodeSpec { distances: row.clone() }).collect(),
        zones: (0..distances.len() as u64).map(zone).collect(),
        cpus: (0..distances.len() as u16).map(NodeId).collect(),
        ..Layout::default()
    };
    MmBuilder::new(&layout, Policy { thp, ..Policy::default() }).expect("the layout is sound").boot()
}

/// Two sockets of two nodes.
fn four() -> Vec<Vec<u32>> {
    vec![vec![10, 16, 32, 32], vec![16, 10, 32, 32], vec![32, 32, 10, 16], vec![32, 32, 16, 10]]
}

fn two() -> Vec<Vec<u32>> {
    vec![vec![10, 21], vec![21, 10]]
}

fn ask(placement: HugePlacement) -> HugeAsk {
    let rights = Gfp::GFP_TRANSHUGE;
    HugeAsk {
        placement,
        home: NodeId(0),
        allowed: None,
        uses: NodeUse::Ordinary,
        in_order: false,
        rights,
        advised: false,
        takes_base: true,
    }
}

/// Every attempt of a search that finds nothing: nodes, size where it is base, what may be done.
fn list(mm: &Mm, ask: HugeAsk) -> String {
    let flags = [(Gfp::DIRECT_RECLAIM, "D"), (Gfp::KSWAPD_RECLAIM, "K"), (Gfp::NORETRY, "N"), (Gfp::COMPACT_ONLY, "C")];
    let mut search = mm.pages.begin_search(ask, &mm.phys);
    let mut attempts = Vec::new();
    while let Some(now) = search {
        let nodes = match now.attempt.nodes {
            Nodes::Any => "any".to_string(),
            Nodes::One(node) => node.0.to_string(),
            Nodes::Among(mask) => format!("{mask:b}"),
        };
        let size = if now.attempt.order == Order::ZERO { " base" } else { "" };
        let may: String = flags.iter().filter(|&&(flag, _)| now.attempt.gfp.has(flag)).map(|&(_, name)| name).collect();
        attempts.push(format!("{nodes}{size} {may}").trim_end().to_string());
        search = mm.pages.go_on_searching(&now, &mm.phys);
    }
    attempts.join(", ")
}

/// The attempts of a fault that may reclaim, on two nodes and on four.
const LISTS: [(HugePlacement, [&str; 2]); 15] = [
    (HugePlacement::ThisNode, ["0 D", "0 D"]),
    (HugePlacement::Relax, ["any D", "any D"]),
    (HugePlacement::NoRetry, ["0 DN", "0 DN"]),
    (HugePlacement::CompactOnly, ["0 DNC", "0 DNC"]),
    (HugePlacement::CompactOnlyWmark, ["0 DNC", "0 DNC"]),
    (HugePlacement::TwoStepLocal, ["0 D, any DN", "0 D, any DN"]),
    (HugePlacement::TwoStep, ["0 DN, any D", "0 DN, any D"]),
    (HugePlacement::TwoStepStrict, ["0 DN, any D", "0 DN, any D"]),
    (HugePlacement::TwoStepThisNode, ["0 DN, any D", "0 DN, any D"]),
    (HugePlacement::AnyNode, ["any D", "any D"]),
    (HugePlacement::Proximity, ["0 D, 10, 1 base DKN", "0 D, 1 D, 1100, 11 base DKN"]),
    (
        HugePlacement::MultiOrder,
        ["0 DN, 0 base, 1 DN, 1 base", "0 DN, 0 base, 1 DN, 1 base, 2 DN, 2 base, 3 DN, 3 base"],
    ),
    (
        HugePlacement::MultiOrderGuest,
        ["0 DN, 1 DN, 0 base, 1 base", "0 DN, 1 DN, 0 base, 2 DN, 1 base, 3 DN, 2 base, 3 base"],
    ),
    (HugePlacement::LocalBaseFirst, ["0 D, 0 base, 10", "0 D, 0 base, 1110"]),
    // With every node free, all that differs is how far away they are.
    (HugePlacement::Estimate, ["0", "0"]),
];

#[test]
fn every_placement_has_its_list() {
    for (placement, expected) in LISTS {
        let thp = ThpPolicy { placement, near: 16, ..ThpPolicy::default() };
        let machines = [two(), four()].map(|distances| boot(&distances, thp.clone()));
        let mut lists = machines.each_ref().map(|mm| list(mm, ask(placement)));
        if placement == HugePlacement::Estimate {
            lists = lists.map(|list| list.split(", ").next().unwrap_or_default().to_string());
        }
        assert_eq!(lists, expected, "{placement:?}");
    }
}

#[test]
fn what_programs_say_about_locality_counts_where_the_placement_knows_it() {
    let said = [
        (HugePlacement::MadvLocal, "0 DNC"),
        (HugePlacement::ForceLocal, "0 D"),
        (HugePlacement::MpolProximity, "0 D, 10, 1 base DKN"),
    ];
    for (placement, advised) in said {
        let mm = boot(&two(), ThpPolicy { placement, ..ThpPolicy::default() });
        assert_eq!(list(&mm, ask(placement)), "any D", "{placement:?}");
        assert_eq!(list(&mm, HugeAsk { advised: true, ..ask(placement) }), advised, "{placement:?}");
    }
}

/// The attempt that a first write to advised memory comes to, after this was said of it.
fn first_attempt(mm: &mut Mm, said: Madvise) -> Result<super::Attempt, Errno> {
    let space = mm.create_space().expect("there are few");
    let slot = Pages::new(512).bytes();
    let request = MmapRequest { place: Place::Fixed(VirtAddr::new(1 << 40)), ..MmapRequest::anon(slot) };
    let start = mm.mmap(space, &request, 0).expect("there is room");
    mm.madvise(space, start, slot, Madvise::HugePage, 0).expect("it is mapped");
    mm.madvise(space, start, slot, said, 0)?;
    let mut step = mm.fault_begin(space, start, Access::Write, 0);
    loop {
        let FaultStep::NeedPage(fault) = step else { panic!("{step:?}") };
        if let Some(search) = fault.search {
            return Ok(search.attempt);
        }
        let page = mm.alloc_fast(&fault.request(0)).expect("memory is free");
        step = mm.fault_finish(&fault, page, 0);
    }
}

#[test]
fn memory_is_placed_as_its_program_says() {
    let known = [(HugePlacement::MadvLocal, Madvise::Local), (HugePlacement::ForceLocal, Madvise::HugePageForceLocal)];
    for (placement, advice) in known {
        let mut mm = boot(&two(), ThpPolicy { placement, ..ThpPolicy::default() });
        mm.phys.set_thp_enabled(HugeEnabled::Madvise);
        mm.phys.set_thp_defrag(HugeDefrag::Madvise);
        let nodes = |attempt: Result<super::Attempt, Errno>| attempt.map(|attempt| attempt.nodes);
        assert_eq!(nodes(first_attempt(&mut mm, Madvise::HugePage)), Ok(Nodes::Any), "{placement:?}");
        assert_eq!(nodes(first_attempt(&mut mm, advice)), Ok(Nodes::One(NodeId(0))), "{placement:?}");
        mm.check().expect("every law holds");
    }
}

#[test]
fn advice_is_refused_where_no_placement_knows_it() {
    for &placement in HugePlacement::ALL {
        let mut mm = boot(&two(), ThpPolicy { placement, ..ThpPolicy::default() });
        mm.phys.set_thp_enabled(HugeEnabled::Madvise);
        let known = [Madvise::Local, Madvise::HugePageForceLocal].map(|advice| first_attempt(&mut mm, advice).is_ok());
        assert_eq!(known, [placement == HugePlacement::MadvLocal, placement == HugePlacement::ForceLocal]);
    }
}

#[test]
fn only_privilege_or_the_administrator_allows_to_force() {
    let placement = HugePlacement::ForceLocal;
    let mut mm = boot(&two(), ThpPolicy { placement, ..ThpPolicy::default() });
    let (parent, slot) = (mm.create_space().expect("it is the first"), Pages::new(512).bytes());
    let start = mm.mmap(parent, &MmapRequest::anon(slot), 0).expect("there is room");
    mm.pages.spaces.set_sys_nice(parent, false).expect("it lives");
    let child = mm.fork(parent).expect("there are few").child();
    for space in [parent, child] {
        let force = |mm: &mut Mm| mm.madvise(space, start, slot, Madvise::HugePageForceLocal, 0);
        assert_eq!(force(&mut mm), Err(Errno::Eperm));
        mm.tune(|tunables| tunables.thp_force_local = true);
        assert_eq!(force(&mut mm), Ok(()));
        mm.tune(|tunables| tunables.thp_force_local = false);
        assert_eq!(force(&mut mm), Err(Errno::Eperm));
        mm.pages.spaces.set_sys_nice(space, true).expect("it lives");
        assert_eq!(force(&mut mm), Ok(()));
    }
}

#[test]
fn nobody_does_more_than_the_fault_may() {
    for &placement in HugePlacement::ALL {
        let mm = boot(&four(), ThpPolicy { placement, ..ThpPolicy::default() });
        for rights in [Gfp::GFP_TRANSHUGE_LIGHT, Gfp::GFP_TRANSHUGE_LIGHT.with(Gfp::KSWAPD_RECLAIM)] {
            let mut search = mm.pages.begin_search(HugeAsk { rights, takes_base: false, ..ask(placement) }, &mm.phys);
            while let Some(now) = search {
                let more = now.attempt.gfp.without(rights).without(Gfp::NORETRY).without(Gfp::COMPACT_ONLY);
                assert_eq!(more, Gfp::NONE, "{placement:?}");
                search = mm.pages.go_on_searching(&now, &mm.phys);
            }
        }
    }
}

#[test]
fn only_nodes_that_may_serve_are_asked() {
    let allowed = 0b1100;
    for &placement in HugePlacement::ALL {
        let mm = boot(&four(), ThpPolicy { placement, near: 32, ..ThpPolicy::default() });
        let ask = HugeAsk { home: NodeId(2), allowed: Some(NodeMask::from_bits(allowed)), ..ask(placement) };
        let mut search = mm.pages.begin_search(ask, &mm.phys);
        while let Some(now) = search {
            let request = now.request(0);
            let asked = match now.attempt.nodes {
                Nodes::One(node) => 1 << node.0,
                Nodes::Any | Nodes::Among(_) => request.nodemask.expect("there is a set").bits(),
            };
            assert_eq!(asked & !allowed, 0, "{placement:?}: {request:?}");
            search = mm.pages.go_on_searching(&now, &mm.phys);
        }
    }
}

#[test]
fn attempts_at_base_pages_are_left_out_where_none_would_do() {
    for placement in [HugePlacement::MultiOrder, HugePlacement::MultiOrderGuest] {
        let mm = boot(&two(), ThpPolicy { placement, ..ThpPolicy::default() });
        assert_eq!(list(&mm, HugeAsk { takes_base: false, ..ask(placement) }), "0 DN, 1 DN");
    }
}

/// Takes everything that a node has free, as the kernel's own, and gives back what `keeps` does not.
fn take(mm: &mut Mm, node: NodeId, order: u8, keeps: impl Fn(Pfn) -> bool) {
    let gfp = Gfp::THISNODE;
    let request = Request { node, cpu: usize::MAX, ..Request::new(Order::new(order).expect("a small order"), gfp) };
    let flags = AllocFlags { no_watermarks: true, ..AllocFlags::plain(Mark::Min) };
    let mut taken = Vec::new();
    while let Ok(pfn) = mm.alloc_with(&request, flags) {
        taken.push(pfn);
    }
    for pfn in taken.into_iter().filter(|&pfn| !keeps(pfn)) {
        mm.free(pfn, usize::MAX).expect("it is allocated");
    }
}

/// Leaves a node nearly free, and no pageblock without something that stays.
fn shatter(mm: &mut Mm, node: NodeId) {
    take(mm, node, 4, |pfn| pfn.get().is_multiple_of(512));
}

#[test]
fn a_node_without_base_pages_is_left_for_another() {
    let placement = HugePlacement::CompactOnlyWmark;
    let mut mm = boot(&two(), ThpPolicy { placement, ..ThpPolicy::default() });
    shatter(&mut mm, NodeId(0));
    assert_eq!(list(&mm, ask(placement)), "0 DNC", "base pages of home will do");
    take(&mut mm, NodeId(0), 0, |_| true);
    assert_eq!(list(&mm, ask(placement)), "0 DNC, any");
}

#[test]
fn prices_decide_between_a_huge_page_there_and_base_pages_here() {
    let placement = HugePlacement::Estimate;
    let mut mm = boot(&two(), ThpPolicy { placement, ..ThpPolicy::default() });
    shatter(&mut mm, NodeId(0));
    let asked = |mm: &mut Mm, base_fault, far| {
        let by_level = |here| core::array::from_fn(|level| if level == AccessLevels::LOCAL { here } else { far });
        let prices = HugePrices { base_fault, huge: by_level(10), base: by_level(20), ..HugePrices::COUNTED };
        mm.phys.set_huge_prices(prices);
        list(mm, ask(placement))
    };
    // 512 faults cost four times as much as one huge one: a page there may cost up to that for each access.
    assert_eq!([asked(&mut mm, 4, 79), asked(&mut mm, 4, 81)], ["1", ""]);
    assert_eq!([asked(&mut mm, 2, 39), asked(&mut mm, 2, 41)], ["1", ""]);
    shatter(&mut mm, NodeId(1));
    assert_eq!(asked(&mut mm, 4, 11), "", "nothing can be had anywhere, and nobody looks for it");
}
