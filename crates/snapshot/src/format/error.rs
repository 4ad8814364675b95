//! Errors of a file, with their place.

use std::fmt;
use std::io;

use order9_units::{Pages, Pfn};

use super::{FRAMES_MAX, Lookalike, StructureError, Tag, VERSION, Version};
use crate::frames::ChunkError;
use crate::limits::Shortage;

/// Why a file cannot be read, and where in it.
#[derive(Debug)]
pub struct ReadError {
    /// Byte of the file: the start of the section, or the end of the file where that is too early.
    pub offset: u64,
    /// The section it lies in.
    pub section: Option<Tag>,
    /// The error at that place.
    pub problem: Problem,
}

/// Errors of a snapshot file.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The input itself failed.
    #[error("cannot be read: {0}")]
    Io(#[source] io::Error),
    /// Some other kind of file.
    #[error("not an order9 snapshot: {0}")]
    NotASnapshot(Lookalike),
    /// The file has another major version.
    #[error("snapshot version {0}, this order9 reads version {major}.x: a newer order9 is needed", major = VERSION.major)]
    Version(Version),
    /// Feature bits this version does not know.
    #[error("needs features {0:#x} that this order9 does not know: a newer order9 is needed")]
    Features(u32),
    /// The file ends too early.
    #[error("the file is cut off: at least {missing} more bytes belong here")]
    Truncated {
        /// Bytes that are certainly missing; the rest of the file is unknown.
        missing: u64,
    },
    /// The contents do not match their checksum.
    #[error("damaged: checksum {computed:#018x}, expected {stored:#018x}")]
    Checksum {
        /// Checksum in the file.
        stored: u64,
        /// Checksum of the contents.
        computed: u64,
    },
    /// A length no writer produces.
    #[error("claims {claimed} bytes, at most {max} are possible")]
    Length {
        /// Length that the file claims.
        claimed: u64,
        /// Limit for this kind of section.
        max: u64,
    },
    /// Decompression failed, or gave more than the raw length.
    #[error("cannot be decompressed to the length it claims: {0}")]
    Zstd(#[source] io::Error),
    /// Decompression gave less than the raw length.
    #[error("claims to hold {claimed} bytes and holds {actual}")]
    RawLength {
        /// Length that the file claims.
        claimed: u64,
        /// Length of the unpacked contents.
        actual: u64,
    },
    /// An intact section that a reader must know and this version does not.
    #[error("an unknown section that must not be skipped: a newer order9 is needed")]
    UnknownSection,
    /// A known section where it does not belong.
    #[error("a section out of place: META comes first, then TYPE, FRAM, ownr, ofra and ENDS")]
    Misplaced,
    /// The JSON of the META or ownr section.
    #[error("{0}")]
    Meta(#[source] serde_json::Error),
    /// The FRAM section does not continue where the last one ended.
    #[error("holds frames from {found}, expected {expected}")]
    FrameStart {
        /// First frame that the section names.
        found: Pfn,
        /// End of the map up to now.
        expected: Pfn,
    },
    /// The section ends inside of a chunk.
    #[error("ends inside of the chunk at {0}")]
    ChunkCut(Pfn),
    /// A chunk that contradicts itself.
    #[error("at {first}: {error}")]
    Chunk {
        /// First frame of the chunk.
        first: Pfn,
        /// The contradiction.
        error: ChunkError,
    },
    /// More frames than possible, or than the META section announced.
    #[error("more than {0:?} of frames")]
    TooManyFrames(Pages),
    /// A pageblock type this version does not know.
    #[error("pageblock {block} has type {found}, known are 0 to 5")]
    BlockType {
        /// Number of the block.
        block: u64,
        /// The byte found.
        found: u8,
    },
    /// The map would take more memory than allowed.
    #[error("the map {0}")]
    Memory(Shortage),
    /// Frames or block types that META announced did not come.
    #[error("frames or pageblock types that META announced, or owners of frames, are missing")]
    Incomplete,
    /// The ENDS section does not fit what came before.
    #[error("{what} is {found}, the ENDS section says {stored}: sections are missing, added or exchanged")]
    Totals {
        /// Name of the total.
        what: &'static str,
        /// The total in the ENDS section.
        stored: u64,
        /// Found in the file.
        found: u64,
    },
    /// Bytes after the ENDS section.
    #[error("the snapshot has ended, but more bytes follow")]
    Trailing,
    /// Parts that decode well and contradict each other.
    #[error(transparent)]
    Structure(StructureError),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.problem, self.section) {
            (Problem::NotASnapshot(_) | Problem::Version(_) | Problem::Structure(_), None) => self.problem.fmt(f),
            (problem, None) => write!(f, "byte {}: {problem}", self.offset),
            (problem, Some(tag)) => write!(f, "byte {}, section {tag}: {problem}", self.offset),
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&self.problem)
    }
}

/// Why a snapshot cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The output could not be written.
    #[error("cannot be written: {0}")]
    Io(#[from] io::Error),
    /// The snapshot contradicts itself, so that no reader would take it.
    #[error(transparent)]
    Structure(#[from] StructureError),
    /// A map larger than the format allows.
    #[error("{0:?} of frames: at most {FRAMES_MAX:?} can be stored")]
    TooManyFrames(Pages),
    /// A part larger than the format allows.
    #[error("section {section} would hold {len} bytes, at most {max} are possible")]
    Length {
        /// Tag of the section.
        section: Tag,
        /// Length of the section.
        len: u64,
        /// Largest accepted length.
        max: u64,
    },
    /// The model could not be put into JSON.
    #[error("META section: {0}")]
    Meta(#[from] serde_json::Error),
}
