//! Free slots of swap, one by one, and as many in a row as a huge page has base pages.
//!
//! Key type: [`FreeSlots`]. On a disk without moving parts slots come in clusters, aligned runs of 512: single slots are taken
//! from one cluster until that is full, so that others stay whole, and so are the slots of huge pages of each size below 2 MiB.
//! A cluster belongs to the order that it was first taken for, until it is empty again. A rotating disk has
//! none, nor does what is left over at the ends. Which cluster follows a full one is [`ClusterChoice`]. LKML: "swap: change block
//! allocation algorithm for SSD" (2013), "THP swap: Delay splitting THP during swapping out" (2017), "mm: swap: mTHP swap allocator base
//! on swap cluster order" (2024), "mm, swap: prefer nonfull over free clusters" (2025).

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::ops::Range;

use order9_units::{Order, PAGEBLOCK_PAGES};

/// Slots of a cluster.
pub(super) const CLUSTER: u32 = PAGEBLOCK_PAGES.get() as u32;
/// Orders that a page in swap can have.
const ORDERS: usize = Order::PAGEBLOCK.index() + 1;

/// The slots of a cluster that are in use.
#[derive(Clone, Default)]
struct Cluster {
    bits: [u64; CLUSTER as usize / 64],
    used: u32,
    /// Order of the pages that it was taken for when it was empty last.
    order: usize,
}

impl Cluster {
    /// The first of `count` free slots in a row, aligned to that, which are taken then.
    fn take_run(&mut self, count: u32) -> Option<u32> {
        let is_free = |slot: u32| self.bits[slot as usize / 64] >> (slot % 64) & 1 == 0;
        let mut starts = (0..CLUSTER).step_by(count as usize);
        let start = starts.find(|&start| (start..start + count).all(is_free))?;
        (start..start + count).for_each(|slot| self.bits[slot as usize / 64] |= 1 << (slot % 64));
        self.used += count;
        Some(start)
    }
}

/// Clusters of one order that are in use in part.
#[derive(Clone, Default)]
struct Partial {
    /// Clusters that slots are not taken from.
    open: BTreeSet<u32>,
    /// Clusters without room for a page of the order, as far as nothing was freed there since.
    fragmented: BTreeSet<u32>,
    /// The cluster that slots are taken from; not full.
    current: Option<u32>,
}

/// Rules by which single slots get their next cluster.
#[derive(Clone, Copy, Default)]
pub(super) struct ClusterChoice {
    /// Clusters that a huge page has had come after all others.
    pub(super) by_order: bool,
    /// Clusters in use in part come before empty ones.
    pub(super) used_first: bool,
}

/// Slots that are not in use.
#[derive(Clone, Default)]
pub(super) struct FreeSlots {
    /// All slots.
    capacity: u64,
    /// Slots in use.
    used: u64,
    /// Slots in no cluster that were never used.
    fresh: Vec<Range<u32>>,
    /// Other slots in no cluster that are not in use.
    unused: Vec<u32>,
    /// By number: cluster `n` starts at slot `512 * n`.
    clusters: Vec<Option<Box<Cluster>>>,
    /// Clusters of which nothing is in use.
    empty: BTreeSet<u32>,
    /// Clusters of which something is in use, not all, by order. Those that a page of 2 MiB has left are with the single slots'
    /// where the choice does not tell them apart.
    partial: [Partial; ORDERS],
    /// Next cluster of single slots.
    choice: ClusterChoice,
}

impl FreeSlots {
    /// All slots there are.
    pub(super) const fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Number of slots in use.
    pub(super) const fn used(&self) -> u64 {
        self.used
    }

    /// Adds `slots` behind those there are, in clusters as far as these are whole, of which single slots get theirs by `clusters`, or
    /// without.
    ///
    /// # Panics
    /// Beyond [`super::SWAP_MAX`].
    pub(super) fn add(&mut self, slots: u64, clusters: Option<ClusterChoice>) {
        let start = self.capacity as u32;
        self.capacity += slots;
        let end = u32::try_from(self.capacity).expect("slots can be numbered");
        let (first, last) = (start.div_ceil(CLUSTER), end / CLUSTER);
        let Some(choice) = clusters.filter(|_| first < last) else { return self.fresh.push(start..end) };
        self.choice = choice;
        self.clusters.resize_with(last as usize, || None);
        for cluster in first..last {
            self.clusters[cluster as usize] = Some(Box::default());
        }
        self.empty.extend(first..last);
        self.fresh.extend([start..first * CLUSTER, last * CLUSTER..end]);
    }

    /// Takes a slot; one of the current cluster goes before any other, and all clusters before what is in none.
    pub(super) fn take(&mut self) -> Option<u32> {
        let slot = match self.partial[0].current.or_else(|| self.next_cluster()) {
            Some(cluster) => self.take_from(cluster),
            None => self.unused.pop().or_else(|| self.fresh.iter_mut().find_map(Iterator::next))?,
        };
        self.used += 1;
        Some(slot)
    }

    /// The next cluster that single slots are taken from.
    fn next_cluster(&mut self) -> Option<u32> {
        if self.clusters.is_empty() {
            return None;
        }
        let [singles, others @ ..] = &mut self.partial;
        let (first, second) = match self.choice.used_first {
            true => (&mut singles.open, &mut self.empty),
            false => (&mut self.empty, &mut singles.open),
        };
        let left = || {
            let mut lists = others.iter_mut();
            lists.find_map(|of| of.fragmented.pop_first().or_else(|| of.open.pop_first()).or_else(|| of.current.take()))
        };
        first.pop_first().or_else(|| second.pop_first()).or_else(left)
    }

    fn take_from(&mut self, number: u32) -> u32 {
        let cluster = self.clusters[number as usize].as_mut().expect("only clusters are chosen");
        let word = cluster.bits.iter().position(|&word| word != u64::MAX).expect("the cluster is not full");
        let bit = cluster.bits[word].trailing_ones();
        cluster.bits[word] |= 1 << bit;
        cluster.used += 1;
        self.partial[0].current = (cluster.used < CLUSTER).then_some(number);
        number * CLUSTER + word as u32 * 64 + bit
    }

    /// Takes as many slots in a row as a huge page of `order` has base pages; the first.
    pub(super) fn take_row(&mut self, order: Order) -> Option<u32> {
        let first = if order == Order::PAGEBLOCK { self.take_cluster() } else { self.take_part(order) }?;
        self.used += order.pages().get();
        Some(first)
    }

    /// Takes all slots of an empty cluster; the first.
    fn take_cluster(&mut self) -> Option<u32> {
        let number = self.empty.pop_first()?;
        let cluster = self.clusters[number as usize].as_mut().expect("only clusters are empty");
        let order = Order::PAGEBLOCK.index();
        **cluster = Cluster { bits: [u64::MAX; CLUSTER as usize / 64], used: CLUSTER, order };
        Some(number * CLUSTER)
    }

    /// Takes part of a cluster that belongs to the order: of the current one, then of others in turn.
    fn take_part(&mut self, order: Order) -> Option<u32> {
        let (at, count) = (order.index(), order.pages().get() as u32);
        loop {
            let of = &mut self.partial[at];
            let (first, second) = match self.choice.used_first {
                true => (&mut of.open, &mut self.empty),
                false => (&mut self.empty, &mut of.open),
            };
            let chosen = of.current.take().or_else(|| first.pop_first()).or_else(|| second.pop_first());
            let number = chosen?;
            let cluster = self.clusters[number as usize].as_mut().expect("only clusters are chosen");
            if cluster.used == 0 {
                cluster.order = at;
            }
            match cluster.take_run(count) {
                Some(start) => {
                    of.current = (cluster.used < CLUSTER).then_some(number);
                    return Some(number * CLUSTER + start);
                }
                None => drop(of.fragmented.insert(number)),
            }
        }
    }

    /// A slot is not in use any more.
    pub(super) fn release(&mut self, slot: u32) {
        self.used -= 1;
        let (number, at) = (slot / CLUSTER, slot % CLUSTER);
        let Some(cluster) = self.clusters.get_mut(number as usize).and_then(Option::as_mut) else {
            return self.unused.push(slot);
        };
        cluster.bits[at as usize / 64] &= !(1 << (at % 64));
        cluster.used -= 1;
        let told_apart = self.choice.by_order || cluster.order < Order::PAGEBLOCK.index();
        let order = if told_apart { cluster.order } else { 0 };
        let is_empty = cluster.used == 0;
        if is_empty {
            cluster.order = 0;
        }
        let is_current = self.partial.iter().any(|of| of.current == Some(number));
        let of = &mut self.partial[order];
        of.fragmented.remove(&number);
        if is_empty {
            of.open.remove(&number);
            self.empty.insert(number);
            self.partial.iter_mut().for_each(|of| of.current = of.current.filter(|&current| current != number));
        } else if !is_current {
            of.open.insert(number);
        }
    }

    /// Whether a slot is not in use, by the lists.
    pub(super) fn is_free(&self, slot: u32) -> bool {
        match self.clusters.get((slot / CLUSTER) as usize).and_then(Option::as_ref) {
            Some(cluster) => cluster.bits[(slot % CLUSTER) as usize / 64] >> (slot % 64) & 1 == 0,
            None => self.unused.contains(&slot) || self.fresh.iter().any(|range| range.contains(&slot)),
        }
    }

    /// Bytes on the host.
    pub(super) fn bytes(&self) -> usize {
        let clusters = self.clusters.iter().flatten().count() * size_of::<Cluster>();
        let lists = self.unused.capacity() * size_of::<u32>() + self.clusters.capacity() * size_of::<usize>();
        clusters + lists
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLUSTERS: Option<ClusterChoice> = Some(ClusterChoice { by_order: false, used_first: false });

    #[test]
    fn single_slots_leave_other_clusters_whole() {
        let mut free = FreeSlots::default();
        free.add(3 * 512 + 10, CLUSTERS);
        assert_eq!([free.take(), free.take()], [Some(0), Some(1)]);
        assert_eq!(
            [free.take_row(Order::PAGEBLOCK), free.take_row(Order::PAGEBLOCK), free.take_row(Order::PAGEBLOCK)],
            [Some(512), Some(1024), None]
        );
        (2..512).for_each(|slot| assert_eq!(free.take(), Some(slot)));
        assert_eq!((free.take(), free.used()), (Some(1536), 1537), "what is in no cluster goes last");
        free.release(700);
        free.release(3);
        assert_eq!([free.take(), free.take()], [Some(3), Some(700)]);
        (512..1024).for_each(|slot| free.release(slot));
        assert!(free.is_free(512) && free.is_free(1023) && !free.is_free(1024) && !free.is_free(1536));
        assert_eq!((free.take_row(Order::PAGEBLOCK), free.take()), (Some(512), Some(1537)));
    }

    #[test]
    fn the_cluster_in_use_is_whole_again_when_its_last_slot_is_free() {
        let mut free = FreeSlots::default();
        free.add(512, CLUSTERS);
        assert_eq!(free.take(), Some(0));
        assert_eq!(free.take_row(Order::PAGEBLOCK), None);
        free.release(0);
        assert_eq!((free.take_row(Order::PAGEBLOCK), free.take(), free.used()), (Some(0), None, 512));
    }

    #[test]
    fn rotating_disks_and_ends_have_no_clusters() {
        let mut free = FreeSlots::default();
        free.add(700, None);
        free.add(900, CLUSTERS);
        assert_eq!((free.take_row(Order::PAGEBLOCK), free.take_row(Order::PAGEBLOCK)), (Some(1024), None));
        assert_eq!([free.take(), free.take()], [Some(0), Some(1)]);
        free.release(0);
        assert_eq!(free.take(), Some(0), "the last one freed is the next");
        assert_eq!((free.capacity(), free.used()), (1600, 514));
    }

    #[test]
    fn clusters_that_are_full_in_part_are_used_once_no_other_is_empty() {
        let mut free = FreeSlots::default();
        free.add(3 * 512, CLUSTERS);
        (0..513).for_each(|slot| assert_eq!(free.take(), Some(slot)));
        [5, 7].into_iter().for_each(|slot| free.release(slot));
        (513..1536).for_each(|slot| assert_eq!(free.take(), Some(slot), "the one in use, then an empty one"));
        assert_eq!([free.take(), free.take(), free.take()], [Some(5), Some(7), None]);
    }

    #[test]
    fn a_cluster_is_in_use_or_full_in_part_or_empty() {
        let mut free = FreeSlots::default();
        free.add(2 * 512, CLUSTERS);
        (0..2).for_each(|slot| assert_eq!(free.take(), Some(slot)));
        // Of the cluster in use: it is not full in part beside that.
        free.release(0);
        (0..1024).filter(|&slot| slot != 1).for_each(|slot| assert_eq!(free.take(), Some(slot)));
        assert_eq!(free.take(), None);
        // Full in part first, then empty.
        (0..512).for_each(|slot| free.release(slot));
        assert_eq!((free.take_row(Order::PAGEBLOCK), free.take(), free.used()), (Some(0), None, 1024));
    }

    #[test]
    fn the_next_cluster_is_by_choice() {
        let order = |choice| {
            let mut free = FreeSlots::default();
            free.add(4 * 512, Some(choice));
            assert_eq!(free.take_row(Order::PAGEBLOCK), Some(0));
            (512..1537).for_each(|slot| assert_eq!(free.take(), Some(slot)));
            // Left in part: cluster 0 by a huge page, cluster 1 by single ones. Cluster 2 is full, cluster 3 is in use and then empty.
            [7, 600, 1536].into_iter().for_each(|slot| free.release(slot));
            [free.take(), free.take_row(Order::PAGEBLOCK), free.take()].map(|slot| slot.map(|slot| slot / 512))
        };
        let choice = |by_order, used_first| ClusterChoice { by_order, used_first };
        assert_eq!(order(choice(false, false)), [Some(3), None, Some(3)]);
        assert_eq!(order(choice(true, false)), [Some(3), None, Some(3)]);
        assert_eq!(order(choice(false, true)), [Some(0), Some(3), Some(1)]);
        assert_eq!(order(choice(true, true)), [Some(1), Some(3), Some(0)]);
    }

    #[test]
    fn an_emptied_cluster_is_like_one_that_was_never_used() {
        let mut free = FreeSlots::default();
        free.add(2 * 512, Some(ClusterChoice { by_order: true, used_first: true }));
        assert_eq!(free.take_row(Order::PAGEBLOCK), Some(0));
        (0..512).for_each(|slot| free.release(slot));
        assert_eq!((free.take(), free.take_row(Order::PAGEBLOCK)), (Some(0), Some(512)));
        free.release(700);
        (1..512).for_each(|slot| assert_eq!(free.take(), Some(slot)));
        free.release(3);
        assert_eq!([free.take(), free.take(), free.take()], [Some(3), Some(700), None]);
    }

    #[test]
    fn pages_of_a_size_share_clusters_with_their_like() {
        let mut free = FreeSlots::default();
        free.add(4 * 512, Some(ClusterChoice { by_order: true, used_first: false }));
        let (small, large) = (Order::new(4).unwrap(), Order::new(8).unwrap());
        assert_eq!([free.take_row(small), free.take_row(large), free.take()], [Some(0), Some(512), Some(1024)]);
        assert_eq!([free.take_row(small), free.take_row(large)], [Some(16), Some(768)]);
        assert_eq!([free.take_row(large), free.take_row(large)], [Some(1536), Some(1792)]);
        assert_eq!(
            (free.take_row(large), free.used()),
            (None, 32 + 4 * 256 + 1),
            "what others have in part is not for it"
        );
        // One slot each of two pages: there is no room for a page, then there is.
        [512, 768].into_iter().for_each(|slot| free.release(slot));
        assert_eq!(free.take_row(large), None);
        (513..768).for_each(|slot| free.release(slot));
        assert_eq!(free.take_row(large), Some(512));
        // Single slots take what others left once their own are full.
        (1025..1536).for_each(|slot| assert_eq!(free.take(), Some(slot)));
        assert_eq!([free.take(), free.take()], [Some(32), Some(33)]);
    }

    #[test]
    fn a_cluster_with_one_slot_in_use_is_not_empty() {
        let mut free = FreeSlots::default();
        free.add(512, CLUSTERS);
        assert_eq!([free.take(), free.take()], [Some(0), Some(1)]);
        free.release(0);
        assert_eq!(free.take_row(Order::PAGEBLOCK), None);
    }
}
