//! Reverse mapping: for every frame, whose page it is and where it is mapped, in eight bytes.
//!
//! Key types: [`Owner`] (what a frame is used for), [`Mapping`] (one page of one space), [`Rmap`] (all of them). An anonymous
//! page with one mapping names it; with several, it names a chain in a side table. A page of a file names its place there:
//! the file knows the mappings that may show it. A frame without [`order9_frames::Flag::Owned`] belongs to nobody here.

use alloc::vec::Vec;

use order9_frames::Idx;
use order9_units::Pages;

use super::SpaceId;
use super::table::SLOT_PAGES;
use crate::addr::Vpn;
use crate::page_cache::FileId;
use crate::slab::CacheId;
use crate::thp::HugeSize;

/// One page of one space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mapping {
    pub(crate) space: SpaceId,
    pub(crate) vpn: Vpn,
}

/// Every place where a page is mapped. Most pages are mapped once, and need no memory for that.
pub(crate) enum Mappings {
    None,
    One(Mapping),
    Several(Vec<Mapping>),
}

impl core::ops::Deref for Mappings {
    type Target = [Mapping];

    #[inline]
    fn deref(&self) -> &[Mapping] {
        match self {
            Self::None => &[],
            Self::One(mapping) => core::slice::from_ref(mapping),
            Self::Several(mappings) => mappings,
        }
    }
}

/// Use of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// Nothing an address space or file knows.
    Nobody,
    /// An anonymous page, mapped once.
    Anon(Mapping),
    /// An anonymous page, mapped at `mappings` places; the chain starts at link `first`.
    Shared { first: u32, mappings: u32 },
    /// A page of a file.
    File { file: FileId, index: u64 },
    /// The page table of the slot that starts at `vpn`.
    PageTable(Mapping),
    /// A slab of a cache.
    Slab { cache: CacheId, slab: u32 },
    /// A page that no space or file knows any more; a pin, isolation, or a read or write under way keeps it.
    Kept,
    /// An anonymous page that no mapping shows; entries may name its slot in swap.
    SwapCache,
    /// The first frame of an anonymous huge page: [`crate::thp`] knows its huge mappings, [`Rmap::of_subpage`] those of its
    /// base pages.
    Huge,
    /// The huge page of zeros.
    HugeZero,
    /// The first frame of a page of a hugetlb pool: [`crate::hugetlb`] knows who maps it.
    Hugetlb,
}

/// Bits of a page number in a space or file.
const PLACE_BITS: u32 = 35;
/// Pages that a space or file can have at most.
pub(crate) const PLACES: Pages = Pages::new(1 << PLACE_BITS);
/// Set for pages of files alone: the rest is their place and, since files outnumber all else, as many of them as that leaves.
const OF_FILE: u64 = 1 << 63;
/// Set for what one mapping or slot of a space names, with another bit for page tables; the rest is its place and the space.
const OF_SPACE: u64 = 1 << 62;
const TABLE: u64 = 1 << 61;
/// Files that a frame can name.
pub(crate) const FILES: u32 = 1 << (63 - PLACE_BITS);
/// Spaces that a frame can name.
pub(crate) const SPACES: u32 = 1 << (61 - PLACE_BITS);
/// Base pages of the smallest huge page.
const LEAST: usize = HugeSize::SMALLEST.order().pages().get() as usize;
/// Bits that tell other owners apart; what they name follows.
const KIND_BITS: u32 = 4;
/// First bit of a shared page's number of mappings, or of the cache of a slab.
const SECOND: u32 = KIND_BITS + u32::BITS;

impl Owner {
    /// Whether it is memory of the kernel, which cannot be moved.
    pub(crate) const fn is_kernel(self) -> bool {
        matches!(self, Self::PageTable(_) | Self::Slab { .. } | Self::HugeZero | Self::Hugetlb)
    }

    const fn packed(self) -> u64 {
        match self {
            Self::Nobody => 0,
            Self::Anon(mapping) => OF_SPACE | in_space(mapping),
            Self::PageTable(slot) => OF_SPACE | TABLE | in_space(slot),
            Self::File { file, index } => OF_FILE | (file.0 as u64) << PLACE_BITS | index,
            Self::Shared { first, mappings } => 1 | (first as u64) << KIND_BITS | (mappings as u64) << SECOND,
            Self::Kept => 2,
            Self::Slab { cache, slab } => 3 | (slab as u64) << KIND_BITS | (cache.0 as u64) << SECOND,
            Self::SwapCache => 4,
            Self::Huge => 5,
            Self::HugeZero => 6,
            Self::Hugetlb => 7,
        }
    }

    fn unpacked(packed: u64) -> Self {
        let index = packed & (PLACES.get() - 1);
        if packed & OF_FILE != 0 {
            return Self::File { file: FileId(((packed & !OF_FILE) >> PLACE_BITS) as u32), index };
        }
        if packed & OF_SPACE != 0 {
            let space = SpaceId(((packed & (TABLE - 1)) >> PLACE_BITS) as u32);
            let mapping = Mapping { space, vpn: Vpn::new(index) };
            return if packed & TABLE != 0 { Self::PageTable(mapping) } else { Self::Anon(mapping) };
        }
        let (first, second) = ((packed >> KIND_BITS) as u32, (packed >> SECOND) as u32);
        match packed & ((1 << KIND_BITS) - 1) {
            0 => Self::Nobody,
            1 => Self::Shared { first, mappings: second },
            2 => Self::Kept,
            3 => Self::Slab { cache: CacheId(second as u16), slab: first },
            4 => Self::SwapCache,
            5 => Self::Huge,
            6 => Self::HugeZero,
            _ => Self::Hugetlb,
        }
    }
}

const fn in_space(Mapping { space, vpn }: Mapping) -> u64 {
    (space.0 as u64) << PLACE_BITS | vpn.get()
}

/// A mapping of a shared page and the next one of the same page.
#[derive(Clone, Copy)]
struct Link {
    mapping: Mapping,
    next: u32,
}

/// End of a chain.
const END: u32 = u32::MAX;

/// Owners of all frames, and the chains of shared pages.
#[derive(Clone, Default)]
pub(crate) struct Rmap {
    /// Owners of all frames; then the mappings of the first base page of every huge page that starts at a pageblock, by pageblock;
    /// then, once there are any, the mappings of the first base page of huge pages that start elsewhere, by [`LEAST`] frames.
    owners: Vec<u64>,
    frames: u32,
    links: Vec<Link>,
    /// First unused link.
    unused: Option<u32>,
    links_used: u64,
    /// `nr_mapped` by node: pages of files with a mapping, each once.
    pub(crate) mapped: Vec<u64>,
}

impl Rmap {
    /// Nobody owns a frame yet, on a machine of so many nodes.
    pub(crate) fn new(nodes: usize) -> Self {
        Self { mapped: alloc::vec![0; nodes], ..Self::default() }
    }

    /// Makes room for `frames` frames: done when the first space or file appears, so that an allocator alone pays nothing.
    pub(crate) fn make_room(&mut self, frames: usize) {
        if self.owners.is_empty() {
            self.owners = alloc::vec![Owner::Nobody.packed(); frames + frames / SLOT_PAGES];
            self.frames = frames as u32;
        }
    }

    /// Makes room for huge pages of less than 2 MiB: done when the first appears.
    pub(crate) fn make_room_for_small(&mut self) {
        let frames = self.frames as usize;
        // Where there is room already, nothing changes.
        self.owners.resize(frames + frames / SLOT_PAGES + frames / LEAST, Owner::Nobody.packed());
    }

    /// Entry that keeps the mappings of a base page of a huge page: that of its frame, but for the first one, whose frame says
    /// what the huge page is.
    #[inline]
    pub(crate) fn of_subpage(&self, idx: Idx) -> Idx {
        if idx.at().is_multiple_of(SLOT_PAGES) {
            return Idx(self.frames + idx.block() as u32);
        }
        if !idx.at().is_multiple_of(LEAST) || self.owner(idx) != Owner::Huge {
            return idx;
        }
        let by_block = self.frames + self.frames / SLOT_PAGES as u32;
        Idx(by_block + idx.0 / LEAST as u32)
    }

    /// Entries that map a base page of a huge page by itself.
    pub(crate) fn subpage_mappings(&self, idx: Idx) -> u32 {
        match self.owner(self.of_subpage(idx)) {
            Owner::Anon(_) => 1,
            Owner::Shared { mappings, .. } => mappings,
            _ => 0,
        }
    }

    #[inline]
    pub(crate) fn owner(&self, idx: Idx) -> Owner {
        self.owners.get(idx.at()).map_or(Owner::Nobody, |&packed| Owner::unpacked(packed))
    }

    #[inline]
    pub(crate) fn set(&mut self, idx: Idx, owner: Owner) {
        let packed = owner.packed();
        debug_assert!(Owner::unpacked(packed) == owner, "{owner:?} is more than a frame can name");
        self.owners[idx.at()] = packed;
    }

    /// Adds a mapping to an anonymous page that has one already.
    pub(crate) fn share(&mut self, idx: Idx, mapping: Mapping) {
        let (first, mappings) = match self.owner(idx) {
            Owner::Anon(only) => (self.link(only, END), 1),
            Owner::Shared { first, mappings } => (first, mappings),
            other => unreachable!("a page is shared that is {other:?}"),
        };
        let first = self.link(mapping, first);
        self.set(idx, Owner::Shared { first, mappings: mappings + 1 });
    }

    /// Takes a mapping off an anonymous page that has several.
    pub(crate) fn unshare(&mut self, idx: Idx, mapping: Mapping) {
        let Owner::Shared { first, mappings } = self.owner(idx) else { unreachable!("the page has several mappings") };
        let (found, before) = self.find(first, mapping);
        let next = self.unlink(found);
        let first = match before {
            Some(before) => {
                self.links[before as usize].next = next;
                first
            }
            None => next,
        };
        let owner = if mappings == 2 {
            let last = self.links[first as usize].mapping;
            self.unlink(first);
            Owner::Anon(last)
        } else {
            Owner::Shared { first, mappings: mappings - 1 }
        };
        self.set(idx, owner);
    }

    /// Moves a mapping of an anonymous page to another place.
    pub(crate) fn relocate(&mut self, idx: Idx, from: Mapping, to: Mapping) {
        match self.owner(idx) {
            Owner::Anon(_) => self.set(idx, Owner::Anon(to)),
            Owner::Shared { first, .. } => {
                let (found, _) = self.find(first, from);
                self.links[found as usize].mapping = to;
            }
            _ => {}
        }
    }

    /// Mappings of a shared page.
    pub(crate) fn chain(&self, first: u32) -> impl Iterator<Item = Mapping> {
        let link = move |at: u32| (at != END).then(|| self.links[at as usize]);
        core::iter::successors(link(first), move |before| link(before.next)).map(|link| link.mapping)
    }

    /// Mappings of all shared pages together.
    pub(crate) const fn links_used(&self) -> u64 {
        self.links_used
    }

    /// Bytes on the host.
    pub(crate) fn bytes(&self) -> usize {
        self.owners.capacity() * size_of::<u64>() + self.links.capacity() * size_of::<Link>()
    }

    /// The link of `mapping` and the one before it.
    fn find(&self, first: u32, mapping: Mapping) -> (u32, Option<u32>) {
        let (mut at, mut before) = (first, None);
        while self.links[at as usize].mapping != mapping {
            (before, at) = (Some(at), self.links[at as usize].next);
            assert!(at != END, "{mapping:?} is missing among the mappings of its page");
        }
        (at, before)
    }

    fn link(&mut self, mapping: Mapping, next: u32) -> u32 {
        self.links_used += 1;
        let link = Link { mapping, next };
        match self.unused {
            Some(at) => {
                let after = self.links[at as usize].next;
                self.unused = (after != END).then_some(after);
                self.links[at as usize] = link;
                at
            }
            None => {
                self.links.push(link);
                self.links.len() as u32 - 1
            }
        }
    }

    /// Takes a link out of use; returns what followed it.
    fn unlink(&mut self, at: u32) -> u32 {
        self.links_used -= 1;
        let unused = self.unused.replace(at).unwrap_or(END);
        core::mem::replace(&mut self.links[at as usize].next, unused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_survive_packing() {
        let mapping = Mapping { space: SpaceId(SPACES - 1), vpn: Vpn::new(PLACES.get() - 1) };
        let owners = [
            Owner::Nobody,
            Owner::Anon(mapping),
            Owner::Shared { first: u32::MAX - 1, mappings: SPACES - 1 },
            Owner::File { file: FileId(FILES - 1), index: PLACES.get() - 1 },
            Owner::PageTable(mapping),
            Owner::Kept,
            Owner::SwapCache,
            Owner::Huge,
            Owner::HugeZero,
            Owner::Hugetlb,
            Owner::Slab { cache: CacheId(u16::MAX), slab: u32::MAX },
        ];
        for owner in owners {
            assert_eq!(Owner::unpacked(owner.packed()), owner);
        }
    }

    #[test]
    fn chains_grow_shrink_and_reuse_their_links() {
        let mapping = |space| Mapping { space: SpaceId(space), vpn: Vpn::new(7) };
        let mut rmap = Rmap::default();
        rmap.make_room(4);
        let idx = Idx(2);
        rmap.set(idx, Owner::Anon(mapping(0)));
        rmap.share(idx, mapping(1));
        rmap.share(idx, mapping(2));
        rmap.unshare(idx, mapping(1));
        let Owner::Shared { first, mappings: 2 } = rmap.owner(idx) else { panic!("two mappings are left") };
        assert_eq!(rmap.chain(first).collect::<Vec<_>>(), [mapping(2), mapping(0)]);
        rmap.unshare(idx, mapping(2));
        assert_eq!((rmap.owner(idx), rmap.links_used()), (Owner::Anon(mapping(0)), 0));
        rmap.share(idx, mapping(3));
        assert_eq!((rmap.links.len(), rmap.links_used()), (3, 2));
    }
}
