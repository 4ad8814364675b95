//! Bounds the memory of shadows: chunks of large files in which reclaim has left nothing else are dropped, the longest
//! without pages first, once there are too many (as Linux' shrinker of shadow nodes does).

use alloc::collections::VecDeque;

use super::FileId;
use super::file::FileTable;

/// Chunks in the order in which reclaim took their last page. Those that have pages again are in it as well.
#[derive(Clone, Default)]
pub(super) struct ShadowChunks {
    chunks: VecDeque<(FileId, u64)>,
    /// Chunks that have left the front.
    gone: u64,
}

/// Frames of the machine per chunk without pages that is kept: shadows for eight times its memory where none is missing.
const FRAMES_PER_CHUNK: usize = 8;

impl FileTable {
    /// Reclaim took the page at `index` of a file, of a machine that has `frames`. Returns the file that has lost shadows for
    /// it, and may have nothing left.
    #[must_use]
    pub(super) fn limit_shadows(&mut self, id: FileId, index: u64, frames: usize) -> Option<FileId> {
        let now = self.shadows.gone + self.shadows.chunks.len() as u64;
        let chunk = self.get_mut(id)?.tree.note_emptied(index, now)?;
        self.shadows.chunks.push_back((id, chunk));
        if self.shadows.chunks.len() <= frames / FRAMES_PER_CHUNK {
            return None;
        }
        let (id, chunk) = self.shadows.chunks.pop_front()?;
        let when = self.shadows.gone;
        self.shadows.gone += 1;
        let (file, freed) = self.with_freed(id)?;
        file.tree.drop_emptied(chunk, when, freed);
        Some(id)
    }
}

#[cfg(test)]
mod tests {
    use order9_units::Pages;

    use super::super::Shadow;
    use super::super::file::Home;
    use super::*;
    use order9_frames::Idx;

    #[test]
    fn the_chunk_that_was_emptied_first_goes_first() {
        let mut table = FileTable::default();
        let id = table.create(Pages::new(1024), Home::Disk).expect("it is the first");
        let mut evict = |index: u64, frames| {
            let shadow = table.ensure(id).insert(index, Idx(1));
            table.take(id, index, Some(Shadow(index as u32)));
            let _ = table.limit_shadows(id, index, frames);
            shadow
        };
        // The first page has no chunk yet.
        let indices = [0, 64, 128, 192, 64];
        let found = indices.map(|index| evict(index, 4 * FRAMES_PER_CHUNK));
        assert_eq!(found, [None, None, None, None, Some(Shadow(64))]);
        assert_eq!(evict(256, 4 * FRAMES_PER_CHUNK), None, "64 was emptied again since it was first in the list");
        assert_eq!(evict(320, 4 * FRAMES_PER_CHUNK), None, "128 goes");
        assert_eq!(
            [128, 192, 64, 0].map(|index| evict(index, usize::MAX)).map(|shadow| shadow.is_some()),
            [false, true, true, true]
        );
    }
}
