//! Policies of shared memory: they belong to the file.

use order9_units::{Bytes, Pages};

use super::super::{MempolicyArgs, Mode, ModeFlags};
use super::{START, address, args, bytes, node, nodes, nodes_of, write};
use crate::space::{Backing, Errno, MmapRequest, Place, Prot, SpaceId};
use crate::{FileId, Mm, MountPolicy, TmpfsOptions, TmpfsSize};

fn map(mm: &mut Mm, space: SpaceId, file: FileId, offset: u64, pages: u64, shared: bool) {
    let backing = Backing::File { file, offset: Pages::new(offset), shared };
    let (place, length, prot) = (Place::Fixed(START), bytes(pages), Prot::RW);
    mm.mmap(space, &MmapRequest { place, length, prot, backing, locked: false }, 0).expect("there is room");
}

#[test]
fn whoever_maps_a_file_gets_its_policy() {
    let world = nodes(4);
    let mm = &mut *world.mm.borrow_mut();
    let file = mm.create_file(Pages::new(100)).unwrap();
    let [one, other] = [0; 2].map(|_| mm.create_space().unwrap());
    map(mm, one, file, 0, 20, true);
    map(mm, other, file, 10, 20, true);
    mm.set_mempolicy(other, &args(Mode::Bind, "1")).unwrap();
    // Places 5 to 14 of the file, 10 to 14 of which the other one shows as its first five pages.
    mm.mbind(one, address(START, 5), bytes(10), &args(Mode::Bind, "3"), false).unwrap();
    assert_eq!(mm.space(one).unwrap().vmas().count(), 1, "the mapping is not split: the file has the policy");
    assert_eq!(nodes_of(mm, other, 0..7, 0), [3, 3, 3, 3, 3, 1, 1]);
    assert_eq!(nodes_of(mm, one, 4..6, 2), [2, 3]);
    assert_eq!(mm.pages.get_mempolicy(other, Some(address(START, 4))), Ok(args(Mode::Bind, "3")));
    assert_eq!(mm.pages.get_mempolicy(other, Some(address(START, 5))), Ok(MempolicyArgs::DEFAULT));
    mm.mbind(other, address(START, 1), bytes(2), &MempolicyArgs::DEFAULT, false).unwrap();
    assert_eq!(mm.pages.get_mempolicy(one, Some(address(START, 11))), Ok(MempolicyArgs::DEFAULT));
    assert_eq!(mm.pages.get_mempolicy(one, Some(address(START, 13))), Ok(args(Mode::Bind, "3")));
    mm.check().expect("every law holds");
}

#[test]
fn system_calls_place_pages_by_the_file_and_the_policy_ends_with_it() {
    let world = nodes(3);
    let mm = &mut *world.mm.borrow_mut();
    let file = mm.create_file(Pages::new(10)).unwrap();
    let space = mm.create_space().unwrap();
    map(mm, space, file, 0, 10, true);
    mm.mbind(space, START, bytes(5), &args(Mode::Bind, "2"), false).unwrap();
    for (index, expected) in [(4, 2), (5, 0)] {
        let hole = mm.shmem_hole(space, file, index, 0).unwrap();
        let request = mm.pages.hole_request(space, &hole, 0, &mm.phys);
        let page = mm.alloc_fast(&request).unwrap();
        mm.fill_shmem_hole(&hole, page, 0).unwrap();
        assert_eq!(mm.phys.node_of_frame(page).0, expected, "place {index}");
    }
    assert_eq!(mm.pages.file_request(space, file, 0, 0, &mm.phys).nodemask, Some(super::mask("2")));
    mm.exit(space, 0).unwrap();
    assert!(!mm.pages.mempolicies.files.is_empty(), "the file is still open");
    mm.close_file(file, 0).unwrap();
    assert!(mm.pages.mempolicies.files.is_empty());
    mm.check().expect("every law holds");
}

#[test]
fn files_begin_with_the_policy_of_their_mount() {
    let world = nodes(3);
    let mm = &mut *world.mm.borrow_mut();
    let policy = |mode, flags, nodes: Option<&str>| TmpfsOptions {
        mpol: Some(MountPolicy { mode, flags, nodes: nodes.map(super::mask) }),
        ..TmpfsOptions::default()
    };
    let plain = |mode, nodes| policy(mode, ModeFlags::None, nodes);
    for options in [
        plain(Mode::Bind, Some("3")),
        plain(Mode::Bind, None),
        plain(Mode::Bind, Some("0-4")),
        plain(Mode::Local, Some("0")),
        plain(Mode::Default, Some("0")),
        policy(Mode::Local, ModeFlags::Static, None),
        policy(Mode::Preferred, ModeFlags::Static, None),
    ] {
        assert_eq!(mm.mount_tmpfs(options), Err(Errno::Einval), "{options:?}");
    }
    let mib = |count: u64| TmpfsSize::Bytes(Bytes::from_kib(count << 10));
    let mount = mm.mount_tmpfs(plain(Mode::Bind, Some("1-2")).sized(mib(1))).unwrap();
    let space = mm.create_space().unwrap();
    let [bound, later, narrow] = [(); 3].map(|()| mm.create_space().unwrap());
    mm.set_mempolicy(bound, &args(Mode::Bind, "0")).unwrap();
    let file = mm.create_file_on(mount, Pages::new(9), Some(space)).unwrap();
    map(mm, bound, file, 0, 9, true);
    assert_eq!(nodes_of(mm, bound, 0..2, 0), [1, 1], "whoever maps it");
    assert_eq!(
        mm.pages.file_request(bound, file, 2, 0, &mm.phys).nodemask,
        Some(super::mask("1-2")),
        "system calls as well"
    );
    // What a program says of a part goes before it, and a remount is for files to come.
    mm.mbind(bound, address(START, 3), bytes(1), &args(Mode::Bind, "0"), false).unwrap();
    mm.remount_tmpfs(mount, plain(Mode::Interleave, None)).unwrap();
    assert_eq!(nodes_of(mm, bound, 2..5, 0), [1, 0, 1]);
    for options in [mib(2).into(), plain(Mode::Default, None)] {
        mm.remount_tmpfs(mount, options).unwrap();
    }
    assert_eq!(mm.remount_tmpfs(mount, plain(Mode::Bind, Some("7"))), Err(Errno::Einval));
    let file = mm.create_file_on(mount, Pages::new(9), Some(space)).unwrap();
    map(mm, later, file, 0, 9, true);
    assert_eq!(
        mm.pages.get_mempolicy(later, Some(START)),
        Ok(args(Mode::Interleave, "0-2")),
        "the last that was named stays"
    );
    // Nodes are those that the cpuset of the creator has; if it has none of them, there is no policy.
    mm.set_mems(narrow, super::mask("0")).unwrap();
    mm.remount_tmpfs(mount, plain(Mode::Bind, Some("0-1"))).unwrap();
    let file = mm.create_file_on(mount, Pages::new(9), Some(narrow)).unwrap();
    map(mm, narrow, file, 0, 9, true);
    assert_eq!(mm.pages.get_mempolicy(narrow, Some(START)), Ok(args(Mode::Bind, "0")));
    mm.munmap(narrow, START, bytes(9), 0).unwrap();
    mm.remount_tmpfs(mount, plain(Mode::Bind, Some("1"))).unwrap();
    let file = mm.create_file_on(mount, Pages::new(9), Some(narrow)).unwrap();
    map(mm, narrow, file, 0, 9, true);
    assert_eq!(mm.pages.get_mempolicy(narrow, Some(START)), Ok(MempolicyArgs::DEFAULT));
    mm.check().expect("every law holds");
}

#[test]
fn files_begin_their_turns_at_different_nodes_and_copies_follow_the_file() {
    let world = nodes(2);
    let mm = &mut *world.mm.borrow_mut();
    let space = mm.create_space().unwrap();
    mm.set_mempolicy(space, &args(Mode::Interleave, "0-1")).unwrap();
    let [even, odd] = [0; 2].map(|_| {
        let file = mm.create_file(Pages::new(4)).unwrap();
        map(mm, space, file, 0, 4, true);
        nodes_of(mm, space, 0..4, 0)
    });
    assert_ne!(even, odd);
    assert_eq!([even[0], even[1]], [even[2], even[3]]);
    let file = mm.create_file(Pages::new(4)).unwrap();
    map(mm, space, file, 0, 4, false);
    mm.mbind(space, START, bytes(4), &args(Mode::Bind, "1"), false).unwrap();
    write(mm, space, 0, 0);
    assert_eq!(node(mm, space, 0), Some(1));
    mm.check().expect("every law holds");
}
