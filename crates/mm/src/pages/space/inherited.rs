//! Pages that a machine starts with: of programs and files that are not there any more, and that nobody touches again.
//!
//! Key types: [`UserPage`] (what such a page is), [`UserPageUse`] (what is known of its use), [`Inherited`] (what all of them
//! belong to). Reclaim and compaction ask whose a page is, so each gets an owner: anonymous pages are those of one space that
//! no process has, at consecutive addresses; pages of files are those of two devices, at consecutive places, the mapped ones
//! of the second; pages of tmpfs are those of one file that stays open. Page tables of the space are among those that the
//! machine starts with. A device has no inode that could be freed: its pages stay until reclaim takes them.

use alloc::vec::Vec;

use order9_frames::{BuildError, Contents, Idx};
use order9_units::{Nanos, Order, Pages, Pfn};

use super::pte::{Pte, PteFlag};
use super::{Mapping, Owner, Prot, SpaceId, Vma, VmaKind, Vpn, VpnRange};
use crate::boot::MmBuilder;
use crate::lru_list::LruList;
use crate::page_cache::{FileId, Home, PAGES_MAX};
use crate::page_flags::PageFlag;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::shmem::MountId;
use crate::trace::Tracer;

/// What a page of a program or file is that a machine starts with.
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

/// What is known of the use of such a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UserPageUse {
    /// On the active list of its type.
    pub active: bool,
    /// Accessed since it was last looked at.
    pub referenced: bool,
}

/// What the pages belong to that a machine starts with.
#[derive(Default)]
pub(crate) struct Inherited {
    /// Page tables that map nothing yet.
    tables: Vec<Idx>,
    owners: Option<Owners>,
}

/// Made with the first page.
struct Owners {
    space: SpaceId,
    /// Pages without and with mappings.
    devices: [Filled; 2],
    tmpfs: Filled,
    anon: u64,
    locked: u64,
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
}

/// Where the space has what: far enough apart for any machine.
const ANON: Vpn = Vpn::new(1 << 30);
const LOCKED: Vpn = Vpn::new(1 << 33);
const MAPPED: Vpn = Vpn::new(1 << 34);

impl<T: Tracer> MmBuilder<T> {
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
        self.allocate(pfn, Order::ZERO, Contents::Movable)?;
        if self.inherited.owners.is_none() {
            self.make_owners();
        }
        let idx = self.mm.phys.frames.at(pfn);
        match page {
            UserPage::Anon | UserPage::Locked => self.inherit_private(idx, page == UserPage::Locked, of),
            UserPage::File | UserPage::MappedFile | UserPage::DirtyFile => self.inherit_file(idx, page, of),
            UserPage::Shmem => self.inherit_shmem(idx, of),
        }
        Ok(())
    }

    fn make_owners(&mut self) {
        const FIRST: &str = "the first of its kind";
        let space = self.mm.create_space().expect(FIRST);
        let mut file = |home| Filled { file: self.mm.pages.files.create(PAGES_MAX, home).expect(FIRST), pages: 0 };
        let (devices, tmpfs) = ([file(Home::Device), file(Home::Device)], file(Home::Tmpfs(MountId::INTERNAL)));
        self.mm.pages.files.ensure(tmpfs.file).open = true;
        self.inherited.owners = Some(Owners { space, devices, tmpfs, anon: 0, locked: 0 });
    }

    fn inherit_private(&mut self, idx: Idx, locked: bool, of: UserPageUse) {
        let Some(owners) = &mut self.inherited.owners else { return };
        let (space, base) = (owners.space, if locked { LOCKED } else { ANON });
        let pages = if locked { &mut owners.locked } else { &mut owners.anon };
        let vpn = base + Pages::new(*pages);
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
        *pages += 1;
        let list = match (locked, of.active) {
            (true, _) => LruList::Unevictable,
            (false, true) => LruList::ActiveAnon,
            (false, false) => LruList::InactiveAnon,
        };
        self.mm.pages.adopt_page(idx, Owner::Anon(Mapping { space, vpn }), list, &mut self.mm.phys);
        self.mm.pages.levels.anon += 1;
        self.mm.pages.living(space).rss.anon_pages += 1;
        self.note_use(idx, of);
    }

    fn inherit_file(&mut self, idx: Idx, page: UserPage, of: UserPageUse) {
        let Some(owners) = &mut self.inherited.owners else { return };
        let (space, [unmapped, mapped]) = (owners.space, &mut owners.devices);
        let at = Mapping { space, vpn: MAPPED + Pages::new(mapped.pages) };
        let is_mapped = page == UserPage::MappedFile
            && self.mm.pages.map_inherited(&mut self.inherited.tables, at, Pte::present(idx), of, &mut self.mm.phys);
        let (file, index) = if is_mapped { mapped.next() } else { unmapped.next() };
        let list = if of.active { LruList::ActiveFile } else { LruList::InactiveFile };
        self.mm.pages.files.ensure(file).insert(index, idx);
        self.mm.pages.adopt_page(idx, Owner::File { file, index }, list, &mut self.mm.phys);
        self.mm.pages.levels.file += 1;
        if is_mapped {
            self.mm.pages.map_file_page(space, idx, false, &mut self.mm.phys);
        }
        if page == UserPage::DirtyFile {
            self.mm.pages.mark_page_dirty(file, index, idx, &mut self.mm.phys);
            self.mm.pages.files.enqueue(file, Nanos::ZERO);
        }
        self.note_use(idx, of);
    }

    fn inherit_shmem(&mut self, idx: Idx, of: UserPageUse) {
        let Some(owners) = &mut self.inherited.owners else { return };
        let (file, index) = owners.tmpfs.next();
        let list = if of.active { LruList::ActiveAnon } else { LruList::InactiveAnon };
        self.mm.pages.files.ensure(file).insert(index, idx);
        self.mm.pages.adopt_page(idx, Owner::File { file, index }, list, &mut self.mm.phys);
        self.mm.pages.levels.shmem += 1;
        self.mm.pages.charge(file, 1);
        self.note_use(idx, of);
    }

    fn note_use(&mut self, idx: Idx, of: UserPageUse) {
        self.mm.phys.frames.set(idx, self.mm.phys.frames.word(idx).with(PageFlag::Referenced, of.referenced));
    }

    /// All pages are given: what they belong to is as large as they are.
    pub(crate) fn settle_inherited(&mut self) {
        let Some(Owners { space, devices, tmpfs, anon, locked }) = self.inherited.owners.take() else { return };
        let private = |start, pages, locked| Vma {
            range: VpnRange::of(start, Pages::new(pages)),
            prot: Prot::RW,
            kind: VmaKind::Anon,
            offset: Vpn::get(start),
            advice: super::HugeAdvice::None,
            local: false,
            locked,
            touched: true,
            policy: None,
        };
        let [_, Filled { file, pages }] = devices;
        let kind = VmaKind::File { file, shared: true };
        let mapped = Vma { prot: Prot::READ, kind, offset: 0, touched: false, ..private(MAPPED, pages, false) };
        let vmas = [private(ANON, anon, false), private(LOCKED, locked, true), mapped];
        vmas.into_iter().filter(|vma| !vma.range.is_empty()).for_each(|vma| self.mm.pages.insert_vma(space, vma));
        for Filled { file, pages } in devices.into_iter().chain([tmpfs]) {
            self.mm.pages.files.set_size(file, Pages::new(pages));
        }
    }
}

impl UsedPages {
    /// Sets an entry of the space, with one of `tables` where the slot has none yet; says whether there was one.
    fn map_inherited(
        &mut self,
        tables: &mut Vec<Idx>,
        at: Mapping,
        entry: Pte,
        of: UserPageUse,
        phys: &mut PhysMem<impl Tracer>,
    ) -> bool {
        if self.living(at.space).table.table(at.vpn).is_none() {
            let Some(frame) = tables.pop() else { return false };
            self.install_table(at.space, at.vpn, frame, phys);
        }
        let table = self.living(at.space).table.table_mut(at.vpn).expect("the slot has a table");
        table.set(at.vpn, entry.with(PteFlag::Young, of.referenced));
        true
    }
}

#[cfg(test)]
mod tests {
    use order9_units::{NodeId, PfnRange, ZoneKind};

    use super::*;
    use crate::policy::Policy;
    use crate::{BlockUser, Layout, Mm, NodeSpec, ZoneSpec};

    const SPAN: PfnRange = PfnRange { start: Pfn::new(1 << 20), end: Pfn::new((1 << 20) + 1024) };

    fn builder() -> MmBuilder {
        let layout = Layout {
            nodes: alloc::vec![NodeSpec { distances: alloc::vec![10] }],
            zones: alloc::vec![ZoneSpec { node: NodeId(0), kind: ZoneKind::Normal, span: SPAN }],
            ..Layout::default()
        };
        MmBuilder::new(&layout, Policy::default()).expect("one zone is a valid layout")
    }

    /// 4 MiB: page tables first, then `pages`, the rest free.
    fn machine(tables: u64, pages: &[(UserPage, u64)]) -> Mm {
        let mut builder = builder();
        let mut at = SPAN.iter();
        at.by_ref().take(tables as usize).for_each(|pfn| builder.page_table(pfn).expect("it is free to be given"));
        for &(page, count) in pages {
            for (n, pfn) in at.by_ref().take(count as usize).enumerate() {
                let of = UserPageUse { active: n % 2 == 0, referenced: n % 4 < 2 };
                builder.user_page(pfn, page, of).expect("it is free to be given");
            }
        }
        at.for_each(|pfn| builder.free(pfn, Order::ZERO).expect("it is free to be given"));
        builder.finish()
    }

    #[test]
    fn every_kind_of_page_has_an_owner_and_obeys_the_laws() {
        use UserPage::{Anon, DirtyFile, File, Locked, MappedFile, Shmem};
        let mm = machine(3, &[Anon, Locked, File, MappedFile, DirtyFile, Shmem].map(|page| (page, 100)));
        assert_eq!(mm.check(), Ok(()));
        assert_eq!(mm.with_content_tags().check(), Ok(()));
        let mm = machine(3, &[Anon, Locked, File, MappedFile, DirtyFile, Shmem].map(|page| (page, 100)));
        let levels = mm.pages.user_levels();
        assert_eq!((levels.anon, levels.file, levels.mapped, levels.shmem), (200, 300, 100, 100));
        assert_eq!(mm.write_pending(None).dirty, 100);
        let on = |list| mm.lru_pages(NodeId(0), list);
        assert_eq!((on(LruList::ActiveAnon), on(LruList::InactiveAnon)), (100, 100));
        assert_eq!((on(LruList::ActiveFile), on(LruList::InactiveFile)), (150, 150));
        assert_eq!(on(LruList::Unevictable), 100);
    }

    #[test]
    fn a_smaller_block_behind_a_page_of_a_file_is_no_part_of_a_huge_page() {
        let order = |order| Order::new(order).expect("it exists");
        let (mut builder, free) = (builder(), "it is free to be given");
        builder.user_page(SPAN.start, UserPage::File, UserPageUse::default()).expect(free);
        (1..8).for_each(|at| builder.free(SPAN.start + Pages::new(at), Order::ZERO).expect(free));
        let block = SPAN.start + Pages::new(8);
        builder.allocate(block, order(3), Contents::Unmovable).expect(free);
        (4..10).for_each(|at| builder.free(SPAN.start + order(at).pages(), order(at)).expect(free));
        let mm: Mm = builder.finish();
        assert_eq!((mm.block_view(block).user, mm.pages.mapcount(block, &mm.phys)), (BlockUser::Kernel, 0));
        assert_eq!(mm.check(), Ok(()));
    }

    #[test]
    fn without_page_tables_private_pages_have_no_owner_and_mapped_ones_no_mapping() {
        let mm = machine(1, &[(UserPage::Anon, 513), (UserPage::MappedFile, 7)]);
        assert_eq!(mm.check(), Ok(()));
        let levels = mm.pages.user_levels();
        assert_eq!((levels.anon, levels.file, levels.mapped, levels.page_tables), (512, 7, 0, 1));
        let without = mm.block_view(Pfn::new((1 << 20) + 1 + 512));
        assert_eq!(without.user, BlockUser::Movable);
    }
}
