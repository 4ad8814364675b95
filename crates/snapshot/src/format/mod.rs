//! The snapshot file format `.o9snap`: a header, then checksummed zstd sections, so that damage is found where it is.
//!
//! [`write()`] and [`read()`] stream: besides the model itself they hold the bytes of one section. The same snapshot
//! always gives the same bytes. A reader trusts no length: what a file may claim is bounded per section, and what it
//! expands to by [`MEMORY`] (or the caller, through [`read_within`]). Byte by byte: docs/snapshot.md.
//! Never repairs, guesses or skips damaged parts.

mod check;
mod chunks;
mod error;
mod header;
mod meta;
mod owners;
mod reader;
mod section;
mod writer;

pub use check::{StructureError, ZoneName};
pub use error::{Problem, ReadError, WriteError};
pub use header::{Lookalike, begins_as_snapshot};
pub use reader::{read, read_within};
pub use section::Tag;
pub use writer::write;

use order9_units::{Bytes, Pages};

/// File name extension, without the dot.
pub const EXTENSION: &str = "o9snap";

/// Version that is written. A reader refuses a newer major version and reads a newer minor one.
pub const VERSION: Version = Version { major: 1, minor: 5 };

/// Most frames a map may have: 64 TiB.
pub const FRAMES_MAX: Pages = Pages::new(1 << 34);

/// Most pageblocks whose types may be stored: those of 64 TiB.
pub const BLOCKS_MAX: u64 = 1 << 25;

/// Highest place and largest count of pages or blocks in zones and ranges: all that x86-64 can address. Keeps sums and
/// shifts of them far from overflow.
pub const COUNT_MAX: u64 = 1 << 40;

/// Memory that [`read()`] lets frame states and block types take. An ordinary map needs one byte per frame, a very
/// varied one two: enough for 16 TiB.
pub const MEMORY: Bytes = Bytes::from_gib(8);

/// Version of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// Raised when older readers must not read the file.
    pub major: u16,
    /// Raised when older readers merely miss something.
    pub minor: u16,
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}
