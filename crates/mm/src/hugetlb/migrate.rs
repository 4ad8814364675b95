//! Pages of pools in use that move to another node.

use alloc::vec::Vec;

use order9_frames::{Flag, Idx, Request};
use order9_units::{PAGEBLOCK_PAGES, Pfn};

use super::{NR, UsedPage};
use crate::Mm;
use crate::migrate::{MigrateMode, MigrateReason};
use crate::space::{Errno, SpaceId, TASK_END, Vpn, VpnRange};
use crate::trace::{Event, Tracer};

/// How the move of a page goes on.
pub(crate) enum PoolMove {
    /// It is elsewhere, or nobody uses it any more.
    Moved,
    /// The pools have no free page there that is promised to nobody: allocate one and call again.
    NeedPage,
    Failed(Errno),
}

impl<T: Tracer> Mm<T> {
    /// Whether a frame is the first of a page of a pool that somebody uses.
    pub(crate) fn is_used_pool_page(&self, pfn: Pfn) -> bool {
        self.frames.idx(pfn).is_some_and(|idx| self.user.hugetlb.used.contains_key(&idx.0))
    }

    /// How many mappings show a page of a pool.
    pub(crate) fn pool_page_mappings(&self, head: Idx) -> u32 {
        self.user.hugetlb.used.get(&head.0).map_or(0, |page| page.mappings)
    }

    /// Moves a page of a pool to where `request` asks for one, into `fresh` if that was just allocated for it.
    pub(crate) fn move_pool_page(
        &mut self,
        head: Pfn,
        request: &Request,
        fresh: Option<Pfn>,
        reason: MigrateReason,
        cpu: usize,
    ) -> PoolMove {
        let source = self.frames.at(head);
        let known = self.user.hugetlb.used.get(&source.0).copied();
        let stays = match known {
            None => Some(PoolMove::Moved),
            Some(_) if self.frames.word(source).has(Flag::Pinned) => Some(PoolMove::Failed(Errno::Ebusy)),
            Some(_) => None,
        };
        if let Some(stays) = stays {
            if let Some(page) = fresh {
                let idx = self.frames.at(page);
                self.free_fresh(idx, cpu);
            }
            self.count_pool_move(matches!(stays, PoolMove::Moved), reason);
            return stays;
        }
        let target = match fresh {
            Some(page) => {
                self.add_pool_page(page, false);
                self.user.hugetlb.node(self.node_of(self.frames.at(page))).free.pop()
            }
            None if self.hugetlb_pool().available() > 0 => self.pop_pool_page(request),
            None => None,
        };
        let Some(target) = target else { return PoolMove::NeedPage };
        self.replace_pool_page(source, target, known.unwrap_or_default());
        if fresh.is_some() {
            self.leave_pool(source, target, cpu);
        } else {
            self.user.hugetlb.used.insert(source.0, UsedPage::default());
            self.put_pool_page(source, cpu);
        }
        self.count_pool_move(true, reason);
        PoolMove::Moved
    }

    /// Puts `target` in the place of `source` wherever that is mapped, or kept by a shared mapping.
    fn replace_pool_page(&mut self, source: Idx, target: Idx, page: UsedPage) {
        (0..NR).for_each(|offset| self.copy_page(source.plus(offset), target.plus(offset)));
        self.user.hugetlb.used.remove(&source.0);
        self.user.hugetlb.used.insert(target.0, page);
        for map in self.user.hugetlb.maps.values_mut() {
            map.replace(source, target);
        }
        let everything = VpnRange::new(Vpn::new(0), TASK_END);
        let spaces: Vec<SpaceId> =
            self.user.spaces().filter(|(_, space)| space.hugetlb_pages > 0).map(|(id, _)| id).collect();
        for id in spaces {
            let shown = self.user.living(id).table.hugetlb_slots(everything);
            let shown: Vec<_> = shown.filter(|(_, pte)| pte.idx() == Some(source)).collect();
            for (slot, pte) in shown {
                *self.user.living(id).table.hugetlb_mut(slot.start).expect("it was found above") = pte.migrated(target);
                self.work.ptes_set += 1;
                self.work.tlb_flushes += 1;
            }
        }
    }

    /// The page that another one was taken into the pools for leaves them; what its node has too much, the other's has.
    fn leave_pool(&mut self, source: Idx, target: Idx, cpu: usize) {
        let (from, to) = (self.node_of(source), self.node_of(target));
        let pool = self.user.hugetlb.node(from);
        let surplus = u64::from(pool.surplus > 0);
        (pool.total, pool.surplus) = (pool.total - 1, pool.surplus - surplus);
        self.user.hugetlb.node(to).surplus += surplus;
        self.disown(source, cpu);
    }

    fn count_pool_move(&mut self, moved: bool, reason: MigrateReason) {
        let (succeeded, failed) = if moved { (PAGEBLOCK_PAGES.get(), 0) } else { (0, PAGEBLOCK_PAGES.get()) };
        self.counters.pgmigrate_success += succeeded;
        self.counters.pgmigrate_fail += failed;
        self.trace(|| Event::MigratePages { succeeded, failed, mode: MigrateMode::Sync, reason });
    }
}
