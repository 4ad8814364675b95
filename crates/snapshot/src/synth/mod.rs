//! Made-up machines: a whole snapshot from a few shares, a pattern and a seed.
//!
//! [`synth`] builds a machine in which frames, zones, watermarks, counters and settings agree with each other, and
//! returns beside it the [`Truth`]: what an analysis must find, known from how the machine was made and not from its
//! flags. The same [`SynthSpec`] gives the same machine everywhere: every chunk of 128 MiB has its own random stream.
//! Patterns, rounding and layout: docs/snapshot.md. Never models how memory came to be that way; the lab does.

mod content;
mod layout;
mod levels;
mod paint;
mod plan;
mod settings;
mod spec;
mod tally;
mod urn;
mod watermarks;

pub use spec::{Pattern, PatternError, SIZE_MAX, SIZE_MIN, SynthError, SynthSpec};
pub use tally::{Supply, Truth, ZoneTruth};

use order9_units::{Migratetype, NodeId, Order, PAGE_SIZE, PAGEBLOCK_PAGES, Pfn};

use crate::frames::CHUNK_PAGES;
use crate::{CaptureCost, FrameMap, Machine, NodeInfo, Snapshot, Source};
use layout::{Layout, ZoneLayout};
use plan::{Role, ZonePlan};
use tally::ZoneTally;

/// CPUs of every node.
const CPUS_PER_NODE: u32 = 16;

/// Kernel release that the machine claims to run. Its flags are those of this kernel.
const KERNEL_RELEASE: &str = "6.18.0-synthetic";

/// Builds a machine, and what is known about it.
///
/// # Errors
/// The first argument that is impossible, alone or together with others.
pub fn synth(spec: &SynthSpec) -> Result<(Snapshot, Truth), SynthError> {
    spec.check()?;
    let layout = Layout::of(spec.size, spec.nodes);
    let mut plans = Vec::with_capacity(layout.zones.len());
    for (number, zone) in layout.zones.iter().enumerate() {
        plans.push(ZonePlan::of(spec, zone, number as u64)?);
    }
    let block_types = block_types(&layout, &plans);
    let (frames, tallies) = paint_all(spec, &layout, &mut plans);
    let snapshot = describe(spec, &layout, &tallies, frames, block_types);
    let zones = layout.zones.iter().zip(tallies).map(|(zone, tally)| tally.into_truth(zone)).collect();
    Ok((snapshot, Truth { zones }))
}

/// Paints chunk after chunk and counts what was painted.
fn paint_all(spec: &SynthSpec, layout: &Layout, plans: &mut [ZonePlan]) -> (FrameMap, Vec<ZoneTally>) {
    let mut tallies: Vec<_> = layout.zones.iter().map(|_| ZoneTally::default()).collect();
    let mut map = FrameMap::default();
    let mut cells = vec![0; CHUNK_PAGES];
    while map.len() < layout.len {
        let first = Pfn::new(map.len().get());
        layout.paint_absent(first, &mut cells);
        for ((zone, plan), tally) in layout.zones.iter().zip(&mut *plans).zip(&mut tallies) {
            let part = zone.managed.intersect(layout::chunk_at(first));
            if part.is_empty() {
                continue;
            }
            let cells = &mut cells[layout::offsets(first, part)];
            paint::paint(spec, plan, part, cells);
            tally.add(part.start, cells);
        }
        let chunk = content::chunk_of(&cells).expect("a painted chunk has its palette in order of first use");
        map.push(chunk).expect("chunks before the last are full");
    }
    (map, tallies)
}

/// Boot makes every pageblock movable; those that kernel memory was grouped in have changed their type.
fn block_types(layout: &Layout, plans: &[ZonePlan]) -> Vec<Migratetype> {
    let blocks = layout.len.get().div_ceil(PAGEBLOCK_PAGES.get()) as usize;
    let mut types = vec![Migratetype::Movable; blocks];
    for plan in plans {
        let first = (plan.first_block().get() / PAGEBLOCK_PAGES.get()) as usize;
        for (mt, role) in types[first..].iter_mut().zip(plan.roles()) {
            *mt = match role {
                Role::Unmovable => Migratetype::Unmovable,
                Role::Reclaimable => Migratetype::Reclaimable,
                Role::Free | Role::Huge | Role::Mixed | Role::Contaminated => Migratetype::Movable,
            };
        }
    }
    types
}

/// Puts the snapshot together.
fn describe(
    spec: &SynthSpec,
    layout: &Layout,
    tallies: &[ZoneTally],
    frames: FrameMap,
    block_types: Vec<Migratetype>,
) -> Snapshot {
    let marks = watermarks::of(&layout.zones);
    let zone_info = |((zone, tally), &watermarks): ((&ZoneLayout, _), _)| {
        let protection = watermarks::protection(&layout.zones, zone);
        levels::zone_info(zone, tally, watermarks, protection, &block_types[zone.blocks()])
    };
    let zones: Vec<_> = layout.zones.iter().zip(tallies).zip(&marks.zones).map(zone_info).collect();
    let node = |id: u16| NodeInfo {
        id: NodeId(id),
        distances: (0..spec.nodes).map(|other| if other == id { 10 } else { 20 }).collect(),
        cpus: (u32::from(id) * CPUS_PER_NODE..).take(CPUS_PER_NODE as usize).collect(),
        counters: levels::node_counters(&levels::sum(layout, tallies, Some(NodeId(id)))),
    };
    let all = levels::sum(layout, tallies, None);
    Snapshot {
        source: Source::Synthetic(spec.to_string()),
        machine: Machine {
            kernel_release: KERNEL_RELEASE.to_owned(),
            page_size: PAGE_SIZE,
            pageblock_order: Order::PAGEBLOCK.get(),
            cpus: CPUS_PER_NODE * u32::from(spec.nodes),
            ..Machine::default()
        },
        nodes: (0..spec.nodes).map(node).collect(),
        ram: layout.ram.clone(),
        settings: settings::defaults(marks.min_free_kbytes),
        vmstat: levels::vmstat(&all),
        meminfo: levels::meminfo(&all, &zones),
        zones,
        cost: CaptureCost { frames: frames.len(), ..CaptureCost::default() },
        frames: Some(frames),
        block_types: Some(block_types),
        ..Snapshot::default()
    }
}
