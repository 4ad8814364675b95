//! A frame takes the place of another: content, state, owner, entries and list.

use order9_frames::{Class, Flag, Idx, Word};
use order9_units::Order;

use crate::lru::LruState;
use crate::lru_list::LruType;
use crate::page_flags::{PageFlag, PageWord};
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::{Mapping, Owner};

impl UsedPages {
    /// Moves an isolated page that nothing stands in the way of into a held frame, where it goes on its list, and frees its
    /// old one on behalf of `cpu`. `mappings` are all it has.
    pub(super) fn move_page(
        &mut self,
        source: Idx,
        target: Idx,
        owner: Owner,
        mappings: &[Mapping],
        cpu: usize,
        phys: &mut PhysMem,
    ) {
        self.copy_page(source, target, phys);
        phys.work.folios_moved += 1;
        for &at in mappings {
            let table = self.spaces.living(at.space).table.table_mut(at.vpn).expect("the page is mapped there");
            table.set(at.vpn, table.get(at.vpn).migrated(target));
        }
        if let Owner::File { file, index } = owner {
            self.cache.file_mut(file).replace(index, target);
            if !mappings.is_empty() {
                *self.rmap.mapped_of(source, phys) -= 1;
                *self.rmap.mapped_of(target, phys) += 1;
            }
        }
        let word = phys.frames.word(source);
        if word.has(PageFlag::SwapCache) {
            self.swap.relocate(source, target);
        }
        if word.has(PageFlag::Dirty) && word.lru_type() == LruType::File {
            self.cache.write_pending_of(source, phys).dirty -= 1;
            self.cache.write_pending_of(target, phys).dirty += 1;
        }
        if owner != Owner::Nobody {
            self.rmap.set(target, owner);
            self.rmap.set(source, Owner::Nobody);
        } else {
            self.drivers.relocate(source, target);
        }
        self.balancing.copy_user(source, target);
        self.lru.end_isolation(source, phys);
        self.lru.settle_target(target, phys.frames.word(source), phys);
        let bare = Word::allocated(Order::ZERO);
        let bare = bare.with(Flag::CountedImmovable, word.has(Flag::CountedImmovable));
        phys.frames.set(source, bare);
        phys.frames.free_block(source, bare, cpu);
    }
}

impl LruState {
    /// Puts a held frame to use as a page with the state of `word`.
    fn settle_target(&mut self, target: Idx, word: Word, phys: &mut PhysMem) {
        // Whatever it was allocated for, it has just been moved.
        let word = word.with(Flag::CountedImmovable, false);
        phys.frames.count_out(target, Order::ZERO, Class::Isolated);
        phys.frames.count_in(target, Order::ZERO, Class::of_used(word));
        phys.counters.held_used += 1;
        phys.frames.set(target, word);
        if word.is_lru_page() {
            self.link_lru(target, word, phys);
        }
    }
}
