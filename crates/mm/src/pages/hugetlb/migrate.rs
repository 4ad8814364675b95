//! Pages of pools in use that move to another node.

use order9_frames::{Flag, Idx, Request};
use order9_units::{PAGEBLOCK_PAGES, Pfn};

use super::{NR, UsedPage};
use crate::hugetlb::Hugetlb;
use crate::migrate::{MigrateMode, MigrateReason};
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::{Errno, TASK_END, Vpn, VpnRange};
use crate::trace::Event;

/// Next step of the move of a page.
pub(crate) enum PoolMove {
    /// The page is elsewhere, or nobody uses it any more.
    Moved,
    /// The pools have no free page there that is promised to nobody: allocate one and call again.
    NeedPage,
    Failed(Errno),
}

impl Hugetlb {
    /// Whether a frame is the first of a page of a pool that somebody uses.
    pub(crate) fn is_used_pool_page(&self, pfn: Pfn, phys: &PhysMem) -> bool {
        phys.frames.idx(pfn).is_some_and(|idx| self.used.contains_key(&idx.0))
    }

    /// Number of mappings that show a page of a pool.
    pub(crate) fn pool_page_mappings(&self, head: Idx) -> u32 {
        self.used.get(&head.0).map_or(0, |page| page.mappings)
    }
}

impl UsedPages {
    /// Moves a page of a pool to where `request` asks for one, into `fresh` if that was just allocated for it.
    pub(crate) fn move_pool_page(
        &mut self,
        head: Pfn,
        request: &Request,
        fresh: Option<Pfn>,
        reason: MigrateReason,
        cpu: usize,
        phys: &mut PhysMem,
    ) -> PoolMove {
        let source = phys.frames.at(head);
        let known = self.hugetlb.used.get(&source.0).copied();
        let stays = match known {
            None => Some(PoolMove::Moved),
            Some(_) if phys.frames.word(source).has(Flag::Pinned) => Some(PoolMove::Failed(Errno::Ebusy)),
            Some(_) => None,
        };
        if let Some(stays) = stays {
            if let Some(page) = fresh {
                let idx = phys.frames.at(page);
                phys.free_fresh(idx, cpu);
            }
            phys.count_pool_move(matches!(stays, PoolMove::Moved), reason);
            return stays;
        }
        let target = match fresh {
            Some(page) => {
                self.add_pool_page(page, false, phys);
                self.hugetlb.node(phys.node_of(phys.frames.at(page))).free.pop()
            }
            None if self.hugetlb.hugetlb_pool().available() > 0 => self.hugetlb.pop_pool_page(request, phys),
            None => None,
        };
        let Some(target) = target else { return PoolMove::NeedPage };
        self.replace_pool_page(source, target, known.unwrap_or_default(), phys);
        if fresh.is_some() {
            self.leave_pool(source, target, cpu, phys);
        } else {
            self.hugetlb.used.insert(source.0, UsedPage::default());
            self.put_pool_page(source, cpu, phys);
        }
        phys.count_pool_move(true, reason);
        PoolMove::Moved
    }

    /// Puts `target` in the place of `source` wherever that is mapped, or kept by a shared mapping.
    fn replace_pool_page(&mut self, source: Idx, target: Idx, page: UsedPage, phys: &mut PhysMem) {
        (0..NR).for_each(|offset| self.copy_page(source.plus(offset), target.plus(offset), phys));
        self.hugetlb.used.remove(&source.0);
        self.hugetlb.used.insert(target.0, page);
        for map in self.hugetlb.maps.values_mut() {
            map.replace(source, target);
        }
        let everything = VpnRange::new(Vpn::new(0), TASK_END);
        for space in self.spaces.iter_mut().filter(|space| space.hugetlb_pages() > 0) {
            let mut rest = everything;
            while let Some((_, entry)) = space.table.next_hugetlb_mut(&mut rest) {
                if entry.idx() == Some(source) {
                    *entry = entry.migrated(target);
                    phys.work.ptes_set += 1;
                    phys.work.tlb_flushes += 1;
                }
            }
        }
    }

    /// The page that another one was taken into the pools for leaves them; what its node has too much, the other's has.
    fn leave_pool(&mut self, source: Idx, target: Idx, cpu: usize, phys: &mut PhysMem) {
        let (from, to) = (phys.node_of(source), phys.node_of(target));
        let pool = self.hugetlb.node(from);
        let surplus = u64::from(pool.surplus > 0);
        (pool.total, pool.surplus) = (pool.total - 1, pool.surplus - surplus);
        self.hugetlb.node(to).surplus += surplus;
        self.disown(source, cpu, phys);
    }
}

impl PhysMem {
    fn count_pool_move(&mut self, moved: bool, reason: MigrateReason) {
        let (succeeded, failed) = if moved { (PAGEBLOCK_PAGES.get(), 0) } else { (0, PAGEBLOCK_PAGES.get()) };
        self.counters.pgmigrate_success += succeeded;
        self.counters.pgmigrate_fail += failed;
        self.trace(|| Event::MigratePages { succeeded, failed, mode: MigrateMode::Sync, reason });
    }
}
