//! /proc/PID/smaps: ranges of a process with what is resident in each.

use order9_units::{Bytes, PAGEBLOCK_PAGES};

/// Range of memory of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MappedRange {
    /// First address.
    pub start: u64,
    /// End address.
    pub end: u64,
    /// File or purpose, as the kernel prints it; empty for plain anonymous memory.
    pub name: String,
    /// Resident memory.
    pub resident: Bytes,
    /// Anonymous memory, huge pages included.
    pub anonymous: Bytes,
    /// Anonymous memory in huge pages.
    pub anon_huge: Bytes,
    /// Whether the range is advised `MADV_HUGEPAGE`.
    pub is_advised: bool,
    /// Whether the range is advised `MADV_NOHUGEPAGE`, so that the kernel makes no huge page there, whoever asks.
    pub is_refused: bool,
}

/// Size of a huge page.
const HUGE: u64 = PAGEBLOCK_PAGES.bytes().get();

impl MappedRange {
    /// Anonymous memory in base pages.
    #[must_use]
    pub fn base(&self) -> Bytes {
        self.anonymous.saturating_sub(self.anon_huge)
    }

    /// Whether the kernel would make a huge page of memory in the range.
    #[must_use]
    pub fn takes_huge(&self) -> bool {
        !self.is_refused && self.huge_pages() > 0
    }

    /// Addresses of the huge pages that lie in the range from end to end.
    pub fn slots(&self) -> impl Iterator<Item = u64> + use<> {
        let first = self.start.checked_next_multiple_of(HUGE).unwrap_or(self.end);
        (first..self.end.saturating_sub(HUGE - 1)).step_by(HUGE as usize)
    }

    /// Number of huge pages that lie in the range from end to end.
    #[must_use]
    pub fn huge_pages(&self) -> u64 {
        let first = self.start.div_ceil(HUGE);
        (self.end / HUGE).saturating_sub(first)
    }
}

/// Ranges of a process, upward. Lines of other forms are left out.
#[must_use]
pub fn parse(text: &str) -> Vec<MappedRange> {
    let mut ranges: Vec<MappedRange> = Vec::new();
    for line in text.lines() {
        if let Some(range) = head(line) {
            ranges.push(range);
            continue;
        }
        let Some(range) = ranges.last_mut() else { continue };
        match line.split_once(':') {
            Some(("Rss", size)) => range.resident = kib(size),
            Some(("Anonymous", size)) => range.anonymous = kib(size),
            Some(("AnonHugePages", size)) => range.anon_huge = kib(size),
            Some(("VmFlags", flags)) => {
                let has = |wanted| flags.split_whitespace().any(|flag| flag == wanted);
                (range.is_advised, range.is_refused) = (has("hg"), has("nh"));
            }
            _ => {}
        }
    }
    ranges
}

/// The line that begins a range: addresses, rights, offset, device, inode and name.
fn head(line: &str) -> Option<MappedRange> {
    let mut rest = line;
    let mut word = || {
        let (word, after) = rest.trim_start().split_once(' ').unwrap_or((rest.trim_start(), ""));
        rest = after;
        word
    };
    let (start, end) = word().split_once('-')?;
    let address = |text: &str| u64::from_str_radix(text, 16).ok();
    let (start, end) = (address(start)?, address(end)?);
    // Rights, offset, device and inode.
    for _ in 0..4 {
        word();
    }
    (start < end).then(|| MappedRange { start, end, name: rest.trim().to_owned(), ..MappedRange::default() })
}

fn kib(text: &str) -> Bytes {
    let kib = text.trim().strip_suffix("kB").and_then(|number| number.trim().parse::<u64>().ok());
    Bytes::new(kib.and_then(|kib| kib.checked_mul(1024)).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str = "\
7f0000100000-7f0000800000 rw-p 00000000 00:00 0 
Rss:                6144 kB
Anonymous:          6144 kB
AnonHugePages:      2048 kB
VmFlags: rd wr mr mw me ac hg sd 
7f0000c00000-7f0000c01000 r-xp 00000000 fe:00 77                         /usr/lib/my lib.so
Rss:                   4 kB
VmFlags: rd ex 
7f0001000000-7f0001800000 rw-p 00000000 00:00 0 
Anonymous:          8192 kB
VmFlags: rd wr mr mw me ac nh 
";

    #[test]
    fn ranges_have_what_is_resident_in_them() {
        let [range, file, refused] = parse(TEXT).try_into().expect("three ranges");
        assert_eq!((range.start, range.name.as_str(), range.is_advised), (0x7f00_0010_0000, "", true));
        assert_eq!((range.resident.get(), range.base().get()), (6 << 20, 4 << 20));
        assert_eq!(range.slots().collect::<Vec<_>>(), [0x7f00_0020_0000, 0x7f00_0040_0000, 0x7f00_0060_0000]);
        assert_eq!(range.huge_pages(), 3);
        assert_eq!((file.name.as_str(), file.is_advised, file.huge_pages()), ("/usr/lib/my lib.so", false, 0));
        assert_eq!((refused.is_refused, refused.huge_pages()), (true, 4));
        assert_eq!([range, file, refused].map(|range| range.takes_huge()), [true, false, false]);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "([0-9a-f]{0,20}-[0-9a-f]{0,20} [a-z -]{0,20}\n|[A-Za-z]{0,14}:[ 0-9a-zk]{0,24}B?\n|\\PC{0,20}\n){0,12}") {
            for range in parse(&text) {
                prop_assert!(range.slots().take(9).count() as u64 <= range.huge_pages());
            }
        }
    }
}
