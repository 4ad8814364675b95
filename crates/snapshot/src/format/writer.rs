//! Writing a snapshot.

use std::io::Write;

use order9_units::Pages;

use super::chunks::Batches;
use super::error::WriteError;
use super::meta::Meta;
use super::owners::{Names, tags};
use super::section::{SectionWriter, Tag};
use super::{FRAMES_MAX, check};
use crate::Snapshot;

/// Writes a snapshot. The output is written in pieces of up to a few MiB and flushed at the end; it needs no buffer.
///
/// # Errors
/// [`WriteError::Structure`] for a snapshot that [`read`](super::read()) would refuse, before anything is written;
/// errors of `output`, after which what was written is a cut-off file.
pub fn write(snapshot: &Snapshot, output: impl Write) -> Result<(), WriteError> {
    let frames = snapshot.frames.as_ref().map_or(Pages::ZERO, |map| map.len());
    if frames > FRAMES_MAX {
        return Err(WriteError::TooManyFrames(frames));
    }
    check::structure(snapshot)?;
    let meta = serde_json::to_vec(&Meta::of(snapshot))?;

    let mut sections = SectionWriter::create(output)?;
    sections.write(Tag::META, &meta)?;
    if let Some(types) = &snapshot.block_types {
        let numbers: Vec<u8> = types.iter().map(|mt| mt.index() as u8).collect();
        sections.write(Tag::TYPE, &numbers)?;
    }
    if let Some(map) = &snapshot.frames {
        let mut batches = Batches::new(map.chunks());
        while let Some(raw) = batches.next() {
            sections.write(Tag::FRAM, raw)?;
        }
    }
    if let Some(owners) = &snapshot.owners {
        let [names, frames] = tags(owners);
        sections.write(names, &serde_json::to_vec(&Names::of(owners))?)?;
        let mut batches = Batches::new(owners.map.chunks());
        while let Some(raw) = batches.next() {
            sections.write(frames, raw)?;
        }
    }
    let totals = sections.totals();
    let blocks = snapshot.block_types.as_ref().map_or(0, Vec::len) as u64;
    let ends = [totals.sections, frames.get(), blocks, totals.digest].map(u64::to_le_bytes);
    sections.write(Tag::ENDS, ends.as_flattened())?;
    sections.flush()?;
    Ok(())
}
