//! Address spaces as a naive map from pages to what they are and hold; the engine must agree after every step.

use std::collections::{BTreeMap, BTreeSet};

use order9_mm::Tag;
use order9_mm::space::{Access, Errno, HugeAdvice, Madvise, Prot};

/// Last page of the window in which mappings are placed, and the first one below it that tests name by number.
pub(crate) const TOP: u64 = 0x7_ffff_ffff - (1 << 15);
pub(crate) const BASE: u64 = TOP - 2_048;

/// What a page of a space is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Anon,
    File { file: usize, index: u64, shared: bool },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) prot: Prot,
    pub(crate) source: Source,
    pub(crate) advice: HugeAdvice,
    pub(crate) locked: bool,
    /// What the space wrote to a page of its own.
    pub(crate) own: Option<Tag>,
}

impl Page {
    /// The page `pages` further on in the same mapping, untouched.
    fn next(&self, pages: u64) -> Self {
        let source = match self.source {
            Source::Anon => Source::Anon,
            Source::File { file, index, shared } => Source::File { file, index: index + pages, shared },
        };
        Self { source, own: None, ..*self }
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct File {
    pub(crate) size: u64,
    pub(crate) open: bool,
    pub(crate) written: BTreeMap<u64, Tag>,
}

pub(crate) type Pages = BTreeMap<u64, Page>;

#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    /// By space; `None` after exit.
    pub(crate) spaces: Vec<Option<Pages>>,
    pub(crate) files: Vec<File>,
}

/// How an access must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Ok,
    Segv,
    Bus,
}

impl Model {
    pub(crate) fn space(&mut self, space: usize) -> &mut Pages {
        self.spaces[space].as_mut().expect("operations name living spaces")
    }

    pub(crate) fn read(&self, page: &Page) -> Tag {
        let file = match page.source {
            Source::Anon => None,
            Source::File { file, index, .. } => self.files[file].written.get(&index).copied(),
        };
        page.own.or(file).unwrap_or(Tag::ZERO)
    }

    pub(crate) fn outcome(&self, space: usize, vpn: u64, access: Access) -> Outcome {
        let Some(page) = self.spaces[space].as_ref().and_then(|pages| pages.get(&vpn)) else { return Outcome::Segv };
        let allowed = if access == Access::Write { page.prot.has(Prot::WRITE) } else { page.prot != Prot::NONE };
        match page.source {
            _ if !allowed => Outcome::Segv,
            Source::File { file, index, .. } if page.own.is_none() && index >= self.files[file].size => Outcome::Bus,
            _ => Outcome::Ok,
        }
    }

    /// Notes what a write put there.
    pub(crate) fn wrote(&mut self, space: usize, vpn: u64, tag: Tag) {
        let page = self.space(space).get_mut(&vpn).expect("the page is mapped");
        match page.source {
            Source::File { file, index, shared: true } => {
                self.files[file].written.insert(index, tag);
            }
            _ => page.own = Some(tag),
        }
    }

    /// Where the highest gap of `length` pages begins.
    pub(crate) fn highest_gap(&self, space: usize, length: u64) -> u64 {
        let pages = self.spaces[space].as_ref().expect("operations name living spaces");
        let mut end = TOP;
        for &vpn in pages.range(..TOP).map(|(vpn, _)| vpn).rev() {
            if end - (vpn + 1) >= length {
                break;
            }
            end = vpn;
        }
        end - length
    }

    pub(crate) fn map(&mut self, space: usize, start: u64, length: u64, first: Page) {
        for at in 0..length {
            self.space(space).insert(start + at, first.next(at));
        }
    }

    pub(crate) fn unmap(&mut self, space: usize, start: u64, length: u64) {
        self.space(space).retain(|&vpn, _| vpn < start || vpn >= start + length);
    }

    /// Pages from `start` on up to the first that is not mapped.
    fn mapped_part(&mut self, space: usize, start: u64, length: u64) -> u64 {
        let pages = self.space(space);
        (0..length).take_while(|at| pages.contains_key(&(start + at))).count() as u64
    }

    fn change(&mut self, space: usize, start: u64, length: u64, change: impl Fn(&mut Page)) -> Result<(), Errno> {
        let mapped = self.mapped_part(space, start, length);
        self.space(space).range_mut(start..start + mapped).for_each(|(_, page)| change(page));
        if mapped == length { Ok(()) } else { Err(Errno::Enomem) }
    }

    pub(crate) fn mprotect(&mut self, space: usize, start: u64, length: u64, prot: Prot) -> Result<(), Errno> {
        self.change(space, start, length, |page| page.prot = prot)
    }

    pub(crate) fn lock(&mut self, space: usize, start: u64, length: u64, locked: bool) -> Result<(), Errno> {
        self.change(space, start, length, |page| page.locked = locked)
    }

    pub(crate) fn madvise(&mut self, space: usize, start: u64, length: u64, advice: Madvise) -> Result<(), Errno> {
        let mut removed = Vec::new();
        let done = self.advise_pages(space, start, length, advice, &mut removed);
        removed.into_iter().for_each(|(file, index)| self.punch(file, index, 1));
        done
    }

    /// The same, but for what is to be punched out of files.
    fn advise_pages(
        &mut self,
        space: usize,
        start: u64,
        length: u64,
        advice: Madvise,
        removed: &mut Vec<(usize, u64)>,
    ) -> Result<(), Errno> {
        let mut mapped = 0;
        for (_, page) in self.space(space).range_mut(start..start + length) {
            mapped += 1;
            match advice {
                Madvise::DontNeed | Madvise::Free | Madvise::Remove if page.locked => return Err(Errno::Einval),
                Madvise::Remove => match page.source {
                    Source::Anon => return Err(Errno::Einval),
                    Source::File { file, index, shared: true } if page.prot.has(Prot::WRITE) => {
                        removed.push((file, index));
                    }
                    Source::File { .. } => return Err(Errno::Eacces),
                },
                Madvise::Free if page.source != Source::Anon => return Err(Errno::Einval),
                Madvise::DontNeed => page.own = None,
                // Only reclaim, which is not among the steps, takes what the advice offers.
                Madvise::Free => {}
                Madvise::HugePage => page.advice = HugeAdvice::Huge,
                Madvise::NoHugePage => page.advice = HugeAdvice::NoHuge,
                Madvise::Local | Madvise::HugePageForceLocal => unreachable!("no step gives such advice"),
            }
        }
        if mapped == length { Ok(()) } else { Err(Errno::Enomem) }
    }

    /// Moves `kept` pages and lets them reach `length`; what lay at the target goes.
    pub(crate) fn relocate(&mut self, space: usize, from: u64, kept: u64, to: u64, length: u64) {
        let pages: Vec<Page> = (0..kept).map(|at| self.space(space)[&(from + at)]).collect();
        self.unmap(space, from, kept);
        self.unmap(space, to, length);
        let first = pages[0];
        self.map(space, to, length, first);
        for (at, page) in pages.into_iter().enumerate() {
            self.space(space).insert(to + at as u64, page);
        }
    }

    pub(crate) fn fork(&mut self, parent: usize) {
        let mut child = self.space(parent).clone();
        child.values_mut().for_each(|page| page.locked = false);
        self.spaces.push(Some(child));
    }

    pub(crate) fn truncate(&mut self, file: usize, size: u64) {
        let shrinks = size < self.files[file].size;
        self.files[file].size = size;
        self.files[file].written.retain(|&index, _| index < size);
        let pages = self.spaces.iter_mut().flatten().flat_map(BTreeMap::values_mut);
        for page in pages.filter(|_| shrinks) {
            if matches!(page.source, Source::File { file: own, index, .. } if own == file && index >= size) {
                page.own = None;
            }
        }
    }

    pub(crate) fn punch(&mut self, file: usize, index: u64, pages: u64) {
        self.files[file].written.retain(|&at, _| at < index || at >= index + pages);
    }

    /// Files that must still exist.
    pub(crate) fn living_files(&self) -> BTreeSet<usize> {
        let pages = self.spaces.iter().flatten().flat_map(BTreeMap::values);
        let mapped = pages.filter_map(|page| match page.source {
            Source::File { file, .. } => Some(file),
            Source::Anon => None,
        });
        let open = self.files.iter().enumerate().filter(|(_, file)| file.open).map(|(at, _)| at);
        mapped.chain(open).collect()
    }
}
