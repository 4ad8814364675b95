//! Rules that every user of a snapshot may rely on, checked once when reading and writing.
//!
//! An error here means that parts contradict each other so that code built on them would index, subtract or shift out
//! of bounds. What is merely odd (free counts that do not match the frames, a map that ends before its zones do because
//! a file was cut off, nodes that interleave) can be stored, and is left to the analysis.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use order9_units::{Bytes, NodeId, Order, PAGE_SIZE, PAGEBLOCK_PAGES, Pages, Pfn, PfnRange, ZoneKind};

use super::COUNT_MAX;
use crate::limits::{CPUS_MAX, NODES_MAX};
use crate::owners::{OWNERS_MAX, Owners};
use crate::{Snapshot, ZoneInfo};

/// Characters of a string that an error shows.
const TEXT_SHOWN: usize = 60;

/// Parts of a snapshot that contradict each other.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StructureError {
    /// Frames of another size.
    #[error("page size {0:?}: order9 knows {PAGE_SIZE:?} only")]
    PageSize(Bytes),
    /// Pageblocks of another size than a huge page.
    #[error("pageblock order {0}: order9 knows {known} only", known = Order::PAGEBLOCK)]
    PageblockOrder(u8),
    /// More CPUs than Linux knows, or one with a higher number.
    #[error("CPU {0}: Linux has at most {CPUS_MAX}, numbered from 0")]
    Cpus(u64),
    /// A node with a number that Linux does not have.
    #[error("node {0}: Linux has at most {NODES_MAX}, numbered from 0")]
    Nodes(NodeId),
    /// A node occurs twice.
    #[error("node {0} appears twice")]
    NodeTwice(NodeId),
    /// A node with distances to some nodes only.
    #[error("node {node} has {found} distances, expected none or one per node ({nodes})")]
    Distances {
        /// The node.
        node: NodeId,
        /// Number of its distances.
        found: usize,
        /// Number of nodes.
        nodes: usize,
    },
    /// A zone of no known node.
    #[error("{0} belongs to a node that does not exist")]
    NoSuchNode(ZoneName),
    /// A zone occurs twice.
    #[error("{0} appears twice")]
    ZoneTwice(ZoneName),
    /// A span that ends before it starts, or beyond what can be addressed.
    #[error("{zone} spans {span:?}")]
    Span {
        /// Name of the zone.
        zone: ZoneName,
        /// Span of the zone.
        span: PfnRange,
    },
    /// A frame in two zones of one node.
    #[error("{0} and {1} overlap")]
    Overlap(ZoneName, ZoneName),
    /// `managed <= present <= spanned` does not hold.
    #[error("{zone} has {managed:?} managed of {present:?} present of {spanned:?} spanned")]
    Population {
        /// Name of the zone.
        zone: ZoneName,
        /// Number of managed frames.
        managed: Pages,
        /// Number of present frames.
        present: Pages,
        /// Number of spanned frames.
        spanned: Pages,
    },
    /// A count beyond what can be addressed.
    #[error("{zone}: {what} is {value}, which no machine can have")]
    Count {
        /// Name of the zone.
        zone: ZoneName,
        /// Name of the count.
        what: &'static str,
        /// Value of the count.
        value: u64,
    },
    /// Ranges that are empty, out of order or overlap.
    #[error("{what} range {position} ({range:?}) is empty, reaches too far, or does not lie behind the one before")]
    Ranges {
        /// `ram` or `offline`.
        what: &'static str,
        /// Position in the list, from 0.
        position: usize,
        /// The refused range.
        range: PfnRange,
    },
    /// A price that no machine can have.
    #[error("the price {0} was not measured: it is 0, above a millisecond, or not between its extremes")]
    Price(&'static str),
    /// Types for more or fewer pageblocks than the map has.
    #[error("types of {found} pageblocks, expected {expected} for the frame map")]
    BlockTypes {
        /// Number of pageblocks whose types are given.
        found: u64,
        /// Number of pageblocks in the map.
        expected: u64,
    },
    /// Frames whose owner has no name, or more names than possible.
    #[error("owners of frames do not fit the list of {0} owners")]
    Owners(usize),
    /// A string with a character that is not printed as itself: see [`order9_escape::is_plain`].
    #[error("{what} holds characters that a terminal would obey or nobody sees: {}", order9_escape::line(.text))]
    Text {
        /// Name of the string.
        what: &'static str,
        /// The string, no longer than a message should be.
        text: String,
    },
}

/// A zone, as Linux prints it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ZoneName(pub NodeId, pub ZoneKind);

impl fmt::Display for ZoneName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {}, zone {}", self.0, self.1)
    }
}

/// The first contradiction between the parts of a snapshot.
pub(super) fn structure(snapshot: &Snapshot) -> Result<(), StructureError> {
    let machine = &snapshot.machine;
    if machine.page_size != PAGE_SIZE {
        return Err(StructureError::PageSize(machine.page_size));
    }
    if machine.pageblock_order != Order::PAGEBLOCK.get() {
        return Err(StructureError::PageblockOrder(machine.pageblock_order));
    }
    let mut prices = snapshot.calibration.iter().flat_map(|calibration| calibration.prices());
    if let Some((name, _)) = prices.find(|(_, price)| !price.is_sound()) {
        return Err(StructureError::Price(name));
    }
    cpus(snapshot)?;
    if let Some((what, text)) = snapshot.odd_string() {
        return Err(StructureError::Text { what, text: text.chars().take(TEXT_SHOWN).collect() });
    }
    nodes(snapshot)?;
    zones(snapshot)?;
    ranges("ram", &snapshot.ram)?;
    ranges("offline", &snapshot.offline)?;
    block_types(snapshot)?;
    owners(snapshot)
}

fn cpus(snapshot: &Snapshot) -> Result<(), StructureError> {
    let refuse = |count: u64| Err(StructureError::Cpus(count));
    let count = u64::from(snapshot.machine.cpus);
    if count > u64::from(CPUS_MAX) {
        return refuse(count);
    }
    // Each belongs to one node, and has one list in each zone.
    let of_nodes: Vec<u32> = snapshot.nodes.iter().flat_map(|node| node.cpus.iter().copied()).collect();
    let of_zones = snapshot.zones.iter().map(|zone| zone.pcp.iter().map(|pcp| pcp.cpu).collect());
    for cpus in of_zones.chain([of_nodes]) {
        let cpus: Vec<u32> = cpus;
        if let Some(&cpu) = cpus.iter().find(|&&cpu| cpu >= CPUS_MAX) {
            return refuse(cpu.into());
        }
        if cpus.len() > CPUS_MAX as usize {
            return refuse(cpus.len() as u64);
        }
    }
    Ok(())
}

fn nodes(snapshot: &Snapshot) -> Result<(), StructureError> {
    let count = snapshot.nodes.len();
    let mut seen = BTreeSet::new();
    for node in &snapshot.nodes {
        if node.id.0 >= NODES_MAX {
            return Err(StructureError::Nodes(node.id));
        }
        if !seen.insert(node.id) {
            return Err(StructureError::NodeTwice(node.id));
        }
        let found = node.distances.len();
        if found != 0 && found != count {
            return Err(StructureError::Distances { node: node.id, found, nodes: count });
        }
    }
    match snapshot.zones.iter().find(|zone| !seen.contains(&zone.node)) {
        Some(zone) => Err(StructureError::NoSuchNode(name(zone))),
        None => Ok(()),
    }
}

fn zones(snapshot: &Snapshot) -> Result<(), StructureError> {
    let mut seen = BTreeSet::new();
    let mut spans = BTreeMap::new();
    for info in &snapshot.zones {
        let zone = name(info);
        if !seen.insert(zone) {
            return Err(StructureError::ZoneTwice(zone));
        }
        let PfnRange { start, end } = info.span;
        if start > end || end.get() > COUNT_MAX {
            return Err(StructureError::Span { zone, span: info.span });
        }
        let (managed, present, spanned) = (info.managed, info.present, info.span.len());
        if managed > present || present > spanned {
            return Err(StructureError::Population { zone, managed, present, spanned });
        }
        counts(info)?;
        if !info.span.is_empty()
            && let Some((_, other)) = spans.insert((info.node, start), (end, zone))
        {
            return Err(StructureError::Overlap(other, zone));
        }
    }
    let upward: Vec<_> = spans.into_iter().collect();
    for pair in upward.windows(2) {
        let ((low_node, _), (low_end, low)) = pair[0];
        let ((high_node, high_start), (_, high)) = pair[1];
        if low_node == high_node && low_end > high_start {
            return Err(StructureError::Overlap(low, high));
        }
    }
    Ok(())
}

/// Every count of a zone that arithmetic is done with.
fn counts(info: &ZoneInfo) -> Result<(), StructureError> {
    let zone = name(info);
    let bound = |what, value: u64, max: u64| {
        if value > max { Err(StructureError::Count { zone, what, value }) } else { Ok(()) }
    };
    let pages = |what, value: Pages| bound(what, value.get(), COUNT_MAX);
    let blocks = |what, by_order: &[u64; Order::COUNT]| {
        Order::all().try_for_each(|order| bound(what, by_order[order.index()], COUNT_MAX >> order.get()))
    };
    pages("cma", info.cma)?;
    pages("free", info.free)?;
    let marks = &info.watermarks;
    for mark in [Some(marks.min), Some(marks.low), Some(marks.high), marks.promo, marks.boost].into_iter().flatten() {
        pages("a watermark", mark)?;
    }
    info.protection.iter().try_for_each(|&reserve| pages("protection", reserve))?;
    blocks("free_blocks", &info.free_blocks)?;
    info.free_by_type.values().try_for_each(|by_order| blocks("free_by_type", by_order))?;
    info.block_counts.values().try_for_each(|&count| bound("block_counts", count, COUNT_MAX))?;
    for pcp in &info.pcp {
        pages("pcp count", pcp.count)?;
        pages("pcp high", pcp.high)?;
        pages("pcp batch", pcp.batch)?;
    }
    Ok(())
}

fn ranges(what: &'static str, ranges: &[PfnRange]) -> Result<(), StructureError> {
    let mut free_from = Pfn::new(0);
    for (position, &range) in ranges.iter().enumerate() {
        if range.start < free_from || range.start >= range.end || range.end.get() > COUNT_MAX {
            return Err(StructureError::Ranges { what, position, range });
        }
        free_from = range.end;
    }
    Ok(())
}

fn block_types(snapshot: &Snapshot) -> Result<(), StructureError> {
    let (Some(types), Some(map)) = (&snapshot.block_types, &snapshot.frames) else {
        return Ok(());
    };
    let expected = map.len().get().div_ceil(PAGEBLOCK_PAGES.get());
    let found = types.len() as u64;
    if found == expected { Ok(()) } else { Err(StructureError::BlockTypes { found, expected }) }
}

fn owners(snapshot: &Snapshot) -> Result<(), StructureError> {
    let Some(Owners { users, callers, cgroups, map, .. }) = &snapshot.owners else { return Ok(()) };
    let holders = users.len() + callers.len();
    let names = holders.max(cgroups.len());
    if names <= OWNERS_MAX && map.fits(holders, cgroups.len()) { Ok(()) } else { Err(StructureError::Owners(names)) }
}

fn name(zone: &ZoneInfo) -> ZoneName {
    ZoneName(zone.node, zone.kind)
}
