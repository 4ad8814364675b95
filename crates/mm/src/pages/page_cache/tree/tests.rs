//! Pages and what reclaim left of them, place by place.

use super::*;

#[test]
fn one_page_needs_no_chunk_and_a_second_one_moves_it() {
    let mut tree = PageTree::default();
    assert_eq!(tree.insert(70, Idx(5)), None);
    assert!(tree.set_dirty(70, true) && !tree.set_dirty(70, true));
    tree.count_mapping(70, u32::wrapping_add);
    tree.insert(3, Idx(6));
    assert_eq!(tree.iter().collect::<alloc::vec::Vec<_>>(), [(3, Idx(6), 0, false), (70, Idx(5), 1, true)]);
    assert_eq!((tree.next_dirty(0), tree.next_dirty(71)), (Some((70, Idx(5))), None));
    assert_eq!((tree.first_page(4, 70), tree.first_page(4, 71)), (None, Some((70, Idx(5)))));
}

#[test]
fn shadows_stay_until_a_page_comes_or_they_are_dropped() {
    for other in [None, Some(900)] {
        let mut tree = PageTree::default();
        tree.insert(8, Idx(1));
        other.into_iter().for_each(|index| assert_eq!(tree.insert(index, Idx(2)), None));
        let freed = &mut Vec::new();
        assert_eq!(tree.take(8, Some(Shadow(77)), freed), Idx(1));
        assert_eq!((tree.page(8), tree.first_page(0, 9)), (None, None));
        assert_eq!((tree.insert(8, Idx(3)), tree.page(8)), (Some(Shadow(77)), Some(Idx(3))));
        tree.take(8, Some(Shadow(78)), freed);
        tree.drop_shadows(9, freed);
        tree.drop_shadows(8, freed);
        assert_eq!(tree.insert(8, Idx(4)), None);
        tree.take(8, None, freed);
        other.into_iter().for_each(|index| assert_eq!(tree.take(index, None, freed), Idx(2)));
        assert!(tree.is_empty());
    }
}

#[test]
fn what_reclaim_left_is_found_in_order_and_forgotten_place_by_place() {
    let (mut tree, freed) = (PageTree::default(), &mut Vec::new());
    for index in [5, 63, 64, 700] {
        tree.insert(index, Idx(1));
        tree.take(index, Some(Shadow(index as u32 + 1)), freed);
    }
    assert_eq!((tree.shadow(63), tree.shadow(62)), (Some(Shadow(64)), None));
    assert_eq!(tree.first_shadow(6, 64), Some((63, Shadow(64))));
    assert_eq!((tree.first_shadow(65, 700), tree.first_shadow(65, 701)), (None, Some((700, Shadow(701)))));
    [63, 62, 700, 5].into_iter().for_each(|index| tree.forget_shadow(index, freed));
    assert_eq!(tree.first_shadow(0, u64::MAX), Some((64, Shadow(65))));
    tree.forget_shadow(64, freed);
    assert!(tree.is_empty());
}

#[test]
fn a_node_comes_free_with_the_last_place_of_its_chunk() {
    let (mut tree, freed) = (PageTree::default(), &mut Vec::new());
    tree.insert(0, Idx(1));
    assert!(!tree.lacks_node(0), "a file of one page has none");
    for index in [1, 64, 70] {
        tree.insert(index, Idx(2));
    }
    for (index, node) in [(1, 7), (64, 8)] {
        assert!(tree.lacks_node(index));
        tree.set_node(index, node);
    }
    assert!(!tree.lacks_node(0) && !tree.lacks_node(70) && !tree.lacks_node(128));
    tree.take(64, None, freed);
    tree.take(70, Some(Shadow(3)), freed);
    assert!(freed.is_empty(), "a shadow keeps the node");
    tree.drop_shadows(65, freed);
    assert_eq!((&*freed, tree.nodes().collect::<Vec<_>>()), (&alloc::vec![8], alloc::vec![7]));
}

#[test]
fn dirty_pages_are_found_across_chunks() {
    let mut tree = PageTree::default();
    for index in [0, 63, 64, 640] {
        tree.insert(index, Idx(index as u32));
        tree.set_dirty(index, true);
    }
    tree.set_dirty(63, false);
    tree.set_dirty(64, false);
    assert_eq!((tree.next_dirty(0), tree.next_dirty(1)), (Some((0, Idx(0))), Some((640, Idx(640)))));
    assert_eq!(tree.next_dirty(641), None);
}
