//! Data in a form that HTML can hold and a browser can open: gzip, then base64.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::{Compression, GzBuilder};

/// `bytes` packed. Equal bytes give equal texts.
pub(crate) fn packed(bytes: &[u8]) -> String {
    /// Level from which on more time saves next to nothing.
    const LEVEL: u32 = 6;
    /// Value of the header that names no operating system.
    const UNKNOWN_SYSTEM: u8 = 255;
    let header = GzBuilder::new().mtime(0).operating_system(UNKNOWN_SYSTEM);
    let mut gzip = header.write(Vec::with_capacity(bytes.len() / 4), Compression::new(LEVEL));
    gzip.write_all(bytes).expect("memory takes all bytes");
    STANDARD.encode(gzip.finish().expect("memory takes all bytes"))
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn what_was_packed_comes_out_again() {
        let bytes: Vec<u8> = (0..70_000_u32).map(|i| (i % 251) as u8).collect();
        let text = packed(&bytes);
        assert!(text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte)));
        let mut unpacked = Vec::new();
        flate2::read::GzDecoder::new(&STANDARD.decode(text).unwrap()[..]).read_to_end(&mut unpacked).unwrap();
        assert!(unpacked == bytes);
    }
}
