//! An engine's memory as a snapshot, from which another run can start.

use std::collections::BTreeMap;
use std::io::{self, Write};

use order9_mm::{BlockUser, BlockView, FrameState, LruList, Mm, SpaceId, Zone};
use order9_procfs::sysctl::{self, SETTINGS};
use order9_snapshot::flags::{PINNED, PRIVATE_BITS, REPORTED, SLAB_RECLAIMABLE, kpf};
use order9_snapshot::{self as snapshot, FrameMap, FrameMapBuilder, NodeInfo, PcpInfo, Snapshot, Source, ZoneInfo};
use order9_units::{Migratetype, NodeId, Order, PAGE_SIZE, PAGEBLOCK_PAGES, Pages, Pfn};

use crate::owners::OwnersOf;

/// Kernel release whose flags the exported frames have.
const KERNEL_RELEASE: &str = "6.18.0-order9";

/// The memory of `engine`, on CPUs of these nodes, with its owners among `processes`, the living ones with their address spaces.
#[must_use]
pub fn export(engine: &Mm, cpus: &[NodeId], processes: &[(SpaceId, String)]) -> Snapshot {
    let end = engine.frames().zones().iter().map(|zone| zone.span().end).max().unwrap_or(Pfn::new(0));
    let blocks = end.get().div_ceil(PAGEBLOCK_PAGES.get());
    let type_of = |block: u64| {
        let block = engine.frames().pageblock(Pfn::new(block * PAGEBLOCK_PAGES.get()));
        block.map_or(Migratetype::Movable, |block| block.migratetype)
    };
    let mut owners = OwnersOf::new(engine, processes);
    let frames = frames(engine, end, |pfn, order, is_anon| owners.block(pfn, order, is_anon));
    let mut ram: Vec<_> = engine.frames().zones().iter().filter(|zone| zone.present() > 0).map(Zone::span).collect();
    ram.sort_unstable_by_key(|span| span.start);
    Snapshot {
        source: Source::Lab,
        machine: snapshot::Machine {
            kernel_release: KERNEL_RELEASE.to_owned(),
            page_size: PAGE_SIZE,
            pageblock_order: Order::PAGEBLOCK.get(),
            cpus: cpus.len() as u32,
            ..snapshot::Machine::default()
        },
        nodes: engine.frames().nodes().map(|node| node_info(engine, node, cpus)).collect(),
        zones: engine
            .frames()
            .zones()
            .iter()
            .filter(|zone| zone.present() > 0)
            .map(|zone| zone_info(engine, zone))
            .collect(),
        ram,
        settings: settings(engine),
        vmstat: order9_procfs::vmstat(engine).map(|(name, value)| (name.to_owned(), value)).collect(),
        meminfo: meminfo(engine),
        cost: snapshot::CaptureCost { frames: frames.len(), ..snapshot::CaptureCost::default() },
        frames: Some(frames),
        block_types: Some((0..blocks).map(type_of).collect()),
        owners: owners.finish(),
        ..Snapshot::default()
    }
}

/// The release whose flags [`write_map`] writes, as /proc/sys/kernel/osrelease has it.
pub const MAP_RELEASE: &str = "6.18.0-order9\n";

/// Writes what Linux shows in /proc/kpageflags and /proc/kpagecount: a word for each frame to each. What only the lab knows is
/// left out.
///
/// # Errors
/// Errors of writing.
pub fn write_map(engine: &Mm, flags: &mut impl Write, counts: &mut impl Write) -> io::Result<()> {
    let end = engine.frames().zones().iter().map(|zone| zone.span().end).max().unwrap_or(Pfn::new(0));
    let (mut flag_words, mut count_words) = (Vec::new(), Vec::new());
    for (_, chunk) in frames(engine, end, |_, _, _| {}).chunks() {
        flag_words.clear();
        count_words.clear();
        chunk.for_each_index(|at| {
            let state = chunk.palette()[at];
            flag_words.extend((state.flags & !PRIVATE_BITS).to_ne_bytes());
            count_words.extend(state.count.to_ne_bytes());
        });
        flags.write_all(&flag_words)?;
        counts.write_all(&count_words)?;
    }
    Ok(())
}

/// Every frame up to `end`, block by block; `each` sees the start and order of a block, and whether it is private memory.
fn frames(engine: &Mm, end: Pfn, mut each: impl FnMut(Pfn, Order, bool)) -> FrameMap {
    let mut map = FrameMapBuilder::new();
    let mut at = Pfn::new(0);
    while at < end {
        let view = engine.block_view(at);
        let order = match view.state {
            FrameState::Free { order, .. }
            | FrameState::Pcp { order, .. }
            | FrameState::Allocated { order }
            | FrameState::Held { order } => order,
            FrameState::Tail | FrameState::Hole | FrameState::Reserved => Order::ZERO,
        };
        // The kernel has not touched what it has not initialised.
        let is_deferred = engine.frames().zones().iter().any(|zone| zone.deferred().contains(at));
        let (flags, count) = if is_deferred { (0, 0) } else { (flags(&view), u64::from(view.mapcount)) };
        each(at, order, matches!(view.state, FrameState::Allocated { .. }) && view.user == BlockUser::Anon);
        let state = |flags| snapshot::FrameState { flags, count };
        if engine.phys().hypervisor_has(at, order) {
            map.push(state(REPORTED));
            map.push_run(state(kpf::BUDDY), order.pages() - Pages::new(1));
        } else if order > Order::ZERO && matches!(view.state, FrameState::Allocated { .. }) {
            map.push(state(flags | kpf::COMPOUND_HEAD));
            map.push_run(state(flags | kpf::COMPOUND_TAIL), order.pages() - Pages::new(1));
        } else {
            map.push_run(state(flags), order.pages());
        }
        at += order.pages();
    }
    map.finish()
}

/// Flags as 6.18 reports them, with order9's own bits where Linux cannot tell.
fn flags(view: &BlockView) -> u64 {
    let user = match view.state {
        FrameState::Hole => return kpf::NOPAGE,
        FrameState::Reserved => return kpf::RESERVED,
        FrameState::Free { .. } => return kpf::BUDDY,
        FrameState::Tail | FrameState::Pcp { .. } | FrameState::Held { .. } => return 0,
        FrameState::Allocated { order } => match view.user {
            BlockUser::Kernel => 0,
            BlockUser::PageTable => kpf::PGTABLE,
            BlockUser::Hugetlb => kpf::HUGE,
            BlockUser::Slab { reclaimable: true } => kpf::SLAB | SLAB_RECLAIMABLE,
            BlockUser::Slab { reclaimable: false } => kpf::SLAB,
            BlockUser::File => kpf::UPTODATE,
            BlockUser::Anon if order > Order::ZERO => kpf::THP | ANON,
            BlockUser::Movable if order >= Order::PAGEBLOCK => kpf::THP | ANON,
            BlockUser::Anon | BlockUser::Movable => ANON,
        },
    };
    let on_list = match view.lru {
        None => 0,
        Some(LruList::InactiveAnon) => kpf::LRU | kpf::SWAPBACKED,
        Some(LruList::ActiveAnon) => kpf::LRU | kpf::SWAPBACKED | kpf::ACTIVE,
        Some(LruList::InactiveFile) => kpf::LRU,
        Some(LruList::ActiveFile) => kpf::LRU | kpf::ACTIVE,
        Some(LruList::Unevictable) => kpf::LRU | kpf::UNEVICTABLE | kpf::MLOCKED,
    };
    let when = |is: bool, flag: u64| if is { flag } else { 0 };
    user | on_list
        | when(view.mapcount > 0, kpf::MMAP)
        | when(view.referenced, kpf::REFERENCED)
        | when(view.dirty, kpf::DIRTY)
        | when(view.writeback, kpf::WRITEBACK)
        | when(view.pinned, PINNED)
}

/// Of all private memory of programs.
const ANON: u64 = kpf::UPTODATE | kpf::LRU | kpf::ANON | kpf::SWAPBACKED;

fn node_info(engine: &Mm, node: NodeId, cpus: &[NodeId]) -> NodeInfo {
    let own = (0..).zip(cpus).filter(|(_, of)| **of == node).map(|(cpu, _)| cpu);
    NodeInfo {
        id: node,
        distances: engine.frames().nodes().map(|other| engine.frames().distance(node, other)).collect(),
        cpus: own.collect(),
        counters: BTreeMap::new(),
    }
}

fn zone_info(engine: &Mm, zone: &Zone) -> ZoneInfo {
    let marks = zone.watermarks();
    let boosted = |mark: u64| Pages::new(mark + zone.boost());
    let areas = zone.areas();
    let blocks = zone.span().start.get() / PAGEBLOCK_PAGES.get()..zone.span().end.get().div_ceil(PAGEBLOCK_PAGES.get());
    let mut block_counts = BTreeMap::new();
    for block in blocks.filter_map(|block| engine.frames().pageblock(Pfn::new(block * PAGEBLOCK_PAGES.get()))) {
        *block_counts.entry(block.migratetype).or_insert(0) += 1;
    }
    let by_type = |mt: Migratetype| (mt, areas.each_ref().map(|area| u64::from(area.blocks[mt.index()])));
    let pcp = |(cpu, pcp): (u32, &order9_mm::Pcp)| PcpInfo {
        cpu,
        count: Pages::new(pcp.count()),
        high: Pages::new(pcp.high()),
        batch: Pages::new(pcp.batch()),
    };
    ZoneInfo {
        node: zone.node(),
        kind: zone.kind(),
        span: zone.span(),
        present: Pages::new(zone.present()),
        managed: Pages::new(zone.managed()),
        cma: Pages::new(block_counts.get(&Migratetype::Cma).copied().unwrap_or(0) * PAGEBLOCK_PAGES.get()),
        free: Pages::new(zone.free()),
        watermarks: snapshot::Watermarks {
            min: boosted(marks.min),
            low: boosted(marks.low),
            high: boosted(marks.high),
            promo: None,
            boost: Some(Pages::new(zone.boost())),
        },
        protection: zone.lowmem_reserve().map(Pages::new).to_vec(),
        free_blocks: areas.each_ref().map(order9_mm::FreeArea::total),
        free_by_type: Migratetype::ALL.into_iter().map(by_type).collect(),
        block_counts,
        pcp: (0..).zip(engine.frames().pcps(zone.id())).map(pcp).collect(),
        counters: BTreeMap::from([("nr_free_pages".to_owned(), zone.free())]),
    }
}

/// Settings that the engine has.
fn settings(engine: &Mm) -> BTreeMap<String, String> {
    let read = SETTINGS.iter().filter_map(|setting| {
        let value = sysctl::read(engine, setting.name).ok()?;
        Some((setting.path.to_owned(), value.trim_end().to_owned()))
    });
    read.collect()
}

fn meminfo(engine: &Mm) -> BTreeMap<String, u64> {
    let mut text = String::new();
    order9_procfs::render_meminfo(engine, &mut text).expect("text can be written to memory");
    let field = |line: &str| {
        let (name, value) = line.split_once(':')?;
        Some((name.to_owned(), value.split_whitespace().next()?.parse().ok()?))
    };
    text.lines().filter_map(field).collect()
}
