//! Workingset: whether a page that comes back after it was evicted is one that programs keep using.
//!
//! Key types: [`Shadow`] (what an evicted page leaves in its place), [`Workingset`] (the age of each set of LRU lists). The
//! age of a set advances with every page that leaves its inactive lists by eviction or activation; so the age that passes
//! between eviction and return says how much longer the inactive list had to be for the page to stay. If that is no more
//! than the pages it competes with, the page starts active. The owner of a place keeps shadows: a file for its pages, swap
//! for anonymous ones. Behaviour: the kernel's mm/workingset documentation, and the series "Thrash detection-based file
//! cache sizing" and "workingset protection/detection on the anonymous LRU list" on LKML.

use alloc::vec::Vec;

use order9_frames::Idx;

use crate::lru::LruState;
use crate::lru_list::{LruList, LruType};
use crate::page_flags::{PageFlag, PageWord};
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::policy::NewAnon;

/// Mark that an evicted page leaves in its place: the age of its lists, which lists, and whether the page had been active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shadow(pub(crate) u32);

impl Shadow {
    const BITS: u32 = u32::BITS;
}

/// Facts that a shadow holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Evicted {
    /// Set of lists that the page was on.
    set: usize,
    /// Low bits of the set's age then, in units of the layout.
    age: u64,
    /// The page had been active before.
    was_active: bool,
}

/// Division of a shadow's bits: one says whether the page was active, as few as possible name the set, the others count
/// age. Where memory has more pages than those can count, they count pages in powers of two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Layout {
    set_bits: u32,
    unit_bits: u32,
}

impl Layout {
    fn new(sets: usize, pages: u64) -> Self {
        let set_bits = sets.max(1).next_power_of_two().trailing_zeros();
        let page_bits = u64::BITS - pages.saturating_sub(1).leading_zeros();
        let unit_bits = page_bits.saturating_sub(Shadow::BITS - 1 - set_bits);
        Self { set_bits, unit_bits }
    }

    /// Largest age that a shadow can tell from 0.
    const fn age_mask(self) -> u64 {
        (1 << (Shadow::BITS - 1 - self.set_bits)) - 1
    }

    const fn pack(self, set: usize, age: u64, was_active: bool) -> Shadow {
        let age = (age >> self.unit_bits & self.age_mask()) as u32;
        Shadow((age << self.set_bits | set as u32) << 1 | was_active as u32)
    }

    const fn unpack(self, shadow: Shadow) -> Evicted {
        let set = (shadow.0 >> 1) as usize & ((1 << self.set_bits) - 1);
        Evicted { set, age: (shadow.0 >> (1 + self.set_bits)) as u64, was_active: shadow.0 & 1 != 0 }
    }

    /// Age that has passed since an eviction; the counter may have wrapped around once.
    const fn distance(self, evicted: Evicted, now: u64) -> u64 {
        ((now >> self.unit_bits).wrapping_sub(evicted.age) & self.age_mask()) << self.unit_bits
    }
}

/// Ages of all sets of LRU lists, and the refaults that made file pages active.
#[derive(Clone, Debug, Default)]
pub(crate) struct Workingset {
    layout: Layout,
    sets: Vec<SetAge>,
}

#[derive(Clone, Copy, Debug, Default)]
struct SetAge {
    age: u64,
    /// Refaults of file pages that made them active.
    file_activations: u64,
    /// Activations of file pages that the last reclaim run over the set knew of at its end.
    file_activations_seen: u64,
}

impl Workingset {
    /// For `sets` of lists on a machine with `pages` pages.
    pub(crate) fn new(sets: usize, pages: u64) -> Self {
        Self { layout: Layout::new(sets, pages), sets: alloc::vec![SetAge::default(); sets] }
    }

    /// Whether refaults have made file pages of a set active since [`Self::settle`].
    pub(crate) fn has_file_refaults(&self, set: usize) -> bool {
        self.sets[set].file_activations != self.sets[set].file_activations_seen
    }

    /// A reclaim run over the set has ended.
    pub(crate) fn settle(&mut self, set: usize) {
        self.sets[set].file_activations_seen = self.sets[set].file_activations;
    }
}

/// Pages that a returning page of type `of` competes with, `sizes` being pages by list. Where anonymous pages start inactive,
/// both types share one age and compete with each other.
const fn competing(of: LruType, sizes: &[u64; LruList::COUNT], swap_free: bool, new_anon: NewAnon) -> u64 {
    let [inactive_anon, active_anon, inactive_file, active_file, _] = *sizes;
    match (new_anon, of) {
        (NewAnon::Inactive, LruType::File) if swap_free => active_file + active_anon + inactive_anon,
        (NewAnon::Active, _) | (NewAnon::Inactive, LruType::File) => active_file,
        (NewAnon::Inactive, LruType::Anon) if swap_free => active_file + inactive_file + active_anon,
        (NewAnon::Inactive, LruType::Anon) => active_file + inactive_file,
    }
}

impl LruState {
    /// An inactive page is about to be evicted; returns what it leaves in its place.
    pub(crate) fn workingset_eviction(&mut self, idx: Idx, phys: &PhysMem) -> Shadow {
        let (word, set) = (phys.frames.word(idx), phys.lru_set(phys.frames.blocks()[idx.block()].zone));
        let shadow = {
            let Workingset { layout, sets } = &self.workingset;
            layout.pack(set, sets[set].age, word.has(PageFlag::Workingset))
        };
        self.advance_age(set, word.lru_type(), word.frames(), phys);
        shadow
    }

    /// An inactive page has become active.
    pub(crate) fn workingset_activation(&mut self, idx: Idx, phys: &PhysMem) {
        let (word, set) = (phys.frames.word(idx), phys.lru_set(phys.frames.blocks()[idx.block()].zone));
        self.advance_age(set, word.lru_type(), word.frames(), phys);
    }

    /// Anonymous pages count only where they are judged by their return as well.
    fn advance_age(&mut self, set: usize, of: LruType, pages: u64, phys: &PhysMem) {
        if of == LruType::File || phys.policy.reclaim.new_anon == NewAnon::Inactive {
            self.workingset.sets[set].age += pages;
        }
    }
}

impl UsedPages {
    /// A page has been read into a place where its predecessor left a shadow, and is on an inactive list: it goes to the
    /// active one if it would have stayed with a longer inactive list.
    pub(crate) fn workingset_refault(&mut self, idx: Idx, shadow: Shadow, phys: &mut PhysMem) {
        let (word, zone) = (phys.frames.word(idx), phys.frames.blocks()[idx.block()].zone);
        let (of, frames, set) = (word.lru_type(), word.frames(), phys.lru_set(zone));
        phys.counters.workingset_refault[of.index()] += frames;
        let evicted = self.lru.workingset.layout.unpack(shadow);
        let sizes = self.lru.lru_sizes(evicted.set, phys);
        let swap_free = self.swap.swap_free().get() > 0;
        let Workingset { layout, sets } = &mut self.lru.workingset;
        let distance = layout.distance(evicted, sets[evicted.set].age);
        if distance > competing(of, &sizes, swap_free, phys.policy.reclaim.new_anon) || word.has(PageFlag::Unevictable)
        {
            return;
        }
        sets[set].file_activations += if of == LruType::File { frames } else { 0 };
        phys.counters.workingset_activate[of.index()] += frames;
        self.lru.advance_age(set, of, frames, phys);
        self.lru.move_lru(idx, of.active(), phys);
        if evicted.was_active {
            phys.counters.workingset_restore[of.index()] += frames;
            phys.frames.reflag(idx, PageFlag::Workingset, true);
            self.lru.note_lru_cost(set, of, frames, phys);
        }
    }
}

#[cfg(test)]
mod tests {
    use order9_units::{Order, Pages, Pfn, ZoneKind};

    use super::*;
    use crate::Mm;
    use crate::ZoneId;
    use crate::fs_cache::tests::{KERNEL, mounted, used};
    use crate::page_cache::tests::{read_pages, write_page};
    use crate::policy::Policy;
    use crate::reclaim::{ReclaimControl, ReclaimStep, Reclaimer};

    #[test]
    fn shadows_keep_set_age_and_activity() {
        for (sets, pages) in [(1, 1), (1, 1 << 28), (3, 1 << 30), (4096, 1 << 40)] {
            let layout = Layout::new(sets, pages);
            for set in [0, sets - 1] {
                for age in [0, 1 << layout.unit_bits, 7 << layout.unit_bits, layout.age_mask() << layout.unit_bits] {
                    for was_active in [false, true] {
                        let shadow = layout.pack(set, age, was_active);
                        let evicted = layout.unpack(shadow);
                        assert_eq!(evicted, Evicted { set, age: age >> layout.unit_bits, was_active }, "{layout:?}");
                        assert_eq!(layout.distance(evicted, age), 0);
                    }
                }
            }
        }
    }

    #[test]
    fn ages_count_every_page_while_their_bits_suffice() {
        assert_eq!(Layout::new(1, 1 << 31), Layout { set_bits: 0, unit_bits: 0 });
        assert_eq!(Layout::new(1, 1 << 32), Layout { set_bits: 0, unit_bits: 1 });
        assert_eq!(Layout::new(8, 1 << 28), Layout { set_bits: 3, unit_bits: 0 });
        assert_eq!(Layout::new(5, 1 << 20), Layout { set_bits: 3, unit_bits: 0 });
        assert_eq!(Layout::new(1024, 1 << 36), Layout { set_bits: 10, unit_bits: 15 });
    }

    #[test]
    fn distances_survive_a_counter_that_wraps() {
        let layout = Layout::new(2, 1 << 20);
        let most = layout.age_mask();
        for evicted_at in [0, 5, most - 3, most, most + 1, 3 * most, u64::MAX - 10] {
            let evicted = layout.unpack(layout.pack(1, evicted_at, true));
            for distance in [0, 1, 9, most] {
                assert_eq!(layout.distance(evicted, evicted_at.wrapping_add(distance)), distance, "from {evicted_at}");
            }
            assert_eq!(layout.distance(evicted, evicted_at.wrapping_add(most + 1)), 0, "a whole turn is not seen");
        }
    }

    #[test]
    fn coarse_ages_are_off_by_less_than_their_unit() {
        let layout = Layout::new(1024, 1 << 30);
        let unit = 1 << layout.unit_bits;
        for (evicted_at, now) in [(0, unit - 1), (unit - 1, unit), (12_345, 99_999_999)] {
            let evicted = layout.unpack(layout.pack(7, evicted_at, false));
            assert!(layout.distance(evicted, now).abs_diff(now - evicted_at) < unit, "{evicted_at} {now}");
        }
    }

    #[test]
    fn refaults_compete_with_longer_lists_once_anonymous_pages_start_inactive() {
        let sizes = [10, 20, 300, 4000, 50_000];
        for (of, swap_free, new_anon, pages) in [
            (LruType::File, true, NewAnon::Active, 4000),
            (LruType::File, false, NewAnon::Inactive, 4000),
            (LruType::File, true, NewAnon::Inactive, 4030),
            (LruType::Anon, true, NewAnon::Inactive, 4320),
            (LruType::Anon, false, NewAnon::Inactive, 4300),
        ] {
            assert_eq!(competing(of, &sizes, swap_free, new_anon), pages, "{of:?} {swap_free} {new_anon:?}");
        }
    }

    /// A machine with an inactive page of `of`, whose lists have age 0.
    fn with_page(of: LruType, new_anon: NewAnon) -> (Mm, Pfn) {
        let mut policy = Policy::default();
        policy.reclaim.new_anon = new_anon;
        let mut mm = mounted(policy);
        let pfn = match of {
            LruType::File => {
                let file = used(&mut mm);
                read_pages(&mut mm, file, 0, 1);
                mm.file_page(file, 0).expect("it was just read")
            }
            LruType::Anon => {
                let file = mm.create_file(Pages::new(1)).expect("there are few");
                let pfn = mm.alloc_fast(&KERNEL).expect("there is memory");
                mm.add_file_page(file, 0, pfn, 0).expect("it is open");
                pfn
            }
        };
        assert_eq!((mm.phys.lru_of(pfn), age(&mm)), (Some(of.inactive()), 0));
        (mm, pfn)
    }

    fn age(mm: &Mm) -> u64 {
        mm.pages.lru.workingset.sets[0].age
    }

    /// Lets a page come back that was evicted just now.
    fn refault(mm: &mut Mm, pfn: Pfn, was_active: bool) {
        let shadow = mm.pages.lru.workingset.layout.pack(0, age(mm), was_active);
        mm.pages.workingset_refault(mm.phys.frames.at(pfn), shadow, &mut mm.phys);
    }

    #[test]
    fn activations_age_the_lists_and_those_of_anonymous_pages_only_where_these_start_inactive() {
        for (of, new_anon, ages) in [
            (LruType::File, NewAnon::Active, 1),
            (LruType::File, NewAnon::Inactive, 1),
            (LruType::Anon, NewAnon::Active, 0),
            (LruType::Anon, NewAnon::Inactive, 1),
        ] {
            let (mut mm, pfn) = with_page(of, new_anon);
            (0..2).for_each(|_| mm.mark_accessed(pfn));
            assert_eq!((mm.phys.lru_of(pfn), age(&mm)), (Some(of.active()), ages), "{of:?} {new_anon:?}");
            let (mut mm, pfn) = with_page(of, new_anon);
            refault(&mut mm, pfn, false);
            assert_eq!((mm.phys.lru_of(pfn), age(&mm)), (Some(of.active()), ages), "{of:?} {new_anon:?} by a refault");
        }
    }

    #[test]
    fn a_page_that_reclaim_makes_active_ages_the_lists() {
        let mut mm = mounted(Policy::default());
        let file = used(&mut mm);
        write_page(&mut mm, file, 0, 0);
        let mut control = ReclaimControl::new(Reclaimer::Direct, Order::ZERO, u64::MAX, ZoneKind::Movable);
        control.priority = 0;
        let id = mm.begin_reclaim(control);
        mm.begin_lru_pass(id, ZoneId(0));
        while mm.reclaim_step(id, 0) != ReclaimStep::Done {}
        mm.end_reclaim(id);
        assert_eq!((mm.counters().pgactivate, age(&mm)), (1, 1), "a dirty page is for the flushers");
    }

    #[test]
    fn a_page_that_was_active_before_its_eviction_is_of_the_workingset_again() {
        for was_active in [false, true] {
            let (mut mm, pfn) = with_page(LruType::File, NewAnon::Inactive);
            refault(&mut mm, pfn, was_active);
            assert_eq!(mm.phys.frames.word(mm.phys.frames.at(pfn)).has(PageFlag::Workingset), was_active);
            assert_eq!(mm.counters().workingset_restore[1], u64::from(was_active));
        }
    }

    #[test]
    fn only_refaults_of_file_pages_make_inactive_file_pages_count_as_few() {
        for (of, counts) in [(LruType::File, true), (LruType::Anon, false)] {
            let (mut mm, pfn) = with_page(of, NewAnon::Inactive);
            refault(&mut mm, pfn, false);
            assert_eq!(
                (mm.counters().workingset_activate[of.index()], mm.pages.lru.workingset.has_file_refaults(0)),
                (1, counts)
            );
        }
    }
}
