//! The engine by itself, without programs: requests of every kind at random, and settings that are written and read.

use core::fmt::Write as _;

use order9_mm::fs_cache::FsStep;
use order9_mm::policy::Policy;
use order9_mm::shrinker::{DropSlab, ShrinkStep};
use order9_mm::slab::CacheSpec;
use order9_mm::{AllocFlags, Gfp, Layout, Mark, Mm, MmBuilder, NodeSpec, Request, Reserve, ZoneSpec};
use order9_procfs::sysctl::{self, SETTINGS};
use order9_testkit::machines;
use order9_testkit::nodes::{Choices as _, Random};
use order9_units::{NodeId, Order, Pages, Pfn, PfnRange, ZoneKind};

/// Twenty thousand requests and frees; pageblocks are isolated now and then.
pub(super) fn requests(policy: Policy) -> String {
    let mut mm = MmBuilder::new(&machines::ragged(24, 2), policy).expect("the layout is sound").boot();
    let kinds =
        [Gfp::GFP_KERNEL, Gfp::GFP_HIGHUSER_MOVABLE, Gfp::GFP_ATOMIC, Gfp::GFP_NOWAIT, Gfp::GFP_TRANSHUGE_LIGHT];
    let mut random = Random(7);
    let (mut held, mut isolated): (Vec<Pfn>, Option<(Pfn, _)>) = (Vec::new(), None);
    let mut seen = String::new();
    for step in 0..20_000_u64 {
        let grows = step / 2_500 % 2 == 0;
        if random.below(3) < if grows { 2 } else { 1 } {
            let gfp = kinds[random.below(kinds.len() as u64) as usize];
            let order = if random.below(4) == 0 { random.below(10) } else { random.below(2) };
            let order = Order::new(order as u8).expect("it is small");
            let request = Request { cpu: random.below(3) as usize, ..Request::new(order, gfp) };
            match mm.alloc_fast(&request) {
                Ok(pfn) => held.push(pfn),
                Err(error) => write!(seen, "{error:?}").expect("a string takes it"),
            }
        } else if !held.is_empty() {
            let pfn = held.swap_remove(random.below(held.len() as u64) as usize);
            mm.free(pfn, random.below(3) as usize).expect("it is held");
        }
        if step % 500 == 0 {
            if let Some((pfn, mt)) = isolated.take() {
                mm.phys_mut().unisolate_pageblock(pfn, mt).expect("it was isolated");
            }
            let pfn = machines::TINY_START + Pages::new(512 * random.below(40));
            isolated = mm.phys_mut().isolate_pageblock(pfn).ok().map(|mt| (pfn, mt));
            levels(&mm, &mut seen);
        }
    }
    for gfp in
        [Gfp::GFP_TRANSHUGE_LIGHT, Gfp::GFP_KERNEL, Gfp::GFP_NOWAIT, Gfp::GFP_NOWAIT.with(Gfp::HIGH), Gfp::GFP_ATOMIC]
    {
        for order in [9, 3, 0] {
            let order = Order::new(order).expect("it is small");
            held.extend(core::iter::from_fn(|| mm.alloc_fast(&Request::new(order, gfp)).ok()));
            levels(&mm, &mut seen);
        }
    }
    write!(seen, "{held:?} {:?}", mm.counters()).expect("a string takes it");
    seen
}

/// Free pages of every zone.
fn levels(mm: &Mm, seen: &mut String) {
    for zone in mm.frames().zones() {
        write!(seen, "{} ", zone.free()).expect("a string takes it");
    }
}

/// The kernel asks for more than a pageblock where single pageblocks of programs are free.
pub(super) fn large_requests(policy: Policy) -> String {
    let mut mm = two_zones(policy);
    let huge = Request::new(Order::PAGEBLOCK, Gfp::GFP_TRANSHUGE_LIGHT);
    let held: Vec<Pfn> = core::iter::from_fn(|| mm.alloc_fast(&huge).ok()).collect();
    for pfn in held.into_iter().filter(|pfn| !pfn.is_aligned(Order::MAX)) {
        mm.free(pfn, 0).expect("it is held");
    }
    // No watermark is passed without a block of this size.
    let flags = AllocFlags {
        mark: Mark::Min,
        no_watermarks: true,
        reserve: Reserve::default(),
        cma: false,
        nofragment: true,
        kswapd: false,
    };
    let answer = mm.alloc_with(&Request::new(Order::MAX, Gfp::GFP_KERNEL), flags);
    let types = mm.frames().blocks().iter().map(|block| format!("{:?} ", block.migratetype));
    format!("{answer:?} {}", types.collect::<String>())
}

/// Slab is dropped while somebody caches files.
pub(super) fn dropped_slab(policy: Policy) -> String {
    let mut mm = two_zones(policy);
    mm.mount(CacheSpec::EXT4_INODE).expect("nothing is mounted yet");
    let kernel = Request::new(Order::ZERO, Gfp::GFP_KERNEL);
    let mut steps = 0;
    let cache = |mm: &mut Mm, count| {
        for _ in 0..count {
            let file = mm.fs_create(Pages::new(1)).expect("there is room");
            assert!(matches!(mm.fs_open_fast(file, &kernel), FsStep::Done { .. }), "there is memory for all files");
            mm.pages_mut().fs_close(file).expect("it is open");
        }
    };
    cache(&mut mm, 200);
    let mut drop = DropSlab::new(0, mm.phys_mut());
    loop {
        let (phys, pages) = mm.parts();
        let ShrinkStep::Progress = drop.step(pages, phys) else { break };
        steps += 1;
        if steps < 400 {
            cache(&mut mm, 3);
        }
    }
    format!("{steps} {:?}", mm.counters())
}

/// A node with memory in two zones.
fn two_zones(policy: Policy) -> Mm {
    let zone = |kind, start, pages| ZoneSpec { node: NodeId(0), kind, span: PfnRange::of(start, Pages::new(pages)) };
    let layout = Layout {
        nodes: vec![NodeSpec { distances: vec![10] }],
        zones: vec![
            zone(ZoneKind::Dma32, Pfn::new(1 << 12), 1 << 12),
            zone(ZoneKind::Normal, Pfn::new(1 << 20), 1 << 14),
        ],
        cpus: vec![NodeId(0); 2],
        ..Layout::default()
    };
    MmBuilder::new(&layout, policy).expect("the layout is sound").boot()
}

/// Writes words that releases read differently, and reads all settings after each.
pub(super) fn settings(policy: Policy) -> String {
    // Large enough for huge pages to ask for more free memory.
    let zone = |kind, start, pages| ZoneSpec { node: NodeId(0), kind, span: PfnRange::of(start, Pages::new(pages)) };
    let layout = Layout {
        nodes: vec![NodeSpec { distances: vec![10] }],
        zones: vec![
            zone(ZoneKind::Normal, Pfn::new(1 << 20), 1 << 20),
            zone(ZoneKind::Movable, Pfn::new(2 << 20), 1 << 18),
        ],
        cpus: vec![NodeId(0); 2],
        ..Layout::default()
    };
    let mut mm = MmBuilder::new(&layout, policy).expect("the layout is sound").boot();
    let mut seen = String::new();
    let words = [
        ("vm.swappiness", "60"),
        ("thp/enabled", "always"),
        ("thp/enabled", "neverland"),
        ("thp/enabled", "never"),
        ("thp/defrag", "defer+madvise"),
        ("thp/defrag", "deferred"),
        ("thp/defrag", "always"),
        ("vm.watermark_scale_factor", "20"),
    ];
    for (name, value) in words {
        write!(seen, "{:?}", sysctl::write(&mut mm, name, value)).expect("a string takes it");
        for setting in SETTINGS {
            writeln!(seen, "{} {:?}", setting.name, sysctl::read(&mm, setting.name)).expect("a string takes it");
        }
    }
    order9_procfs::vmstat(&mm).for_each(|(name, value)| writeln!(seen, "{name} {value}").expect("a string takes it"));
    seen
}
