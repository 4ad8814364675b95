//! Places of files on the disk. Data gets its place when it is first written back, one piece behind another, as
//! filesystems with delayed allocation do on an empty disk.
//!
//! Key types: [`BlockMap`] (all files), [`Piece`] (neighbouring pages of a file on neighbouring blocks). Freed blocks count as
//! free, but places go on upwards, and at the end of the disk start again: what is in use there is not looked at, since only
//! distances matter.

use std::cmp::Ordering;
use std::ops::Range;

use order9_mm::FileId;
use order9_units::Pages;

use crate::disk::Block;

/// Neighbouring pages of a file, and where they are; holes are nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Place of the first in the file.
    pub(crate) index: u64,
    pub(crate) pages: Pages,
    pub(crate) at: Option<Block>,
}

/// Blocks of all files.
pub(crate) struct BlockMap {
    /// Extents by number of the file.
    files: Vec<Extents>,
    next: u32,
    used: u64,
    /// Blocks of the filesystem.
    capacity: u32,
}

/// Millions of files have one page: those need no memory of their own.
#[derive(Default)]
enum Extents {
    #[default]
    None,
    One(Extent),
    /// Extents in the order of their index in the file.
    #[expect(clippy::box_collection, reason = "most files are one extent, and a vector would make all of them larger")]
    Many(Box<Vec<Extent>>),
}

#[derive(Clone, Copy)]
struct Extent {
    index: u32,
    pages: u32,
    start: u32,
}

impl Extent {
    const fn end(&self) -> u64 {
        self.index as u64 + self.pages as u64
    }

    /// The part of this extent from `index` on, up to `end`.
    fn piece(&self, index: u64, end: u64) -> Piece {
        let skipped = index - u64::from(self.index);
        let pages = Pages::new(end.min(self.end()) - index);
        Piece { index, pages, at: Some(Block::new(u64::from(self.start) + skipped)) }
    }
}

impl Extents {
    fn all(&self) -> &[Extent] {
        match self {
            Self::None => &[],
            Self::One(extent) => std::slice::from_ref(extent),
            Self::Many(extents) => extents,
        }
    }

    /// The first extent that ends behind `index`.
    fn from(&self, index: u64) -> Option<&Extent> {
        let all = self.all();
        let at = all.binary_search_by(|extent| if extent.end() <= index { Ordering::Less } else { Ordering::Greater });
        all.get(at.unwrap_or_else(|at| at))
    }

    fn insert(&mut self, new: Extent) {
        let mut all = match std::mem::take(self) {
            Self::None => {
                *self = Self::One(new);
                return;
            }
            Self::One(first) => Box::new(vec![first]),
            Self::Many(all) => all,
        };
        let at = all.partition_point(|extent| extent.index < new.index);
        let before = at.checked_sub(1).map(|before| &mut all[before]);
        match before.filter(|before| before.end() == u64::from(new.index) && before.start + before.pages == new.start) {
            Some(before) => before.pages += new.pages,
            None => all.insert(at, new),
        }
        *self = Self::Many(all);
    }
}

impl BlockMap {
    pub(crate) fn new(capacity: Pages) -> Self {
        let capacity = u32::try_from(capacity.get()).unwrap_or(u32::MAX);
        Self { files: Vec::new(), next: 0, used: 0, capacity }
    }

    /// Size of the filesystem.
    pub(crate) const fn capacity(&self) -> Pages {
        Pages::new(self.capacity as u64)
    }

    /// The part of `[index, index + pages)` that begins there and is in one place, or nowhere.
    pub(crate) fn piece(&self, file: FileId, index: u64, pages: Pages) -> Piece {
        let end = index + pages.get();
        let extent = self.files.get(file.index()).and_then(|of| of.from(index)).filter(|of| u64::from(of.index) < end);
        match extent {
            Some(extent) if u64::from(extent.index) <= index => extent.piece(index, end),
            Some(extent) => Piece { index, pages: Pages::new(u64::from(extent.index) - index), at: None },
            None => Piece { index, pages, at: None },
        }
    }

    /// Pages of a range that have no place.
    pub(crate) fn missing(&self, file: FileId, places: Range<u64>) -> Pages {
        let (mut index, mut missing) = (places.start, Pages::ZERO);
        while index < places.end {
            let Piece { pages, at, .. } = self.piece(file, index, Pages::new(places.end - index));
            missing += if at.is_none() { pages } else { Pages::ZERO };
            index += pages.get();
        }
        missing
    }

    /// Blocks that are not in use.
    pub(crate) const fn free(&self) -> Pages {
        Pages::new((self.capacity as u64).saturating_sub(self.used))
    }

    /// Gives a place to pages that have none: as many of them as fit in one piece, at least one. Whoever writes sees to it
    /// that blocks are free.
    pub(crate) fn place(&mut self, file: FileId, index: u64, pages: Pages) -> Piece {
        if self.next >= self.capacity {
            self.next = 0;
        }
        let pages = pages.get().min(u64::from((self.capacity - self.next).max(1))) as u32;
        let index = u32::try_from(index).expect("files are smaller than 16 TiB");
        let new = Extent { index, pages, start: self.next };
        self.next += pages;
        self.used += u64::from(pages);
        if self.files.len() <= file.index() {
            self.files.resize_with(file.index() + 1, Extents::default);
        }
        self.files[file.index()].insert(new);
        new.piece(u64::from(index), new.end())
    }

    /// The file is gone.
    pub(crate) fn forget(&mut self, file: FileId) {
        if let Some(extents) = self.files.get_mut(file.index()) {
            self.used -= extents.all().iter().map(|extent| u64::from(extent.pages)).sum::<u64>();
            *extents = Extents::None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(map: &BlockMap, file: FileId, index: u64, pages: u64) -> Vec<(u64, u64, Option<u64>)> {
        let (mut found, mut at) = (Vec::new(), index);
        while at < index + pages {
            let piece = map.piece(file, at, Pages::new(index + pages - at));
            found.push((piece.index, piece.pages.get(), piece.at.map(Block::get)));
            at += piece.pages.get();
        }
        found
    }

    #[test]
    fn pages_get_the_next_blocks_and_keep_them() {
        let mut map = BlockMap::new(Pages::new(100));
        let (a, b) = (FileId::new(0), FileId::new(3));
        map.place(a, 4, Pages::new(2));
        map.place(b, 0, Pages::new(1));
        map.place(a, 6, Pages::new(2));
        map.place(a, 8, Pages::new(1));
        assert_eq!(
            pieces(&map, a, 0, 12),
            [(0, 4, None), (4, 2, Some(0)), (6, 3, Some(3)), (9, 3, None)],
            "neighbours grow together"
        );
        assert_eq!(pieces(&map, a, 5, 2), [(5, 1, Some(1)), (6, 1, Some(3))]);
        assert_eq!(pieces(&map, b, 0, 1), [(0, 1, Some(2))]);
        assert_eq!(pieces(&map, FileId::new(9), 0, 1), [(0, 1, None)]);
    }

    #[test]
    fn blocks_of_files_that_are_gone_are_given_again() {
        let mut map = BlockMap::new(Pages::new(4));
        let (a, b) = (FileId::new(0), FileId::new(1));
        assert_eq!(map.place(a, 0, Pages::new(3)).pages, Pages::new(3));
        assert_eq!(map.place(b, 0, Pages::new(3)).pages, Pages::new(1), "what is left before the end");
        assert_eq!(map.free(), Pages::ZERO);
        map.forget(a);
        assert_eq!(map.free(), Pages::new(3));
        let again = map.place(b, 1, Pages::new(3));
        assert_eq!((again.pages.get(), again.at), (3, Some(Block::new(0))));
    }
}
