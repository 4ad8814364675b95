//! One call of all shrinkers for a node, in steps.

use order9_frames::Gfp;
use order9_units::NodeId;

use super::{LruScan, ShrinkPlan, ShrinkerKind, Shrunk};
use crate::fs_cache::{FsScan, ScanStep};
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::reclaimer::Reclaimer;
use crate::trace::Event;

/// Request to shrinkers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShrinkControl {
    /// Node whose objects are freed.
    pub node: NodeId,
    /// Flags of the request that needs memory.
    pub gfp: Gfp,
    /// From 12, the least effort, to 0.
    pub priority: u8,
    /// The pass over LRU lists that this is part of; counts only where the policy shares effort out by it.
    pub lru: LruScan,
    /// Starter of reclaim.
    pub by: Reclaimer,
    /// CPU it runs on.
    pub cpu: usize,
}

/// Next step of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShrinkStep {
    /// At most a batch was done; call again.
    Progress,
    /// Every shrinker was called.
    Done(Shrunk),
}

/// A call of all shrinkers for one node. It holds numbers only: dropped halfway, it loses no object, but the work of the
/// shrinker under way that was put off.
#[derive(Clone, Debug)]
pub struct ShrinkSlab {
    control: ShrinkControl,
    /// Position of the shrinker under way.
    at: usize,
    now: Option<Call>,
    total: Shrunk,
}

/// The call of one shrinker.
#[derive(Clone, Debug)]
struct Call {
    plan: ShrinkPlan,
    freed: Shrunk,
    batch: Option<Batch>,
}

#[derive(Clone, Debug)]
struct Batch {
    scan: Scan,
    objects: u64,
}

/// Rest of a batch.
#[derive(Clone, Debug)]
enum Scan {
    Fs(FsScan),
    /// Number of buffers that are still to be looked at.
    Buffers(u64),
    /// Number of huge pages that are still to be split.
    Splits(u64),
    HugeZeroPage,
    /// Number of huge pages of tmpfs that are still to be split.
    ShmemSplits(u64),
}

impl ShrinkSlab {
    /// A call that has not begun.
    #[must_use]
    pub fn new(control: ShrinkControl) -> Self {
        Self { control, at: 0, now: None, total: Shrunk::default() }
    }

    /// Objects freed so far.
    #[must_use]
    pub fn shrunk(&self) -> Shrunk {
        self.total
    }

    /// Advances by at most one batch.
    pub fn step(&mut self, pages: &mut UsedPages, phys: &mut PhysMem) -> ShrinkStep {
        let Some(mut call) = self.now.take() else { return self.begin(pages, phys) };
        let batch = match call.batch.take() {
            Some(batch) => Some(batch),
            None => self.next_batch(&call.plan, pages),
        };
        let Some(mut batch) = batch else {
            self.end(&call, pages, phys);
            return ShrinkStep::Progress;
        };
        let step = match &mut batch.scan {
            Scan::Fs(scan) => pages.fs_scan(scan, &mut call.freed, self.control.cpu, phys),
            Scan::Buffers(count) => {
                pages.scan_buffers(self.control.node, *count, &mut call.freed, self.control.cpu, phys);
                ScanStep::Done
            }
            Scan::Splits(0) | Scan::ShmemSplits(0) => ScanStep::Done,
            Scan::Splits(left) => {
                *left -= 1;
                call.freed.objects += u64::from(pages.split_deferred(self.control.node, self.control.cpu, phys));
                call.batch = Some(batch);
                self.now = Some(call);
                return ShrinkStep::Progress;
            }
            Scan::ShmemSplits(left) => {
                *left -= 1;
                call.freed.objects += u64::from(pages.shrink_shmem(self.control.cpu, phys));
                call.batch = Some(batch);
                self.now = Some(call);
                return ShrinkStep::Progress;
            }
            Scan::HugeZeroPage => {
                call.freed.objects += pages.shrink_huge_zero(self.control.cpu, phys);
                ScanStep::Done
            }
        };
        let step = match step {
            ScanStep::Invalidated(pages) => {
                match self.control.by {
                    Reclaimer::Kswapd => phys.counters.kswapd_inodesteal += pages,
                    Reclaimer::Direct | Reclaimer::Proactive => phys.counters.pginodesteal += pages,
                }
                call.batch = Some(batch);
                ShrinkStep::Progress
            }
            ScanStep::Done => {
                call.plan.done(batch.objects);
                phys.counters.slabs_scanned += batch.objects;
                ShrinkStep::Progress
            }
        };
        self.now = Some(call);
        step
    }

    /// Plans the call of the next shrinker.
    fn begin(&mut self, pages: &mut UsedPages, phys: &mut PhysMem) -> ShrinkStep {
        let ShrinkControl { node, gfp, priority, lru, .. } = self.control;
        let Some(shrinker) = pages.shrinkers.get_mut(self.at).filter(|shrinker| node.index() < shrinker.deferred.len())
        else {
            return ShrinkStep::Done(self.total);
        };
        let (kind, cost) = (shrinker.kind, shrinker.cost);
        let freeable = match kind {
            ShrinkerKind::Superblock => pages.fs_freeable(node, phys),
            ShrinkerKind::Buffers => pages.buffers_freeable(node),
            ShrinkerKind::DeferredSplit => pages.huge.deferred_splits(node),
            ShrinkerKind::Shmem => pages.cache.shmem_shrinkable(),
            // It knows no nodes, and is asked with the first.
            ShrinkerKind::HugeZeroPage if node == NodeId(0) => pages.huge.huge_zero_freeable(),
            ShrinkerKind::HugeZeroPage => 0,
        };
        if freeable == 0 {
            self.at += 1;
            return ShrinkStep::Progress;
        }
        let deferred = core::mem::take(&mut pages.shrinkers[self.at].deferred[node.index()]);
        let plan = ShrinkPlan::new(cost, freeable, deferred, priority, lru, &phys.policy.reclaim);
        phys.trace(|| Event::ShrinkSlabStart {
            shrinker: kind,
            node,
            deferred,
            gfp,
            cache_items: freeable,
            delta: plan.delta,
            total_scan: plan.total,
            priority,
        });
        self.now = Some(Call { plan, freed: Shrunk::default(), batch: None });
        ShrinkStep::Progress
    }

    /// The next batch; `None` when the rest is put off, or the shrinker stops because of the flags of the request.
    fn next_batch(&self, plan: &ShrinkPlan, pages: &UsedPages) -> Option<Batch> {
        let objects = plan.next_batch()?;
        let scan = match pages.shrinkers[self.at].kind {
            ShrinkerKind::Superblock | ShrinkerKind::Shmem if !self.control.gfp.has(Gfp::FS) => return None,
            ShrinkerKind::Superblock => Scan::Fs(pages.fs.as_ref()?.scan(self.control.node, objects)),
            ShrinkerKind::Buffers => Scan::Buffers(objects),
            ShrinkerKind::DeferredSplit => Scan::Splits(objects.min(pages.huge.deferred_splits(self.control.node))),
            ShrinkerKind::HugeZeroPage => Scan::HugeZeroPage,
            ShrinkerKind::Shmem => Scan::ShmemSplits(objects.min(pages.cache.shmem_shrinkable())),
        };
        Some(Batch { scan, objects })
    }

    /// Ends the call of a shrinker and leaves the rest of its work for later.
    fn end(&mut self, call: &Call, pages: &mut UsedPages, phys: &mut PhysMem) {
        let node = self.control.node;
        let left = call.plan.left_over(phys.policy.reclaim.slab_deferred);
        let shrinker = &mut pages.shrinkers[self.at];
        // Others may have been called meanwhile and have put off work of their own.
        let new_deferred = shrinker.deferred[node.index()].saturating_add(left);
        shrinker.deferred[node.index()] = new_deferred;
        let kind = shrinker.kind;
        phys.trace(|| Event::ShrinkSlabEnd {
            shrinker: kind,
            node,
            freed: call.freed.objects,
            deferred: call.plan.deferred,
            new_deferred,
            total_scan: call.plan.total,
        });
        self.total.objects += call.freed.objects;
        self.total.pages += call.freed.pages;
        self.at += 1;
    }
}
