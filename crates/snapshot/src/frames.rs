//! State of every frame, stored by palette: real memory has a few dozen distinct states per 128 MiB.
//!
//! A [`FrameMap`] is a list of [`Chunk`]s of [`CHUNK_PAGES`] frames. Work that depends only on a frame's state, such as
//! classifying it, is done once per palette entry instead of once per frame.

use order9_units::{Pages, Pfn};

/// Frames per chunk: 128 MiB, one memory section of x86-64. At most 2^15 states, so an index always fits 16 bits.
pub const CHUNK_PAGES: usize = 1 << 15;

/// Flags and mapping count that the kernel shows of one frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameState {
    /// The word of /proc/kpageflags.
    pub flags: u64,
    /// The word of /proc/kpagecount: how often the frame is mapped. A capture stores 0 for the negative numbers that older
    /// kernels print for free and other special pages.
    pub count: u64,
}

/// Up to [`CHUNK_PAGES`] consecutive frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    palette: Vec<FrameState>,
    index: Index,
    len: usize,
}

/// Position in the palette, per frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Index {
    /// Every frame has the only state of the palette.
    Uniform,
    /// At most 256 different states: one byte for each frame.
    Narrow(Box<[u8]>),
    /// More than 256 states.
    Wide(Box<[u16]>),
}

/// State of the frames from pfn 0 on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrameMap {
    chunks: Vec<Chunk>,
    len: u64,
}

/// A chunk whose parts do not fit together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChunkError {
    /// No frames, or more than a chunk holds.
    #[error("a chunk of {0} frames: expected 1 to {CHUNK_PAGES}")]
    Length(usize),
    /// The palette is empty, larger than the chunk, or holds a state twice or out of order of first use.
    #[error("a palette of {0} states that does not fit its chunk")]
    Palette(usize),
    /// A frame points behind the palette, or the index is longer or shorter than the chunk.
    #[error("an index that does not fit its chunk")]
    Index,
    /// A chunk follows one that is not full.
    #[error("a chunk follows one that is not full")]
    Order,
}

impl Chunk {
    /// Builds a chunk from its parts, checking that they fit together.
    ///
    /// # Errors
    /// The first contradiction between palette, index and `len`.
    pub fn new(palette: Vec<FrameState>, index: Index, len: usize) -> Result<Self, ChunkError> {
        if len == 0 || len > CHUNK_PAGES {
            return Err(ChunkError::Length(len));
        }
        let states = palette.len();
        let palette_fits = match &index {
            Index::Uniform => states == 1,
            Index::Narrow(_) => (2..=256).contains(&states),
            Index::Wide(_) => states > 256,
        };
        if !palette_fits || states > len || has_twins(&palette) {
            return Err(ChunkError::Palette(states));
        }
        let index_fits = match &index {
            Index::Uniform => true,
            Index::Narrow(at) => at.len() == len && first_use_ascends(at.iter().map(|&i| usize::from(i)), states),
            Index::Wide(at) => at.len() == len && first_use_ascends(at.iter().map(|&i| usize::from(i)), states),
        };
        if !index_fits {
            return Err(ChunkError::Index);
        }
        Ok(Self { palette, index, len })
    }

    /// The distinct states, in order of first use.
    #[must_use]
    pub fn palette(&self) -> &[FrameState] {
        &self.palette
    }

    /// Position in the palette, per frame.
    #[must_use]
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// Number of frames.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a chunk is never empty")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// State of the frame at `offset` in the chunk, below `len`.
    #[must_use]
    pub fn get(&self, offset: usize) -> FrameState {
        self.palette[match &self.index {
            Index::Uniform => 0,
            Index::Narrow(at) => usize::from(at[offset]),
            Index::Wide(at) => usize::from(at[offset]),
        }]
    }

    /// Calls `each` with every frame's position in the palette, upward.
    pub fn for_each_index(&self, mut each: impl FnMut(usize)) {
        match &self.index {
            Index::Uniform => (0..self.len).for_each(|_| each(0)),
            Index::Narrow(at) => at.iter().for_each(|&i| each(usize::from(i))),
            Index::Wide(at) => at.iter().for_each(|&i| each(usize::from(i))),
        }
    }
}

/// Whether a state occurs twice.
fn has_twins(palette: &[FrameState]) -> bool {
    let mut sorted = palette.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).any(|pair| pair[0] == pair[1])
}

/// Whether `uses` names every one of `states` palette entries, each new one being the next.
fn first_use_ascends(uses: impl Iterator<Item = usize>, states: usize) -> bool {
    let mut seen = 0;
    for state in uses {
        if state > seen || state >= states {
            return false;
        }
        seen += usize::from(state == seen);
    }
    seen == states
}

impl FrameMap {
    /// Number of frames, from pfn 0 on.
    #[must_use]
    pub fn len(&self) -> Pages {
        Pages::new(self.len)
    }

    /// Whether there is no frame.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The chunks with their first frame, upward. All but the last are full.
    pub fn chunks(&self) -> impl ExactSizeIterator<Item = (Pfn, &Chunk)> {
        self.chunks.iter().enumerate().map(|(i, chunk)| (Pfn::new((i * CHUNK_PAGES) as u64), chunk))
    }

    /// State of one frame, or `None` behind the end.
    #[must_use]
    pub fn get(&self, pfn: Pfn) -> Option<FrameState> {
        if pfn.get() >= self.len {
            return None;
        }
        let at = pfn.get() as usize;
        Some(self.chunks[at / CHUNK_PAGES].get(at % CHUNK_PAGES))
    }

    /// Appends a chunk.
    ///
    /// # Errors
    /// [`ChunkError::Order`] if the last chunk is not full.
    pub fn push(&mut self, chunk: Chunk) -> Result<(), ChunkError> {
        if self.chunks.last().is_some_and(|last| last.len < CHUNK_PAGES) {
            return Err(ChunkError::Order);
        }
        self.len += chunk.len as u64;
        self.chunks.push(chunk);
        Ok(())
    }
}

/// Builds a [`FrameMap`] from states in ascending order of frames.
///
/// Keeps one open chunk; a full one is packed at once, so that memory stays near that of the finished map.
#[derive(Debug, Default)]
pub struct FrameMapBuilder {
    map: FrameMap,
    palette: Vec<FrameState>,
    open: Vec<u16>,
    slots: SlotTable,
}

impl FrameMapBuilder {
    /// An empty map.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends one frame.
    #[inline]
    pub fn push(&mut self, state: FrameState) {
        let at = self.slots.find_or_insert(state, &mut self.palette);
        self.open.push(at);
        if self.open.len() == CHUNK_PAGES {
            self.close();
        }
    }

    /// Appends `count` frames of one state.
    pub fn push_run(&mut self, state: FrameState, count: Pages) {
        let mut left = count.get() as usize;
        while left > 0 {
            let now = left.min(CHUNK_PAGES - self.open.len());
            let at = self.slots.find_or_insert(state, &mut self.palette);
            self.open.resize(self.open.len() + now, at);
            if self.open.len() == CHUNK_PAGES {
                self.close();
            }
            left -= now;
        }
    }

    /// Appends one frame per word: `flags` as in /proc/kpageflags beside `counts` as in /proc/kpagecount. Where `counts`
    /// is the shorter one, the frames behind its end count as not mapped; what `counts` has beyond `flags` is left out.
    pub fn push_words(&mut self, flags: &[u64], counts: &[u64]) {
        let (counted, uncounted) = flags.split_at(flags.len().min(counts.len()));
        let mut at = 0;
        while at < counted.len() {
            let state = FrameState { flags: flags[at], count: counts[at] };
            let alike = counted[at..].iter().zip(&counts[at..]);
            let run = alike.take_while(|&(&flags, &count)| FrameState { flags, count } == state).count();
            self.push_run(state, Pages::new(run as u64));
            at += run;
        }
        uncounted.iter().for_each(|&flags| self.push(FrameState { flags, count: 0 }));
    }

    /// The finished map.
    #[must_use]
    pub fn finish(mut self) -> FrameMap {
        if !self.open.is_empty() {
            self.close();
        }
        self.map
    }

    fn close(&mut self) {
        let palette = std::mem::take(&mut self.palette);
        let index = match palette.len() {
            1 => Index::Uniform,
            2..=256 => Index::Narrow(self.open.iter().map(|&at| at as u8).collect()),
            _ => Index::Wide(self.open.as_slice().into()),
        };
        self.map.len += self.open.len() as u64;
        self.map.chunks.push(Chunk { palette, index, len: self.open.len() });
        self.open.clear();
        self.slots.clear();
    }
}

/// Finds a state's place in the palette: an open-addressed table with a one-entry cache in front, since neighbours are
/// usually alike.
#[derive(Debug)]
struct SlotTable {
    /// Palette position + 1; 0 is empty.
    slots: Vec<u16>,
    used: usize,
    last: Option<(FrameState, u16)>,
}

impl Default for SlotTable {
    fn default() -> Self {
        Self { slots: vec![0; Self::SMALL], used: 0, last: None }
    }
}

impl SlotTable {
    const SMALL: usize = 1 << 10;

    #[inline]
    fn find_or_insert(&mut self, state: FrameState, palette: &mut Vec<FrameState>) -> u16 {
        match self.last {
            Some((last, at)) if last == state => at,
            _ => self.look_up(state, palette),
        }
    }

    fn look_up(&mut self, state: FrameState, palette: &mut Vec<FrameState>) -> u16 {
        let mask = self.slots.len() - 1;
        let mut slot = hash(state) & mask;
        let at = loop {
            match self.slots[slot] {
                0 => break self.insert(state, slot, palette),
                stored if palette[usize::from(stored - 1)] == state => break stored - 1,
                _ => slot = (slot + 1) & mask,
            }
        };
        self.last = Some((state, at));
        at
    }

    fn insert(&mut self, state: FrameState, slot: usize, palette: &mut Vec<FrameState>) -> u16 {
        palette.push(state);
        self.slots[slot] = palette.len() as u16;
        self.used += 1;
        if self.used * 2 > self.slots.len() {
            self.grow(palette);
        }
        (palette.len() - 1) as u16
    }

    fn grow(&mut self, palette: &[FrameState]) {
        let mask = self.slots.len() * 2 - 1;
        self.slots = vec![0; mask + 1];
        for (at, &state) in palette.iter().enumerate() {
            let mut slot = hash(state) & mask;
            while self.slots[slot] != 0 {
                slot = (slot + 1) & mask;
            }
            self.slots[slot] = at as u16 + 1;
        }
    }

    fn clear(&mut self) {
        self.slots.clear();
        self.slots.resize(Self::SMALL, 0);
        self.used = 0;
        self.last = None;
    }
}

/// Spreads flags and counts over the table; only its speed matters, results never depend on it.
fn hash(state: FrameState) -> usize {
    let mixed = (state.flags ^ state.count.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 40) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(flags: u64, count: u64) -> FrameState {
        FrameState { flags, count }
    }

    fn map_of(states: &[FrameState]) -> FrameMap {
        let mut builder = FrameMapBuilder::new();
        states.iter().for_each(|&state| builder.push(state));
        builder.finish()
    }

    #[test]
    fn every_frame_reads_back() {
        let states: Vec<_> = (0..100_000_u64).map(|i| state(i * i % 977, i % 7 / 6)).collect();
        let map = map_of(&states);
        assert_eq!(map.len(), Pages::new(100_000));
        for (i, &expected) in states.iter().enumerate() {
            assert_eq!(map.get(Pfn::new(i as u64)), Some(expected));
        }
        assert_eq!(map.get(Pfn::new(100_000)), None);
    }

    #[test]
    fn a_chunk_of_distinct_states_still_fits() {
        let states: Vec<_> = (0..CHUNK_PAGES as u64).map(|i| state(i, u64::MAX - i)).collect();
        let map = map_of(&states);
        assert_eq!(map.get(Pfn::new(CHUNK_PAGES as u64 - 1)), states.last().copied());
    }

    #[test]
    fn a_run_equals_its_frames() {
        let mut builder = FrameMapBuilder::new();
        builder.push(state(1, 0));
        builder.push_run(state(2, 0), Pages::new(100_000));
        let mut frames = vec![state(2, 0); 100_001];
        frames[0] = state(1, 0);
        assert_eq!(builder.finish(), map_of(&frames));
    }

    #[test]
    fn words_equal_their_frames() {
        let flags: Vec<_> = (0..100_000_u64).map(|i| i / 3 % 5 * (i / 1000)).collect();
        let counts: Vec<_> = (0..99_000_u64).map(|i| i / 7 % 2).collect();
        let count_of = |i: usize| counts.get(i).copied().unwrap_or(0);
        let frames: Vec<_> = flags.iter().enumerate().map(|(i, &flags)| state(flags, count_of(i))).collect();
        let mut builder = FrameMapBuilder::new();
        let middle = 40_000;
        builder.push_words(&flags[..middle], &counts[..middle]);
        builder.push_words(&flags[middle..], &counts[middle..]);
        builder.push_words(&[], &[1, 2]);
        assert_eq!(builder.finish(), map_of(&frames));
    }

    #[test]
    fn chunks_from_parts_are_checked() {
        let one = vec![state(1, 0)];
        let two = vec![state(1, 0), state(2, 0)];
        assert_eq!(Chunk::new(one.clone(), Index::Uniform, 0), Err(ChunkError::Length(0)));
        assert_eq!(Chunk::new(two.clone(), Index::Uniform, 4), Err(ChunkError::Palette(2)));
        assert_eq!(Chunk::new([one[0]; 2].into(), Index::Narrow([0, 1].into()), 2), Err(ChunkError::Palette(2)));
        assert_eq!(Chunk::new(two.clone(), Index::Narrow([0, 2].into()), 2), Err(ChunkError::Index));
        assert_eq!(Chunk::new(two.clone(), Index::Narrow([1, 0].into()), 2), Err(ChunkError::Index));
        assert_eq!(Chunk::new(two.clone(), Index::Narrow([0, 0].into()), 2), Err(ChunkError::Index));
        assert!(Chunk::new(two, Index::Narrow([0, 1].into()), 2).is_ok());
        assert!(Chunk::new(one, Index::Uniform, CHUNK_PAGES).is_ok());
    }
}
