//! Memory that gets huge pages: mounts, `shmem_enabled`, advice.

use super::*;
use crate::policy::{ShmemGfp, ThpPolicy};
use crate::shmem::ShmemEnabled;
use crate::space::Madvise;
use crate::thp::{HugeDefrag, fault_gfp, shmem_gfp};

/// Whether the first access to page `index` of a file of `size` pages makes a huge page.
fn gets_huge(mm: &mut Mm, mount: MountId, size: u64, index: u64, advice: Option<Madvise>) -> bool {
    let before = mm.counters().thp_file_alloc;
    let (file, space) = shared(mm, mount, size);
    if let Some(advice) = advice {
        mm.madvise(space, START, pages(size), advice, CPU).expect("it is mapped");
    }
    write(mm, space, index);
    mm.exit(space, CPU).expect("it lives");
    mm.close_file(file, CPU).expect("it is open");
    checked(mm);
    mm.counters().thp_file_alloc > before
}

#[test]
fn option_and_advice_decide_about_files() {
    let (mut mm, _) = machine();
    use ShmemHuge::{Advise, Always, Never, WithinSize};
    for (huge, [plain, advised, short, short_advised]) in [
        (Never, [false; 4]),
        (Always, [true; 4]),
        (WithinSize, [true, true, false, true]),
        (Advise, [false, true, false, true]),
    ] {
        let mount = mm.mount_tmpfs(huge).expect("the policy has it");
        let hg = Some(Madvise::HugePage);
        assert_eq!(gets_huge(&mut mm, mount, 1024, 700, None), plain, "{huge:?}");
        assert_eq!(gets_huge(&mut mm, mount, 1024, 700, hg), advised, "{huge:?}, advised");
        assert_eq!(gets_huge(&mut mm, mount, 1000, 700, None), short, "{huge:?}, beyond the end");
        assert_eq!(gets_huge(&mut mm, mount, 1000, 700, hg), short_advised, "{huge:?}, beyond the end, advised");
        assert!(!gets_huge(&mut mm, mount, 1024, 700, Some(Madvise::NoHugePage)), "{huge:?}, advised against");
    }
    assert_eq!((thps(&mm), mm.pages.user_levels().shmem), ((0, 0), 0), "all files are gone");
}

#[test]
fn within_size_rounds_the_place_or_the_end_of_the_page() {
    for (end, expected) in [(false, true), (true, false)] {
        let mut policy = Policy::default();
        policy.thp.within_size_end = end;
        let mut mm = boot(policy);
        let mount = mm.mount_tmpfs(ShmemHuge::WithinSize).expect("the policy has it");
        assert_eq!(gets_huge(&mut mm, mount, 1000, 512, None), expected);
        assert!(!gets_huge(&mut mm, mount, 1000, 513, None) && gets_huge(&mut mm, mount, 1000, 511, None));
    }
}

#[test]
fn deny_and_force_hold_for_all_mounts_and_leave_their_options() {
    let (mut mm, always) = machine();
    let never = mm.mount_tmpfs(ShmemHuge::Never).expect("it is allowed");
    mm.pages.cache.set_shmem_enabled(ShmemEnabled::Mount(ShmemHuge::Advise));
    let found = |mm: &mut Mm| [always, never, MountId::INTERNAL].map(|mount| gets_huge(mm, mount, 512, 0, None));
    assert_eq!(found(&mut mm), [true, false, false]);
    mm.pages.cache.set_shmem_enabled(ShmemEnabled::Deny);
    assert_eq!(found(&mut mm), [false; 3]);
    mm.pages.cache.set_shmem_enabled(ShmemEnabled::Force);
    assert_eq!(found(&mut mm), [true; 3]);
    assert_eq!(mm.pages.cache.tmpfs_huge(MountId::INTERNAL), Some(ShmemHuge::Advise));
    mm.pages.cache.set_shmem_enabled(ShmemEnabled::Mount(ShmemHuge::Always));
    assert_eq!(found(&mut mm), [true, false, true]);
}

#[test]
fn shared_anonymous_memory_is_on_the_mount_of_the_kernel() {
    let (mut mm, _) = machine();
    let request = MmapRequest { backing: Backing::AnonShared, ..MmapRequest::anon(pages(HUGE)) };
    for huge in [ShmemHuge::Never, ShmemHuge::Always] {
        mm.pages.cache.set_shmem_enabled(ShmemEnabled::Mount(huge));
        let space = mm.create_space().expect("there are few");
        let start = mm.mmap(space, &request, CPU).expect("there is room");
        access(&mut mm, space, start, Access::Write, true);
    }
    assert_eq!((thps(&mm), mm.pages.user_levels().shmem), ((1, 1), 513));
}

#[test]
fn remounting_is_for_pages_to_come() {
    let (mut mm, mount) = machine();
    let (_, space) = shared(&mut mm, mount, 2 * HUGE);
    write(&mut mm, space, 0);
    mm.remount_tmpfs(mount, ShmemHuge::Never).expect("the mount exists");
    write(&mut mm, space, HUGE);
    assert_eq!((thps(&mm), file_events(&mm)), ((1, 1), [1, 0, 1]));
    assert_eq!(mm.remount_tmpfs(MountId(9), ShmemHuge::Never), Err(Errno::Einval));
    assert_eq!(mm.create_file_on(MountId(9), Pages::ZERO, None), Err(Errno::Enoent));
}

#[test]
fn before_4_8_there_are_none() {
    let mut policy = Policy::default();
    policy.thp.shmem = false;
    let mut mm = boot(policy);
    assert_eq!(mm.mount_tmpfs(ShmemHuge::Always), Err(Errno::Einval));
    let mount = mm.mount_tmpfs(ShmemHuge::Never).expect("it has always been so");
    assert_eq!(mm.remount_tmpfs(mount, ShmemHuge::Advise), Err(Errno::Einval));
    mm.pages.cache.set_shmem_enabled(ShmemEnabled::Force);
    assert!(!gets_huge(&mut mm, mount, 512, 0, None));
}

#[test]
fn rights_are_those_of_the_file_or_of_a_fault_by_release() {
    let mut policy = ThpPolicy::default();
    for defrag in [HugeDefrag::Always, HugeDefrag::Never] {
        let gfp = Gfp::GFP_TRANSHUGE.with(Gfp::NORETRY).with(Gfp::KSWAPD_RECLAIM);
        assert_eq!(shmem_gfp(defrag, false, &policy), gfp, "the mode is not asked");
    }
    policy.shmem_gfp = ShmemGfp::Mode;
    for (defrag, advised) in [(HugeDefrag::Always, true), (HugeDefrag::Madvise, false), (HugeDefrag::Defer, true)] {
        assert_eq!(shmem_gfp(defrag, advised, &policy), fault_gfp(defrag, advised, &policy));
    }
}
