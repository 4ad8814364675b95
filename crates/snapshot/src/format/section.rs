//! Sections: a 24-byte head, then the payload as one zstd frame.
//!
//! The checksum covers tag and lengths too: a damaged tag must not turn a section into one that may be skipped.

use std::fmt;
use std::io::{self, Read, Write};

use xxhash_rust::xxh3::Xxh3;

use super::error::{Problem, ReadError, WriteError};
use super::{BLOCKS_MAX, header};

/// Length of a section head: tag, raw length, stored length, checksum.
const HEAD_LEN: usize = 24;

/// Beyond this level zstd takes much longer to write maps that are hardly smaller.
const ZSTD_LEVEL: i32 = 3;

/// Name of a section: four ASCII letters, the first a capital where a reader must know the section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag(pub [u8; 4]);

impl Tag {
    /// Everything but frames and block types, as JSON. Always first.
    pub const META: Self = Self(*b"META");
    /// Type of every pageblock.
    pub const TYPE: Self = Self(*b"TYPE");
    /// A batch of frame chunks.
    pub const FRAM: Self = Self(*b"FRAM");
    /// Names of owners, as JSON.
    pub const OWNR: Self = Self(*b"ownr");
    /// A batch of chunks with the owners of frames.
    pub const OFRA: Self = Self(*b"ofra");
    /// Names of owners with code of the kernel, as JSON.
    pub const OWNC: Self = Self(*b"ownc");
    /// A batch of chunks with the owners of frames, code of the kernel among them.
    pub const OFRC: Self = Self(*b"ofrc");
    /// Section of the totals. Always the last one.
    pub const ENDS: Self = Self(*b"ENDS");

    /// Most raw bytes a section of this kind may have; `None` for an unknown one.
    pub(super) const fn raw_max(self) -> Option<u64> {
        match &self.0 {
            b"META" | b"ownr" | b"ownc" => Some(16 << 20),
            b"TYPE" => Some(BLOCKS_MAX),
            b"FRAM" | b"ofra" | b"ofrc" => Some(2 << 20),
            b"ENDS" => Some(32),
            _ => None,
        }
    }

    fn is_optional(self) -> bool {
        self.0[0].is_ascii_lowercase()
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.escape_ascii().fmt(f)
    }
}

/// Lengths and checksum in front of a payload.
struct Head {
    tag: Tag,
    raw_len: u32,
    stored_len: u64,
    sum: u64,
}

impl Head {
    fn encode(&self) -> [u8; HEAD_LEN] {
        let mut bytes = [0; HEAD_LEN];
        bytes[..4].copy_from_slice(&self.tag.0);
        bytes[4..8].copy_from_slice(&self.raw_len.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.stored_len.to_le_bytes());
        bytes[16..].copy_from_slice(&self.sum.to_le_bytes());
        bytes
    }

    fn decode(bytes: [u8; HEAD_LEN]) -> Self {
        let [a, b, c, d, e, f, g, h, rest @ ..] = bytes;
        let word = |at: usize| rest[at..at + 8].iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
        Self { tag: Tag([a, b, c, d]), raw_len: u32::from_le_bytes([e, f, g, h]), stored_len: word(0), sum: word(8) }
    }

    /// A checksum to be continued over the payload.
    fn hasher(&self) -> Xxh3 {
        let mut hasher = Xxh3::new();
        hasher.update(&self.encode()[..16]);
        hasher
    }
}

/// A section whose checksum holds, decompressed.
pub(super) struct Section<'a> {
    pub(super) tag: Tag,
    /// Of its head in the file.
    pub(super) offset: u64,
    pub(super) raw: &'a [u8],
}

impl Section<'_> {
    /// An error in this section.
    pub(super) fn error(&self, problem: Problem) -> ReadError {
        ReadError { offset: self.offset, section: Some(self.tag), problem }
    }
}

/// Totals of the sections so far: their number, and a digest of their checksums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) sections: u64,
    pub(super) digest: u64,
}

/// Takes a file apart into sections.
pub(super) struct SectionReader<R> {
    input: R,
    offset: u64,
    count: u64,
    sums: Xxh3,
    // Of the current section; kept to reuse their memory.
    stored: Vec<u8>,
    raw: Vec<u8>,
    zstd: zstd::bulk::Decompressor<'static>,
}

impl<R: Read> SectionReader<R> {
    /// Reads and checks the file header.
    pub(super) fn open(mut input: R) -> Result<Self, ReadError> {
        let fail = |offset, problem| ReadError { offset, section: None, problem };
        let zstd = zstd::bulk::Decompressor::new().map_err(|error| fail(0, Problem::Io(error)))?;
        let mut header = Vec::with_capacity(header::LEN);
        let read = input.by_ref().take(header::LEN as u64).read_to_end(&mut header);
        let offset = header.len() as u64;
        read.map_err(|error| fail(offset, Problem::Io(error)))?;
        header::check(&header).map_err(|problem| {
            let at_end = matches!(problem, Problem::Truncated { .. });
            fail(if at_end { offset } else { 0 }, problem)
        })?;
        Ok(Self { input, offset, count: 0, sums: Xxh3::new(), stored: Vec::new(), raw: Vec::new(), zstd })
    }

    /// The next section that this version knows, and the totals in front of it.
    pub(super) fn next(&mut self) -> Result<(Section<'_>, Totals), ReadError> {
        let (offset, head, before) = loop {
            let offset = self.offset;
            let head = self.read_head()?;
            let before = self.totals();
            self.count += 1;
            self.sums.update(&head.sum.to_le_bytes());
            let Some(raw_max) = head.tag.raw_max() else {
                self.skip(offset, &head)?;
                continue;
            };
            self.read_payload(offset, &head, raw_max)?;
            break (offset, head, before);
        };
        self.decompress(&head).map_err(|problem| ReadError { offset, section: Some(head.tag), problem })?;
        Ok((Section { tag: head.tag, offset, raw: &self.raw }, before))
    }

    /// Checks that nothing follows.
    pub(super) fn expect_end(mut self) -> Result<(), ReadError> {
        self.stored.clear();
        self.fill(1, None)?;
        if self.stored.is_empty() {
            return Ok(());
        }
        Err(ReadError { offset: self.offset - 1, section: None, problem: Problem::Trailing })
    }

    fn totals(&self) -> Totals {
        Totals { sections: self.count, digest: self.sums.digest() }
    }

    fn read_head(&mut self) -> Result<Head, ReadError> {
        self.stored.clear();
        self.fill(HEAD_LEN as u64, None)?;
        match <[u8; HEAD_LEN]>::try_from(self.stored.as_slice()) {
            Ok(bytes) => Ok(Head::decode(bytes)),
            Err(_) => Err(self.truncated(HEAD_LEN as u64, None)),
        }
    }

    fn read_payload(&mut self, offset: u64, head: &Head, raw_max: u64) -> Result<(), ReadError> {
        let fail = |problem| ReadError { offset, section: Some(head.tag), problem };
        if u64::from(head.raw_len) > raw_max {
            return Err(fail(Problem::Length { claimed: u64::from(head.raw_len), max: raw_max }));
        }
        let stored_max = zstd::zstd_safe::compress_bound(raw_max as usize) as u64;
        if head.stored_len > stored_max {
            return Err(fail(Problem::Length { claimed: head.stored_len, max: stored_max }));
        }
        self.stored.clear();
        self.fill(head.stored_len, Some(head.tag))?;
        if (self.stored.len() as u64) < head.stored_len {
            return Err(self.truncated(head.stored_len, Some(head.tag)));
        }
        let mut hasher = head.hasher();
        hasher.update(&self.stored);
        check_sum(head, &hasher).map_err(fail)
    }

    /// Passes over an unknown section, which must be intact and optional.
    fn skip(&mut self, offset: u64, head: &Head) -> Result<(), ReadError> {
        const AT_ONCE: u64 = 1 << 16;
        let fail = |problem| ReadError { offset, section: Some(head.tag), problem };
        let mut hasher = head.hasher();
        let mut left = head.stored_len;
        while left > 0 {
            self.stored.clear();
            let now = left.min(AT_ONCE);
            self.fill(now, Some(head.tag))?;
            if (self.stored.len() as u64) < now {
                return Err(self.truncated(left, Some(head.tag)));
            }
            hasher.update(&self.stored);
            left -= now;
        }
        check_sum(head, &hasher).map_err(fail)?;
        if head.tag.is_optional() { Ok(()) } else { Err(fail(Problem::UnknownSection)) }
    }

    /// Appends up to `len` bytes to `stored`; fewer at the end of the file. Memory grows as bytes arrive.
    fn fill(&mut self, len: u64, section: Option<Tag>) -> Result<(), ReadError> {
        let before = self.stored.len();
        let result = self.input.by_ref().take(len).read_to_end(&mut self.stored);
        self.offset += (self.stored.len() - before) as u64;
        let offset = self.offset;
        result.map(drop).map_err(|error| ReadError { offset, section, problem: Problem::Io(error) })
    }

    fn truncated(&self, expected: u64, section: Option<Tag>) -> ReadError {
        let missing = expected - self.stored.len() as u64;
        ReadError { offset: self.offset, section, problem: Problem::Truncated { missing } }
    }

    fn decompress(&mut self, head: &Head) -> Result<(), Problem> {
        let claimed = u64::from(head.raw_len);
        self.raw.clear();
        self.raw.reserve_exact(head.raw_len as usize);
        let len = self.zstd.decompress_to_buffer(&self.stored, &mut self.raw).map_err(Problem::Zstd)? as u64;
        if len == claimed { Ok(()) } else { Err(Problem::RawLength { claimed, actual: len }) }
    }
}

fn check_sum(head: &Head, hasher: &Xxh3) -> Result<(), Problem> {
    let computed = hasher.digest();
    if head.sum == computed { Ok(()) } else { Err(Problem::Checksum { stored: head.sum, computed }) }
}

/// Puts a file together from sections.
pub(super) struct SectionWriter<W> {
    output: W,
    count: u64,
    sums: Xxh3,
    stored: Vec<u8>,
    zstd: zstd::bulk::Compressor<'static>,
}

impl<W: Write> SectionWriter<W> {
    /// Writes the file header.
    pub(super) fn create(mut output: W) -> io::Result<Self> {
        output.write_all(&header::encode())?;
        let zstd = zstd::bulk::Compressor::new(ZSTD_LEVEL)?;
        Ok(Self { output, count: 0, sums: Xxh3::new(), stored: Vec::new(), zstd })
    }

    /// Writes one section.
    pub(super) fn write(&mut self, tag: Tag, raw: &[u8]) -> Result<(), WriteError> {
        let max = tag.raw_max().unwrap_or(0);
        if raw.len() as u64 > max {
            return Err(WriteError::Length { section: tag, len: raw.len() as u64, max });
        }
        self.stored.clear();
        self.stored.reserve(zstd::zstd_safe::compress_bound(raw.len()));
        self.zstd.compress_to_buffer(raw, &mut self.stored)?;
        let mut head = Head { tag, raw_len: raw.len() as u32, stored_len: self.stored.len() as u64, sum: 0 };
        let mut hasher = head.hasher();
        hasher.update(&self.stored);
        head.sum = hasher.digest();
        self.count += 1;
        self.sums.update(&head.sum.to_le_bytes());
        self.output.write_all(&head.encode())?;
        self.output.write_all(&self.stored)?;
        Ok(())
    }

    /// Totals of the sections written so far.
    pub(super) fn totals(&self) -> Totals {
        Totals { sections: self.count, digest: self.sums.digest() }
    }

    /// Hands all bytes on to the output.
    pub(super) fn flush(mut self) -> io::Result<()> {
        self.output.flush()
    }
}
