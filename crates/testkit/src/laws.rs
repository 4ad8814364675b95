//! Laws that a single state does not show: they speak of what a step did, or of everything since boot.

use order9_mm::FrameEvent;
use order9_mm::policy::{FallbackSearch, PcpLists};
use order9_mm::trace::Event;
use order9_mm::{FrameState, Gfp, Mm};
use order9_units::{Migratetype, Order, PAGEBLOCK_PAGES, Pfn};

use crate::op::Op;
use crate::pair::Difference;

/// Values that laws compare from step to step.
pub(crate) struct Laws {
    /// Blocks handed out since boot.
    served: u64,
    /// Boost of every zone after the last step.
    boosts: Vec<u64>,
    /// Pageblocks of contiguous memory areas at boot.
    cma: usize,
}

/// Fails with `law` unless `holds`.
fn require(holds: bool, law: &str, found: impl FnOnce() -> String) -> Result<(), Difference> {
    if holds { Ok(()) } else { Err(format!("broken law: {law}: {}", found())) }
}

impl Laws {
    pub(crate) fn at_boot(mm: &Mm, pageblocks: &[Pfn]) -> Self {
        Self { served: 0, boosts: boosts(mm), cma: cma_blocks(mm, pageblocks) }
    }

    /// Checks what one step did, by its events.
    pub(crate) fn check_step(&mut self, mm: &Mm, op: Op, events: &[Event]) -> Result<(), Difference> {
        let now = boosts(mm);
        let before = std::mem::replace(&mut self.boosts, now);
        for (zone, (&now, &before)) in mm.frames().zones().iter().zip(self.boosts.iter().zip(&before)) {
            let fragmenting = events.iter().filter(
                |event| matches!(event, Event::Frame(FrameEvent::Extfrag(event)) if event.zone == zone.id() && event.is_fragmenting()),
            );
            let most = PAGEBLOCK_PAGES.get() * fragmenting.count() as u64;
            // Claims that failed boost too where claiming and stealing are two phases.
            let every_boost_reported = mm.policy().frames.fallback.search != FallbackSearch::ClaimThenSteal;
            require(
                !every_boost_reported || now <= before + most,
                "every boost is at most a pageblock and comes with a fragmentation event",
                || format!("{} from {before} to {now}, {most} allowed", zone.kind()),
            )?;
        }
        for event in events {
            if let Event::Frame(FrameEvent::PageAlloc { pfn: Some(pfn), gfp, .. }) = *event {
                self.served += 1;
                check_place(mm, op, pfn, gfp)?;
            }
        }
        match (op, events.first()) {
            (Op::Free { cpu, .. }, Some(&Event::Frame(FrameEvent::PageFree { pfn, .. }))) => {
                check_cache_size(mm, pfn, cpu)
            }
            _ => Ok(()),
        }
    }

    /// Checks totals since boot; `lent_out` pageblocks of contiguous memory areas are isolated for now.
    pub(crate) fn check_totals(&self, mm: &Mm, pageblocks: &[Pfn], lent_out: usize) -> Result<(), Difference> {
        let counted: u64 = mm.frames().numa_counters().iter().map(|numa| numa.hit + numa.miss).sum();
        require(counted == self.served, "numa_hit + numa_miss counts every block handed out", || {
            format!("{counted} counted, {} handed out", self.served)
        })?;
        let cma = cma_blocks(mm, pageblocks) + lent_out;
        require(cma == self.cma, "the number of CMA pageblocks never changes", || {
            format!("{cma} now, {} at boot", self.cma)
        })?;
        let rounded = mm.policy().frames.highatomic.limit_rounded;
        for zone in mm.frames().zones() {
            let (hundredth, block) = (zone.managed() / 100, PAGEBLOCK_PAGES.get());
            let limit = if rounded { hundredth.next_multiple_of(block) } else { hundredth + block };
            let reserved = zone.reserved_highatomic();
            require(reserved <= limit + block, "the highatomic reserve keeps to its limit", || {
                format!("{}: {reserved} reserved, limit {limit}", zone.kind())
            })?;
        }
        Ok(())
    }
}

/// A block comes from a zone of the class asked for, and of the node where only that may serve.
fn check_place(mm: &Mm, op: Op, pfn: Pfn, gfp: Gfp) -> Result<(), Difference> {
    let zone = mm.frames().zones().iter().find(|zone| zone.span().contains(pfn)).ok_or("a block outside all zones")?;
    require(zone.kind() <= gfp.highest_zone(), "no block comes from above the class asked for", || {
        format!("{pfn} in {} for {gfp:?}", zone.kind())
    })?;
    let (Op::Alloc { node: asked, .. } | Op::AllocSlow { node: asked, .. }) = op else {
        return Err(format!("{op:?} handed {pfn} out"));
    };
    require(!gfp.has(Gfp::THISNODE) || zone.node().0 == asked, "a request for one node is served there", || {
        format!("{pfn} on node {} for node {asked}", zone.node())
    })
}

/// Checks that the CPU's lists exceed their size by at most one block after `pfn` was freed to them.
fn check_cache_size(mm: &Mm, pfn: Pfn, cpu: usize) -> Result<(), Difference> {
    let zone = mm.frames().zones().iter().find(|zone| zone.span().contains(pfn)).ok_or("a block outside all zones")?;
    let (FrameState::Pcp { .. }, Some(pcp)) = (mm.frames().frame(pfn), mm.frames().pcp(zone.id(), cpu)) else {
        return Ok(());
    };
    let largest = match mm.policy().frames.pcp.lists {
        PcpLists::BasePages => Order::ZERO.pages().get(),
        PcpLists::UpToCostly { .. } => PAGEBLOCK_PAGES.get(),
    };
    let fits = pcp.count() < pcp.high().max(1) + largest;
    require(fits, "after a free per-CPU lists are at most one block too long", || {
        format!("{}: {} pages, high {}", zone.kind(), pcp.count(), pcp.high())
    })
}

fn boosts(mm: &Mm) -> Vec<u64> {
    mm.frames().zones().iter().map(order9_mm::Zone::boost).collect()
}

fn cma_blocks(mm: &Mm, pageblocks: &[Pfn]) -> usize {
    let is_cma = |pfn: &&Pfn| mm.frames().pageblock(**pfn).is_some_and(|block| block.migratetype == Migratetype::Cma);
    pageblocks.iter().filter(is_cma).count()
}
