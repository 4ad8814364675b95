//! /proc/iomem: where RAM lies in physical memory.

use order9_units::{Bytes, Pages, Pfn, PfnRange};

use super::{Line, ParseError, lines};

/// Reads the ranges called `System RAM`, ascending; a frame that is RAM only in part does not count. Everything else in
/// the file, device names among it, is passed over.
///
/// `None` where every address reads 0, which is what Linux shows to whoever lacks CAP_SYS_ADMIN.
pub(crate) fn parse(text: &str) -> Result<Option<Vec<PfnRange>>, ParseError> {
    let mut ram: Vec<PfnRange> = Vec::new();
    let mut hidden = false;
    for line in lines(text) {
        let Some((addresses, name)) = line.text.split_once(" : ") else {
            return Err(line.malformed("`START-END : NAME`"));
        };
        // Hotplugged memory is nested and names its driver: `System RAM (kmem)`, `System RAM (virtio_mem)`.
        if !name.starts_with("System RAM") {
            continue;
        }
        let (first, last) = byte_range(&line, addresses)?;
        hidden |= last == 0;
        let range = frames_within(first, last);
        if range.is_empty() {
            continue;
        }
        if ram.last().is_some_and(|before| range.start < before.end) {
            return Err(line.malformed("ascending ranges that do not overlap"));
        }
        ram.push(range);
    }
    Ok(if hidden && ram.is_empty() { None } else { Some(ram) })
}

/// First and last byte of a range in hexadecimal.
fn byte_range(line: &Line<'_>, addresses: &str) -> Result<(u64, u64), ParseError> {
    let hex = |digits: &str| u64::from_str_radix(digits.trim(), 16).ok().filter(|&at| at < ADDRESS_END);
    let both = addresses.split_once('-').and_then(|(first, last)| hex(first).zip(hex(last)));
    both.filter(|(first, last)| first <= last)
        .ok_or_else(|| line.malformed("a range of hexadecimal addresses below 2^52"))
}

/// x86-64 addresses at most 52 bits of physical memory.
const ADDRESS_END: u64 = 1 << 52;

/// The frames that lie wholly between the bytes `first` and `last`, both included.
fn frames_within(first: u64, last: u64) -> PfnRange {
    let start = Pages::from_bytes_ceil(Bytes::new(first));
    let end = Pages::from_bytes_floor(Bytes::new(last + 1));
    PfnRange::new(Pfn::new(start.get()), Pfn::new(end.get()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(start: u64, end: u64) -> PfnRange {
        PfnRange::new(Pfn::new(start), Pfn::new(end))
    }

    #[test]
    fn only_whole_frames_of_ram_count() {
        let text = "\
00000000-00000fff : Reserved
00001000-0009fbff : System RAM
0009fc00-000fffff : Reserved
  000f0000-000fffff : System ROM
00100000-bfffffff : System RAM
  01000000-02209987 : Kernel code
100000000-63fffffff : System RAM
";
        let ram = [frames(1, 0x9f), frames(0x100, 0xc0000), frames(0x10_0000, 0x64_0000)];
        assert_eq!(parse(text).unwrap().unwrap(), ram);
    }

    #[test]
    fn hotplugged_ram_is_nested() {
        let text = "340000000-a3fffffff : Persistent Memory\n    348000000-83fffffff : System RAM (kmem)\n";
        assert_eq!(parse(text).unwrap().unwrap(), [frames(0x34_8000, 0x84_0000)]);
    }

    #[test]
    fn zeroes_are_what_the_unprivileged_see() {
        let text = "00000000-00000000 : Reserved\n00000000-00000000 : System RAM\n  00000000-00000000 : Kernel code\n";
        assert_eq!(parse(text), Ok(None));
        assert_eq!(parse(""), Ok(Some(vec![])));
    }

    #[test]
    fn impossible_ranges_are_errors() {
        for text in ["2000-1fff : System RAM", "0-ffffffffffffffff : System RAM", "x-y : System RAM", "System RAM"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse("4000-7fff : System RAM\n0-4fff : System RAM").is_err());
    }
}
