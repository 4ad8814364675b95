//! `thp_anon=` and `thp_shmem=`: a word for sizes of huge pages, such as `16K-64K:always;128K,512K:inherit;2M:madvise`.

use alloc::vec::Vec;

use order9_units::{Bytes, HugeSize};

use crate::Words;
use crate::memparse::memparse;

/// Bytes of a huge page of the largest size.
pub(super) const HUGE: u64 = HugeSize::PMD.kib() << 10;

/// A value that Linux does not take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed;

/// The sizes that `value` names, in bytes, with their words; where a size comes twice, the last one counts. Sizes are powers of
/// two from `smallest` bytes to 2 MiB; one word that is none of `V`, or one size that is none, spoils all.
pub(super) fn words_by_size<V: Words>(value: &str, smallest: u64) -> Result<Vec<(u64, V)>, Malformed> {
    let mut found = Vec::new();
    for setting in value.split(';') {
        let (sizes, word) = setting.split_once(':').ok_or(Malformed)?;
        let word = V::find(word).ok_or(Malformed)?;
        for range in sizes.split(',') {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let (first, last) = (size(first, smallest)?, size(last, smallest)?);
            if first > last {
                return Err(Malformed);
            }
            let sizes = core::iter::successors(Some(first), |size| Some(size * 2));
            found.extend(sizes.take_while(|&size| size <= last).map(|size| (size, word)));
        }
    }
    Ok(found)
}

/// `64K`, `2M`: bytes, if there may be huge pages of this size.
fn size(text: &str, smallest: u64) -> Result<u64, Malformed> {
    let bytes = memparse(text).map(Bytes::get);
    bytes.filter(|bytes| bytes.is_power_of_two() && (smallest..=HUGE).contains(bytes)).ok_or(Malformed)
}

#[cfg(test)]
mod tests {
    use order9_units::HugeEnabled::{self, Always, Madvise, Never};

    use super::*;

    #[test]
    fn sizes_and_ranges_have_a_word() {
        for (value, word) in [
            ("2M:always", Some(Always)),
            ("2048K:madvise", Some(Madvise)),
            ("16K-2M:never", Some(Never)),
            ("16K-64K:always;128K,512K:madvise", None),
            ("16K-64K:always;128K,2m:madvise", Some(Madvise)),
            ("2M:always;64K:never", Some(Always)),
            ("2M:always;1M-2M:never", Some(Never)),
        ] {
            let named: Vec<(u64, HugeEnabled)> = words_by_size(value, 16 << 10).expect("it is well formed");
            assert_eq!(named.iter().rfind(|&&(size, _)| size == HUGE).map(|&(_, word)| word), word, "{value}");
        }
        for wrong in [
            "",
            "2M",
            "always",
            ":always",
            "2M:",
            "2M:sometimes",
            "2M:always;",
            "32,64K:always",
            "8K:always",
            "4M:always",
            "48K:always",
            "2M-64K:always",
            "2X:always",
            "2MK:always",
            "-2M:always",
            "+2M:always",
            "2M:always:never",
        ] {
            assert_eq!(words_by_size::<HugeEnabled>(wrong, 16 << 10), Err(Malformed), "{wrong}");
        }
        let smaller = words_by_size("8K:always", 8 << 10);
        assert_eq!(smaller, Ok(alloc::vec![(8 << 10, Always)]), "shared memory has smaller ones");
        let ranges = words_by_size("16K-64K:always;32K:never", 16 << 10).expect("it is well formed");
        assert_eq!(ranges, [(16 << 10, Always), (32 << 10, Always), (64 << 10, Always), (32 << 10, Never)]);
    }
}
