//! Facts that a placement sees: the request, the nodes, and what the allocator and the index know of them.

use order9_frames::{AllocFlags, Distances, Gfp, Index, Mark, Zone, ZoneId, ZoneRef};
use order9_units::{NodeId, NodeMask, Order, PAGEBLOCK_PAGES, ZoneKind};

use super::search::mask_of;
use super::{Attempt, HugeAsk, HugePrices, Nodes};
use crate::lru::ZoneLru;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::policy::Policy;

/// Facts that a placement sees.
pub struct View<'a> {
    pub(super) ask: &'a HugeAsk,
    pub(super) made: usize,
    pub(super) tried: u64,
    pub(super) engine: &'a dyn Known,
}

/// Answers of the engine to placements.
pub(super) trait Known {
    fn distances(&self) -> Distances<'_>;
    /// Zones of all nodes with memory, nearest node first.
    fn fallback_list(&self, node: NodeId) -> &[ZoneRef];
    /// A node's own zones with memory, highest first.
    fn this_node_list(&self, node: NodeId) -> &[ZoneRef];
    fn zones(&self) -> &[Zone];
    /// LRU pages of one zone.
    fn zone_lru(&self, zone: ZoneId) -> &ZoneLru;
    fn policy(&self) -> &Policy;
    fn index(&self) -> Option<&Index>;
    fn prices(&self) -> &HugePrices;
    /// Whether there is room in swap.
    fn has_swap(&self) -> bool;
}

/// The engine as a placement sees it.
pub(super) struct Engine<'a> {
    pub(super) phys: &'a PhysMem,
    pub(super) pages: &'a UsedPages,
}

impl Known for Engine<'_> {
    fn distances(&self) -> Distances<'_> {
        self.phys.frames.distances()
    }

    fn fallback_list(&self, node: NodeId) -> &[ZoneRef] {
        self.phys.frames.fallback_list(node)
    }

    fn this_node_list(&self, node: NodeId) -> &[ZoneRef] {
        self.phys.frames.this_node_list(node)
    }

    fn zones(&self) -> &[Zone] {
        self.phys.frames.zones()
    }

    fn zone_lru(&self, zone: ZoneId) -> &ZoneLru {
        &self.pages.lru.zones[zone.index()]
    }

    fn policy(&self) -> &Policy {
        &self.phys.policy
    }

    fn index(&self) -> Option<&Index> {
        self.phys.frames.index()
    }

    fn prices(&self) -> &HugePrices {
        &self.phys.settings.thp.prices
    }

    fn has_swap(&self) -> bool {
        self.pages.swap.free() > 0
    }
}

/// Zones that may hold memory of programs.
pub(super) const CLASS: ZoneKind = ZoneKind::Movable;

impl<'a> View<'a> {
    /// Attempts made so far.
    #[must_use]
    pub const fn made(&self) -> usize {
        self.made
    }

    /// The node where the page is wanted.
    #[must_use]
    pub const fn home(&self) -> NodeId {
        self.ask.home
    }

    /// Whether the fault may reclaim and compact.
    #[must_use]
    pub const fn may_reclaim(&self) -> bool {
        self.ask.rights.has(Gfp::DIRECT_RECLAIM)
    }

    /// Whether the program said something about where this memory is to lie.
    #[must_use]
    pub const fn is_advised(&self) -> bool {
        self.ask.advised
    }

    /// An attempt at home with all that the fault may do.
    #[must_use]
    pub const fn at_home(&self) -> Attempt {
        self.on(self.ask.home)
    }

    /// An attempt on one node with all that the fault may do.
    #[must_use]
    pub const fn on(&self, node: NodeId) -> Attempt {
        Attempt::huge(Nodes::One(node), self.ask.rights)
    }

    /// An attempt on every node that may serve, with all that the fault may do.
    #[must_use]
    pub const fn anywhere(&self) -> Attempt {
        Attempt::huge(Nodes::Any, self.ask.rights)
    }

    /// Nodes that may serve, home first, then by distance from it.
    pub fn by_distance(&self) -> impl Iterator<Item = NodeId> {
        let mut before = None;
        let nodes = self.engine.fallback_list(self.ask.home).iter().map(|zone| zone.node);
        let once = nodes.filter(move |&node| before.replace(node) != Some(node));
        let allowed = self.ask.allowed.unwrap_or(NodeMask::ALL);
        once.filter(move |&node| allowed.has(node))
    }

    /// Nodes that may serve, by distance from home, as far as `policy.thp.near` goes.
    pub fn nearby(&self) -> impl Iterator<Item = NodeId> {
        let (home, near) = (self.ask.home, self.engine.policy().thp.near);
        let distances = self.engine.distances();
        self.by_distance().filter(move |&node| distances.between(home, node) <= near)
    }

    /// Nodes that may serve and are further away than those of [`Self::nearby`].
    pub fn further(&self) -> Option<Nodes> {
        let near = among(self.nearby());
        some(among(self.by_distance()) & !near)
    }

    /// Nodes that may serve, without home.
    pub fn others(&self) -> Option<Nodes> {
        some(among(self.by_distance()) & !mask_of(self.ask.home))
    }

    /// Whether an attempt asked this node alone before.
    pub(super) const fn was_tried(&self, node: NodeId) -> bool {
        self.tried & mask_of(node) != 0
    }

    /// Whether a node has fewer free base pages above its low watermarks than a slot takes.
    pub(super) fn is_short_of_base_pages(&self, node: NodeId) -> bool {
        let spare =
            |zone: &Zone| zone.free().saturating_sub(zone.mark(Mark::Low) + zone.lowmem_reserve()[CLASS.index()]);
        self.zones_of(node).map(spare).sum::<u64>() < PAGEBLOCK_PAGES.get()
    }

    pub(super) fn zones_of(&self, node: NodeId) -> impl Iterator<Item = &'a Zone> + use<'a> {
        let engine = self.engine;
        let (zones, list) = (engine.zones(), engine.this_node_list(node));
        list.iter().map(|at| &zones[at.zone.index()])
    }

    /// Whether a node has a huge page free.
    pub(super) fn has_free_huge(&self, node: NodeId) -> bool {
        self.zones_of(node).any(|zone| self.has_block(zone))
    }

    /// Whether a zone has a huge page free that leaves its low watermark.
    fn has_block(&self, zone: &Zone) -> bool {
        let flags = AllocFlags { cma: true, ..AllocFlags::plain(Mark::Low) };
        zone.watermark_ok(Order::PAGEBLOCK, CLASS, &flags, &self.engine.policy().frames)
    }
}

/// The bits of nodes.
pub(super) fn among(nodes: impl Iterator<Item = NodeId>) -> u64 {
    nodes.fold(0, |mask, node| mask | mask_of(node))
}

const fn some(mask: u64) -> Option<Nodes> {
    if mask == 0 { None } else { Some(Nodes::Among(mask)) }
}
