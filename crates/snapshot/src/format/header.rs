//! The first 24 bytes, and what a file is that does not have them.

use std::fmt;

use xxhash_rust::xxh3::xxh3_64;

use super::error::Problem;
use super::{VERSION, Version};

/// Length of the header.
pub(super) const LEN: usize = 24;

/// A byte above 127, a name, both line ends and an end-of-file mark, as in PNG: every usual damage by text mode shows.
const MAGIC: [u8; 8] = *b"\x89O9S\r\n\x1a\n";

/// The magic as it looks after a transfer in text mode.
const TEXT_DAMAGED: [&[u8]; 5] =
    [b"\x89O9S\n\x1a\n", b"\x89O9S\r\r\n\x1a", b"\x89O9S\r\n\x1a\r", b"\x09O9S", b"\xc2\x89O9S"];

/// The header that is written: magic, version, feature bits (none yet), checksum of these.
pub(super) fn encode() -> [u8; LEN] {
    let mut header = [0; LEN];
    header[..8].copy_from_slice(&MAGIC);
    header[8..10].copy_from_slice(&VERSION.major.to_le_bytes());
    header[10..12].copy_from_slice(&VERSION.minor.to_le_bytes());
    let sum = xxh3_64(&header[..16]);
    header[16..].copy_from_slice(&sum.to_le_bytes());
    header
}

/// Whether a file that begins with `bytes` means to be a snapshot: the first four bytes are those of one.
#[must_use]
pub fn begins_as_snapshot(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC[..4])
}

/// Checks the first bytes of a file; fewer than [`LEN`] are all there are.
pub(super) fn check(bytes: &[u8]) -> Result<(), Problem> {
    if !bytes.starts_with(&MAGIC) {
        return Err(Problem::NotASnapshot(Lookalike::of(bytes)));
    }
    let Ok(header) = <[u8; LEN]>::try_from(bytes) else {
        return Err(Problem::Truncated { missing: (LEN - bytes.len()) as u64 });
    };
    let [major, minor] = [8, 10].map(|at| u16::from_le_bytes([header[at], header[at + 1]]));
    let [features, sum_low, sum_high] =
        [12, 16, 20].map(|at| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]));
    let stored = u64::from(sum_high) << 32 | u64::from(sum_low);
    let computed = xxh3_64(&header[..16]);
    if stored != computed {
        return Err(Problem::Checksum { stored, computed });
    }
    let version = Version { major, minor };
    if major != VERSION.major {
        return Err(Problem::Version(version));
    }
    if features != 0 {
        return Err(Problem::Features(features));
    }
    Ok(())
}

/// Kind of file that a file without snapshot appears to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookalike {
    /// No bytes at all.
    Empty,
    /// A snapshot whose line ends or high bits were changed.
    TextDamaged,
    /// A known format, by name.
    Known(&'static str),
    /// The words of /proc/kpageflags or /proc/kpagecount.
    RawWords,
    /// Text.
    Text,
    /// No kind that is recognised.
    Unknown,
}

impl Lookalike {
    const KNOWN: [(&'static [u8], &'static str); 9] = [
        (b"\x1f\x8b", "gzip data"),
        (b"\x28\xb5\x2f\xfd", "plain zstd data"),
        (b"\xfd7zXZ\0", "xz data"),
        (b"BZh", "bzip2 data"),
        (b"PK\x03\x04", "a zip archive"),
        (b"\x7fELF", "an ELF file, such as a program or a core dump"),
        (b"\x89PNG", "a PNG image"),
        (b"KDUMP", "a kernel crash dump"),
        (b"PAR1", "a Parquet table"),
    ];

    /// Guesses from the first bytes of a file.
    fn of(bytes: &[u8]) -> Self {
        if bytes.is_empty() {
            return Self::Empty;
        }
        if TEXT_DAMAGED.iter().any(|damaged| bytes.starts_with(damaged)) {
            return Self::TextDamaged;
        }
        if let Some((_, name)) = Self::KNOWN.into_iter().find(|(magic, _)| bytes.starts_with(magic)) {
            return Self::Known(name);
        }
        if bytes.iter().all(|&byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace() || byte >= 0x80) {
            return Self::Text;
        }
        if bytes.len() >= 8 && bytes.chunks_exact(8).all(|word| word[6..] == [0, 0]) {
            Self::RawWords
        } else {
            Self::Unknown
        }
    }
}

impl fmt::Display for Lookalike {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the file is empty"),
            Self::TextDamaged => {
                f.write_str("a snapshot damaged by a transfer in text mode; copy it again in binary mode")
            }
            Self::Known(name) => write!(f, "it looks like {name}"),
            Self::RawWords => f.write_str(
                "it looks like raw words of /proc/kpageflags or kpagecount; a directory with copies of /proc files is \
                 captured with `order9 capture --root DIR`",
            ),
            Self::Text => f.write_str("it looks like text"),
            Self::Unknown => f.write_str("its first bytes are of no known kind"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_are_recognised() {
        let cases: [(&[u8], Lookalike); 9] = [
            (b"", Lookalike::Empty),
            (b"\x1f\x8b\x08\0\0\0", Lookalike::Known("gzip data")),
            (b"{\"source\":\"Host\"}", Lookalike::Text),
            (b"Node 0, zone      DMA   ", Lookalike::Text),
            (b"\0\0\0\0\x01\0\0\0\0\x04\0\0\0\0\0\0", Lookalike::RawWords),
            (b"\x89O9S\n\x1a\n\x01", Lookalike::TextDamaged),
            (b"\x89O9S\r\r\n\x1a\r\n\x01\0", Lookalike::TextDamaged),
            (b"\x09O9S\r\n\x1a\n", Lookalike::TextDamaged),
            (b"\x01\x02\x03\x04\x05\x06\x07\x08\x09", Lookalike::Unknown),
        ];
        for (bytes, expected) in cases {
            assert_eq!(Lookalike::of(bytes), expected, "{bytes:?}");
        }
    }

    #[test]
    fn every_flipped_bit_of_the_header_is_noticed() {
        let header = encode();
        assert!(check(&header).is_ok());
        for bit in 0..LEN * 8 {
            let mut damaged = header;
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(check(&damaged).is_err(), "bit {bit}");
        }
    }
}
