//! Sections with any contents, put into a file whose lengths, checksums and totals hold.
//!
//! Input: 2 bytes, the number of frames to announce (little endian); 1 byte, odd where pageblock types are announced;
//! then sections, each of 1 byte for its kind, 2 bytes for its length (little endian) and its payload.
#![no_main]

use xxhash_rust::xxh3::xxh3_64;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    if let Some(file) = build(input) {
        order9_fuzz::check(&file);
    }
});

/// Kinds of sections: those known, an optional one, a critical one.
const TAGS: [&[u8; 4]; 6] = [b"FRAM", b"TYPE", b"META", b"ENDS", b"note", b"NOTE"];

/// The file that an input describes; `None` for an input that is too short.
fn build(input: &[u8]) -> Option<Vec<u8>> {
    let ([low, high, typed], mut rest) = input.split_first_chunk()?;
    let frames = u64::from(u16::from_le_bytes([*low, *high]));
    let blocks = (typed % 2 == 1).then(|| frames.div_ceil(512));
    let mut file = File::begin();
    file.section(b"META", meta(frames, blocks).as_bytes());
    while let Some(([kind, low, high], tail)) = rest.split_first_chunk() {
        let len = usize::from(u16::from_le_bytes([*low, *high])).min(tail.len());
        let (raw, tail) = tail.split_at(len);
        file.section(TAGS[usize::from(*kind) % TAGS.len()], raw);
        rest = tail;
    }
    let totals = [file.sections, frames, blocks.unwrap_or(0), xxh3_64(&file.sums)].map(u64::to_le_bytes);
    file.section(b"ENDS", totals.as_flattened());
    Some(file.bytes)
}

struct File {
    bytes: Vec<u8>,
    sums: Vec<u8>,
    sections: u64,
}

impl File {
    fn begin() -> Self {
        let mut bytes = b"\x89O9S\r\n\x1a\n\x01\0\0\0\0\0\0\0".to_vec();
        bytes.extend(xxh3_64(&bytes).to_le_bytes());
        Self { bytes, sums: Vec::new(), sections: 0 }
    }

    fn section(&mut self, tag: &[u8; 4], raw: &[u8]) {
        let payload = zstd::bulk::compress(raw, 1).expect("compresses");
        let mut head = tag.to_vec();
        head.extend((raw.len() as u32).to_le_bytes());
        head.extend((payload.len() as u64).to_le_bytes());
        let sum = xxh3_64(&[head.as_slice(), &payload].concat()).to_le_bytes();
        self.bytes.extend([head.as_slice(), &sum, &payload].concat());
        self.sums.extend(sum);
        self.sections += 1;
    }
}

/// The least that a META section may hold.
fn meta(frames: u64, blocks: Option<u64>) -> String {
    let blocks = blocks.map_or("null".to_owned(), |blocks| blocks.to_string());
    format!(
        r#"{{"source":"Host","machine":{{"kernel_release":"","kernel_command_line":"","kernel_parameters_dropped":0,
        "page_size":4096,"pageblock_order":9,"cpus":1,"uptime":null}},"nodes":[],"zones":[],"ram":[],"offline":[],
        "settings":{{}},"vmstat":{{}},"meminfo":{{}},"pressure":null,"missing":[],"cost":{{"wall":0,"cpu":0,"frames":0,
        "inconsistent":0,"free_drift":0}},"frames":{frames},"blocks":{blocks}}}"#
    )
}
