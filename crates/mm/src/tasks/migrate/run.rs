//! Moving a list of pages, in passes.

use alloc::vec;
use core::ops::Range;

use order9_frames::Idx;
use order9_units::Order;

use crate::Mm;
use crate::env::{Stall, Until};
use crate::migrate_counts::MigrateFailure;
use crate::pages::migrate::page::{Attempt, HeldBy, Outcome};
use crate::pages::migrate::run::{Migrated, PASSES};
use crate::pages::migrate::{MigrateMode, MigrateReason};
use crate::reclaim::PageWrite;
use crate::tasks::migrate::sources::Sources;
use crate::tasks::migrate::targets::Targets;

/// The first pass that may wait.
const MAY_WAIT: u32 = 3;

/// Moves isolated pages to frames from `targets`, the last one first. What is left in `sources` afterwards is still isolated:
/// the caller puts it back. A page that cannot be moved is put back at once. Dropping this future loses no page: between two
/// steps `sources` names those that are still isolated.
pub(crate) async fn migrate_pages<E: Stall>(
    env: &E,
    sources: &mut impl Sources,
    targets: &mut impl Targets,
    mode: MigrateMode,
    reason: MigrateReason,
) -> Migrated {
    let batched = env.with(|mm| mm.phys.policy.compaction.batched_migrate);
    let mut run =
        Run { env, sources, targets, mode, batched, unflushed: false, aside: None, done: Migrated::default() };
    if batched && mode > MigrateMode::Async {
        run.batch_then_singly().await;
    } else {
        run.passes(0..PASSES).await;
    }
    let done = run.done;
    env.with(|mm| mm.phys.count_migrated(&done, mode, reason));
    done
}

struct Run<'a, E, S, G> {
    env: &'a E,
    sources: &'a mut S,
    targets: &'a mut G,
    mode: MigrateMode,
    /// Translations are flushed once for all pages of a pass.
    batched: bool,
    unflushed: bool,
    /// Number of sources at the front that have failed for good in this mode and are left for another one; `None` puts
    /// such pages back.
    aside: Option<usize>,
    done: Migrated,
}

/// Fate of a page in a pass.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tried {
    /// The page is no longer among the sources, or it is set aside.
    Gone,
    /// Base pages are in the place of a huge one, as many as this.
    Split(usize),
    /// A page that may move in another pass, of so many base pages.
    Again(u64),
    NoTarget,
}

impl<E: Stall, S: Sources, G: Targets> Run<'_, E, S, G> {
    /// Passes over all sources as long as some of them may still move. Those that are left have failed.
    async fn passes(&mut self, passes: Range<u32>) {
        let mut again = 0;
        for pass in passes {
            again = 0;
            let mut at = self.left();
            while at > self.aside.unwrap_or(0) {
                at -= 1;
                let before = self.aside;
                match self.attempt(at, pass).await {
                    Tried::Again(pages) => again += pages,
                    // What was at the place of a page set aside has still to be tried.
                    Tried::Gone => at += usize::from(self.aside != before),
                    Tried::Split(parts) => at += parts,
                    Tried::NoTarget => {
                        self.flush();
                        return self.give_up();
                    }
                }
            }
            self.flush();
            if again == 0 {
                break;
            }
        }
        self.done.failed += again;
    }

    /// Without waits and all together first; what is left then one by one.
    async fn batch_then_singly(&mut self) {
        let mode = core::mem::replace(&mut self.mode, MigrateMode::Async);
        self.aside = Some(0);
        self.passes(0..MAY_WAIT).await;
        if self.done.out_of_targets {
            return;
        }
        (self.mode, self.batched, self.aside, self.done.failed) = (mode, false, None, 0);
        let mut at = self.left();
        while at > 0 {
            at -= 1;
            let mut tried = Tried::Again(0);
            for pass in MAY_WAIT..PASSES {
                tried = self.attempt(at, pass).await;
                if !matches!(tried, Tried::Again(_)) {
                    break;
                }
            }
            match tried {
                Tried::Gone => {}
                Tried::Split(parts) => at += parts,
                Tried::Again(pages) => self.done.failed += pages,
                Tried::NoTarget => return self.give_up(),
            }
        }
    }

    /// Pages that are still among the sources.
    fn left(&mut self) -> usize {
        let (env, sources) = (self.env, &mut *self.sources);
        env.with(|mm| sources.list(mm).len())
    }

    fn give_up(&mut self) {
        self.done.failed += 1;
        self.done.out_of_targets = true;
    }

    /// Tries a page until it is settled for this pass.
    async fn attempt(&mut self, at: usize, pass: u32) -> Tried {
        loop {
            let (env, memalloc, cpu) = (self.env, self.env.task().memalloc, self.env.cpu());
            let attempt = Attempt { mode: self.mode, may_wait: pass >= MAY_WAIT, memalloc, cpu };
            let Some((source, pages, outcome)) = env.with(|mm| self.step(mm, at, &attempt)) else {
                return Tried::NoTarget;
            };
            let tried = match outcome {
                Outcome::Moved => {
                    self.done.moved += pages;
                    Tried::Gone
                }
                Outcome::Freed => {
                    self.done.freed += pages;
                    Tried::Gone
                }
                Outcome::Again(_) => Tried::Again(pages),
                Outcome::Write(write) => {
                    env.submit(vec![PageWrite::File(write)]).await;
                    Tried::Again(pages)
                }
                Outcome::Failed(_) => {
                    self.done.failed += pages;
                    Tried::Gone
                }
                Outcome::Split => Tried::Split(pages as usize),
                Outcome::Wait(by) => {
                    env.spend().await;
                    self.wait(source, by).await;
                    continue;
                }
            };
            env.spend().await;
            return tried;
        }
    }

    /// Tries the page at a place of the list once, and takes it off the list if that settles it; the page, and its base pages.
    fn step(&mut self, mm: &mut Mm, at: usize, attempt: &Attempt) -> Option<(Idx, u64, Outcome)> {
        let source = self.sources.list(mm)[at];
        let (flushes, order) = (mm.phys.work.tlb_flushes, mm.phys.frames.word(source).order());
        let outcome = self.move_to_target(mm, source, order, attempt)?;
        if self.batched {
            self.unflushed |= mm.phys.work.tlb_flushes > flushes;
            mm.phys.work.tlb_flushes = flushes;
        }
        if matches!(outcome, Outcome::Failed(_)) && self.aside.is_none() {
            mm.pages.putback_movable(source, attempt.cpu, &mut mm.phys);
        }
        if matches!(outcome, Outcome::Moved | Outcome::Freed | Outcome::Failed(_)) {
            let list = self.sources.list(mm);
            list.remove(at);
            if let (Outcome::Failed(_), Some(aside)) = (outcome, &mut self.aside) {
                list.insert(0, source);
                *aside += 1;
            }
        }
        if outcome == Outcome::Split {
            let parts = (source.0..).take(order.pages().get() as usize).map(Idx);
            self.sources.list(mm).splice(at..=at, parts);
        }
        Some((source, order.pages().get(), outcome))
    }

    /// Tries to move a page to a target of its size; `None` where there is none at all. For want of a block a huge page or a folio
    /// is split.
    fn move_to_target(&mut self, mm: &mut Mm, source: Idx, order: Order, attempt: &Attempt) -> Option<Outcome> {
        let is_single = order == Order::ZERO;
        if !is_single && mm.pages.free_if_only_isolated(source, attempt.cpu, &mut mm.phys) {
            return Some(Outcome::Freed);
        }
        let target = match is_single {
            true => self.targets.take(mm, source),
            false => self.targets.take_block(mm, order),
        };
        let Mm { pages, phys, .. } = &mut *mm;
        let outcome = match target {
            Some(target) if is_single => pages.migrate_page(source, target, attempt, phys),
            Some(target) => pages.migrate_folio(source, target, attempt, phys),
            None if !is_single && let Some(busy) = phys.busy(phys.frames.word(source), attempt) => busy,
            None if !is_single && pages.split_isolated(source, attempt.cpu, phys).is_ok() => Outcome::Split,
            None => {
                phys.counters.migrate_failures.count(MigrateFailure::NoTarget);
                return None;
            }
        };
        if let Some(target) = target.filter(|_| outcome != Outcome::Moved) {
            (0..order.pages().get() as u32).for_each(|frame| self.targets.give_back(mm, target.plus(frame)));
        }
        Some(outcome)
    }

    async fn wait(&self, source: Idx, by: HeldBy) {
        let since = self.env.now();
        while self.env.with(|mm| by.has(mm.phys.frames.word(source))) {
            self.env.wait(Until::Transferred, None).await;
        }
        let time = self.env.now() - since;
        self.env.with(|mm| mm.phys.migrate_waits_of(by).add(time));
    }

    fn flush(&mut self) {
        if core::mem::take(&mut self.unflushed) {
            self.env.with(|mm| mm.phys.work.tlb_flushes += 1);
        }
    }
}
