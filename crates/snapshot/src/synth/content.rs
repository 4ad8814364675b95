//! Contents of a frame of a synthetic machine, with the flags that Linux would show for them.

use crate::flags::{PINNED, SLAB_RECLAIMABLE, kpf};
use crate::frames::{Chunk, ChunkError, FrameState, Index};

/// Content of one frame; while a chunk is painted, every frame is one such number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Content {
    /// No memory.
    Hole,
    /// Not given to the allocator: firmware or kernel image.
    Reserved,
    /// Frame in a free block.
    Free,
    /// Anonymous memory, base pages.
    Anon,
    /// Clean page cache, not mapped.
    CleanCache,
    /// Anonymous memory with a long-term pin.
    Pinned,
    /// Slab of a reclaimable cache.
    SlabReclaimable,
    /// Slab that cannot be reclaimed.
    Slab,
    /// A page table.
    PageTable,
    /// Kernel memory without any flag, such as stacks.
    Kernel,
    /// First frame of a huge page.
    HugeHead,
    /// Any other frame of a huge page.
    HugeTail,
}

impl Content {
    /// Number of kinds of contents.
    pub(super) const COUNT: usize = 12;

    /// All kinds of contents by number.
    pub(super) const ALL: [Self; Self::COUNT] = [
        Self::Hole,
        Self::Reserved,
        Self::Free,
        Self::Anon,
        Self::CleanCache,
        Self::Pinned,
        Self::SlabReclaimable,
        Self::Slab,
        Self::PageTable,
        Self::Kernel,
        Self::HugeHead,
        Self::HugeTail,
    ];

    /// Flags and count as 6.18 reports them, with order9's own bits where Linux cannot tell.
    pub(super) const fn state(self) -> FrameState {
        const ANON: u64 = kpf::UPTODATE | kpf::LRU | kpf::MMAP | kpf::ANON | kpf::SWAPBACKED;
        let (flags, count) = match self {
            Self::Hole => (kpf::NOPAGE, 0),
            Self::Reserved => (kpf::RESERVED, 0),
            Self::Free => (kpf::BUDDY, 0),
            Self::Anon => (ANON, 1),
            Self::CleanCache => (kpf::UPTODATE | kpf::LRU | kpf::REFERENCED, 0),
            Self::Pinned => (ANON | PINNED, 1),
            Self::SlabReclaimable => (kpf::SLAB | SLAB_RECLAIMABLE, 0),
            Self::Slab => (kpf::SLAB, 0),
            Self::PageTable => (kpf::PGTABLE, 0),
            Self::Kernel => (0, 0),
            Self::HugeHead => (ANON | kpf::THP | kpf::COMPOUND_HEAD, 1),
            Self::HugeTail => (ANON | kpf::THP | kpf::COMPOUND_TAIL, 1),
        };
        FrameState { flags, count }
    }

    /// Whether compaction can move it.
    pub(super) const fn is_movable(self) -> bool {
        matches!(self, Self::Anon | Self::CleanCache)
    }

    /// Whether dropping caches frees it.
    pub(super) const fn is_dropped(self) -> bool {
        matches!(self, Self::CleanCache | Self::SlabReclaimable)
    }
}

/// Packs a painted chunk.
pub(super) fn chunk_of(cells: &[u8]) -> Result<Chunk, ChunkError> {
    const UNSEEN: u8 = u8::MAX;
    let mut places = [UNSEEN; Content::COUNT];
    let mut palette = Vec::new();
    let mut place = |cell: u8| {
        let content = usize::from(cell);
        if places[content] == UNSEEN {
            places[content] = palette.len() as u8;
            palette.push(Content::ALL[content].state());
        }
        places[content]
    };
    let index: Box<[u8]> = cells.iter().map(|&cell| place(cell)).collect();
    let index = if palette.len() == 1 { Index::Uniform } else { Index::Narrow(index) };
    Chunk::new(palette, index, cells.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_numbered_and_their_states_differ() {
        let mut states: Vec<_> = Content::ALL.iter().map(|content| content.state()).collect();
        assert!(Content::ALL.iter().enumerate().all(|(i, &content)| content as usize == i));
        states.sort_unstable();
        states.dedup();
        assert_eq!(states.len(), Content::COUNT);
    }
}
