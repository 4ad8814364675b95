//! Nodes that are reclaimed before a request goes on to the next one: what `vm.zone_reclaim_mode` switches on.

use order9_frames::{AllocFlags, Gfp, Mark, Search, ZoneId};
use order9_units::{NodeId, NodeMask};

use crate::lru_list::LruList;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::policy::NodeReach;

/// About as far as nodes are worth reclaiming: `RECLAIM_DISTANCE`.
const DISTANCE: u32 = 30;

/// Bit of `vm.zone_reclaim_mode`: dirty pages may be written.
pub(crate) const WRITE: u64 = 2;

/// Bit of `vm.zone_reclaim_mode`: pages may be unmapped.
pub(crate) const UNMAP: u64 = 4;

impl PhysMem {
    /// Whether near nodes are reclaimed before others are used: `vm.zone_reclaim_mode` is not 0.
    pub(crate) const fn reclaims_nodes(&self) -> bool {
        self.settings.zone_reclaim_mode != 0
    }

    fn is_in_reach(&self, from: NodeId, to: NodeId) -> bool {
        let distance = self.frames.distance(from, to);
        match self.policy.reclaim.node_reach {
            NodeReach::Nearer => distance < DISTANCE,
            NodeReach::Within => distance <= DISTANCE,
        }
    }
}

impl UsedPages {
    /// Nodes to be reclaimed before a walk of the fast path goes on behind a zone of theirs that failed its mark.
    pub(crate) fn nodes_to_reclaim_first(&self, search: &Search, phys: &PhysMem) -> NodeMask {
        let comes_first = |&node: &NodeId| self.comes_before_other_nodes(search, node, phys);
        phys.frames.nodes().filter(comes_first).fold(NodeMask::EMPTY, |mask, node| mask | NodeMask::of(node))
    }

    /// Whether reclaim of `node` comes before the use of other nodes: the request may reclaim, the node is near and has pages
    /// to spare, and nobody else reclaims it or runs on its CPUs.
    fn comes_before_other_nodes(&self, search: &Search, node: NodeId, phys: &PhysMem) -> bool {
        let request = &search.request;
        let cpus = phys.frames.cpus();
        let here = cpus.get(request.cpu).copied().unwrap_or(request.node);
        let is_ours = node == here || !cpus.contains(&node);
        request.gfp.has(Gfp::DIRECT_RECLAIM)
            && is_ours
            && phys.is_in_reach(search.preferred.node, node)
            && !phys.daemons.reclaimed[node.index()].is_reclaimed
            && self.has_spare_caches(node, phys)
    }

    /// Whether the node of a zone that fails its mark is reclaimed before the next zone is tried.
    pub(crate) fn is_node_reclaimed_first(
        &self,
        search: &Search,
        zone: ZoneId,
        flags: &AllocFlags,
        phys: &PhysMem,
    ) -> bool {
        let zone = phys.frames.zone(zone);
        flags.mark == Mark::Low
            && self.comes_before_other_nodes(search, zone.node(), phys)
            && !zone.watermark_ok(search.request.order, search.class, flags, &phys.policy.frames)
    }

    /// Whether a node has more page cache or slab than it may keep where its memory is short.
    fn has_spare_caches(&self, node: NodeId, phys: &PhysMem) -> bool {
        let managed: u64 =
            phys.frames.zones().iter().filter(|zone| zone.node() == node).map(|zone| zone.managed()).sum();
        let of_node = |percent: u64| managed * percent / 100;
        self.spare_pagecache(node, phys) > of_node(phys.settings.min_unmapped_ratio)
            || self.slab.levels[node.index()].reclaimable > of_node(phys.settings.min_slab_ratio)
    }

    /// Page cache that the mode in force lets go.
    fn spare_pagecache(&self, node: NodeId, phys: &PhysMem) -> u64 {
        let mode = phys.settings.zone_reclaim_mode;
        let file = |node| {
            self.lru.lru_pages(node, LruList::InactiveFile, phys) + self.lru.lru_pages(node, LruList::ActiveFile, phys)
        };
        let own = file(node);
        // What is mapped counts pages that are on no list, too.
        let unmapped = if mode & UNMAP == 0 { own.saturating_sub(self.rmap.mapped[node.index()]) } else { own };
        let dirty = if mode & WRITE == 0 { self.cache.write_pending(Some(node), phys).dirty } else { 0 };
        unmapped.saturating_sub(dirty)
    }
}

#[cfg(test)]
mod tests {
    use crate::mm::Mm;
    use order9_frames::Request;
    use order9_units::{Order, Pages, Pfn, PfnRange, ZoneKind};

    use super::*;
    use crate::policy::Policy;
    use crate::reclaim::tests::{boot, mapped};
    use crate::space::Prot;
    use crate::{Layout, MmBuilder, NodeSpec, ZoneSpec};

    #[test]
    fn bits_of_the_mode_say_what_may_be_done_and_one_task_does_it() {
        for (mode, may_write, may_unmap) in [(1, false, false), (3, true, false), (5, false, true)] {
            let mut mm = boot();
            mm.phys.settings.zone_reclaim_mode = mode;
            let request = Request::new(Order::new(6).expect("a small order"), Gfp::GFP_KERNEL);
            let (id, pass) = mm.begin_node_reclaim(ZoneId(1), &request).expect("nobody else does");
            assert!(pass.slab && mm.begin_node_reclaim(ZoneId(0), &request).is_none());
            let run = mm.reclaim_mut(id);
            assert_eq!((run.may_writepage, run.may_unmap, run.nr_to_reclaim), (may_write, may_unmap, 64));
            run.nr_reclaimed = 64;
            assert!(mm.end_node_reclaim(id, ZoneId(1)));
            let (id, _) = mm.begin_node_reclaim(ZoneId(0), &request).expect("the first one is through");
            assert!(!mm.end_node_reclaim(id, ZoneId(0)));
            assert_eq!((mm.counters().zone_reclaim_success, mm.counters().zone_reclaim_failed), (1, 1));
        }
    }

    #[test]
    fn what_is_mapped_of_a_node_is_not_spare_there() {
        let zone = |node: u16| ZoneSpec {
            node: NodeId(node),
            kind: ZoneKind::Normal,
            span: PfnRange::of(Pfn::new((1 << 20) + u64::from(node) * 4096), Pages::new(4096)),
        };
        let node = |distances: [u32; 2]| NodeSpec { distances: distances.to_vec() };
        let layout = Layout {
            nodes: [[10, 20], [20, 10]].map(node).to_vec(),
            zones: [0, 1].map(zone).to_vec(),
            cpus: [NodeId(0)].to_vec(),
            ..Layout::default()
        };
        let mut mm = MmBuilder::new(&layout, Policy::default()).expect("the layout is sound").boot();
        let spaces = [0, 1].map(|node| {
            mm.phys.frames.move_cpu(0, NodeId(node));
            mapped(&mut mm, 100, LruList::InactiveFile, Prot::READ).space
        });
        let spare = |mm: &Mm| [0, 1].map(|node| mm.pages.spare_pagecache(NodeId(node), &mm.phys));
        mm.phys.settings.zone_reclaim_mode = 1;
        assert_eq!(spare(&mm), [0, 0]);
        mm.exit(spaces[1], 0).expect("it lives");
        assert_eq!(spare(&mm), [0, 100]);
        mm.phys.settings.zone_reclaim_mode = 5;
        assert_eq!(spare(&mm), [100, 100], "it may be unmapped");
        mm.check().expect("every law holds");
    }
}
