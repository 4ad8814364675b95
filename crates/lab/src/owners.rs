//! Owners of memory in the lab, as a capture finds them on a host: which process has each frame.

use std::collections::BTreeMap;

use order9_mm::space::HugeAdvice;
use order9_mm::{Mm, SpaceId};
use order9_snapshot::owners::{OwnerMapBuilder, Owners, Process, User};
use order9_units::{Order, PAGEBLOCK_PAGES, Pages, Pfn};

/// Finds the process that has a frame, and counts what each has.
pub(crate) struct OwnersOf<'a> {
    engine: &'a Mm,
    /// Place of the process that has a space.
    places: BTreeMap<SpaceId, usize>,
    processes: Vec<Process>,
    map: OwnerMapBuilder,
}

impl<'a> OwnersOf<'a> {
    /// Nobody has anything yet; `processes` are those that live, with their address spaces.
    pub(crate) fn new(engine: &'a Mm, processes: &[(SpaceId, String)]) -> Self {
        let named = (1..).zip(processes);
        let named = named.map(|(pid, (_, command))| Process { pid, command: command.clone(), ..Process::default() });
        Self {
            engine,
            places: processes.iter().enumerate().map(|(at, (space, _))| (*space, at)).collect(),
            processes: named.collect(),
            map: OwnerMapBuilder::default(),
        }
    }

    /// Appends the block that starts at `pfn`, whose frames have one owner; `is_anon` of private memory.
    pub(crate) fn block(&mut self, pfn: Pfn, order: Order, is_anon: bool) {
        let owner = self.owner(pfn, order.pages(), is_anon);
        (0..order.pages().get()).for_each(|_| self.map.push(owner, None));
    }

    fn owner(&mut self, pfn: Pfn, pages: Pages, is_anon: bool) -> Option<usize> {
        if !is_anon {
            return None;
        }
        let mappings = self.engine.pages().mappings(pfn, self.engine.phys());
        let (space, addr) = *mappings.first()?;
        let at = *self.places.get(&space)?;
        let vma = self.engine.space(space).and_then(|of| of.vma_at(addr));
        let process = &mut self.processes[at];
        process.resident += pages;
        process.anonymous += pages;
        if pages >= PAGEBLOCK_PAGES {
            process.anon_huge += pages;
        } else if let Some(vma) =
            vma.filter(|vma| vma.range.len() >= PAGEBLOCK_PAGES && vma.advice != HugeAdvice::NoHuge)
        {
            process.collapsible += pages;
            process.advised_base += if vma.advice == HugeAdvice::Huge { pages } else { Pages::ZERO };
        }
        // A page that several have is nobody's alone.
        (mappings.iter().all(|(other, _)| *other == space)).then_some(at)
    }

    /// The owners; `None` where no process has anything.
    pub(crate) fn finish(self) -> Option<Owners> {
        let has_any = self.processes.iter().any(|process| process.resident > Pages::ZERO);
        let users = self.processes.into_iter().map(User::Process).collect();
        has_any.then(|| Owners { users, map: self.map.finish(), ..Owners::default() })
    }
}
