//! Pages of programs on a machine that is set up from memory in use.

use alloc::vec::Vec;
use core::ops::Range;

use order9_frames::{BuildError, Contents, Idx};
use order9_units::{HugeSize, Nanos, Order, Pages, Pfn};

use crate::boot::MmBuilder;
use crate::lru_list::LruList;
use crate::page_cache::{FileId, Home, PAGES_MAX};
use crate::page_flags::PageFlag;
use crate::pages::space::inherited::{ANON, LOCKED, MAPPED, UserPageUse};
use crate::pages::space::pte::{Pte, PteFlag};
use crate::pages::space::{Mapping, Owner, Prot, SpaceId, Vma, VmaKind, Vpn, VpnRange};
use crate::shmem::MountId;

/// Use of a page that a machine starts with, by a program or a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserPage {
    /// Private memory, backed by swap.
    Anon,
    /// Private memory that is mlocked.
    Locked,
    /// A clean page of a file on disk that no program maps.
    File,
    /// A clean page of a file on disk that a program maps.
    MappedFile,
    /// A page of a file on disk that has to be written.
    DirtyFile,
    /// A page of tmpfs.
    Shmem,
}

/// Owners of the pages that a machine starts with.
#[derive(Default)]
pub(crate) struct Inherited {
    /// Page tables that map nothing yet.
    tables: Vec<Idx>,
    owners: Option<Owners>,
}

/// Made with the first page.
struct Owners {
    /// Private pages of nobody known, whose space has mapped pages of files too; then those of each holder, by number.
    private: Vec<Private>,
    /// Pages without and with mappings.
    devices: [Filled; 2],
    tmpfs: Filled,
}

/// A space, and where its private pages lie so far.
struct Private {
    space: SpaceId,
    anon: u64,
    /// Places among them that the alignment of huge pages has left, for single pages.
    gaps: Vec<Range<u64>>,
    locked: u64,
}

impl Private {
    const fn new(space: SpaceId) -> Self {
        Self { space, anon: 0, gaps: Vec::new(), locked: 0 }
    }

    /// The place of the next single page.
    fn next(&self, locked: bool) -> Vpn {
        match self.gaps.last() {
            _ if locked => LOCKED + Pages::new(self.locked),
            Some(gap) => ANON + Pages::new(gap.start),
            None => ANON + Pages::new(self.anon),
        }
    }

    /// The place is taken.
    fn take(&mut self, locked: bool) {
        match self.gaps.last_mut() {
            _ if locked => self.locked += 1,
            Some(gap) => {
                gap.start += 1;
                if gap.is_empty() {
                    self.gaps.pop();
                }
            }
            None => self.anon += 1,
        }
    }

    /// Takes the place of a huge page that `start` begins, behind all others.
    fn take_huge(&mut self, start: u64, pages: u64) {
        if self.anon < start {
            self.gaps.push(self.anon..start);
        }
        self.anon = start + pages;
    }
}

/// A file, and how many pages it has so far.
struct Filled {
    file: FileId,
    pages: u64,
}

impl Filled {
    /// The place of the next page.
    const fn next(&mut self) -> (FileId, u64) {
        self.pages += 1;
        (self.file, self.pages - 1)
    }

    /// Takes the next places for a folio of so many pages, which lies at a multiple of them; the first place.
    const fn next_folio(&mut self, pages: u64) -> (FileId, u64) {
        let first = self.pages.next_multiple_of(pages);
        self.pages = first + pages;
        (self.file, first)
    }
}

impl MmBuilder {
    /// Makes the frame at `pfn` a page table, of which pages of programs that are given later can make use.
    ///
    /// # Errors
    /// [`BuildError`] where the frame is not free to be given.
    pub fn page_table(&mut self, pfn: Pfn) -> Result<(), BuildError> {
        self.allocate(pfn, Order::ZERO, Contents::Unmovable)?;
        self.inherited.tables.push(self.mm.phys.frames.at(pfn));
        Ok(())
    }

    /// Makes the frame at `pfn` a page of a program or file, the most recent of its LRU list. Where no page table is left
    /// for it, a private page becomes movable memory without owner, which is never reclaimed, and a mapped one of a file an
    /// unmapped one.
    ///
    /// # Errors
    /// [`BuildError`] where the frame is not free to be given.
    pub fn user_page(&mut self, pfn: Pfn, page: UserPage, of: UserPageUse) -> Result<(), BuildError> {
        self.page_of_holder(pfn, page, of, None)
    }

    /// As [`user_page`](Self::user_page), where a private page belongs to the process with this number: it has a space of its own, in
    /// which its pages lie beside each other in the order in which they are given. Later a process can have the space
    /// ([`Mm::inherited`](crate::Mm::inherited)).
    ///
    /// # Errors
    /// [`BuildError`] where the frame is not free to be given.
    pub fn page_of_holder(
        &mut self,
        pfn: Pfn,
        page: UserPage,
        of: UserPageUse,
        holder: Option<usize>,
    ) -> Result<(), BuildError> {
        self.allocate(pfn, Order::ZERO, Contents::Movable)?;
        if self.inherited.owners.is_none() {
            self.make_owners();
        }
        let idx = self.mm.phys.frames.at(pfn);
        match page {
            UserPage::Anon | UserPage::Locked => {
                let at = self.place_of(holder);
                self.inherit_private(idx, page == UserPage::Locked, of, at);
            }
            UserPage::File | UserPage::MappedFile | UserPage::DirtyFile => self.inherit_file(idx, page, of),
            UserPage::Shmem => self.inherit_shmem(idx, of),
        }
        Ok(())
    }

    /// Makes the block at `pfn` a huge page of private memory that single entries map, as [`page_of_holder`](Self::page_of_holder)
    /// does with single frames. Where no page table is left for the page, nobody owns and moves it.
    ///
    /// # Errors
    /// [`BuildError`] where the block is not free to be given.
    pub fn small_huge_page(
        &mut self,
        pfn: Pfn,
        size: HugeSize,
        of: UserPageUse,
        holder: Option<usize>,
    ) -> Result<(), BuildError> {
        self.allocate(pfn, size.order(), Contents::Movable)?;
        if self.inherited.owners.is_none() {
            self.make_owners();
        }
        let at = self.place_of(holder);
        let Some(of_holder) = self.inherited.owners.as_mut().and_then(|owners| owners.private.get_mut(at)) else {
            return Ok(());
        };
        let (head, pages) = (self.mm.phys.frames.at(pfn), size.order().pages().get());
        let start = of_holder.anon.next_multiple_of(pages);
        let first = Mapping { space: of_holder.space, vpn: ANON + Pages::new(start) };
        for (idx, vpn) in self.mm.phys.parts(head).zip(VpnRange::of(first.vpn, Pages::new(pages)).iter()) {
            let entry = Pte::present(idx).with(PteFlag::Write, true).with(PteFlag::Dirty, true);
            let place = Mapping { vpn, ..first };
            // The slot has a table for all of them, or for none.
            if !self.mm.pages.map_inherited(&mut self.inherited.tables, place, entry, of, &mut self.mm.phys) {
                return Ok(());
            }
        }
        of_holder.take_huge(start, pages);
        let list = if of.active { LruList::ActiveAnon } else { LruList::InactiveAnon };
        self.mm.pages.adopt_small(head, first, list, &mut self.mm.phys);
        self.mm.pages.spaces.living(first.space).rss.anon_pages += pages;
        self.note_use(head, of);
        Ok(())
    }

    /// Makes the block at `pfn` a large folio of a file on disk: one that `page` says is unmapped, mapped or dirty. Where no page table
    /// is left for it, a mapped one becomes unmapped.
    ///
    /// # Errors
    /// [`BuildError`] where the block is not free to be given.
    ///
    /// # Panics
    /// If `page` is none of a file on disk.
    pub fn file_folio(&mut self, pfn: Pfn, order: Order, page: UserPage, of: UserPageUse) -> Result<(), BuildError> {
        assert!(matches!(page, UserPage::File | UserPage::MappedFile | UserPage::DirtyFile), "{page:?} is of no disk");
        self.allocate(pfn, order, Contents::Movable)?;
        if self.inherited.owners.is_none() {
            self.make_owners();
        }
        self.inherit_file(self.mm.phys.frames.at(pfn), page, of);
        Ok(())
    }

    fn make_owners(&mut self) {
        const FIRST: &str = "the first of its kind";
        let space = self.mm.create_space().expect(FIRST);
        let mut file =
            |home| Filled { file: self.mm.pages.cache.files.create(PAGES_MAX, home).expect(FIRST), pages: 0 };
        let (devices, tmpfs) = ([file(Home::Device), file(Home::Device)], file(Home::Tmpfs(MountId::INTERNAL)));
        self.mm.pages.cache.files.ensure(tmpfs.file).open = true;
        self.inherited.owners = Some(Owners { private: alloc::vec![Private::new(space)], devices, tmpfs });
    }

    /// Place of the private pages of a holder. Where no space is left for it, they are nobody's.
    fn place_of(&mut self, holder: Option<usize>) -> usize {
        let Some(owners) = &mut self.inherited.owners else { return 0 };
        let at = holder.map_or(0, |holder| holder + 1);
        while owners.private.len() <= at {
            let Ok(space) = self.mm.create_space() else { return 0 };
            owners.private.push(Private::new(space));
        }
        at
    }

    fn inherit_private(&mut self, idx: Idx, locked: bool, of: UserPageUse, at: usize) {
        let Some(private) = self.inherited.owners.as_mut().and_then(|owners| owners.private.get_mut(at)) else {
            return;
        };
        let (space, vpn) = (private.space, private.next(locked));
        let entry = Pte::present(idx).with(PteFlag::Write, true).with(PteFlag::Dirty, true);
        if !self.mm.pages.map_inherited(
            &mut self.inherited.tables,
            Mapping { space, vpn },
            entry,
            of,
            &mut self.mm.phys,
        ) {
            return;
        }
        private.take(locked);
        let list = match (locked, of.active) {
            (true, _) => LruList::Unevictable,
            (false, true) => LruList::ActiveAnon,
            (false, false) => LruList::InactiveAnon,
        };
        self.mm.pages.adopt_page(idx, Owner::Anon(Mapping { space, vpn }), list, &mut self.mm.phys);
        self.mm.pages.levels.anon += 1;
        self.mm.pages.spaces.living(space).rss.anon_pages += 1;
        self.note_use(idx, of);
    }

    /// Gives a file on disk a page, or the folio that starts with it.
    fn inherit_file(&mut self, head: Idx, page: UserPage, of: UserPageUse) {
        let Some(owners) = &mut self.inherited.owners else { return };
        let (space, [unmapped, mapped]) = (owners.private[0].space, &mut owners.devices);
        let pages = self.mm.phys.frames.word(head).frames();
        let (tables, mm) = (&mut self.inherited.tables, &mut self.mm);
        let vpn = MAPPED + Pages::new(mapped.pages.next_multiple_of(pages));
        let range = VpnRange::of(vpn, Pages::new(pages));
        // The slot has a table for all of a folio, or for none of it.
        let is_mapped = page == UserPage::MappedFile
            && mm.phys.parts(head).zip(range.iter()).all(|(idx, vpn)| {
                mm.pages.map_inherited(tables, Mapping { space, vpn }, Pte::present(idx), of, &mut mm.phys)
            });
        let (file, index) = if is_mapped { mapped.next_folio(pages) } else { unmapped.next_folio(pages) };
        let list = if of.active { LruList::ActiveFile } else { LruList::InactiveFile };
        let folio = mm.phys.folio(index, head);
        mm.pages.insert_folio(file, &folio, &mm.phys);
        mm.pages.adopt_page(head, Owner::File { file, index }, list, &mut mm.phys);
        for (index, idx) in folio.places() {
            if is_mapped {
                mm.pages.map_file_page(space, idx, false, &mut mm.phys);
            }
            if page == UserPage::DirtyFile {
                mm.pages.cache.mark_page_dirty(file, index, idx, &mut mm.phys);
                mm.pages.cache.files.enqueue(file, Nanos::ZERO);
            }
        }
        self.note_use(head, of);
    }

    fn inherit_shmem(&mut self, idx: Idx, of: UserPageUse) {
        let Some(owners) = &mut self.inherited.owners else { return };
        let (file, index) = owners.tmpfs.next();
        let list = if of.active { LruList::ActiveAnon } else { LruList::InactiveAnon };
        self.mm.pages.cache.files.ensure(file).insert(index, idx);
        self.mm.pages.adopt_page(idx, Owner::File { file, index }, list, &mut self.mm.phys);
        self.mm.pages.levels.shmem += 1;
        self.mm.pages.cache.charge(file, 1);
        self.note_use(idx, of);
    }

    fn note_use(&mut self, idx: Idx, of: UserPageUse) {
        self.mm.phys.frames.set(idx, self.mm.phys.frames.word(idx).with(PageFlag::Referenced, of.referenced));
    }

    /// All pages are given: what they belong to is as large as they are.
    pub(crate) fn settle_inherited(&mut self) {
        let Some(Owners { private: spaces, devices, tmpfs }) = self.inherited.owners.take() else { return };
        let private = |start, pages, locked| Vma {
            range: VpnRange::of(start, Pages::new(pages)),
            prot: Prot::RW,
            kind: VmaKind::Anon,
            offset: Vpn::get(start),
            advice: crate::space::HugeAdvice::None,
            local: false,
            locked,
            touched: true,
            policy: None,
        };
        let [_, Filled { file, pages }] = devices;
        let kind = VmaKind::File { file, shared: true };
        let mapped = Vma { prot: Prot::READ, kind, offset: 0, touched: false, ..private(MAPPED, pages, false) };
        let vmas = spaces.iter().flat_map(|of| {
            [private(ANON, of.anon, false), private(LOCKED, of.locked, true)].map(|vma| (of.space, vma))
        });
        for (space, vma) in vmas.chain([(spaces[0].space, mapped)]).filter(|(_, vma)| !vma.range.is_empty()) {
            self.mm.pages.insert_vma(space, vma);
        }
        let of_holders = spaces.iter().skip(1).map(|of| (of.space, VpnRange::of(ANON, Pages::new(of.anon))));
        self.mm.pages.inherited = of_holders.collect();
        for Filled { file, pages } in devices.into_iter().chain([tmpfs]) {
            self.mm.pages.cache.files.set_size(file, Pages::new(pages));
        }
    }
}
