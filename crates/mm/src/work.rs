//! Work of engine steps, counted. The engine never prices its work: a cost model turns these counts into time.

use alloc::vec::Vec;
use core::mem;
use core::ops::AddAssign;

use order9_frames::{FrameWork, ZoneId, ZoneLockWork};
use order9_units::NodeId;

order9_frames::counts! {
    /// Work of the layers above the allocator since it was last taken, but for that under LRU locks ([`LruLockWork`]). The
    /// allocator counts its own: [`order9_frames::FrameWork`].
    pub struct Work {
        /// Frames that compaction or khugepaged looked at without the lock of their zone.
        scanned_unlocked,
        /// Pageblocks that compaction passed over, by their hint or type.
        blocks_passed,
        /// Accesses of programs that the page table did not allow.
        faults,
        /// Searches for the mapping of an address or range.
        vma_lookups,
        /// Pages cleared, of 4096 bytes.
        pages_cleared,
        /// Pages cleared as parts of a huge page, of 4096 bytes.
        huge_parts_cleared,
        /// Pages copied, of 4096 bytes.
        pages_copied,
        /// Pages of 4096 bytes read to their end in search of something but zeros.
        pages_compared,
        /// Page table entries filled or changed.
        ptes_set,
        /// Page table entries that NUMA balancing looked at, to take their access away.
        prot_numa,
        /// Page table entries emptied.
        ptes_cleared,
        /// Page table entries emptied that showed a part of a huge page, which stays.
        huge_parts_unmapped,
        /// Entries of whole huge pages replaced by a table with an entry for each part.
        pmds_split,
        /// Page tables put in place.
        page_tables_allocated,
        /// Kernel objects allocated or freed.
        slab_objects,
        /// Pages whose mappings were looked up and asked for accesses.
        rmap_walks,
        /// Pages and folios that moved to other frames, beside their mappings and copies.
        folios_moved,
        /// Unused kernel objects that a shrinker looked at.
        slab_objects_scanned,
        /// Pages and folios that left their files on disks.
        pages_uncached,
        /// Pages of these folios beside their first ones.
        parts_uncached,
        /// Ranges whose pages moved into a huge page.
        ranges_collapsed,
        /// Base pages that moved into such a huge page.
        pages_collapsed,
        /// Parts of larger pages that moved into such a huge page.
        parts_collapsed,
        /// Parts of huge pages that became pages of their own.
        huge_parts_split,
        /// Parts of split huge pages that were mapped by themselves before.
        huge_parts_remapped,
        /// Parts of split huge pages that nobody mapped, which were freed.
        huge_parts_freed,
        /// Pageblocks touched whose memory the hypervisor had taken back.
        hypervisor_faults,
        /// Flushes of cached translations, one for every step that took rights or pages away.
        tlb_flushes,
    }
}

order9_frames::counts! {
    /// Work under the LRU lock of a node.
    pub struct LruLockWork {
        /// Sections under the lock: pages taken off lists by a run, put back by it, or a per-CPU batch.
        sections,
        /// Pages that went on, between or off lists by way of a per-CPU batch.
        batched,
        /// Entries of lists looked at.
        scanned,
        /// Pages taken off lists, each of which goes back or is freed.
        isolated,
    }
}

/// Work since it was last taken, apart by the lock that it was done under.
#[derive(Clone, Copy, Debug)]
pub struct WorkDone<'a> {
    /// Work of the allocator; that under a zone lock was done under the one taken last, `zone`.
    pub frames: &'a FrameWork,
    /// Work of the layers above the allocator without a zone or LRU lock.
    pub rest: &'a Work,
    /// Work under the LRU lock taken last, that of `node`.
    pub lru: &'a LruLockWork,
    /// Zone of the zone lock that was taken last.
    pub zone: ZoneId,
    /// Node of the LRU lock that was taken last.
    pub node: NodeId,
    /// Work under other zone locks, each zone once, by the time of its lock.
    pub other_zones: &'a [(ZoneId, ZoneLockWork)],
    /// Work under other LRU locks, each node once, by the time of its lock.
    pub other_nodes: &'a [(NodeId, LruLockWork)],
}

/// Work under locks that another one of their kind was taken after, each lock once.
#[derive(Clone, Debug)]
pub(crate) struct EarlierLocks<L, W>(Vec<(L, W)>);

impl<L, W> Default for EarlierLocks<L, W> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<L: PartialEq, W: AddAssign + Default> EarlierLocks<L, W> {
    /// Takes the work that was done under `lock`.
    pub(crate) fn take(&mut self, lock: L, work: &mut W) {
        let work = mem::take(work);
        match self.0.iter_mut().find(|(known, _)| *known == lock) {
            Some((_, sum)) => *sum += work,
            None => self.0.push((lock, work)),
        }
    }

    /// The work by lock, since the last [`clear`](Self::clear).
    #[inline]
    pub(crate) fn all(&self) -> &[(L, W)] {
        &self.0
    }

    /// Forgets all work.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests;
