//! Laws of compaction, recounted.

use alloc::collections::BTreeSet;
use alloc::format;

use order9_frames::{Flag, FrameState, Idx, Verdict, Zone, require};
use order9_units::{Migratetype, Order};

use crate::compaction::Compaction;
use crate::compaction::run::control::CompactControl;
use crate::phys::PhysMem;
use crate::runs::Runs;

impl Compaction {
    /// Checks that the state of zones is possible, and that every frame of a run is held by it alone, in its zone.
    pub(crate) fn check_compaction(&self, runs: &Runs<CompactControl>, phys: &PhysMem) -> Verdict {
        phys.frames.zones().iter().try_for_each(|zone| self.check_zone_compaction(zone, phys))?;
        let mut blocks = 0..phys.frames.blocks().len();
        let forgotten = blocks.find(|&block| {
            phys.frames.watch().known_huge.get(block)
                && !phys.is_huge_block(Idx((block as u32) << Order::PAGEBLOCK.get()))
        });
        require(forgotten.is_none(), "pageblocks known to begin inside a huge block do", || format!("{forgotten:?}"))?;
        self.check_skipped_entries(phys)?;
        let (mut held, mut claims) = (BTreeSet::new(), BTreeSet::new());
        runs.iter().try_for_each(|run| phys.check_run(run, &mut held, &mut claims))
    }

    /// Checks the cached sequences against their lists, hints and bits.
    fn check_skipped_entries(&self, phys: &PhysMem) -> Verdict {
        let mut members = 0;
        for (zone, order, entries) in phys.frames.watch().skipped_entries.iter() {
            members += entries.len;
            let of_it = |idx: &Idx| {
                phys.frames.word(*idx).state() == FrameState::Free { order, list: Migratetype::Movable }
                    && phys.frames.watch().skipped_entries.contains(*idx)
                    && self.skip.get(idx.block())
                    && *idx <= entries.highest
            };
            let blocks = phys.blocks_of_entries(zone, order, entries);
            let ends = phys.blocks_of_entries(zone, order, entries).last() == Some(entries.last);
            require(
                ends && blocks.filter(of_it).count() as u64 == entries.len,
                "cached sequences of list entries are what they were",
                || format!("{zone:?}, {order:?}: {entries:?}"),
            )?;
        }
        let marked = phys.frames.watch().skipped_entries.member_count();
        require(marked == members, "marked blocks are in a cached sequence", || format!("{marked} of {members}"))
    }

    fn check_zone_compaction(&self, zone: &Zone, phys: &PhysMem) -> Verdict {
        let kind = zone.kind();
        let of = &self.zones[zone.id().index()];
        for deferral in &of.deferral {
            let fits = deferral.considered <= 1 << deferral.shift && deferral.order_failed <= 11;
            require(fits, "a zone has considered at most as many requests as it defers", || {
                format!("{kind}: {deferral:?}")
            })?;
        }
        let caps = [phys.policy.compaction.defer_cap, phys.policy.compaction.defer_remote_cap];
        for (deferral, cap) in of.deferral.iter().zip(caps) {
            require(deferral.shift <= cap, "deferral stays below its cap", || {
                format!("{kind}: {deferral:?}, cap {cap}")
            })?;
        }
        // A scanner that has gone through the zone stands behind its end, or before its start.
        let near = |pfn: order9_units::Pfn| {
            pfn.get() == 0 || zone.span().start <= pfn + super::BLOCK && pfn <= zone.span().end + super::BLOCK
        };
        for pfn in [of.cached_migrate[0], of.cached_migrate[1], of.cached_free] {
            require(near(pfn), "cached positions lie in the zone", || format!("{kind}: {pfn:?} in {:?}", zone.span()))?;
        }
        Ok(())
    }
}

impl PhysMem {
    fn check_run(&self, run: &CompactControl, held: &mut BTreeSet<Idx>, claims: &mut BTreeSet<Idx>) -> Verdict {
        let mut once = |idx: Idx| {
            require(held.insert(idx), "a frame is held by one run, once", || format!("{:?}", self.frames.pfn(idx)))?;
            let own = self.frames.zone_around(idx) == run.zone;
            require(own, "a run stays in its zone", || format!("{:?} is not in {:?}", self.frames.pfn(idx), run.zone))
        };
        if let Some(claim) = run.claim {
            let own = self.frames.blocks()[claim.first.block()];
            let claimed = own.migratetype == Migratetype::Isolate && own.zone == run.zone;
            require(claimed, "a claimed pageblock is isolated", || {
                format!("{:?}: {own:?}", self.frames.pfn(claim.first))
            })?;
            require(claims.insert(claim.first), "a pageblock is claimed by one run", || {
                format!("{:?}", self.frames.pfn(claim.first))
            })?;
        }
        for &idx in &run.migratepages {
            once(idx)?;
            let word = self.frames.word(idx);
            let isolated = word.is_allocated() && word.has(Flag::Isolated);
            require(isolated, "pages that a run moves are isolated", || format!("{:?}", self.frames.pfn(idx)))?;
        }
        for idx in run.freepages.iter().copied().chain(run.captured) {
            once(idx)?;
            let state = self.frames.word(idx).state();
            let holds = matches!(state, FrameState::Held { .. });
            require(holds, "targets and captured blocks are held", || {
                format!("{:?} is {state:?}", self.frames.pfn(idx))
            })?;
        }
        Ok(())
    }
}
