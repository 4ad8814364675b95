//! `.o9maps`: a mark, a checksum, and the packed series behind zstd.

use std::io::Read as _;

use xxhash_rust::xxh3::xxh3_128;

use super::{MapSeries, MapsError};

/// File name extension, without the dot.
pub const EXTENSION: &str = "o9maps";

/// First bytes of a file.
const MAGIC: &[u8; 16] = b"order9 maps 1\r\n\n";
/// Bytes of the checksum behind the mark.
const CHECKSUM: usize = 16;
/// Level of compression: maps are written while a run goes on.
const LEVEL: i32 = 3;
/// Most bytes that a file expands to.
const LONGEST: u64 = 4 << 30;

/// The bytes of a file that holds `series`.
#[must_use]
pub fn write(series: &MapSeries) -> Vec<u8> {
    let packed = zstd::bulk::compress(&series.pack(), LEVEL).expect("memory takes all bytes");
    [MAGIC.as_slice(), &xxh3_128(&packed).to_le_bytes(), &packed].concat()
}

/// The series in a file.
///
/// # Errors
/// Another file, or one that is damaged.
pub fn read(file: &[u8]) -> Result<MapSeries, MapsError> {
    let rest = file.strip_prefix(MAGIC).ok_or(MapsError::NoMaps)?;
    let (stated, packed) = rest.split_first_chunk::<CHECKSUM>().ok_or(MapsError::Short("the checksum"))?;
    let (expected, found) = (u128::from_le_bytes(*stated), xxh3_128(packed));
    if expected != found {
        return Err(MapsError::Damaged { found, expected });
    }
    let compressed = |error: std::io::Error| MapsError::Compressed(error.to_string());
    let mut bytes = Vec::new();
    zstd::Decoder::new(packed).map_err(compressed)?.take(LONGEST + 1).read_to_end(&mut bytes).map_err(compressed)?;
    if bytes.len() as u64 > LONGEST {
        return Err(MapsError::Number { what: "its length", found: bytes.len() as u64, expected: "at most 4 GiB" });
    }
    MapSeries::unpack(&bytes)
}
