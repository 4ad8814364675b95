//! Zones: a span of frames with its free lists, watermarks and per-CPU lists.

use order9_units::{Migratetype, NodeId, Order, Pfn, PfnRange, ZoneKind};

use crate::frame::Idx;
use crate::watermark::Watermarks;

/// Position of a zone in [`crate::Frames::zones`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ZoneId(pub u8);

impl ZoneId {
    /// The position.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A set of zones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ZoneSet([u64; 4]);

impl ZoneSet {
    /// No zone.
    pub const EMPTY: Self = Self([0; 4]);

    /// Whether no zone is in the set.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0[0] | self.0[1] | self.0[2] | self.0[3] == 0
    }

    /// Adds a zone.
    pub const fn insert(&mut self, zone: ZoneId) {
        self.0[zone.index() / 64] |= 1 << (zone.index() % 64);
    }

    /// The zones, by number.
    pub fn iter(self) -> impl Iterator<Item = ZoneId> {
        (0..=u8::MAX).map(ZoneId).filter(move |zone| self.0[zone.index() / 64] >> (zone.index() % 64) & 1 != 0)
    }
}

/// A zone of a node. Page counts are in frames.
///
/// `managed` = free + isolated-free + on per-CPU lists + allocated + held by compaction; [`crate::Frames::check`] recounts it.
#[derive(Clone, Copy, Debug)]
pub struct Zone {
    pub(crate) id: ZoneId,
    pub(crate) node: NodeId,
    pub(crate) kind: ZoneKind,
    pub(crate) span: PfnRange,
    pub(crate) present: u64,
    pub(crate) managed: u64,
    /// The top of the zone, as far as it has not been given to the allocator yet: present, reserved frames.
    pub(crate) deferred: PfnRange,
    /// `nr_free_pages`: on free lists of every type but Isolate.
    pub(crate) free: u64,
    pub(crate) free_by_type: [u64; Migratetype::COUNT],
    pub(crate) reserved_highatomic: u64,
    pub(crate) watermarks: Watermarks,
    pub(crate) boost: u64,
    /// A fragmentation event asked for kswapd, which is woken once the request has left the zone.
    pub(crate) boosted: bool,
    /// A request has found the zone below its high mark, and nobody has seen it above since: per-CPU lists shrink. 6.7+.
    pub(crate) below_high: bool,
    /// kswapd reclaims the zone: per-CPU lists stay short. 5.14+.
    pub(crate) reclaim_active: bool,
    pub(crate) lowmem_reserve: [u64; ZoneKind::COUNT],
    /// Allocations left in this round of [`crate::policy::FramesPolicy::fair_zone_batches`].
    pub(crate) fair_batch: i64,
    pub(crate) isolated_blocks: u64,
    pub(crate) areas: [FreeArea; Order::COUNT],
    /// Per type, a bit for every order whose list is not empty.
    pub(crate) occupied: [u16; Migratetype::COUNT],
    first_list: Idx,
}

/// Free blocks of one order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FreeArea {
    /// Blocks per migratetype.
    pub blocks: [u32; Migratetype::COUNT],
}

impl FreeArea {
    /// Blocks of all types: a number of /proc/buddyinfo.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.blocks.iter().map(|&blocks| u64::from(blocks)).sum()
    }
}

impl Zone {
    /// A zone without any memory, to fill tables with.
    pub const NONE: Self = Self::new(
        ZoneId(u8::MAX),
        NodeId(0),
        ZoneKind::Normal,
        PfnRange { start: Pfn::new(0), end: Pfn::new(0) },
        Idx(0),
    );

    pub(crate) const fn new(id: ZoneId, node: NodeId, kind: ZoneKind, span: PfnRange, first_list: Idx) -> Self {
        Self {
            id,
            node,
            kind,
            span,
            present: 0,
            managed: 0,
            deferred: PfnRange { start: Pfn::new(0), end: Pfn::new(0) },
            free: 0,
            free_by_type: [0; Migratetype::COUNT],
            reserved_highatomic: 0,
            watermarks: Watermarks { min: 0, low: 0, high: 0 },
            boost: 0,
            boosted: false,
            below_high: false,
            reclaim_active: false,
            lowmem_reserve: [0; ZoneKind::COUNT],
            fair_batch: 0,
            isolated_blocks: 0,
            areas: [FreeArea { blocks: [0; Migratetype::COUNT] }; Order::COUNT],
            occupied: [0; Migratetype::COUNT],
            first_list,
        }
    }

    /// Position among all zones.
    #[must_use]
    pub const fn id(&self) -> ZoneId {
        self.id
    }

    /// The node it belongs to.
    #[must_use]
    pub const fn node(&self) -> NodeId {
        self.node
    }

    /// The kind of zone: which addresses or requests it is for.
    #[must_use]
    pub const fn kind(&self) -> ZoneKind {
        self.kind
    }

    /// First to last frame, holes included.
    #[must_use]
    pub const fn span(&self) -> PfnRange {
        self.span
    }

    /// Frames that exist.
    #[must_use]
    pub const fn present(&self) -> u64 {
        self.present
    }

    /// Frames the allocator was given.
    #[must_use]
    pub const fn managed(&self) -> u64 {
        self.managed
    }

    /// `nr_free_pages`.
    #[must_use]
    pub const fn free(&self) -> u64 {
        self.free
    }

    /// Free pages in blocks of at least a pageblock: `nr_free_pages_blocks` (6.15+).
    #[must_use]
    pub fn free_in_pageblocks(&self) -> u64 {
        let whole = Order::PAGEBLOCK.to(Order::MAX);
        whole.map(|order| self.areas[order.index()].total() * order.pages().get()).sum()
    }

    /// Free pages on the lists of one type.
    #[must_use]
    pub const fn free_of_type(&self, mt: Migratetype) -> u64 {
        self.free_by_type[mt.index()]
    }

    /// Frames in pageblocks of the highatomic reserve (`nr_reserved_highatomic`).
    #[must_use]
    pub const fn reserved_highatomic(&self) -> u64 {
        self.reserved_highatomic
    }

    /// Watermarks without the boost.
    #[must_use]
    pub const fn watermarks(&self) -> Watermarks {
        self.watermarks
    }

    /// `watermark_boost` in pages.
    #[must_use]
    pub const fn boost(&self) -> u64 {
        self.boost
    }

    /// Pages kept back from requests of each zone class: the `protection` row.
    #[must_use]
    pub const fn lowmem_reserve(&self) -> [u64; ZoneKind::COUNT] {
        self.lowmem_reserve
    }

    /// Pages that programs cannot count on (`totalreserve_pages`): the high mark and the largest lowmem reserve.
    #[must_use]
    pub fn reserved_from_programs(&self) -> u64 {
        let reserve = self.lowmem_reserve.into_iter().max().unwrap_or(0);
        (reserve + self.watermarks.high).min(self.managed)
    }

    /// Free blocks by order.
    #[must_use]
    pub const fn areas(&self) -> &[FreeArea; Order::COUNT] {
        &self.areas
    }

    /// Whether a fragmentation event asked for kswapd, which nobody has been told yet.
    #[must_use]
    pub const fn is_boosted(&self) -> bool {
        self.boosted
    }

    /// Pageblocks of type Isolate.
    #[must_use]
    pub const fn isolated_blocks(&self) -> u64 {
        self.isolated_blocks
    }

    /// Whether the list of `mt` holds a block of `order` or more.
    #[must_use]
    pub const fn has_block(&self, mt: Migratetype, order: Order) -> bool {
        self.occupied[mt.index()] >> order.get() != 0
    }

    /// Whether the list of `mt` holds a block of exactly `order`.
    #[must_use]
    pub const fn has_block_of(&self, mt: Migratetype, order: Order) -> bool {
        self.occupied[mt.index()] >> order.get() & 1 != 0
    }

    /// Smallest order from `order` on whose list of `mt` is not empty.
    #[must_use]
    pub fn smallest_from(&self, mt: Migratetype, order: Order) -> Option<Order> {
        let orders = self.occupied[mt.index()] >> order.get();
        if orders == 0 { None } else { Order::new(order.get() + orders.trailing_zeros() as u8) }
    }

    /// The free list of `order` and `mt`.
    #[must_use]
    pub const fn list(&self, order: Order, mt: Migratetype) -> Idx {
        self.first_list.plus((order.index() * Migratetype::COUNT + mt.index()) as u32)
    }

    /// Accounts a block that came onto the free list of `order` and `mt`.
    #[inline]
    pub(crate) fn count_listed(&mut self, order: Order, mt: Migratetype) {
        self.areas[order.index()].blocks[mt.index()] += 1;
        self.occupied[mt.index()] |= 1 << order.get();
        self.free_by_type[mt.index()] += order.pages().get();
        if mt != Migratetype::Isolate {
            self.free += order.pages().get();
        }
    }

    /// Accounts a block that left the free list of `order` and `mt`.
    #[inline]
    pub(crate) fn count_unlisted(&mut self, order: Order, mt: Migratetype) {
        let blocks = &mut self.areas[order.index()].blocks[mt.index()];
        *blocks -= 1;
        if *blocks == 0 {
            self.occupied[mt.index()] &= !(1 << order.get());
        }
        self.free_by_type[mt.index()] -= order.pages().get();
        if mt != Migratetype::Isolate {
            self.free -= order.pages().get();
        }
    }

    /// Accounts a pageblock of type `old` that is now `new`.
    pub(crate) fn count_block_type(&mut self, old: Migratetype, new: Migratetype) {
        let pageblock = Order::PAGEBLOCK.pages().get();
        for (mt, change) in [(old, u64::wrapping_sub as fn(u64, u64) -> u64), (new, u64::wrapping_add)] {
            match mt {
                Migratetype::HighAtomic => self.reserved_highatomic = change(self.reserved_highatomic, pageblock),
                Migratetype::Isolate => self.isolated_blocks = change(self.isolated_blocks, 1),
                _ => {}
            }
        }
    }

    /// Limit of the highatomic reserve in frames; 0 is no reserve.
    pub(crate) fn highatomic_limit(&self, rounded: bool) -> u64 {
        let hundredth = self.managed / 100;
        let pageblock = Order::PAGEBLOCK.pages().get();
        match rounded {
            false => hundredth + pageblock,
            true if hundredth < pageblock => 0,
            true => hundredth.next_multiple_of(pageblock),
        }
    }
}

/// Fields of a zone that a test may set, whatever the frames are.
#[cfg(feature = "testing")]
#[derive(Clone, Copy, Debug)]
pub struct ZoneEdit {
    /// The node that the zone belongs to.
    pub node: NodeId,
    /// Frames the allocator was given.
    pub managed: u64,
    /// Watermarks without the boost.
    pub watermarks: Watermarks,
    /// `watermark_boost` in pages.
    pub boost: u64,
    /// A fragmentation event asked for kswapd.
    pub boosted: bool,
}

#[cfg(feature = "testing")]
impl Zone {
    pub(crate) fn edit(&mut self, edit: impl FnOnce(&mut ZoneEdit)) {
        let Self { node, managed, watermarks, boost, boosted, .. } = *self;
        let mut edited = ZoneEdit { node, managed, watermarks, boost, boosted };
        edit(&mut edited);
        (self.node, self.managed, self.watermarks) = (edited.node, edited.managed, edited.watermarks);
        (self.boost, self.boosted) = (edited.boost, edited.boosted);
    }
}
