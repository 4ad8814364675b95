//! The folder of pages of 2 MiB: who gets them by its files, and what its statistics count.

use order9_units::{NodeId, Pages};

use super::khugepaged::{base_pages, pass};
use super::{CPU, HUGE, access, at, boot, fork, frame, is_huge, pages, program, write};
use crate::Mm;
use crate::page_cache::FileId;
use crate::policy::{HugeInterface, Policy};
use crate::shmem::{MountId, ShmemEnabled, ShmemHuge};
use crate::space::{Access, Backing, Madvise, MmapRequest, Place};
use crate::thp::{HugeEnabled, HugeSize, KhugepagedPause, SizeEnabled, SizeShmemEnabled, SizeStat};

fn with_sizes() -> Policy {
    let mut policy = Policy::default();
    (policy.thp.interface, policy.thp.queue_full_unmap) = (HugeInterface::Sizes, false);
    policy.thp.max_ptes_shared = true;
    policy
}

#[test]
fn the_file_of_the_size_decides_unless_it_inherits() {
    // By values of this size: whether all memory, and advised memory, gets huge pages; with always and never for all sizes.
    for (word, with_always, with_never) in [
        (SizeEnabled::Always, [true, true], [true, true]),
        (SizeEnabled::Inherit, [true, true], [false, false]),
        (SizeEnabled::Madvise, [false, true], [false, true]),
        (SizeEnabled::Never, [false, false], [false, false]),
    ] {
        for (all_sizes, expected) in [(HugeEnabled::Always, with_always), (HugeEnabled::Never, with_never)] {
            let mut mm = boot(with_sizes());
            mm.phys.set_thp_enabled(all_sizes);
            mm.phys.set_thp_size_enabled(HugeSize::PMD, word);
            let space = program(&mut mm, 2 * HUGE);
            mm.madvise(space, at(HUGE), pages(HUGE), Madvise::HugePage, CPU).expect("it is mapped");
            [0, HUGE].iter().for_each(|&page| write(&mut mm, space, page));
            let found = [0, HUGE].map(|page| is_huge(&mm, space, page));
            assert_eq!(found, expected, "{word:?}, {all_sizes:?} for all sizes");
        }
    }
}

#[test]
fn khugepaged_rests_when_neither_file_names_anybody() {
    for (word, all_sizes, rests) in [
        (SizeEnabled::Inherit, HugeEnabled::Never, true),
        (SizeEnabled::Never, HugeEnabled::Never, true),
        (SizeEnabled::Madvise, HugeEnabled::Never, false),
        (SizeEnabled::Always, HugeEnabled::Never, false),
        (SizeEnabled::Inherit, HugeEnabled::Madvise, false),
        (SizeEnabled::Never, HugeEnabled::Always, false),
    ] {
        let (mut mm, _) = base_pages(with_sizes(), &[1]);
        let raised = mm.phys.min_free_kbytes();
        mm.phys.set_thp_enabled(all_sizes);
        mm.phys.set_thp_size_enabled(HugeSize::PMD, word);
        assert_eq!(
            mm.pages.huge.khugepaged_pause(&mm.phys) == KhugepagedPause::UntilWoken,
            rests,
            "{word:?}, {all_sizes:?} for all sizes"
        );
        assert!(mm.phys.min_free_kbytes() <= raised);
    }
}

/// Whether the first access to shared anonymous memory, or to a file of `mount`, makes a huge page.
fn gets_huge(mm: &mut Mm, mount: Option<MountId>, advised: bool) -> bool {
    let before = mm.thp_size_stat(HugeSize::PMD, SizeStat::ShmemAlloc);
    let space = mm.create_space().expect("there are few");
    let file: Option<FileId> =
        mount.map(|mount| mm.create_file_on(mount, Pages::new(HUGE), None).expect("there is room"));
    let backing = match file {
        Some(file) => Backing::File { file, offset: Pages::ZERO, shared: true },
        None => Backing::AnonShared,
    };
    let request = MmapRequest { place: Place::Fixed(at(0)), backing, ..MmapRequest::anon(pages(HUGE)) };
    mm.mmap(space, &request, CPU).expect("there is room");
    if advised {
        mm.madvise(space, at(0), pages(HUGE), Madvise::HugePage, CPU).expect("it is mapped");
    }
    access(mm, space, at(0), Access::Write, true);
    mm.exit(space, CPU).expect("it lives");
    mm.thp_size_stat(HugeSize::PMD, SizeStat::ShmemAlloc) > before
}

#[test]
fn shared_memory_follows_the_file_of_the_size_and_mounts_their_option() {
    let mut mm = boot(with_sizes());
    let never = mm.mount_tmpfs(ShmemHuge::Never).expect("it is allowed");
    for (enabled, expected) in [
        (SizeShmemEnabled::Inherit, [false, false]),
        (SizeShmemEnabled::Own(ShmemHuge::Always), [true, true]),
        (SizeShmemEnabled::Own(ShmemHuge::Advise), [false, true]),
        (SizeShmemEnabled::Own(ShmemHuge::Never), [false, false]),
    ] {
        mm.pages.cache.set_shmem_size_enabled(enabled);
        assert_eq!([false, true].map(|advised| gets_huge(&mut mm, None, advised)), expected, "{enabled:?}");
        assert!(!gets_huge(&mut mm, Some(never), true), "a mount goes by its option");
    }
    mm.pages.cache.set_shmem_enabled(ShmemEnabled::Mount(ShmemHuge::Always));
    assert!(!gets_huge(&mut mm, None, false), "never of this size");
    mm.pages.cache.set_shmem_size_enabled(SizeShmemEnabled::Inherit);
    assert!(gets_huge(&mut mm, None, false));
    mm.pages.cache.set_shmem_enabled(ShmemEnabled::Deny);
    mm.pages.cache.set_shmem_size_enabled(SizeShmemEnabled::Own(ShmemHuge::Always));
    assert!(!gets_huge(&mut mm, None, true), "deny holds for all");
    mm.pages.cache.set_shmem_size_enabled(SizeShmemEnabled::Inherit);
    mm.pages.cache.set_shmem_enabled(ShmemEnabled::Force);
    assert!(gets_huge(&mut mm, None, false) && gets_huge(&mut mm, Some(never), false));
}

#[test]
fn statistics_of_the_size_count_what_happens_to_its_pages() {
    let mut mm = boot(with_sizes());
    let space = program(&mut mm, 8 * HUGE);
    let anon = |mm: &Mm| {
        [
            SizeStat::AnonFaultAlloc,
            SizeStat::AnonFaultFallback,
            SizeStat::NrAnon,
            SizeStat::NrAnonPartiallyMapped,
            SizeStat::SplitDeferred,
            SizeStat::Split,
        ]
        .map(|stat| mm.thp_size_stat(HugeSize::PMD, stat))
    };
    [0, HUGE, 2 * HUGE].iter().for_each(|&page| write(&mut mm, space, page));
    assert_eq!(anon(&mm), [3, 0, 3, 0, 0, 0]);
    let refused = |mm: &mut Mm, kind, page| {
        let _ = access(mm, space, at(page), kind, false);
    };
    refused(&mut mm, Access::Write, 3 * HUGE);
    refused(&mut mm, Access::Read, 4 * HUGE);
    assert_eq!(mm.counters().thp_fault_fallback, 2, "of which one is a read that got no page of zeros");
    assert_eq!(anon(&mm), [3, 1, 3, 0, 0, 0]);
    mm.munmap(space, at(0), pages(1), CPU).expect("it is mapped");
    assert_eq!(anon(&mm), [3, 1, 3, 1, 1, 0], "it is there, though no huge entry shows it");
    assert_eq!(mm.pages.user_levels().anon_thps, 2);
    assert!(mm.pages.split_deferred(NodeId(0), CPU, &mut mm.phys));
    assert_eq!(anon(&mm), [3, 1, 2, 0, 1, 1]);
    let head = frame(&mm, space, HUGE);
    mm.pin(head).expect("it is mapped");
    assert!(mm.pages.split_huge_page(head, CPU, &mut mm.phys).is_err());
    assert_eq!(mm.thp_size_stat(HugeSize::PMD, SizeStat::SplitFailed), 1);
    mm.unpin(head).expect("it is pinned");
    let child = fork(&mut mm, space);
    assert_eq!(mm.thp_size_stat(HugeSize::PMD, SizeStat::NrAnon), 2, "each once, whoever maps it");
    mm.exit(child, CPU).expect("it lives");
    mm.exit(space, CPU).expect("it lives");
    assert_eq!(mm.thp_size_stat(HugeSize::PMD, SizeStat::NrAnon), 0);
    mm.pages.cache.set_shmem_enabled(ShmemEnabled::Mount(ShmemHuge::Always));
    assert!(gets_huge(&mut mm, None, false));
    assert_eq!(
        [SizeStat::ShmemAlloc, SizeStat::ShmemFallback].map(|stat| mm.thp_size_stat(HugeSize::PMD, stat)),
        [1, 0]
    );
}

#[test]
fn collapse_makes_pages_that_the_statistics_know() {
    let (mut mm, spaces) = base_pages(with_sizes(), &[1]);
    pass(&mut mm, true);
    assert!(is_huge(&mm, spaces[0], 0));
    assert_eq!(
        (mm.thp_size_stat(HugeSize::PMD, SizeStat::NrAnon), mm.thp_size_stat(HugeSize::PMD, SizeStat::AnonFaultAlloc)),
        (1, 0)
    );
}
