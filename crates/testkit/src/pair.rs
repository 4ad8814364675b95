//! The engine and the naive allocator side by side: the same operation to both, then everything compared.

use order9_mm::thp::HugeEnabled;
use order9_mm::{FrameState, Mm, MmBuilder};
use order9_units::{Migratetype, NodeId, Order, PAGEBLOCK_PAGES, Pfn, PfnRange};

use crate::laws::Laws;
use crate::op::{Case, Op};
use crate::oracle::{Counts, Frame, Oracle, as_order};

/// A difference between engine and oracle, in words.
pub type Difference = String;

/// Engine and oracle after the same operations.
pub struct Pair {
    /// The engine.
    pub mm: Mm,
    oracle: Oracle,
    laws: Laws,
    live: Vec<Pfn>,
    held: Vec<Pfn>,
    isolated: Vec<(Pfn, Migratetype)>,
    /// First frame in its zone of every pageblock.
    pageblocks: Vec<Pfn>,
}

/// Fails unless engine and oracle agree on one thing.
macro_rules! agree {
    ($engine:expr, $oracle:expr, $($what:tt)+) => {
        let (engine, oracle) = ($engine, $oracle);
        if engine != oracle {
            return Err(format!("{}: engine {engine:?}, oracle {oracle:?}", format!($($what)+)));
        }
    };
}

impl Pair {
    /// Boots engine and oracle with all memory free.
    ///
    /// # Panics
    /// If the engine refuses the machine.
    #[must_use]
    pub fn boot(case: &Case) -> Self {
        let layout = case.machine.layout();
        let builder = MmBuilder::new(&layout, case.policy()).expect("machines of the kit are sound").traced();
        let mut mm = builder.boot();
        // The machines are so small that they start without huge pages, and keep less memory free than the naive allocator.
        mm.phys_mut().set_thp_enabled(HugeEnabled::Always);
        let oracle = Oracle::boot(&layout, case.policy(), mm.frames().zones().iter().map(order9_mm::Zone::id));
        let pageblocks = mm.frames().zones().iter().flat_map(|zone| {
            let PfnRange { start, end } = zone.span();
            let aligned = PfnRange::new(start.align_down(Order::PAGEBLOCK), end);
            aligned.iter().step_by(PAGEBLOCK_PAGES.get() as usize).map(move |pfn| pfn.max(start)).collect::<Vec<_>>()
        });
        let pageblocks: Vec<_> = pageblocks.collect();
        let laws = Laws::at_boot(&mm, &pageblocks);
        Self { mm, oracle, laws, live: Vec::new(), held: Vec::new(), isolated: Vec::new(), pageblocks }
    }

    /// Number of live allocations.
    #[must_use]
    pub fn live(&self) -> usize {
        self.live.len()
    }

    /// Does one operation on both and compares the answers and the events.
    ///
    /// # Errors
    /// What they differ in.
    pub fn apply(&mut self, op: Op) -> Result<(), Difference> {
        self.step(op)?;
        let (engine, oracle) = (self.mm.phys_mut().events_mut(), &mut self.oracle.events);
        if let Some(at) = (0..engine.len().max(oracle.len())).find(|&at| engine.get(at) != oracle.get(at)) {
            return Err(format!("event {at}: engine {:?}, oracle {:?}", engine.get(at), oracle.get(at)));
        }
        oracle.clear();
        let events = std::mem::take(engine);
        self.laws.check_step(&self.mm, op, &events)
    }

    fn step(&mut self, op: Op) -> Result<(), Difference> {
        match op {
            Op::Alloc { order, ask, node, cpu } => {
                let request = ask.request(order, node, cpu);
                let answer = self.mm.alloc_fast(&request);
                self.live.extend(answer.ok());
                agree!(answer, self.oracle.alloc_fast(&request), "answer");
            }
            Op::AllocSlow { order, ask, node, cpu, rights } => {
                let request = ask.request(order, node, cpu);
                let flags = rights.flags(&request, self.mm.policy());
                let answer = self.mm.alloc_with(&request, flags);
                self.live.extend(answer.ok());
                agree!(answer, self.oracle.alloc_with(&request, flags), "answer");
            }
            Op::Free { nth, cpu } => {
                if let Some((at, pfn)) = pick(&self.live, nth) {
                    let freed = self.mm.free(pfn, cpu).is_ok();
                    agree!(freed, self.oracle.free(pfn.get(), cpu), "freed {pfn}");
                    if freed {
                        self.live.swap_remove(at);
                    }
                }
            }
            Op::FreeFrame { nth, cpu } => {
                let pfn = self.oracle.nth_frame(nth);
                let freed = self.mm.free(pfn, cpu).is_ok();
                agree!(freed, self.oracle.free(pfn.get(), cpu), "freed the frame {pfn}");
                if freed {
                    self.live.retain(|&live| live != pfn);
                }
            }
            Op::Pin { nth } => {
                if let Some((_, pfn)) = pick(&self.live, nth) {
                    agree!(self.mm.pin(pfn).is_ok(), self.oracle.pin(pfn.get()), "pinned {pfn}");
                }
            }
            Op::Unpin { nth } => {
                if let Some((_, pfn)) = pick(&self.live, nth) {
                    agree!(self.mm.unpin(pfn).ok(), self.oracle.unpin(pfn.get()), "unpinned {pfn}");
                }
            }
            Op::SetMovable { nth, on } => {
                if let Some((_, pfn)) = pick(&self.live, nth) {
                    let done = self.mm.phys_mut().set_movable_content(pfn, on).is_ok();
                    agree!(done, self.oracle.set_movable_content(pfn.get(), on), "content of {pfn}");
                }
            }
            Op::SetIsolated { nth, on } => {
                if let Some((_, pfn)) = pick(&self.live, nth) {
                    let done = self.mm.set_isolated(pfn, on).is_ok();
                    agree!(done, self.oracle.set_isolated(pfn.get(), on), "isolation of {pfn}");
                }
            }
            Op::Drain => {
                self.mm.phys_mut().drain_all();
                self.oracle.drain_all();
            }
            Op::IsolateFree { .. } | Op::ReleaseFree { .. } | Op::IsolateBlock { .. } | Op::UnisolateBlock { .. } => {
                return self.isolation_step(op);
            }
            Op::Unreserve { node, mt, force } => {
                let done = self.mm.phys_mut().unreserve_highatomic(NodeId(node), mt, force);
                agree!(done, self.oracle.unreserve_highatomic(NodeId(node), mt, force), "gave a reserved block back");
            }
            Op::SetScaleFactor(factor) => {
                self.mm.phys_mut().set_watermark_scale_factor(factor);
                self.oracle.set_watermark_scale_factor(factor);
            }
            Op::SetBoostFactor(factor) => {
                self.mm.phys_mut().set_watermark_boost_factor(factor);
                self.oracle.set_watermark_boost_factor(factor);
            }
            Op::SetMinFree(kbytes) => {
                self.mm.phys_mut().set_min_free_kbytes(kbytes);
                self.oracle.set_min_free_kbytes(kbytes);
            }
            Op::TakeKswapd { node } => {
                let asked = self.mm.phys_mut().take_kswapd_request(NodeId(node));
                let expected = self.oracle.kswapd.get_mut(usize::from(node)).and_then(Option::take);
                agree!(asked, expected, "what kswapd {node} was asked for");
            }
        }
        Ok(())
    }

    fn isolation_step(&mut self, op: Op) -> Result<(), Difference> {
        match op {
            Op::IsolateFree { nth, boosted } => {
                if let Some(pfn) = self.nth_free(nth) {
                    let done = self.mm.phys_mut().isolate_free_block(pfn, boosted).is_ok();
                    self.held.extend(done.then_some(pfn));
                    agree!(done, self.oracle.isolate_free_block(pfn.get(), boosted), "took the free block {pfn}");
                }
            }
            Op::ReleaseFree { nth } => {
                if let Some((at, pfn)) = pick(&self.held, nth) {
                    self.held.swap_remove(at);
                    let done = self.mm.phys_mut().release_free_block(pfn).is_ok();
                    agree!(done, self.oracle.release_free_block(pfn.get()), "gave the free block {pfn} back");
                }
            }
            Op::IsolateBlock { nth } => {
                let (_, pfn) = pick(&self.pageblocks, nth).expect("every machine has a pageblock");
                let old = self.mm.phys_mut().isolate_pageblock(pfn).ok();
                self.isolated.extend(old.map(|old| (pfn, old)));
                agree!(old, self.oracle.isolate_pageblock(pfn.get()), "isolated pageblock {pfn}");
            }
            Op::UnisolateBlock { nth, movable } => {
                if let Some((at, (pfn, old))) = pick(&self.isolated, nth) {
                    self.isolated.swap_remove(at);
                    let mt = match old {
                        Migratetype::HighAtomic => Migratetype::Movable, // Back in the reserve it could exceed its limit.
                        old if old.is_mergeable() && movable => Migratetype::Movable,
                        old => old,
                    };
                    let done = self.mm.phys_mut().unisolate_pageblock(pfn, mt).is_ok();
                    agree!(done, self.oracle.unisolate_pageblock(pfn.get(), mt), "pageblock {pfn} back");
                }
            }
            _ => unreachable!("only isolation comes here"),
        }
        Ok(())
    }

    /// The nth free block over all lists.
    fn nth_free(&self, nth: usize) -> Option<Pfn> {
        let lists = self.oracle.zones.iter().flat_map(|zone| zone.lists.iter().flatten());
        let blocks: usize = lists.clone().map(std::collections::VecDeque::len).sum();
        lists.flatten().nth(nth.checked_rem(blocks)?).map(|&pfn| Pfn::new(pfn))
    }

    /// Compares everything there is, and has the engine check its laws.
    ///
    /// # Errors
    /// The first difference, or the law that is broken.
    pub fn compare(&self) -> Result<(), Difference> {
        self.mm.check().map_err(|violation| format!("{violation:?}"))?;
        for z in 0..self.oracle.zones.len() {
            self.compare_zone(z)?;
        }
        for &pfn in &self.pageblocks {
            self.compare_pageblock(pfn)?;
        }
        for (node, asked) in self.mm.frames().nodes().zip(&self.oracle.kswapd) {
            agree!(self.mm.phys().kswapd_request(node), *asked, "what kswapd {} is asked for", node);
        }
        agree!(self.mm.phys().min_free_kbytes(), self.oracle.min_free_kbytes, "min_free_kbytes");
        let lent_out = self.isolated.iter().filter(|(_, old)| *old == Migratetype::Cma).count();
        self.laws.check_totals(&self.mm, &self.pageblocks, lent_out)?;
        self.compare_counters()
    }

    fn compare_zone(&self, z: usize) -> Result<(), Difference> {
        let (engine, oracle) = (&self.mm.frames().zones()[z], &self.oracle.zones[z]);
        let kind = oracle.kind;
        for order in Order::all() {
            for mt in Migratetype::ALL {
                let list = self.mm.frames().free_list(engine.id(), order, mt).map(Pfn::get);
                let expected = oracle.lists[order.index()][mt.index()].iter().copied();
                agree!(list.collect::<Vec<_>>(), expected.collect::<Vec<_>>(), "{kind} list {order} {mt}");
                let blocks = engine.areas()[order.index()].blocks[mt.index()] as usize;
                agree!(blocks, oracle.lists[order.index()][mt.index()].len(), "{kind} length {order} {mt}");
            }
        }
        for mt in Migratetype::ALL {
            agree!(engine.free_of_type(mt), oracle.free_of(mt), "{kind} free {mt}");
        }
        agree!(engine.free(), oracle.free(), "{kind} free");
        agree!(engine.managed(), oracle.managed, "{kind} managed");
        let marks = engine.watermarks();
        agree!((marks.min, marks.low, marks.high), (oracle.min, oracle.low, oracle.high), "{kind} marks");
        agree!(engine.boost(), oracle.boost, "{kind} boost");
        agree!(engine.lowmem_reserve(), oracle.lowmem_reserve, "{kind} lowmem reserve");
        agree!(engine.reserved_highatomic(), oracle.reserved_highatomic, "{kind} reserved highatomic");
        for (cpu, (pcp, cache)) in self.mm.frames().pcps(engine.id()).zip(&oracle.caches).enumerate() {
            agree!((pcp.batch(), pcp.high()), (cache.batch, cache.high), "{kind} cpu {cpu} batch and high");
            agree!(pcp.count(), self.oracle.cached(z, cpu), "{kind} cpu {cpu} count");
        }
        Ok(())
    }

    fn compare_pageblock(&self, start: Pfn) -> Result<(), Difference> {
        let block =
            self.mm.frames().pageblock(start).ok_or_else(|| format!("the engine has no pageblock at {start}"))?;
        let counts = Counts {
            free: block.free,
            movable: block.movable(),
            immovable: block.immovable,
            pinned: block.pinned,
            isolated: block.isolated,
            absent: block.absent,
        };
        agree!(counts, self.oracle.counts(start.get()), "counts of pageblock {start}");
        agree!(block.migratetype, self.oracle.type_of(start.get()), "type of pageblock {start}");
        let whole = start.align_down(Order::PAGEBLOCK);
        for pfn in PfnRange::of(whole, PAGEBLOCK_PAGES).iter() {
            let frame = self.oracle.frame(pfn.get());
            agree!(self.mm.frames().frame(pfn), state(frame, pfn), "frame {pfn}");
            let movable = matches!(frame, Frame::Live { first, movable_content: true, .. } if first == pfn.get());
            agree!(self.mm.phys().has_movable_content(pfn), movable, "content of {pfn}");
        }
        Ok(())
    }

    fn compare_counters(&self) -> Result<(), Difference> {
        let (engine, oracle) = (self.mm.frames().counters(), &self.oracle.tally);
        agree!(engine.pgalloc, oracle.pgalloc, "pgalloc");
        agree!(engine.pgfree, oracle.pgfree, "pgfree");
        agree!(self.mm.frames().numa_counters(), &oracle.numa[..], "numa");
        agree!(engine.boost_added, oracle.boost_added, "boost added");
        agree!(engine.boost_saturated, oracle.boost_saturated, "boost saturated");
        agree!(engine.watermark_failures, oracle.watermark_failures, "watermark failures");
        agree!(engine.extfrag.claimed, oracle.claimed, "claimed");
        for asked in Migratetype::ALL {
            for found in Migratetype::ALL {
                let expected = oracle.extfrag[asked.index()][found.index()];
                let counted = [false, true].map(|fragmenting| engine.extfrag.of(asked, found, fragmenting));
                agree!(counted, expected, "extfrag events {asked} from {found}");
            }
        }
        Ok(())
    }
}

fn pick<T: Copy>(all: &[T], nth: usize) -> Option<(usize, T)> {
    let at = nth.checked_rem(all.len())?;
    Some((at, all[at]))
}

/// The engine's name for the oracle's state of a frame.
fn state(frame: Frame, pfn: Pfn) -> FrameState {
    let (first, head) = match frame {
        Frame::Hole => return FrameState::Hole,
        Frame::Reserved => return FrameState::Reserved,
        Frame::Free { first, order, list } => (first, FrameState::Free { order: as_order(order), list }),
        Frame::Cached { first, order, cached, .. } => (first, FrameState::Pcp { order: as_order(order), cached }),
        Frame::Live { first, order, .. } => (first, FrameState::Allocated { order: as_order(order) }),
        Frame::Held { first, order } => (first, FrameState::Held { order: as_order(order) }),
    };
    if first == pfn.get() { head } else { FrameState::Tail }
}
