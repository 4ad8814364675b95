//! Pages that a machine starts with: of programs and files that are not there any more, and that nobody touches again.
//!
//! Key types: [`UserPage`] (what such a page is), [`UserPageUse`] (what is known of its use), [`Inherited`] (what all of them
//! belong to). Reclaim and compaction ask whose a page is, so each gets an owner: anonymous pages are those of one space that
//! no process has, or of one for each process that is known to have held some, at consecutive addresses, huge ones aligned; pages of files are those of two devices, at consecutive places, the mapped ones
//! of the second; pages of tmpfs are those of one file that stays open. Page tables of the space are among those that the
//! machine starts with. A device has no inode that could be freed: its pages stay until reclaim takes them.

use alloc::vec::Vec;

use order9_frames::Idx;

use crate::pages::UsedPages;
use crate::pages::space::pte::{Pte, PteFlag};
use crate::pages::space::{Mapping, Vpn};
use crate::phys::PhysMem;

/// Facts about a page that a machine starts with, beside its owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UserPageUse {
    /// On the active list of its type.
    pub active: bool,
    /// Accessed since it was last looked at.
    pub referenced: bool,
}

/// Places of the kinds of pages in the space: far enough apart for any machine.
pub(crate) const ANON: Vpn = Vpn::new(1 << 30);
pub(crate) const LOCKED: Vpn = Vpn::new(1 << 33);
pub(crate) const MAPPED: Vpn = Vpn::new(1 << 34);

impl UsedPages {
    /// Sets an entry of the space, with one of `tables` where the slot has none yet; says whether there was one.
    pub(crate) fn map_inherited(
        &mut self,
        tables: &mut Vec<Idx>,
        at: Mapping,
        entry: Pte,
        of: UserPageUse,
        phys: &mut PhysMem,
    ) -> bool {
        if self.spaces.living(at.space).table.table(at.vpn).is_none() {
            let Some(frame) = tables.pop() else { return false };
            self.install_table(at.space, at.vpn, frame, phys);
        }
        let table = self.spaces.living(at.space).table.table_mut(at.vpn).expect("the slot has a table");
        table.set(at.vpn, entry.with(PteFlag::Young, of.referenced));
        true
    }
}

#[cfg(test)]
mod tests {
    use crate::boot::MmBuilder;
    use crate::boot::inherited::UserPage;
    use crate::lru_list::LruList;
    use crate::thp::{HugeSize, SizeStat};
    use order9_frames::Contents;
    use order9_units::Order;
    use order9_units::Pages;
    use order9_units::Pfn;
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
    fn pages_of_known_processes_are_in_spaces_of_their_own() {
        let (mut builder, free) = (builder(), "it is free to be given");
        let mut at = SPAN.iter();
        at.by_ref().take(3).for_each(|pfn| builder.page_table(pfn).expect(free));
        for (holder, pfn) in [None, Some(0), Some(2), Some(2)].into_iter().zip(at.by_ref()) {
            builder.page_of_holder(pfn, UserPage::Anon, UserPageUse::default(), holder).expect(free);
        }
        at.for_each(|pfn| builder.free(pfn, Order::ZERO).expect(free));
        let mm: Mm = builder.finish();
        assert_eq!(mm.check(), Ok(()));
        let pages = |holder| mm.inherited(holder).map(|(_, range)| range.len().get());
        assert_eq!([0, 1, 2, 3].map(pages), [Some(1), Some(0), Some(2), None]);
        let (one, two) = (mm.inherited(0).expect("it is there").0, mm.inherited(2).expect("it is there").0);
        assert_ne!(one, two);
        assert_eq!(mm.space(two).expect("it lives").vmas().count(), 1);
    }

    #[test]
    fn huge_pages_of_less_than_2_mib_are_one_page_each() {
        let size = |kib| HugeSize::of_kib(kib).expect("it is one");
        let (mut builder, free) = (builder(), "it is free to be given");
        (0..16).for_each(|at| builder.page_table(SPAN.start + Pages::new(at)).expect(free));
        let of = UserPageUse { active: true, referenced: true };
        for (at, kib, holder) in [(16, 64, None), (32, 16, Some(0)), (64, 256, Some(0)), (48, 64, Some(0))] {
            builder.small_huge_page(SPAN.start + Pages::new(at), size(kib), of, holder).expect(free);
        }
        for at in 36..39 {
            builder.page_of_holder(SPAN.start + Pages::new(at), UserPage::Anon, of, Some(0)).expect(free);
        }
        for at in (39..48).chain(128..SPAN.len().get()) {
            builder.free(SPAN.start + Pages::new(at), Order::ZERO).expect(free);
        }
        let mut mm: Mm = builder.finish();
        assert_eq!(mm.check(), Ok(()));
        let found = [16, 64, 256].map(|kib| mm.thp_size_stat(size(kib), SizeStat::NrAnon));
        assert_eq!((found, mm.pages.user_levels().anon), ([1, 2, 1], 16 + 4 + 64 + 16 + 3));
        assert_eq!(mm.lru_pages(NodeId(0), LruList::ActiveAnon), 103);
        let range = mm.inherited(0).map(|(_, range)| range.len().get());
        assert_eq!(range, Some(144), "aligned, and the last page of 64 KiB behind that of 256 KiB");
        let single = mm.inherited(0).map(|(space, _)| mm.space(space).expect("it lives").rss().anon_pages);
        assert_eq!(single, Some(4 + 64 + 16 + 3), "single pages lie in the gaps");
        mm.follow_split(SPAN.start + Pages::new(70), 0).expect("nobody holds it");
        assert_eq!(mm.check(), Ok(()));
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
