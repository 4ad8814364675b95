//! `thp_anon=` and `thp_shmem=`: a word for sizes of huge pages, such as `16K-64K:always;128K,512K:inherit;2M:madvise`.

use order9_units::Bytes;

use crate::Words;
use crate::memparse::memparse;

/// Bytes of a huge page.
const HUGE: u64 = 2 << 20;

/// A value that Linux does not take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed;

/// The word for pages of 2 MiB in `value`, the last one where there are several, and nothing where it does not name them.
/// Sizes are powers of two from `smallest` bytes on; one word that is none of `V`, or one size that is none, spoils all.
pub(super) fn word_of_huge_pages<V: Words>(value: &str, smallest: u64) -> Result<Option<V>, Malformed> {
    let mut found = None;
    for setting in value.split(';') {
        let (sizes, word) = setting.split_once(':').ok_or(Malformed)?;
        let word = V::find(word).ok_or(Malformed)?;
        for range in sizes.split(',') {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let (first, last) = (size(first, smallest)?, size(last, smallest)?);
            if first > last {
                return Err(Malformed);
            }
            if last == HUGE {
                found = Some(word);
            }
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
            assert_eq!(word_of_huge_pages(value, 16 << 10), Ok(word), "{value}");
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
            assert_eq!(word_of_huge_pages::<HugeEnabled>(wrong, 16 << 10), Err(Malformed), "{wrong}");
        }
        assert_eq!(word_of_huge_pages::<HugeEnabled>("8K:always", 8 << 10), Ok(None), "shared memory has smaller ones");
    }
}
