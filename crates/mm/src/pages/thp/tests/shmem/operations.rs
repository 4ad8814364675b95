//! Operations of programs on mappings of huge pages.

use super::*;
use crate::space::{Madvise, Mremap, MremapRequest, MremapTo};

#[test]
fn what_cuts_a_huge_mapping_of_a_file_unmaps_it() {
    let cuts: [fn(&mut Mm, SpaceId); 4] = [
        |mm, space| mm.munmap(space, at(100), pages(100), CPU).expect("it is mapped"),
        |mm, space| mm.mprotect(space, at(0), pages(100), Prot::READ).expect("it is mapped"),
        |mm, space| mm.madvise(space, at(0), pages(100), Madvise::DontNeed, CPU).expect("it is mapped"),
        |mm, space| mm.mlock(space, at(10), pages(1)).expect("it is mapped"),
    ];
    for cut in cuts {
        let (mut mm, mount) = machine();
        let (file, space) = shared(&mut mm, mount, HUGE);
        write(&mut mm, space, 0);
        let page = head(&mm, file, 0);
        cut(&mut mm, space);
        checked(&mm);
        assert_eq!(events(mm.counters()), [0, 0, 1, 0, 0, 0], "nothing but the mapping is split");
        assert_eq!((thps(&mm), mm.pages.user_levels().mapped, head(&mm, file, 9)), ((1, 0), 0, page));
        read(&mut mm, space, 50);
        assert!(mm.pages.user_levels().mapped > 0, "faults map it again");
    }
}

#[test]
fn discarding_a_slot_leaves_the_file_and_removing_empties_it() {
    let (mut mm, mount) = machine();
    let (file, space) = shared(&mut mm, mount, 2 * HUGE);
    write(&mut mm, space, 0);
    mm.madvise(space, START, pages(HUGE), Madvise::DontNeed, CPU).expect("it is mapped");
    assert_eq!((thps(&mm), mm.counters().thp_split_pmd), ((1, 0), 0));
    read(&mut mm, space, 0);
    assert_eq!((thps(&mm), file_events(&mm)), ((1, 1), [1, 0, 2]), "the next access maps it again");
    mm.madvise(space, START, pages(HUGE), Madvise::Remove, CPU).expect("it is mapped");
    checked(&mm);
    assert_eq!((thps(&mm), mm.pages.user_levels().shmem, mm.file_page(file, 0)), ((0, 0), 0, None));
    let private = mm.create_space().expect("there are few");
    map_file(&mut mm, private, 0, file, 0, HUGE, false);
    map(&mut mm, private, HUGE, 1);
    let remove = |mm: &mut Mm, first, count| mm.madvise(private, at(first), pages(count), Madvise::Remove, CPU);
    assert_eq!((remove(&mut mm, 0, 1), remove(&mut mm, HUGE, 1)), (Err(Errno::Eacces), Err(Errno::Einval)));
    mm.mlock(space, START, pages(1)).expect("it is mapped");
    assert_eq!(mm.madvise(space, START, pages(1), Madvise::Remove, CPU), Err(Errno::Einval));
}

#[test]
fn a_fork_maps_huge_pages_of_files_by_faults() {
    let (mut mm, mount) = machine();
    let file = file(&mut mm, mount, 2 * HUGE);
    let parent = mm.create_space().expect("there are few");
    map_file(&mut mm, parent, 0, file, 0, 2 * HUGE, false);
    read(&mut mm, parent, 0);
    read(&mut mm, parent, HUGE);
    write(&mut mm, parent, HUGE);
    let child = fork(&mut mm, parent);
    assert!(is_huge(&mm, parent, 0) && !is_huge(&mm, child, 0));
    assert_eq!(mm.space(child).expect("it lives").rss().total().get(), 1, "the parent's copy");
    read(&mut mm, child, 0);
    assert!(is_huge(&mm, child, 0));
    assert_eq!(thps(&mm), (2, 1));
}

#[test]
fn aligned_moves_take_huge_mappings_of_files_along() {
    let (mut mm, mount) = machine();
    let (file, space) = shared(&mut mm, mount, HUGE);
    write(&mut mm, space, 0);
    for (to, is_moved) in [(4 * HUGE, true), (6 * HUGE + 1, false)] {
        let from = if is_moved { START } else { at(4 * HUGE) };
        let begun = mm.mremap(
            space,
            &MremapRequest {
                addr: from,
                old_length: pages(HUGE),
                new_length: pages(HUGE),
                to: MremapTo::Fixed(at(to)),
            },
            CPU,
        );
        let Ok(Mremap::Moving(mut run)) = begun else { panic!("pages have to move") };
        while mm.move_step(&mut run, CPU).expect("nobody interferes") != TableStep::Done {
            checked(&mm);
        }
        checked(&mm);
        assert_eq!((is_huge(&mm, space, to), thps(&mm)), (is_moved, (1, u64::from(is_moved))));
        read(&mut mm, space, to + 3);
        assert_eq!(frame(&mm, space, to + 3), mm.file_page(file, 3).expect("it is there"));
    }
}

#[test]
fn locked_mappings_keep_a_huge_page_while_nobody_maps_parts_of_it() {
    let (mut mm, mount) = machine();
    let (file, space) = shared(&mut mm, mount, HUGE);
    write(&mut mm, space, 0);
    mm.mlock(space, START, pages(HUGE)).expect("it is mapped");
    assert_eq!(mm.phys.lru_of(head(&mm, file, 0)), Some(crate::LruList::Unevictable));
    mm.munlock(space, START, pages(HUGE)).expect("it is mapped");
    assert_eq!(mm.phys.lru_of(head(&mm, file, 0)), Some(crate::LruList::InactiveAnon));
    let second = mm.create_space().expect("there are few");
    map_file(&mut mm, second, 0, file, 1, 100, true);
    write(&mut mm, second, 0);
    mm.mlock(space, START, pages(HUGE)).expect("it is mapped");
    assert_eq!(mm.phys.lru_of(head(&mm, file, 0)), Some(crate::LruList::InactiveAnon));
    checked(&mm);
}
