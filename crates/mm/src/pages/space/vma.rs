//! Mappings of a space: what a range of pages is for and what a program may do there.
//!
//! Key types: [`Vma`] (one mapping), [`Prot`], [`VmaKind`], [`VmaSet`] (the ordered, disjoint mappings of a space).

use alloc::collections::BTreeMap;
use core::fmt;
use core::ops::BitOr;
use core::ops::Range;

use order9_units::Pages;

use crate::addr::{Vpn, VpnRange};
use crate::hugetlb::HugetlbId;
use crate::mempolicy::PolicyId;
use crate::page_cache::FileId;

/// Rights of a program to the pages of a mapping: `PROT_*`.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Prot(u8);

impl Prot {
    /// `PROT_NONE`.
    pub const NONE: Self = Self(0);
    /// `PROT_READ`.
    pub const READ: Self = Self(1);
    /// `PROT_WRITE`; on x86-64 it implies reading.
    pub const WRITE: Self = Self(2);
    /// `PROT_EXEC`; on x86-64 it implies reading.
    pub const EXEC: Self = Self(4);
    /// `PROT_READ | PROT_WRITE`.
    pub const RW: Self = Self(3);

    /// Whether everything in `prot` is allowed.
    #[must_use]
    pub const fn has(self, prot: Self) -> bool {
        self.0 & prot.0 == prot.0
    }
}

impl BitOr for Prot {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Debug for Prot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = |prot, letter| if self.has(prot) { letter } else { '-' };
        write!(f, "{}{}{}", letter(Self::READ, 'r'), letter(Self::WRITE, 'w'), letter(Self::EXEC, 'x'))
    }
}

/// Source of the pages of a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VmaKind {
    /// Zeroed memory of this space alone.
    Anon,
    /// A file: on disk, of tmpfs, a memfd, or shared anonymous memory.
    File {
        /// The file.
        file: FileId,
        /// `MAP_SHARED`; else the first write to a page gives this space its own copy.
        shared: bool,
    },
    /// Pages of the hugetlb pools: `MAP_HUGETLB`.
    Hugetlb {
        /// Pages of the call that made the mapping.
        map: HugetlbId,
        /// `MAP_SHARED`: children that are forked write the same pages.
        shared: bool,
    },
}

impl VmaKind {
    /// Whether written pages belong to this space alone.
    #[must_use]
    pub const fn is_private(self) -> bool {
        matches!(self, Self::Anon | Self::File { shared: false, .. } | Self::Hugetlb { shared: false, .. })
    }

    /// The file behind the mapping.
    #[must_use]
    pub const fn file(self) -> Option<FileId> {
        match self {
            Self::Anon | Self::Hugetlb { .. } => None,
            Self::File { file, .. } => Some(file),
        }
    }
}

/// Advice of the program about huge pages in the mapping.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HugeAdvice {
    /// Nothing.
    #[default]
    None,
    /// `MADV_HUGEPAGE`: flag `hg` in smaps.
    Huge,
    /// `MADV_NOHUGEPAGE`: flag `nh` in smaps.
    NoHuge,
}

/// One mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vma {
    /// Pages of the mapping; never none.
    pub range: VpnRange,
    /// Rights of the program there.
    pub prot: Prot,
    /// Source of the pages.
    pub kind: VmaKind,
    /// `vm_pgoff` in pages: the place of the first page in the file, or for anonymous memory where it was first mapped.
    pub offset: u64,
    /// Advice of the program about huge pages.
    pub advice: HugeAdvice,
    /// The program said where huge pages lie here: `MADV_LOCAL` or `MADV_HUGEPAGE_FORCE_LOCAL`, whichever the placement knows.
    pub local: bool,
    /// `mlock`ed.
    pub locked: bool,
    /// May hold pages of this space alone: what having an `anon_vma` means.
    pub touched: bool,
    /// Own memory policy of the mapping; a mapping of a file on tmpfs has that of the file instead.
    pub policy: Option<PolicyId>,
}

impl Vma {
    /// Place of a page of this mapping in its file.
    #[must_use]
    pub fn index(&self, vpn: Vpn) -> u64 {
        self.offset + (vpn - self.range.start).get()
    }

    /// The places of its file that this mapping shows.
    pub(crate) fn places(&self) -> Range<u64> {
        self.offset..self.offset.saturating_add(self.range.len().get())
    }

    /// The pages of this mapping that show `pages` pages of its file from `index` on.
    pub(crate) fn pages_of(&self, index: u64, pages: u64) -> VpnRange {
        let length = self.range.len().get();
        let clip = |index: u64| self.range.start + Pages::new(index.saturating_sub(self.offset).min(length));
        VpnRange::new(clip(index), clip(index.saturating_add(pages)))
    }

    /// Whether `next`, which starts where this one ends, continues it in every respect.
    fn continues_in(&self, next: &Self) -> bool {
        self.range.end == next.range.start
            && self.offset + self.range.len().get() == next.offset
            && (self.prot, self.kind, self.locked) == (next.prot, next.kind, next.locked)
            && (self.advice, self.local, self.policy) == (next.advice, next.local, next.policy)
    }
}

/// The mappings of a space: ordered, disjoint, by first page.
#[derive(Clone, Default)]
pub(crate) struct VmaSet {
    by_start: BTreeMap<Vpn, Vma>,
    /// The mapping of the last fault: the next one is likely there as well.
    recent: Option<Vma>,
    /// Changes whenever a mapping does, so that a step can see whether what it knew still holds.
    pub(crate) generation: u64,
}

impl VmaSet {
    pub(crate) fn len(&self) -> usize {
        self.by_start.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Vma> {
        self.by_start.values()
    }

    #[inline]
    pub(crate) fn find(&self, vpn: Vpn) -> Option<&Vma> {
        self.by_start.range(..=vpn).next_back().map(|(_, vma)| vma).filter(|vma| vpn < vma.range.end)
    }

    /// The mapping that holds the page of a fault.
    #[inline]
    pub(crate) fn find_for_fault(&mut self, vpn: Vpn) -> Option<&Vma> {
        if self.recent.as_ref().is_none_or(|vma| !vma.range.contains(vpn)) {
            self.recent = self.find(vpn).copied();
        }
        self.recent.as_ref()
    }

    /// Notes that the mapping that holds `vpn` may have pages of this space alone from now on.
    pub(crate) fn set_touched(&mut self, vpn: Vpn) {
        self.recent = None;
        let (_, vma) = self.by_start.range_mut(..=vpn).next_back().expect("the page is mapped");
        vma.touched = true;
    }

    /// The mapping that starts at `start`.
    pub(crate) fn at(&self, start: Vpn) -> Option<&Vma> {
        self.by_start.get(&start)
    }

    /// The mappings that meet `range`, upward.
    pub(crate) fn within(&self, range: VpnRange) -> impl Iterator<Item = &Vma> {
        let first = self.find(range.start).map_or(range.start, |vma| vma.range.start);
        let last = range.end.max(first);
        self.by_start.range(first..last).map(|(_, vma)| vma).filter(move |_| !range.is_empty())
    }

    /// The first mapping that meets `range`.
    #[inline]
    pub(crate) fn first_within(&self, range: VpnRange) -> Option<&Vma> {
        let above = || self.by_start.range(range.start..range.end).next().map(|(_, vma)| vma);
        if range.is_empty() { None } else { self.find(range.start).or_else(above) }
    }

    /// The first mapping that meets `rest`; `rest` goes on behind it. With this, a loop may change spaces.
    pub(crate) fn next_within(&self, rest: &mut VpnRange) -> Option<Vma> {
        let vma = *self.first_within(*rest)?;
        *rest = VpnRange::new(vma.range.end, rest.end);
        Some(vma)
    }

    /// The pages `range` begins with up to the first that is not mapped.
    pub(crate) fn mapped_part(&self, range: VpnRange) -> VpnRange {
        let mut end = range.start;
        for vma in self.within(range) {
            if vma.range.start > end {
                break;
            }
            end = vma.range.end;
        }
        VpnRange::new(range.start, end.min(range.end))
    }

    /// Adds a mapping where there is none.
    pub(super) fn insert(&mut self, vma: Vma) {
        self.generation += 1;
        self.recent = None;
        let old = self.by_start.insert(vma.range.start, vma);
        assert!(old.is_none(), "a mapping starts at {:?} already", vma.range.start);
    }

    /// Removes the mapping that starts at `start`.
    pub(super) fn remove(&mut self, start: Vpn) -> Vma {
        self.generation += 1;
        self.recent = None;
        self.by_start.remove(&start).expect("a mapping starts here")
    }

    /// The mapping that ends at `at`, if the one that starts there continues it.
    pub(super) fn joint(&self, at: Vpn) -> Option<(Vma, Vma)> {
        let next = self.at(at)?;
        let (_, previous) = self.by_start.range(..at).next_back()?;
        previous.continues_in(next).then_some((*previous, *next))
    }

    /// The highest range of `length` pages without a mapping in `[floor, ceiling)` that starts at a multiple of `align`.
    pub(super) fn highest_gap(&self, length: Pages, align: Pages, floor: Vpn, ceiling: Vpn) -> Option<VpnRange> {
        let mut end = ceiling;
        let below = self.by_start.range(..ceiling).rev().map(|(_, vma)| vma.range);
        for mapped in below.chain([VpnRange::new(floor, floor)]) {
            let start = mapped.end.max(floor);
            if start <= end && end - start >= length {
                let first = end - length;
                let first = first - Pages::new(first.get() % align.get());
                if start <= first {
                    return Some(VpnRange::of(first, length));
                }
            }
            end = end.min(mapped.start);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn anon(start: u64, end: u64) -> Vma {
        Vma {
            range: VpnRange::new(Vpn::new(start), Vpn::new(end)),
            prot: Prot::RW,
            kind: VmaKind::Anon,
            offset: start,
            advice: HugeAdvice::None,
            local: false,
            locked: false,
            touched: false,
            policy: None,
        }
    }

    #[test]
    fn gaps_are_taken_from_the_top() {
        let mut vmas = VmaSet::default();
        vmas.insert(anon(80, 90));
        vmas.insert(anon(95, 120));
        let gap = |pages| {
            vmas.highest_gap(Pages::new(pages), Pages::new(1), Vpn::new(16), Vpn::new(100)).map(|gap| gap.start.get())
        };
        assert_eq!(gap(5), Some(90));
        assert_eq!(gap(6), Some(74));
        assert_eq!(gap(64), Some(16));
        assert_eq!(gap(65), None);
        let aligned = |pages| vmas.highest_gap(Pages::new(pages), Pages::new(8), Vpn::new(16), Vpn::new(100));
        assert_eq!(
            aligned(4).map(|gap| gap.start.get()),
            Some(72),
            "the gap at the top holds no multiple of 8 with room"
        );
    }

    #[test]
    fn holes_are_seen() {
        let mut vmas = VmaSet::default();
        vmas.insert(anon(10, 20));
        vmas.insert(anon(20, 30));
        vmas.insert(anon(31, 40));
        let mapped = |start, end| vmas.mapped_part(VpnRange::new(Vpn::new(start), Vpn::new(end))).len().get();
        assert_eq!((mapped(10, 30), mapped(15, 25), mapped(12, 12)), (20, 10, 0));
        assert_eq!((mapped(9, 11), mapped(29, 32), mapped(39, 41)), (0, 1, 1));
        let met = |start, end| vmas.within(VpnRange::new(Vpn::new(start), Vpn::new(end))).count();
        assert_eq!((met(0, 10), met(29, 31), met(29, 32), met(15, 15), met(0, 99)), (0, 1, 2, 0, 3));
    }

    #[test]
    fn a_file_range_shows_where_it_is_mapped() {
        let vma = Vma { offset: 100, ..anon(10, 20) };
        let pages = |index, pages| {
            let range = vma.pages_of(index, pages);
            (range.start.get(), range.end.get())
        };
        assert_eq!(pages(103, 2), (13, 15));
        assert_eq!(pages(0, u64::MAX), (10, 20));
        assert!(vma.pages_of(0, 100).is_empty() && vma.pages_of(110, 1).is_empty());
    }
}
