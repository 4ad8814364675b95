//! /proc/kpageflags and /proc/kpagecount: one 64-bit word per frame each, read side by side.
//!
//! Reading is priced by the kernel, which looks at every frame: tens of nanoseconds per frame and file. Each file is read
//! exactly once, so that is also the bound of what a capture costs a host.

use std::fs::File;
use std::io::{self, Read as _};

use order9_snapshot::frames::CHUNK_PAGES;
use order9_snapshot::{FrameMap, FrameMapBuilder};
use order9_units::{Nanos, Pages};

use crate::Root;
use crate::consistency::Contradictions;
use crate::source::Files;
use crate::stopwatch::Stopwatch;

pub(crate) const FLAGS: &str = "/proc/kpageflags";
pub(crate) const COUNTS: &str = "/proc/kpagecount";

/// Progress of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Frames that have been read.
    pub done: Pages,
    /// Frames to read, where /proc/zoneinfo tells.
    pub total: Option<Pages>,
}

/// The frames of a capture.
pub(crate) struct Frames {
    pub(crate) map: FrameMap,
    pub(crate) inconsistent: Pages,
}

/// Reads the state of every frame below `end`, or of all frames there are.
///
/// Both files are read for the same [`CHUNK_PAGES`] frames before the next, so that the two words of a frame are only
/// milliseconds apart. `None` without /proc/kpageflags; without counts all frames count as not mapped.
pub(crate) fn read(files: &mut Files<'_>, end: Option<Pages>, mut progress: impl FnMut(Progress)) -> Option<Frames> {
    // Both are opened first, so that both are named where both are missing.
    let (flag_file, count_file) = (files.open(FLAGS), files.open(COUNTS));
    let mut flag_words = Words::new(flag_file?, is_flags);
    let mut count_words = count_file.map(|file| Words::new(file, is_count));
    let mut builder = FrameMapBuilder::new();
    let mut contradictions = Contradictions::default();
    let mut done = 0;
    loop {
        let want = end.map_or(CHUNK_PAGES, |end| CHUNK_PAGES.min(end.get().saturating_sub(done) as usize));
        let flags = next(files, FLAGS, &mut flag_words, want);
        if flags.is_empty() {
            break;
        }
        let counts = count_words.as_mut().map_or(&mut [][..], |words| next(files, COUNTS, words, flags.len()));
        counts.iter_mut().for_each(|word| *word = mapped_times(*word));
        contradictions.look_at(flags, counts);
        builder.push_words(flags, counts);
        done += flags.len() as u64;
        progress(Progress { done: Pages::new(done), total: end });
    }
    note_gaps(files, Pages::new(done), end, count_words.map(|words| words.read), &contradictions);
    Some(Frames { map: builder.finish(), inconsistent: contradictions.total() }).filter(|_| done > 0)
}

/// Older kernels print the type of a free or otherwise special page here, as a negative number.
fn mapped_times(word: u64) -> u64 {
    if word > i64::MAX as u64 { 0 } else { word }
}

/// The next words of a file; an error ends it and is noted.
fn next<'w>(files: &mut Files<'_>, path: &str, words: &'w mut Words, want: usize) -> &'w mut [u64] {
    words.next(want).unwrap_or_else(|error| {
        files.fail(path, &error);
        &mut []
    })
}

/// Notes where the map is shorter than memory, or the counts are shorter than the map.
fn note_gaps(
    files: &mut Files<'_>,
    done: Pages,
    end: Option<Pages>,
    counted: Option<Pages>,
    contradictions: &Contradictions,
) {
    if let Some(end) = end.filter(|&end| done < end) {
        files.miss(FLAGS, format!("ends at frame {}, while the zones reach frame {}", done.get(), end.get()));
    }
    if let Some(counted) = counted.filter(|&counted| counted < done) {
        files.miss(COUNTS, format!("ends at frame {}, while kpageflags has {}", counted.get(), done.get()));
    } else if contradictions.counts_are_void() {
        files.miss(COUNTS, "says that no frame is mapped, while kpageflags has mapped ones");
    }
}

/// Cost of reading both files once and doing nothing with them: the yardstick for a capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlainRead {
    /// Wall-clock time of the read.
    pub wall: Nanos,
    /// CPU time of the calling thread, in the kernel and outside.
    pub cpu: Nanos,
    /// Words read from both files together.
    pub words: u64,
}

/// Reads /proc/kpageflags and then /proc/kpagecount to their end and throws the words away.
///
/// # Errors
/// The first error of opening or reading either file, for instance for lack of privilege.
pub fn plain_read(root: &Root) -> io::Result<PlainRead> {
    let watch = Stopwatch::start();
    let mut read = 0;
    for (path, fits) in [(FLAGS, is_flags as fn(u64) -> bool), (COUNTS, is_count)] {
        let mut words = Words::new(root.open(path)?, fits);
        while !words.next(CHUNK_PAGES)?.is_empty() {}
        read += words.read.get();
    }
    Ok(PlainRead { wall: watch.wall(), cpu: watch.cpu(), words: read })
}

/// A file of 64-bit words.
struct Words {
    file: File,
    /// Whether a word may be one of this file. A copy may hold anything.
    fits: fn(u64) -> bool,
    buffer: Vec<u64>,
    /// Words read so far, one per frame.
    read: Pages,
}

impl Words {
    fn new(file: File, fits: fn(u64) -> bool) -> Self {
        Self { file, fits, buffer: vec![0; CHUNK_PAGES], read: Pages::ZERO }
    }

    /// The next `want` words, at most [`CHUNK_PAGES`]; fewer at the end of the file and none behind it. A part of a word
    /// at the end is left out.
    fn next(&mut self, want: usize) -> io::Result<&mut [u64]> {
        let words = &mut self.buffer[..want];
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(words);
        let mut filled = 0;
        while filled < bytes.len() {
            match self.file.read(&mut bytes[filled..]) {
                Ok(0) => break,
                Ok(more) => filled += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let whole = filled / size_of::<u64>();
        self.read += Pages::new(whole as u64);
        let words = &mut self.buffer[..whole];
        if words.iter().all(|&word| (self.fits)(word)) {
            Ok(words)
        } else {
            Err(io::Error::new(io::ErrorKind::InvalidData, "holds a word that no kernel prints there"))
        }
    }
}

/// Whether `flags` can be a word of /proc/kpageflags: no kernel sets the upper bits. A text has some in every word.
fn is_flags(flags: u64) -> bool {
    const BITS: u32 = 48;
    flags >> BITS == 0
}

/// Whether `count` can be a word of /proc/kpagecount. Older kernels print the type of a special page there, as a negative
/// number of 32 bits.
fn is_count(count: u64) -> bool {
    const MAX: i64 = 1 << 40;
    (i64::from(i32::MIN)..MAX).contains(&(count as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negative_counts_of_old_kernels_mean_not_mapped() {
        assert_eq!(mapped_times((-127_i64) as u64), 0);
        assert_eq!(mapped_times(7), 7);
        assert!(is_count((-127_i64) as u64) && is_count(7));
    }

    #[test]
    fn words_of_a_text_are_neither_flags_nor_counts() {
        for text in [b"root:$6$", b"60\n     ", b"secret\n\n"] {
            let word = u64::from_ne_bytes(*text);
            assert!(!is_flags(word) && !is_count(word), "{text:?}");
        }
    }
}
