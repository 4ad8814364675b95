//! Files built by hand, with lengths and contents as told and checksums that hold.

use xxhash_rust::xxh3::xxh3_64;

/// A file in the making.
pub(crate) struct Forge {
    bytes: Vec<u8>,
    sums: Vec<u8>,
    sections: u64,
}

impl Forge {
    /// A file of version 1.0.
    pub(crate) fn new() -> Self {
        Self::with_header(1, 0, 0)
    }

    /// A file of any version and features.
    pub(crate) fn with_header(major: u16, minor: u16, features: u32) -> Self {
        let mut bytes = b"\x89O9S\r\n\x1a\n".to_vec();
        bytes.extend(major.to_le_bytes());
        bytes.extend(minor.to_le_bytes());
        bytes.extend(features.to_le_bytes());
        bytes.extend(xxh3_64(&bytes).to_le_bytes());
        Self { bytes, sums: Vec::new(), sections: 0 }
    }

    /// A section that is what it claims to be.
    pub(crate) fn section(self, tag: &[u8; 4], raw: &[u8]) -> Self {
        self.claiming(tag, raw.len() as u32, raw)
    }

    /// A section whose raw length is as told.
    pub(crate) fn claiming(self, tag: &[u8; 4], raw_len: u32, raw: &[u8]) -> Self {
        self.stored(tag, raw_len, &zstd::bulk::compress(raw, 3).expect("compresses"))
    }

    /// A section whose payload is stored as it is.
    pub(crate) fn stored(mut self, tag: &[u8; 4], raw_len: u32, payload: &[u8]) -> Self {
        let mut summed = tag.to_vec();
        summed.extend(raw_len.to_le_bytes());
        summed.extend((payload.len() as u64).to_le_bytes());
        self.bytes.extend(&summed);
        summed.extend(payload);
        let sum = xxh3_64(&summed).to_le_bytes();
        self.bytes.extend(sum);
        self.bytes.extend(payload);
        self.sums.extend(sum);
        self.sections += 1;
        self
    }

    /// A META section that announces these parts and holds nothing else.
    pub(crate) fn meta(self, frames: Option<u64>, blocks: Option<u64>) -> Self {
        let json = meta_json(frames, blocks);
        self.section(b"META", json.as_bytes())
    }

    /// The finished file, with true totals.
    pub(crate) fn ends(self, frames: u64, blocks: u64) -> Vec<u8> {
        let totals = [self.sections, frames, blocks, xxh3_64(&self.sums)].map(u64::to_le_bytes).concat();
        self.section(b"ENDS", &totals).bytes
    }

    /// The file as it is.
    pub(crate) fn cut(self) -> Vec<u8> {
        self.bytes
    }
}

/// The least that a META section may hold.
pub(crate) fn meta_json(frames: Option<u64>, blocks: Option<u64>) -> String {
    let or_null = |count: Option<u64>| count.map_or("null".to_owned(), |count| count.to_string());
    format!(
        r#"{{"source":"Host","machine":{{"kernel_release":"","kernel_command_line":"","kernel_parameters_dropped":0,
        "page_size":4096,"pageblock_order":9,"cpus":1,"uptime":null}},"nodes":[],"zones":[],"ram":[],"offline":[],
        "settings":{{}},"vmstat":{{}},"meminfo":{{}},"pressure":null,"missing":[],"cost":{{"wall":0,"cpu":0,"frames":0,
        "inconsistent":0,"free_drift":0}},"frames":{},"blocks":{}}}"#,
        or_null(frames),
        or_null(blocks)
    )
}

/// Number of frames, palette of flags and counts, and index bytes of a chunk.
pub(crate) type ChunkParts<'a> = (u32, &'a [(u64, u64)], &'a [u8]);

/// A FRAM payload: first frame, then chunks.
pub(crate) fn fram(first: u64, chunks: &[ChunkParts<'_>]) -> Vec<u8> {
    let mut raw = first.to_le_bytes().to_vec();
    for (len, palette, index) in chunks {
        raw.extend(len.to_le_bytes());
        raw.extend((palette.len() as u32).to_le_bytes());
        for (flags, count) in *palette {
            raw.extend(flags.to_le_bytes());
            raw.extend(count.to_le_bytes());
        }
        raw.extend(*index);
    }
    raw
}
