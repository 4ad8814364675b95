//! One cache: its slabs, which of their objects live, and the slabs that have room, by node.
//!
//! Objects are numbered: slab times objects per slab, plus the place in the slab. A number is used again once its object
//! is freed, so that whoever keeps something per object keeps it in an array.

use alloc::vec::Vec;

use order9_frames::Idx;
use order9_units::{NodeId, Order, PAGE_SIZE};

use super::bits::Bits;
use super::{CacheError, CacheSpec};

/// Objects that one slab may have, as in SLUB.
const PER_SLAB_MAX: u64 = 32_767;
/// Bounds of [`KmemCache::min_partial`], as in SLUB.
const MIN_PARTIAL: core::ops::RangeInclusive<u32> = 5..=10;
/// No slab.
const NONE: u32 = u32::MAX;

/// Objects of one kind.
#[derive(Clone)]
pub(crate) struct KmemCache {
    pub(crate) spec: CacheSpec,
    /// The smallest order that holds an object.
    pub(crate) min_order: Order,
    /// Objects of a slab of the preferred order; slabs of the smallest order leave the rest of their numbers unused.
    pub(crate) per_slab: u32,
    per_min_slab: u32,
    /// A slab that loses its last object stays while its node has fewer slabs with room than this: half the binary
    /// logarithm of the object size, within bounds (/sys/kernel/slab/CACHE/min_partial).
    pub(crate) min_partial: u32,
    slabs: Vec<Slab>,
    /// First of the unused slab numbers, chained by `next`.
    unused: u32,
    live: Bits,
    /// Slabs with room, by node.
    partial: Vec<Partial>,
    objects: u64,
    in_use: u32,
}

/// Pages that hold objects.
#[derive(Clone, Copy)]
pub(crate) struct Slab {
    /// First frame.
    pub(crate) frame: Idx,
    /// Live objects.
    pub(crate) live: u16,
    pub(crate) node: u16,
    pub(crate) order: Order,
    /// The number is in use.
    exists: bool,
    prev: u32,
    next: u32,
}

/// The slabs of a node that have room; the first one serves until it is full.
#[derive(Clone, Copy)]
pub(crate) struct Partial {
    first: u32,
    last: u32,
    pub(crate) count: u32,
}

/// Fate of the slab of an object that was freed.
pub(super) enum Freed {
    /// The slab stays.
    Kept,
    /// The slab is out of use: its pages go back.
    Empty(Idx),
}

impl KmemCache {
    pub(super) fn new(spec: CacheSpec, nodes: usize) -> Result<Self, CacheError> {
        let size = spec.object_size.get();
        let holds = |order: Order| (PAGE_SIZE.get() << order.get()) / size.max(1);
        let min_order = Order::all().find(|&order| size > 0 && holds(order) > 0).ok_or(CacheError::Size(spec))?;
        if spec.order < min_order || holds(spec.order) > PER_SLAB_MAX {
            return Err(CacheError::Order(spec));
        }
        Ok(Self {
            spec,
            min_order,
            per_slab: holds(spec.order) as u32,
            per_min_slab: holds(min_order) as u32,
            min_partial: (size.ilog2() / 2).clamp(*MIN_PARTIAL.start(), *MIN_PARTIAL.end()),
            slabs: Vec::new(),
            unused: NONE,
            live: Bits::default(),
            partial: alloc::vec![Partial { first: NONE, last: NONE, count: 0 }; nodes],
            objects: 0,
            in_use: 0,
        })
    }

    /// Objects that fit a slab of `order`, which is the preferred or the smallest one.
    pub(crate) fn capacity(&self, order: Order) -> u64 {
        let objects = if order == self.spec.order { self.per_slab } else { self.per_min_slab };
        objects.into()
    }

    /// Live objects.
    pub(crate) const fn objects(&self) -> u64 {
        self.objects
    }

    /// Slabs, full, with room and empty.
    pub(crate) fn slabs(&self) -> impl Iterator<Item = (u32, &Slab)> {
        (0..).zip(&self.slabs).filter(|(_, slab)| slab.exists)
    }

    pub(crate) const fn slab_count(&self) -> u32 {
        self.in_use
    }

    pub(crate) fn slab(&self, slab: u32) -> Option<&Slab> {
        self.slabs.get(slab as usize).filter(|slab| slab.exists)
    }

    /// The slab that holds object `number`, if that lives.
    pub(crate) fn slab_of(&self, number: u32) -> Option<&Slab> {
        self.live.get(number.into()).then(|| &self.slabs[(number / self.per_slab) as usize])
    }

    pub(crate) fn partial(&self, node: usize) -> Partial {
        self.partial[node]
    }

    /// Slabs with room of a node, the one that serves next first.
    pub(crate) fn partial_slabs(&self, node: usize) -> impl Iterator<Item = u32> {
        let some = |slab: u32| (slab != NONE).then_some(slab);
        core::iter::successors(some(self.partial[node].first), move |&slab| some(self.slabs[slab as usize].next))
    }

    /// Live objects of a slab by its bits, those that its order has no room for included.
    pub(crate) fn recount(&self, slab: u32) -> (u64, u64) {
        let first = u64::from(slab) * u64::from(self.per_slab);
        let room = self.capacity(self.slabs[slab as usize].order);
        let live = |range: core::ops::Range<u64>| range.filter(|&number| self.live.get(number)).count() as u64;
        (live(first..first + room), live(first + room..first + u64::from(self.per_slab)))
    }

    /// Takes an object from a slab of `node` that has room.
    pub(super) fn take(&mut self, node: NodeId) -> Option<u32> {
        let slab = self.partial[node.index()].first;
        (slab != NONE).then(|| self.take_from(slab))
    }

    /// Makes the block at `frame` a slab and takes its first object.
    pub(super) fn add_slab(&mut self, frame: Idx, order: Order, node: NodeId) -> (u32, u32) {
        let slab = Slab { frame, live: 0, node: node.0, order, exists: true, prev: NONE, next: NONE };
        let number = match self.unused {
            NONE => {
                self.slabs.push(slab);
                self.slabs.len() as u32 - 1
            }
            unused => {
                self.unused = self.slabs[unused as usize].next;
                self.slabs[unused as usize] = slab;
                unused
            }
        };
        let end = (u64::from(number) + 1) * u64::from(self.per_slab);
        assert!(end < u64::from(NONE), "{} has more objects than 32 bits can number", self.spec.name);
        self.live.grow(end);
        self.in_use += 1;
        self.push_first(number);
        (number, self.take_from(number))
    }

    /// Frees object `number`, which lives.
    pub(super) fn give_back(&mut self, number: u32) -> Freed {
        let at = number / self.per_slab;
        self.live.set(number.into(), false);
        self.objects -= 1;
        let was_full = self.is_full(at);
        let slab = &mut self.slabs[at as usize];
        slab.live -= 1;
        if slab.live == 0 && self.partial[usize::from(slab.node)].count >= self.min_partial {
            if !was_full {
                self.unlink(at);
            }
            return Freed::Empty(self.retire(at));
        }
        if was_full {
            self.push_last(at);
        }
        Freed::Kept
    }

    fn take_from(&mut self, slab: u32) -> u32 {
        let first = u64::from(slab) * u64::from(self.per_slab);
        let room = self.capacity(self.slabs[slab as usize].order);
        let number = self.live.first_clear(first..first + room).expect("a slab on the list has room");
        self.live.set(number, true);
        self.objects += 1;
        self.slabs[slab as usize].live += 1;
        if self.is_full(slab) {
            self.unlink(slab);
        }
        number as u32
    }

    fn is_full(&self, slab: u32) -> bool {
        let slab = self.slabs[slab as usize];
        u64::from(slab.live) == self.capacity(slab.order)
    }

    /// Takes an empty slab out of use; returns its first frame.
    fn retire(&mut self, at: u32) -> Idx {
        let slab = &mut self.slabs[at as usize];
        slab.next = core::mem::replace(&mut self.unused, at);
        self.in_use -= 1;
        slab.exists = false;
        slab.frame
    }

    fn push_first(&mut self, at: u32) {
        let node = usize::from(self.slabs[at as usize].node);
        let next = self.partial[node].first;
        self.link(node, NONE, at, next);
    }

    fn push_last(&mut self, at: u32) {
        let node = usize::from(self.slabs[at as usize].node);
        let prev = self.partial[node].last;
        self.link(node, prev, at, NONE);
    }

    fn link(&mut self, node: usize, prev: u32, at: u32, next: u32) {
        let slab = &mut self.slabs[at as usize];
        (slab.prev, slab.next) = (prev, next);
        self.join(node, prev, at);
        self.join(node, at, next);
        self.partial[node].count += 1;
    }

    fn unlink(&mut self, at: u32) {
        let Slab { prev, next, node, .. } = self.slabs[at as usize];
        self.join(node.into(), prev, next);
        self.partial[usize::from(node)].count -= 1;
    }

    /// Makes `next` follow `prev`; either can be the end of the list.
    fn join(&mut self, node: usize, prev: u32, next: u32) {
        match prev {
            NONE => self.partial[node].first = next,
            prev => self.slabs[prev as usize].next = next,
        }
        match next {
            NONE => self.partial[node].last = prev,
            next => self.slabs[next as usize].prev = prev,
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.slabs.capacity() * size_of::<Slab>() + self.live.bytes() + self.partial.capacity() * size_of::<Partial>()
    }
}

const _: () = assert!(size_of::<Slab>() == 20, "a dentry's share of its slab is one byte");
