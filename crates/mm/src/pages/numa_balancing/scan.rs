//! When a task scans, and the scan: a window of its memory loses its access, to be asked about.

use alloc::vec::Vec;

use order9_units::{Nanos, Order, Pages};

use super::{NEVER, NumaTask, SpaceBalancing, TICK, millis};
use crate::mempolicy::SpaceTask;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::Spaces;
use crate::space::{Huge, Pte, SpaceId, TASK_END, Vma, Vpn, VpnRange};

/// Pages of address space that a scan passes over for each page that it may take the access from.
const VIRTUAL: u64 = 8;
/// Least ratio of the CPU time that a task has for itself to that of a scan.
const OWN_SHARE: u64 = 32;
/// Pages of address space that a step passes over at most: 16 MiB.
const STEP: Pages = Pages::new(4096);

/// Whether a task is to scan now, and when to ask again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumaTick {
    /// A scan is due.
    pub scan: bool,
    /// CPU time of its own before the next answer can be another one.
    pub ask_after: Nanos,
}

/// One scan (`task_numa_work`).
#[derive(Clone, Debug)]
pub struct NumaScan {
    of: SpaceTask,
    task: NumaTask,
    now: Nanos,
    /// Pages that may still lose their access.
    left: u64,
    /// Pages of address space that may still be passed over.
    left_virtual: u64,
    at: Vpn,
    piece: Option<Piece>,
    /// No step has been taken yet.
    fresh: bool,
}

/// Pages of a mapping that may still lose their access in this scan. All of them count as having lost it if any has.
#[derive(Clone, Copy, Debug)]
struct Piece {
    pages: VpnRange,
    took: bool,
}

/// Pages that a step took the access from.
#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    /// Pages, 512 for a huge entry.
    pages: u64,
    huge: u64,
    /// Entries looked at.
    looked_at: u64,
}

impl Spaces {
    /// A tick of a running task of `id` that has had `runtime` of CPU time so far (`task_tick_numa`).
    pub(crate) fn numa_tick(
        &mut self,
        id: SpaceId,
        task: NumaTask,
        runtime: Nanos,
        now: Nanos,
        phys: &PhysMem,
    ) -> NumaTick {
        let (settings, nodes) = (phys.settings.numa_balancing, phys.frames.nodes().len());
        let start_ms = self.scan_period_start(id, phys);
        let ask_after = |after: Nanos| NumaTick { scan: false, ask_after: after.max(TICK) };
        let Ok(space) = self.get_mut(id) else { return ask_after(NEVER) };
        if !settings.on {
            return ask_after(NEVER);
        }
        let balancing = space.balancing.get_or_insert_with(|| SpaceBalancing::new(now, &settings).into());
        let next_scan = balancing.next_scan;
        let of_task = balancing.task(task.pid, nodes, &settings);
        let period = millis(of_task.period_ms);
        let due = of_task.stamp + period;
        if runtime <= due {
            return ask_after(due - runtime);
        }
        if of_task.stamp == Nanos::ZERO {
            of_task.period_ms = start_ms;
        }
        of_task.stamp = due;
        NumaTick { scan: now >= next_scan, ask_after: TICK }
    }

    /// Begins a scan; `None` where another task of the space has just done so.
    pub(crate) fn numa_scan_begin(
        &mut self,
        of: impl Into<SpaceTask>,
        task: NumaTask,
        now: Nanos,
        phys: &PhysMem,
    ) -> Option<NumaScan> {
        let of = of.into();
        let (settings, nodes) = (phys.settings.numa_balancing, phys.frames.nodes().len());
        let balancing = self.get_mut(of.space).ok()?.balancing.as_deref_mut()?;
        if !settings.on || now < balancing.next_scan {
            return None;
        }
        let at = balancing.offset;
        let of_task = balancing.task(task.pid, nodes, &settings);
        of_task.stamp += TICK + TICK;
        balancing.next_scan = now + millis(of_task.period_ms);
        let left = settings.scan.size_mb << 8;
        Some(NumaScan { of, task, now, left, left_virtual: VIRTUAL * left, at, piece: None, fresh: true })
    }

    /// A scan has taken so much CPU time: the task does not scan again before it has had 32 times as much for itself.
    pub fn numa_scan_took(&mut self, run: &NumaScan, time: Nanos) {
        let balancing = self.get_mut(run.of.space).ok().and_then(|space| space.balancing.as_deref_mut());
        if let Some(of_task) = balancing.and_then(|balancing| balancing.tasks.get_mut(&run.task.pid)) {
            of_task.stamp += Nanos::new(OWN_SHARE * time.get());
        }
    }

    /// Ends the scan where it is: the next one goes on here.
    fn leave_scan_at(&mut self, id: SpaceId, at: Vpn) {
        if let Some(balancing) = self.living(id).balancing.as_deref_mut() {
            balancing.offset = at;
        }
    }

    /// The end of the space is reached (`reset_ptenuma_scan`).
    fn end_pass(&mut self, run: &NumaScan) {
        if let Some(balancing) = self.living(run.of.space).balancing.as_deref_mut() {
            balancing.pass = balancing.pass.wrapping_add(1);
            balancing.offset = Vpn::new(0);
        }
    }

    fn take_huge_access(&mut self, id: SpaceId, part: VpnRange, taken: &mut Taken) {
        let asks = |huge: &Huge| huge.head().is_some() && huge.pte == huge.pte.answered();
        let (mut rest, mut count) = (part, 0);
        while let Some(huge) = self.living(id).table.next_huge_mut(&mut rest) {
            if asks(huge) {
                huge.pte = huge.pte.hinting();
                count += 1;
            }
        }
        taken.looked_at += count;
        taken.huge += count;
        taken.pages += count * Order::PAGEBLOCK.pages().get();
    }
}

impl UsedPages {
    /// Goes on with a scan; says whether there is more to do.
    pub(crate) fn numa_scan_step(&mut self, run: &mut NumaScan, phys: &mut PhysMem) -> bool {
        let Ok(space) = self.spaces.get(run.of.space) else { return false };
        let fresh = core::mem::take(&mut run.fresh);
        let Some(&vma) = space.vmas.first_within(VpnRange::new(run.at, TASK_END)) else {
            self.spaces.end_pass(run);
            // What begins behind the last mapping begins anew.
            return core::mem::replace(&mut run.at, Vpn::new(0)) > Vpn::new(0) && fresh;
        };
        let start = run.at.max(vma.range.start);
        let Some(piece) = self.piece_of(run, &vma, start, phys) else {
            run.at = vma.range.end;
            return true;
        };
        let part = VpnRange::new(start, piece.pages.end.min(start + STEP));
        let took = piece.took | self.take_access(run, &vma, part, phys);
        run.at = part.end;
        run.left_virtual = run.left_virtual.saturating_sub(part.len().get());
        run.piece = Some(Piece { took, ..piece }).filter(|piece| run.at < piece.pages.end);
        if run.piece.is_none() && took {
            run.left = run.left.saturating_sub(piece.pages.len().get());
        }
        let goes_on = run.left > 0 && run.left_virtual > 0;
        if !goes_on {
            self.spaces.leave_scan_at(run.of.space, run.at);
        }
        goes_on
    }

    /// The piece of `vma` that the scan is in, or begins at `start`; `None` where it passes the mapping over.
    fn piece_of(&mut self, run: &NumaScan, vma: &Vma, start: Vpn, phys: &PhysMem) -> Option<Piece> {
        if let Some(piece) = run.piece.filter(|piece| piece.pages.contains(start)) {
            let pages = piece.pages.intersect(vma.range);
            return Some(Piece { pages, ..piece });
        }
        if self.scan_passes_over(run.of, vma, run.task, run.now, phys) {
            return None;
        }
        let reach = (start + Pages::new(run.left)).get().next_multiple_of(Order::PAGEBLOCK.pages().get());
        Some(Piece { pages: VpnRange::new(start, Vpn::new(reach).min(vma.range.end)), took: false })
    }

    /// Takes the access to the pages of `part` away, which lies in `vma`; says whether there was any.
    fn take_access(&mut self, run: &NumaScan, vma: &Vma, part: VpnRange, phys: &mut PhysMem) -> bool {
        let spared = phys.spared(vma, run.task);
        let mut taken = Taken::default();
        self.spaces.take_huge_access(run.of.space, part, &mut taken);
        let mut rest = part;
        let mut asked: Vec<(Vpn, Pte)> = Vec::new();
        while let Some((slot, table)) = self.spaces.living(run.of.space).table.next_table_mut(&mut rest) {
            let entries = slot.intersect(part).iter().map(|vpn| (vpn, table.get(vpn)));
            asked.extend(entries.filter(|(_, pte)| pte.idx().is_some() && *pte == pte.answered()));
            taken.looked_at += asked.len() as u64;
            asked.retain(|(_, pte)| pte.idx().is_some_and(|idx| !self.is_spared(idx, &spared, phys)));
            taken.pages += asked.len() as u64;
            let table = self.spaces.living(run.of.space).table.table_mut(slot.start).expect("the slot has a table");
            for (vpn, pte) in asked.drain(..) {
                table.set(vpn, pte.hinting());
            }
        }
        phys.counters.numa_pte_updates += taken.pages;
        phys.counters.numa_huge_pte_updates += taken.huge;
        phys.work.prot_numa += taken.looked_at;
        phys.work.tlb_flushes += u64::from(taken.pages > 0);
        taken.pages > 0
    }
}
