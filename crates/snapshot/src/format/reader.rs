//! Reading a snapshot.

use std::io::Read;

use order9_units::{Bytes, Migratetype, Pages};

use super::chunks::{self, Budget, take_u64};
use super::error::{Problem, ReadError};
use super::meta::Meta;
use super::owners::Names;
use super::section::{Section, SectionReader, Tag, Totals};
use super::{BLOCKS_MAX, FRAMES_MAX, MEMORY, check};
use crate::{FrameMap, Snapshot};

/// Reads a snapshot, letting its map take up to [`MEMORY`]. The input is read in pieces of up to a few MiB; only the
/// 24-byte section heads between them profit from a buffer.
///
/// # Errors
/// The first thing that is wrong with the file, and where. Nothing is returned of a damaged one.
pub fn read(input: impl Read) -> Result<Snapshot, ReadError> {
    read_within(input, MEMORY)
}

/// Reads a snapshot, letting frame states and block types take up to `memory`: what the caller's host has available, say.
/// Everything else takes at most a few hundred MiB, for any input.
///
/// # Errors
/// As [`read`]; [`Problem::Memory`] where the map needs more.
pub fn read_within(input: impl Read, memory: Bytes) -> Result<Snapshot, ReadError> {
    let mut sections = SectionReader::open(input)?;
    let mut assembly = Assembly::begin(&sections.next()?.0, memory)?;
    loop {
        let (section, before) = sections.next()?;
        let result = match section.tag {
            Tag::TYPE => assembly.add_block_types(section.raw),
            Tag::FRAM => assembly.add_frames(section.raw),
            Tag::OWNR | Tag::OWNC => assembly.add_owners(section.raw),
            Tag::OFRA | Tag::OFRC => assembly.add_owned_frames(section.raw),
            Tag::ENDS => {
                assembly.check_totals(section.raw, before).map_err(|problem| section.error(problem))?;
                break;
            }
            _ => Err(Problem::Misplaced),
        };
        result.map_err(|problem| section.error(problem))?;
    }
    sections.expect_end()?;
    let snapshot = assembly.snapshot;
    check::structure(&snapshot).map_err(|error| ReadError {
        offset: 0,
        section: None,
        problem: Problem::Structure(error),
    })?;
    Ok(snapshot)
}

/// The snapshot as far as it is read.
struct Assembly {
    snapshot: Snapshot,
    /// Number of frames that META announced.
    frames: Option<Pages>,
    blocks: Option<u64>,
    /// Number of frames whose owners were announced.
    owned: Pages,
    memory: Budget,
}

impl Assembly {
    fn begin(section: &Section<'_>, memory: Bytes) -> Result<Self, ReadError> {
        let error = |problem| section.error(problem);
        if section.tag != Tag::META {
            return Err(error(Problem::Misplaced));
        }
        let meta: Meta<'_> = serde_json::from_slice(section.raw).map_err(|json| error(Problem::Meta(json)))?;
        let (frames, blocks) = (meta.frames, meta.blocks);
        if frames.is_some_and(|frames| frames > FRAMES_MAX) {
            return Err(error(Problem::TooManyFrames(FRAMES_MAX)));
        }
        if let Some(claimed) = blocks.filter(|&blocks| blocks > BLOCKS_MAX) {
            return Err(error(Problem::Length { claimed, max: BLOCKS_MAX }));
        }
        let memory = Budget::new(memory);
        memory.expect(frames.unwrap_or_default()).map_err(error)?;
        let mut snapshot = meta.into_snapshot();
        snapshot.frames = frames.map(|_| FrameMap::default());
        Ok(Self { snapshot, frames, blocks, owned: Pages::ZERO, memory })
    }

    fn add_block_types(&mut self, raw: &[u8]) -> Result<(), Problem> {
        let frames_began = self.snapshot.frames.as_ref().is_some_and(|map| !map.is_empty());
        if self.blocks.is_none() || self.snapshot.block_types.is_some() || frames_began {
            return Err(Problem::Misplaced);
        }
        self.memory.take(raw.len() as u64)?;
        let known = |(block, &found): (usize, &u8)| {
            Migratetype::from_index(usize::from(found)).ok_or(Problem::BlockType { block: block as u64, found })
        };
        self.snapshot.block_types = Some(raw.iter().enumerate().map(known).collect::<Result<_, _>>()?);
        Ok(())
    }

    fn add_frames(&mut self, raw: &[u8]) -> Result<(), Problem> {
        let (Some(map), Some(announced)) = (&mut self.snapshot.frames, self.frames) else {
            return Err(Problem::Misplaced);
        };
        chunks::decode(raw, map, announced, &mut self.memory)
    }

    fn add_owners(&mut self, raw: &[u8]) -> Result<(), Problem> {
        let frames = self.snapshot.frames.as_ref().map(|map| map.len());
        if frames != self.frames || self.snapshot.owners.is_some() {
            return Err(Problem::Misplaced);
        }
        let names: Names<'_> = serde_json::from_slice(raw).map_err(Problem::Meta)?;
        if names.frames > FRAMES_MAX {
            return Err(Problem::TooManyFrames(FRAMES_MAX));
        }
        self.memory.expect(names.frames)?;
        self.owned = names.frames;
        self.snapshot.owners = Some(names.into_owners());
        Ok(())
    }

    fn add_owned_frames(&mut self, raw: &[u8]) -> Result<(), Problem> {
        let owners = self.snapshot.owners.as_mut().ok_or(Problem::Misplaced)?;
        chunks::decode(raw, &mut owners.map.0, self.owned, &mut self.memory)
    }

    /// Compares what was read with what META announced and with the ENDS section.
    fn check_totals(&self, mut raw: &[u8], before: Totals) -> Result<(), Problem> {
        let frames = self.snapshot.frames.as_ref().map(|map| map.len());
        let blocks = self.snapshot.block_types.as_ref().map(|types| types.len() as u64);
        let owned = self.snapshot.owners.as_ref().map_or(Pages::ZERO, |owners| owners.map.len());
        if frames != self.frames || blocks != self.blocks || owned != self.owned {
            return Err(Problem::Incomplete);
        }
        let found = [
            ("the number of sections", before.sections),
            ("the number of frames", frames.unwrap_or_default().get()),
            ("the number of pageblocks", blocks.unwrap_or_default()),
            ("the digest of all sections", before.digest),
        ];
        for (what, found) in found {
            let stored = take_u64(&mut raw).ok_or(Problem::Totals { what, stored: 0, found })?;
            if stored != found {
                return Err(Problem::Totals { what, stored, found });
            }
        }
        Ok(())
    }
}
