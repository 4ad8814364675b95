//! Snapshot files with contents that no order9 would write, and checksums that hold: see docs/snapshot.md.

use xxhash_rust::xxh3::xxh3_64;

/// Header, and head of a section: tag, raw length, stored length, checksum.
const HEADER: usize = 24;
const HEAD: usize = 24;

/// `file` with another META section, the first one, and with totals to match.
pub(crate) fn with_meta(file: &[u8], change: impl FnOnce(String) -> String) -> Vec<u8> {
    let mut out = file[..HEADER].to_vec();
    let mut sums = Vec::new();
    let mut change = Some(change);
    let mut rest = &file[HEADER..];
    while !rest.is_empty() {
        let (head, body) = rest.split_at(HEAD);
        let raw_len = u32::from_le_bytes(head[4..8].try_into().unwrap()) as usize;
        let stored = u64::from_le_bytes(head[8..16].try_into().unwrap()) as usize;
        let (payload, behind) = body.split_at(stored);
        let mut raw = zstd::bulk::decompress(payload, raw_len).unwrap();
        if let Some(change) = change.take() {
            raw = change(String::from_utf8(raw).unwrap()).into_bytes();
        }
        if &head[..4] == b"ENDS" {
            raw[24..32].copy_from_slice(&xxh3_64(&sums).to_le_bytes());
        }
        let payload = zstd::bulk::compress(&raw, 3).unwrap();
        let mut summed = head[..4].to_vec();
        summed.extend((raw.len() as u32).to_le_bytes());
        summed.extend((payload.len() as u64).to_le_bytes());
        out.extend(&summed);
        summed.extend(&payload);
        let sum = xxh3_64(&summed).to_le_bytes();
        out.extend(sum);
        out.extend(&payload);
        sums.extend(sum);
        rest = behind;
    }
    out
}
