//! The engine and the model side by side.

mod pressure;
mod race;

use std::collections::VecDeque;

use order9_mm::policy::Policy;
use order9_mm::reclaim::{PageWrite, ReclaimControl, Reclaimer};
use order9_mm::space::{
    Access, Backing, Errno, Fault, FaultStep, MmapRequest, Move, Mremap, MremapRequest, MremapTo, PageView, Place,
    TableStep, VirtAddr, VmaKind, Vpn, VpnRange,
};
use order9_mm::{FileId, Gfp, Mm, MmBuilder, Request, SpaceId};
use order9_testkit::machines;
use order9_units::{Bytes, Order, Pages, Pfn, ZoneKind};

use crate::model::{BASE, Model, Outcome, Page, Source, TOP};
use crate::op::{At, From, Op, To};

const CPU: usize = 0;
/// Little enough to be full now and then.
const SWAP: Pages = Pages::new(64);

pub(crate) struct Pair {
    mm: Mm,
    model: Model,
    spaces: Vec<SpaceId>,
    files: Vec<FileId>,
    /// Frames held by a pin or, with `true`, by isolation.
    held: Vec<(Pfn, bool)>,
    /// Writes under way.
    writes: VecDeque<PageWrite>,
}

fn addr(vpn: u64) -> VirtAddr {
    Vpn::new(vpn).addr()
}

fn bytes(pages: u64) -> Bytes {
    Pages::new(pages).bytes()
}

impl Pair {
    pub(crate) fn boot(policy: Policy) -> Self {
        let builder = MmBuilder::new(&machines::tiny(24, 1), policy).expect("the layout is sound");
        let mut mm = builder.content_tags().boot();
        mm.pages_mut().swap_mut().swapon(SWAP);
        let (spaces, files, held, writes) = (Vec::new(), Vec::new(), Vec::new(), VecDeque::new());
        let mut pair = Self { mm, model: Model::default(), spaces, files, held, writes };
        pair.apply(Op::Create);
        pair.apply(Op::CreateFile { size: 24 });
        pair
    }

    /// A living space, or `None` if there is none.
    fn pick(&self, nth: usize) -> Option<usize> {
        let living: Vec<usize> = (0..self.spaces.len()).filter(|&at| self.model.spaces[at].is_some()).collect();
        (!living.is_empty()).then(|| living[nth % living.len()])
    }

    /// An open file, or where there is none one that was.
    fn pick_file(&self, nth: usize) -> Option<usize> {
        let open: Vec<usize> = (0..self.files.len()).filter(|&at| self.model.files[at].open).collect();
        match (open.len(), self.files.len()) {
            (0, 0) => None,
            (0, all) => Some(nth % all),
            (some, _) => Some(open[nth % some]),
        }
    }

    pub(crate) fn apply(&mut self, op: Op) {
        match op {
            Op::Create => {
                self.spaces.push(self.mm.create_space().expect("few spaces exist"));
                self.model.spaces.push(Some(Default::default()));
            }
            Op::CreateFile { size } => {
                self.files.push(self.mm.create_file(Pages::new(size)).expect("few files exist"));
                self.model.files.push(crate::model::File { size, open: true, ..Default::default() });
            }
            Op::CloseFile { file } => {
                self.on_file(file, |mm, id| mm.close_file(id, CPU), |model, at| model.files[at].open = false);
            }
            Op::Truncate { file, size } => {
                let size_pages = Pages::new(size);
                self.on_file(file, |mm, id| mm.truncate(id, size_pages, CPU), |model, at| model.truncate(at, size));
            }
            Op::Punch { file, index, pages } => {
                let length = Pages::new(pages);
                self.on_file(
                    file,
                    |mm, id| mm.punch_hole(id, index, length, CPU),
                    |model, at| model.punch(at, index, pages),
                );
            }
            Op::Unpin { nth } if !self.held.is_empty() => {
                let (pfn, isolated) = self.held.remove(nth % self.held.len());
                let done = if isolated { self.mm.set_isolated(pfn, false) } else { self.mm.unpin(pfn).map(drop) };
                done.expect("the page is held");
            }
            Op::Unpin { .. } => {}
            Op::Reclaim { steps, priority, kswapd, may_unmap, may_write } => {
                let by = if kswapd { Reclaimer::Kswapd } else { Reclaimer::Direct };
                let mut control = ReclaimControl::new(by, Order::ZERO, u64::MAX, ZoneKind::Movable);
                (control.priority, control.may_unmap, control.may_writepage) = (priority, may_unmap, may_write);
                self.reclaim(steps, control);
            }
            Op::EndWrites { writes } => self.end_writes(writes),
            op => self.apply_to_space(op),
        }
    }

    fn on_file(
        &mut self,
        nth: usize,
        engine: impl Fn(&mut Mm, FileId) -> Result<(), Errno>,
        model: impl Fn(&mut Model, usize),
    ) {
        let Some(at) = self.pick_file(nth) else { return };
        let result = engine(&mut self.mm, self.files[at]);
        if self.model.files[at].open {
            assert_eq!(result, Ok(()));
            model(&mut self.model, at);
        } else {
            assert_eq!(result, Err(Errno::Ebadf));
        }
    }

    fn apply_to_space(&mut self, op: Op) {
        let (Op::Mmap { space, .. }
        | Op::Munmap { space, .. }
        | Op::Mprotect { space, .. }
        | Op::Madvise { space, .. }
        | Op::Lock { space, .. }
        | Op::Populate { space, .. }
        | Op::Mremap { space, .. }
        | Op::Touch { space, .. }
        | Op::RacedTouch { space, .. }
        | Op::Fork { space }
        | Op::Exit { space }
        | Op::Pin { space, .. }
        | Op::Isolate { space, .. }
        | Op::MarkAccessed { space, .. }) = op
        else {
            return;
        };
        let Some(at) = self.pick(space) else { return };
        let id = self.spaces[at];
        match op {
            Op::Mmap { place, pages, prot, from, locked, .. } => {
                let first = |source| Page { prot, source, advice: Default::default(), locked, own: None };
                self.mmap(at, place, pages, from, &first);
            }
            Op::Munmap { page, pages, .. } => {
                let mut range = VpnRange::of(Vpn::new(BASE + page), Pages::new(pages));
                while self.mm.unmap_step(id, &mut range, CPU) == Ok(true) {
                    let done = BASE + page..range.start.get();
                    self.model.space(at).range_mut(done).for_each(|(_, page)| page.own = None);
                    self.compare();
                }
                assert_eq!(self.mm.munmap(id, addr(BASE + page), bytes(pages), CPU), Ok(()));
                self.model.unmap(at, BASE + page, pages);
            }
            Op::Mprotect { page, pages, prot, .. } => {
                let result = self.mm.mprotect(id, addr(BASE + page), bytes(pages), prot);
                assert_eq!(result, self.model.mprotect(at, BASE + page, pages, prot));
            }
            Op::Madvise { page, pages, advice, .. } => {
                let result = self.mm.madvise(id, addr(BASE + page), bytes(pages), advice, CPU);
                assert_eq!(result, self.model.madvise(at, BASE + page, pages, advice));
            }
            Op::Lock { page, pages, locked, .. } => {
                let (start, length) = (addr(BASE + page), bytes(pages));
                let result = if locked { self.mm.mlock(id, start, length) } else { self.mm.munlock(id, start, length) };
                assert_eq!(result, self.model.lock(at, BASE + page, pages, locked));
            }
            Op::Populate { page, pages, .. } => self.populate(at, BASE + page, BASE + page + pages),
            Op::Mremap { page, old, new, to, .. } => self.mremap(at, BASE + page, old, new, to),
            Op::Touch { page, pages, access, .. } => {
                for vpn in (BASE + page..BASE + page + pages.min(64)).step_by(1 + pages as usize / 64) {
                    self.touch(at, vpn, access);
                }
            }
            Op::RacedTouch { page, access, race, .. } => self.raced_touch(at, BASE + page, access, race),
            Op::Fork { .. } => self.fork(at),
            Op::Exit { .. } => {
                assert_eq!(self.mm.exit(id, CPU), Ok(()));
                assert_eq!(self.mm.exit(id, CPU), Err(Errno::Esrch));
                self.model.spaces[at] = None;
            }
            Op::Pin { page, .. } => self.hold(id, BASE + page, false),
            Op::Isolate { page, .. } => self.hold(id, BASE + page, true),
            Op::MarkAccessed { page, .. } => {
                if let PageView::Present { pfn, .. } = self.mm.page_at(id, addr(BASE + page)) {
                    self.mm.mark_accessed(pfn);
                }
            }
            _ => {}
        }
    }

    fn mmap(&mut self, at: usize, place: At, pages: u64, from: From, first: &dyn Fn(Source) -> Page) {
        let (backing, file) = match from {
            From::Anon => (Backing::AnonPrivate, None),
            From::AnonShared => (Backing::AnonShared, None),
            From::File { file, offset, shared } => {
                let Some(at) = self.pick_file(file) else { return };
                (Backing::File { file: self.files[at], offset: Pages::new(offset), shared }, Some(at))
            }
        };
        let (start, engine_place) = match place {
            At::Anywhere => (None, Place::Anywhere),
            At::Hint(page) => (Some(BASE + page), Place::Hint(addr(BASE + page))),
            At::Fixed(page) => (Some(BASE + page), Place::Fixed(addr(BASE + page))),
            At::NoReplace(page) => (Some(BASE + page), Place::FixedNoReplace(addr(BASE + page))),
        };
        let is_free = |start: u64| {
            self.model.spaces[at].as_ref().is_some_and(|all| all.range(start..start + pages).next().is_none())
        };
        let gap = self.model.highest_gap(at, pages);
        let expected = match (place, start) {
            _ if file.is_some_and(|file| !self.model.files[file].open) => Err(Errno::Ebadf),
            (At::Fixed(_), Some(start)) => Ok(start),
            (At::NoReplace(_), Some(start)) if !is_free(start) => Err(Errno::Eexist),
            (At::NoReplace(_), Some(start)) => Ok(start),
            (At::Hint(_), Some(start)) if is_free(start) => Ok(start),
            _ => Ok(gap),
        };
        let Page { prot, locked, .. } = first(Source::Anon);
        let request = MmapRequest { place: engine_place, length: bytes(pages), prot, backing, locked };
        let result = self.mm.mmap(self.spaces[at], &request, CPU);
        assert_eq!(result, expected.map(addr));
        let Ok(start) = expected else { return };
        let source = match from {
            From::Anon => Source::Anon,
            From::AnonShared => {
                let vma = self.mm.space(self.spaces[at]).and_then(|space| space.vma_at(addr(start)).copied());
                self.files.push(vma.and_then(|vma| vma.kind.file()).expect("shared memory has a file"));
                self.model.files.push(crate::model::File { size: pages, open: false, ..Default::default() });
                Source::File { file: self.files.len() - 1, index: 0, shared: true }
            }
            From::File { offset, shared, .. } => {
                Source::File { file: file.expect("a file was picked"), index: offset, shared }
            }
        };
        self.model.unmap(at, start, pages);
        self.model.map(at, start, pages, first(source));
    }

    fn mremap(&mut self, at: usize, page: u64, old: u64, new: u64, to: To) {
        let id = self.spaces[at];
        let engine_to = match to {
            To::InPlace => MremapTo::InPlace,
            To::MayMove => MremapTo::MayMove,
            To::Fixed(target) => MremapTo::Fixed(addr(BASE + target)),
        };
        let vma_end = self.mm.space(id).and_then(|space| Some(space.vma_at(addr(page))?.range.end.get()));
        let result = self.mm.mremap(
            id,
            &MremapRequest { addr: addr(page), old_length: bytes(old), new_length: bytes(new), to: engine_to },
            CPU,
        );
        let found = match result {
            Ok(Mremap::Done(start)) => Ok(Some(start)),
            Ok(Mremap::Moving(run)) => Ok(self.finish_move(run)),
            Err(error) => Err(error),
        };
        let Some(vma_end) = vma_end else { return assert_eq!(found, Err(Errno::Efault)) };
        if let To::Fixed(target) = to {
            let target = BASE + target;
            if target < page + old && page < target + new {
                return assert_eq!(found, Err(Errno::Einval));
            }
            self.model.unmap(at, target, new);
        }
        if new < old {
            self.model.unmap(at, page + new, old - new);
        }
        let kept = old.min(new);
        // Unmapping the target may have cut the mapping, but never below its first page.
        let covered = self.covered(id, at, page, kept, vma_end);
        let grows = self.model.space(at).range(page + old..page + new.max(old)).next().is_none();
        let expected = match to {
            To::Fixed(target) => {
                if covered {
                    Ok(BASE + target)
                } else {
                    Err(Errno::Efault)
                }
            }
            _ if new <= old => Ok(page),
            _ if !covered => Err(Errno::Efault),
            _ if page + old == vma_end && grows => Ok(page),
            To::InPlace => Err(Errno::Enomem),
            To::MayMove => Ok(self.model.highest_gap(at, new)),
        };
        assert_eq!(found, expected.map(|start| Some(addr(start))), "mremap of {old} to {new} pages at {page:#x}");
        if let Ok(start) = expected {
            if start == page && new > old {
                let last = self.model.space(at)[&(page + old - 1)];
                self.model.map(at, page + old - 1, new - old + 1, last);
                self.model.space(at).insert(page + old - 1, last);
            } else if start != page {
                self.model.relocate(at, page, kept, start, new);
            }
        }
    }

    /// Whether the first `kept` pages from `page` on lay in the mapping that ended at `vma_end`, and still do.
    fn covered(&mut self, _: SpaceId, at: usize, page: u64, kept: u64, vma_end: u64) -> bool {
        page + kept <= vma_end && (page..page + kept).all(|vpn| self.model.space(at).contains_key(&vpn))
    }

    /// Runs a move to its end; `None` where memory ran out, which tests avoid by staying small.
    fn finish_move(&mut self, mut run: Move) -> Option<VirtAddr> {
        loop {
            match self.mm.move_step(&mut run, CPU).expect("nobody interferes") {
                TableStep::Progress => {}
                TableStep::NeedTable(vpn) => {
                    let page = self.table_page();
                    self.mm.give_table(run.space(), vpn, page, CPU);
                }
                TableStep::NeedCopy(_) => unreachable!("nothing is pinned"),
                TableStep::Done => return Some(run.to()),
            }
            self.mm.check().expect("laws hold between the steps of a move");
        }
    }

    fn table_page(&mut self) -> Pfn {
        let request = Request::new(Order::ZERO, Gfp::GFP_PGTABLE_USER);
        self.mm.alloc_fast(&request).expect("tests use little memory")
    }

    fn fork(&mut self, at: usize) {
        if self.model.spaces.iter().flatten().count() >= 6 {
            return;
        }
        let mut fork = self.mm.fork(self.spaces[at]).expect("the parent lives");
        loop {
            match self.mm.fork_step(&mut fork).expect("nobody interferes") {
                TableStep::Progress => {}
                TableStep::NeedTable(vpn) => {
                    let page = self.table_page();
                    self.mm.give_table(fork.child(), vpn, page, CPU);
                }
                TableStep::NeedCopy(_) => unreachable!("nothing is pinned"),
                TableStep::Done => break,
            }
            self.mm.check().expect("laws hold between the steps of a fork");
        }
        self.spaces.push(fork.child());
        self.model.fork(at);
    }

    fn touch(&mut self, at: usize, vpn: u64, access: Access) {
        let mut step = self.mm.touch(self.spaces[at], addr(vpn), access, CPU);
        while let FaultStep::NeedPage(fault) = step {
            let page = self.page_for(&fault); // Read from swap at once.
            step = self.mm.fault_go_on(&fault, page, CPU);
        }
        self.judge(at, vpn, access, &step);
    }

    fn judge(&mut self, at: usize, vpn: u64, access: Access, step: &FaultStep) {
        let outcome = match step {
            FaultStep::Hit | FaultStep::Done => Outcome::Ok,
            FaultStep::Segv => Outcome::Segv,
            FaultStep::Bus => Outcome::Bus,
            FaultStep::NeedPool(_)
            | FaultStep::NeedPage(_)
            | FaultStep::NeedRead { .. }
            | FaultStep::NeedMkwrite
            | FaultStep::NumaHint
            | FaultStep::Retry => {
                panic!("an access came to {step:?}")
            }
        };
        assert_eq!(outcome, self.model.outcome(at, vpn, access), "{access:?} of {vpn:#x} in space {at}");
        if outcome == Outcome::Ok && access == Access::Write {
            let tag =
                self.mm.pages().read_tag(self.spaces[at], addr(vpn), self.mm.phys()).expect("a written page is mapped");
            self.model.wrote(at, vpn, tag);
        }
    }

    fn page_for(&mut self, fault: &Fault) -> Pfn {
        self.mm.alloc_fast(&fault.request(CPU)).expect("tests use little memory")
    }

    /// An operation that picks space `at`.
    fn in_space(&self, at: usize, op: impl Fn(usize) -> Op) -> Op {
        op(self.model.spaces[..at].iter().flatten().count())
    }

    fn populate(&mut self, at: usize, start: u64, end: u64) {
        let mut from = start;
        while let Some((next, access)) =
            self.mm.pages().spaces().next_to_populate(self.spaces[at], addr(from), addr(end))
        {
            from = next.vpn().get() + 1;
            self.touch(at, next.vpn().get(), access);
        }
    }

    /// Mappings, attributes and contents of every page agree, and every law holds.
    pub(crate) fn compare(&self) {
        self.mm.check().unwrap_or_else(|violation| panic!("{violation}"));
        for (at, (&id, pages)) in self.spaces.iter().zip(&self.model.spaces).enumerate() {
            let Some(pages) = pages else {
                assert!(self.mm.space(id).is_none(), "space {at} is gone");
                continue;
            };
            let space = self.mm.space(id).expect("the space lives");
            let mapped: u64 = space.vmas().map(|vma| vma.range.len().get()).sum();
            assert_eq!(mapped, pages.len() as u64, "pages mapped in space {at}");
            for (&vpn, page) in pages {
                let vma = space.vma_at(addr(vpn)).unwrap_or_else(|| panic!("{vpn:#x} is mapped in space {at}"));
                let source = match vma.kind {
                    VmaKind::Hugetlb { .. } => unreachable!("nothing is mapped of pools"),
                    VmaKind::Anon => Source::Anon,
                    VmaKind::File { file, shared } => {
                        let file = self.files.iter().position(|&known| known == file).expect("a known file");
                        Source::File { file, index: vma.index(Vpn::new(vpn)), shared }
                    }
                };
                let found = Page { prot: vma.prot, source, advice: vma.advice, locked: vma.locked, own: page.own };
                assert_eq!(found, *page, "page {vpn:#x} of space {at}");
                let read = self.mm.pages().read_tag(id, addr(vpn), self.mm.phys());
                assert_eq!(read, Some(self.model.read(page)), "content of {vpn:#x} in space {at}, {page:?}");
            }
            assert!(pages.keys().all(|&vpn| vpn < TOP + 2_048));
        }
        let living = self.model.living_files();
        for (at, &id) in self.files.iter().enumerate() {
            assert_eq!(self.mm.file(id).is_some(), living.contains(&at), "file {at}");
        }
    }

    /// When all spaces, files and pins are gone, so is every page.
    pub(crate) fn end(mut self) {
        while let Some(at) = self.pick(0) {
            self.apply(self.in_space(at, |space| Op::Exit { space }));
        }
        for at in 0..self.files.len() {
            self.apply(Op::CloseFile { file: at });
        }
        self.apply(Op::EndWrites { writes: usize::MAX });
        while !self.held.is_empty() {
            self.apply(Op::Unpin { nth: 0 });
        }
        self.compare();
        let frames = self.mm.frames().counters();
        assert_eq!(frames.pgalloc.iter().sum::<u64>(), frames.pgfree, "every page was given back");
    }
}
