//! The engine's layout of a snapshot: which frames exist, and which of them the allocator has.

use order9_mm::{Layout as EngineLayout, NodeSpec, ZoneSpec};
use order9_snapshot::Snapshot;
use order9_snapshot::classify::{Extent, FrameClass, Layout};
use order9_units::{NodeId, PfnRange};

/// Whether frames of this class are no memory of the engine's machine.
pub(crate) fn is_outside(class: FrameClass) -> bool {
    matches!(class, FrameClass::Hole | FrameClass::Offline)
}

/// Whether frames of this class exist but are not the allocator's, or not yet.
pub(crate) fn is_reserved(class: FrameClass) -> bool {
    matches!(class, FrameClass::Reserved | FrameClass::HwPoison | FrameClass::Ballooned | FrameClass::Deferred)
}

/// Nodes, zones, holes and reserved frames as the engine wants them; and page tables.
pub(crate) fn engine_layout(snapshot: &Snapshot, layout: &Layout<'_>) -> (EngineLayout, Vec<PfnRange>) {
    let mut tables = Vec::new();
    let mut spec = EngineLayout { nodes: nodes(snapshot), cpus: cpus(snapshot), ..EngineLayout::default() };
    for (at, zone) in layout.zones().iter().enumerate() {
        let info = zone.info();
        spec.zones.push(ZoneSpec { node: info.node, kind: info.kind, span: info.span });
        layout.for_each_extent(at, |extent| {
            if let Extent::Frames { class: FrameClass::PageTable, range } = extent {
                tables.push(range);
            } else if let Extent::Frames { class, range } | Extent::Compound { class, range } = extent {
                if class == FrameClass::Deferred {
                    extend(&mut spec.deferred, range);
                } else if is_outside(class) {
                    extend(&mut spec.holes, range);
                } else if is_reserved(class) {
                    extend(&mut spec.reserved, range);
                }
            }
        });
    }
    (spec, tables)
}

/// Appends a range, as part of the last one where they touch.
fn extend(ranges: &mut Vec<PfnRange>, range: PfnRange) {
    match ranges.last_mut() {
        Some(last) if last.end == range.start => last.end = range.end,
        _ => ranges.push(range),
    }
}

/// Nodes with their distances; numbers that the machine leaves out become nodes without memory, far from all.
fn nodes(snapshot: &Snapshot) -> Vec<NodeSpec> {
    const LOCAL: u32 = 10;
    const REMOTE: u32 = 20;
    let named = snapshot.nodes.iter().map(|node| node.id).chain(snapshot.zones.iter().map(|zone| zone.node));
    let count = named.map(|node| node.index() + 1).max().unwrap_or(1);
    let position = |id: usize| snapshot.nodes.iter().position(|node| node.id.index() == id);
    let distance = |from: usize, to: usize| {
        let known = position(from).zip(position(to)).and_then(|(from, to)| snapshot.nodes[from].distances.get(to));
        known.copied().unwrap_or(if from == to { LOCAL } else { REMOTE })
    };
    (0..count).map(|from| NodeSpec { distances: (0..count).map(|to| distance(from, to)).collect() }).collect()
}

/// Node of every CPU, in the order of CPU numbers; CPUs that no node names belong to the first.
fn cpus(snapshot: &Snapshot) -> Vec<NodeId> {
    let mut cpus: Vec<(u32, NodeId)> =
        snapshot.nodes.iter().flat_map(|node| node.cpus.iter().map(|&cpu| (cpu, node.id))).collect();
    cpus.sort_unstable();
    let mut owners: Vec<NodeId> = cpus.into_iter().map(|(_, node)| node).collect();
    let first = snapshot.nodes.first().map_or(NodeId(0), |node| node.id);
    owners.resize(owners.len().max(snapshot.machine.cpus as usize), first);
    owners
}
