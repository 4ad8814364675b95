//! The FRAM payload: the number of its first frame, then chunks, each a palette of states and an index per frame.

use order9_units::{Bytes, Pages, Pfn};

use super::error::Problem;
use crate::frames::{CHUNK_PAGES, Chunk, FrameMap, FrameState, Index};
use crate::limits::Shortage;

/// A section is closed once it has this many raw bytes: large enough to compress well, small enough to hold in a cache.
const BATCH_BYTES: usize = 1 << 20;

/// Bytes of one state: flags and count.
const STATE_BYTES: usize = 16;

/// Bytes of a chunk beside palette and index.
const CHUNK_BYTES: u64 = size_of::<Chunk>() as u64;

/// Memory that reading may take.
pub(super) struct Budget {
    available: Bytes,
    taken: Bytes,
}

impl Budget {
    pub(super) fn new(available: Bytes) -> Self {
        Self { available, taken: Bytes::new(0) }
    }

    /// Takes `bytes` of it.
    pub(super) fn take(&mut self, bytes: u64) -> Result<(), Problem> {
        let needs = self.taken + Bytes::new(bytes);
        Shortage::check(needs, self.available).map_err(Problem::Memory)?;
        self.taken = needs;
        Ok(())
    }

    /// Refuses a map of `frames` that does not fit even if all frames are alike.
    pub(super) fn expect(&self, frames: Pages) -> Result<(), Problem> {
        let least = frames.get().div_ceil(CHUNK_PAGES as u64) * (CHUNK_BYTES + STATE_BYTES as u64);
        Shortage::check(Bytes::new(least), self.available).map_err(Problem::Memory)
    }
}

/// Raw payloads of the FRAM sections of a map, one at a time.
pub(super) struct Batches<'a, I: Iterator<Item = (Pfn, &'a Chunk)>> {
    chunks: std::iter::Peekable<I>,
    raw: Vec<u8>,
}

impl<'a, I: Iterator<Item = (Pfn, &'a Chunk)>> Batches<'a, I> {
    pub(super) fn new(chunks: I) -> Self {
        Self { chunks: chunks.peekable(), raw: Vec::new() }
    }

    /// The next payload; `None` after the last chunk.
    pub(super) fn next(&mut self) -> Option<&[u8]> {
        let &(first, _) = self.chunks.peek()?;
        self.raw.clear();
        self.raw.extend_from_slice(&first.get().to_le_bytes());
        while self.raw.len() < BATCH_BYTES
            && let Some((_, chunk)) = self.chunks.next()
        {
            encode(chunk, &mut self.raw);
        }
        Some(&self.raw)
    }
}

fn encode(chunk: &Chunk, raw: &mut Vec<u8>) {
    raw.extend_from_slice(&(chunk.len() as u32).to_le_bytes());
    raw.extend_from_slice(&(chunk.palette().len() as u32).to_le_bytes());
    for state in chunk.palette() {
        raw.extend_from_slice(&state.flags.to_le_bytes());
        raw.extend_from_slice(&state.count.to_le_bytes());
    }
    match chunk.index() {
        Index::Uniform => {}
        Index::Narrow(at) => raw.extend_from_slice(at),
        Index::Wide(at) => at.iter().for_each(|at| raw.extend_from_slice(&at.to_le_bytes())),
    }
}

/// Appends the chunks of a payload to `map`, which may grow to `frames` frames, and takes their memory from `memory`.
pub(super) fn decode(raw: &[u8], map: &mut FrameMap, frames: Pages, memory: &mut Budget) -> Result<(), Problem> {
    let expected = Pfn::new(map.len().get());
    let mut rest = raw;
    let found = Pfn::new(take_u64(&mut rest).ok_or(Problem::ChunkCut(expected))?);
    if found != expected {
        return Err(Problem::FrameStart { found, expected });
    }
    while !rest.is_empty() {
        let first = Pfn::new(map.len().get());
        let len = take_u32(&mut rest).ok_or(Problem::ChunkCut(first))?;
        if u64::from(len) > (frames - map.len()).get() {
            return Err(Problem::TooManyFrames(frames));
        }
        let chunk = decode_chunk(&mut rest, first, len as usize, memory).map_err(|problem| match problem {
            // The rest of the map will be like what came of it.
            Problem::Memory(shortage) => Problem::Memory(shortage.scaled(first.get(), frames.get())),
            other => other,
        })?;
        map.push(chunk).map_err(|error| Problem::Chunk { first, error })?;
    }
    Ok(())
}

fn decode_chunk(rest: &mut &[u8], first: Pfn, len: usize, memory: &mut Budget) -> Result<Chunk, Problem> {
    let cut = || Problem::ChunkCut(first);
    let states = take_u32(rest).ok_or_else(cut)? as usize;
    let index_width = match states {
        0 | 1 => 0,
        2..=256 => 1,
        _ => 2,
    };
    // Neither product overflows: u32 values times 16 and 2, as usize.
    let palette = take(rest, states.saturating_mul(STATE_BYTES)).ok_or_else(cut)?;
    let index = take(rest, len.min(CHUNK_PAGES) * index_width).ok_or_else(cut)?;
    memory.take(CHUNK_BYTES + palette.len() as u64 + index.len() as u64)?;
    let palette = palette.chunks_exact(STATE_BYTES).map(decode_state).collect();
    let index = match index_width {
        0 => Index::Uniform,
        1 => Index::Narrow(index.into()),
        _ => Index::Wide(index.chunks_exact(2).map(|at| u16::from_le_bytes([at[0], at[1]])).collect()),
    };
    Chunk::new(palette, index, len).map_err(|error| Problem::Chunk { first, error })
}

fn decode_state(mut bytes: &[u8]) -> FrameState {
    let mut word = || take_u64(&mut bytes).unwrap_or_default();
    FrameState { flags: word(), count: word() }
}

fn take<'a>(rest: &mut &'a [u8], len: usize) -> Option<&'a [u8]> {
    let (head, tail) = rest.split_at_checked(len)?;
    *rest = tail;
    Some(head)
}

fn take_u32(rest: &mut &[u8]) -> Option<u32> {
    let (head, tail) = rest.split_first_chunk()?;
    *rest = tail;
    Some(u32::from_le_bytes(*head))
}

/// The next little-endian word of `rest`.
pub(super) fn take_u64(rest: &mut &[u8]) -> Option<u64> {
    let (head, tail) = rest.split_first_chunk()?;
    *rest = tail;
    Some(u64::from_le_bytes(*head))
}
