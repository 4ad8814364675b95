//! Recounts the laws of the LRU lists from the frames.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use order9_frames::{Flag, Idx, Verdict, Word, require};

use crate::Violation;
use crate::lru::LruState;
use crate::lru_list::{LruList, LruType};
use crate::page_flags::{PageFlag, PageWord};
use crate::pages::UsedPages;
use crate::phys::PhysMem;

/// Sums over the frames of a zone.
#[derive(Clone, Copy, Default)]
struct Tally {
    sizes: [u64; LruList::COUNT],
    isolated: [u64; LruType::COUNT],
}

impl UsedPages {
    /// Every LRU page is allocated and on exactly the list its flags name, isolated ones are on none, and sizes equal a
    /// recount.
    pub(crate) fn check_lru(&self, phys: &PhysMem) -> Verdict {
        let mut tallies = vec![Tally::default(); phys.frames.zones().len()];
        let mut flagged = 0;
        for at in 0..phys.frames.table().len() as u32 {
            let word = phys.frames.word(Idx(at));
            let Some(tally) = tallies.get_mut(phys.frames.blocks()[Idx(at).block()].zone.index()) else {
                continue;
            };
            self.check_lru_flags(Idx(at), word, phys)?;
            if word.has(PageFlag::Lru) {
                flagged += 1;
                tally.sizes[word.lru_list().index()] += word.frames();
            } else if word.is_lru_page() {
                tally.isolated[word.lru_type().index()] += word.frames();
            }
        }
        for ((zone, lru), tally) in phys.frames.zones().iter().zip(&self.lru.zones).zip(&tallies) {
            let counted = (lru.sizes, lru.isolated);
            require((tally.sizes, tally.isolated) == counted, "LRU sizes equal a recount of the frames", || {
                format!("{}: {:?} {:?} by frames, {counted:?} counted", zone.kind(), tally.sizes, tally.isolated)
            })?;
        }
        let listed = self.lru.check_lru_lists(flagged, phys)?;
        require(listed == flagged, "an LRU page is on a list", || format!("{flagged} by flags, {listed} on lists"))
    }

    fn check_lru_flags(&self, idx: Idx, word: Word, phys: &PhysMem) -> Verdict {
        let found = || format!("{:?} is {:?}", phys.frames.pfn(idx), word.state());
        let on_list = word.is_lru_page() && !word.has(Flag::Isolated);
        require(word.has(PageFlag::Lru) == on_list, "owned movable pages are on a list unless isolated", found)?;
        let any = [PageFlag::Active, PageFlag::File, PageFlag::Unevictable, PageFlag::Referenced]
            .into_iter()
            .any(|flag| word.has(flag));
        require(word.is_lru_page() || !any, "only LRU pages have flags of lists", found)?;
        let locked = word.is_lru_page() && self.is_mlocked(idx, phys);
        if word.is_compound() {
            // A huge page that others came to map after it was locked, or before, may be either.
            let allowed = locked || !word.has(PageFlag::Unevictable);
            return require(allowed, "only huge pages of locked mappings are unevictable", found);
        }
        require(word.has(PageFlag::Unevictable) == locked, "pages of locked mappings are unevictable, no others", found)
    }
}

impl LruState {
    /// Walks every list; returns the entries of all.
    fn check_lru_lists(&self, most: u64, phys: &PhysMem) -> Result<u64, Violation> {
        let mut sets: Vec<Idx> = self.zones.iter().map(|lru| lru.first_list).collect();
        sets.sort_unstable();
        sets.dedup();
        let mut listed = 0;
        for set in sets {
            for list in LruList::ALL {
                for idx in phys.frames.table().iter(set.plus(list.index() as u32)) {
                    let word = phys.frames.word_or_hole(idx);
                    let lru =
                        phys.frames.blocks().get(idx.block()).and_then(|block| self.zones.get(block.zone.index()));
                    let here = word.has(PageFlag::Lru)
                        && word.lru_list() == list
                        && lru.is_some_and(|lru| lru.first_list == set);
                    require(here, "an LRU list holds pages of its zones whose flags name it", || {
                        format!("{:?} on {list:?} is {:?}", phys.frames.pfn(idx), word.state())
                    })?;
                    listed += 1;
                    require(listed <= most, "an LRU list ends", || format!("{list:?}"))?;
                }
            }
        }
        Ok(listed)
    }
}
