//! What mount(8) says of a tmpfs: `huge=`, `mpol=` and `size=`, in the words of tmpfs(5).
//!
//! Key types: [`TmpfsOptions`] (all that is said), [`TmpfsSize`] (how much files may hold), [`ShmemHuge`].

use core::iter;

use order9_units::{Bytes, Pages};

use super::{MountPolicy, ShmemHuge};
use crate::space::Errno;

/// Options of a mount of tmpfs. What is not said of a new mount has its default, and stays as it is at a remount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TmpfsOptions {
    /// `huge=`; never by default.
    pub huge: Option<ShmemHuge>,
    /// `mpol=`; none by default.
    pub mpol: Option<MountPolicy>,
    /// `size=`; half of memory by default.
    pub size: Option<TmpfsSize>,
}

/// The mount option `size=`: how much all files of a mount may hold, in memory and in swap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TmpfsSize {
    /// So much, rounded up to whole pages; as much as there is, where that is nothing.
    Bytes(Bytes),
    /// So many hundredths of memory.
    Percent(u64),
}

impl TmpfsSize {
    /// The default of a mount.
    pub const HALF: Self = Self::Percent(50);

    /// The size called `word`: a number of bytes, with `k`, `m` or `g` of so many binary units, or with `%` of memory.
    #[must_use]
    pub fn find(word: &str) -> Option<Self> {
        if let Some(percent) = word.strip_suffix('%') {
            return number(percent).map(Self::Percent);
        }
        let unit = |letter: char| "kmg".find(letter.to_ascii_lowercase()).map(|at| 10 * (at + 1));
        let shift = word.chars().next_back().and_then(unit);
        let digits = if shift.is_some() { &word[..word.len() - 1] } else { word };
        let bytes = number(digits)?.checked_mul(1 << shift.unwrap_or(0))?;
        Some(Self::Bytes(Bytes::new(bytes)))
    }

    /// The most pages that files may hold on a machine with `memory`; `None` where there is no limit.
    pub(super) fn limit(self, memory: Pages) -> Option<Pages> {
        let limit = match self {
            Self::Bytes(bytes) => Pages::from_bytes_ceil(bytes),
            Self::Percent(percent) => {
                let bytes = u128::from(memory.bytes().get()) * u128::from(percent) / 100;
                Pages::from_bytes_ceil(Bytes::new(u64::try_from(bytes).unwrap_or(u64::MAX)))
            }
        };
        Some(limit).filter(|&limit| limit > Pages::ZERO)
    }
}

/// A number in decimal digits and nothing else.
fn number(digits: &str) -> Option<u64> {
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

/// The options of a list.
fn separate(words: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(words);
    iter::from_fn(move || {
        let all = rest?;
        let goes_on = |comma: usize| all.as_bytes().get(comma + 1).is_some_and(u8::is_ascii_digit);
        match all.match_indices(',').map(|(at, _)| at).find(|&comma| !goes_on(comma)) {
            Some(comma) => {
                rest = Some(&all[comma + 1..]);
                Some(&all[..comma])
            }
            None => rest.take(),
        }
    })
}

impl TmpfsOptions {
    /// What `words` say, separated by commas, behind which a digit goes on with the same option: `mpol=bind:0,2`. Of an option that is given twice the last one counts.
    ///
    /// # Errors
    /// `EINVAL` for an option or a value that there is not.
    pub fn parse(words: &str) -> Result<Self, Errno> {
        let mut options = Self::default();
        for word in separate(words).filter(|word| !word.is_empty()) {
            match word.split_once('=').ok_or(Errno::Einval)? {
                ("huge", value) => options.huge = Some(ShmemHuge::find(value).ok_or(Errno::Einval)?),
                ("mpol", value) => options.mpol = Some(MountPolicy::find(value).ok_or(Errno::Einval)?),
                ("size", value) => options.size = Some(TmpfsSize::find(value).ok_or(Errno::Einval)?),
                _ => return Err(Errno::Einval),
            }
        }
        Ok(options)
    }

    /// The same with this `size=`.
    #[must_use]
    pub const fn sized(self, size: TmpfsSize) -> Self {
        Self { size: Some(size), ..self }
    }
}

impl From<ShmemHuge> for TmpfsOptions {
    fn from(huge: ShmemHuge) -> Self {
        Self { huge: Some(huge), ..Self::default() }
    }
}

impl From<TmpfsSize> for TmpfsOptions {
    fn from(size: TmpfsSize) -> Self {
        Self { size: Some(size), ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_bytes_binary_units_or_hundredths_of_memory_and_rounded_up() {
        let memory = Pages::new(1001);
        for (word, pages) in [
            ("4096", Some(1)),
            ("4097", Some(2)),
            ("8k", Some(2)),
            ("1M", Some(256)),
            ("1g", Some(1 << 18)),
            ("0", None),
            ("50%", Some(501)),
            ("200%", Some(2002)),
            ("0%", None),
        ] {
            let size = TmpfsSize::find(word).expect(word);
            assert_eq!(size.limit(memory), pages.map(Pages::new), "{word}");
        }
        for word in ["", "%", "k", "-1", "+1", "1.5m", "1 k", "10x", "1mb", "99999999999g", "5%%", "½"] {
            assert_eq!(TmpfsSize::find(word), None, "{word}");
        }
    }

    #[test]
    fn options_are_separated_by_commas_and_the_last_one_counts() {
        let both = TmpfsOptions::from(ShmemHuge::Always).sized(TmpfsSize::Percent(10));
        assert_eq!(TmpfsOptions::parse("size=1m,huge=always,size=10%"), Ok(both));
        assert_eq!(TmpfsOptions::parse(""), Ok(TmpfsOptions::default()));
        let bound = TmpfsOptions { mpol: MountPolicy::find("bind:0-1,3"), ..both };
        assert_eq!(TmpfsOptions::parse("huge=always,mpol=bind:0-1,3,size=10%"), Ok(bound));
        for words in
            ["huge", "huge=deny", "size=all", "nosuch=1", "huge=always;size=1m", "mpol", "mpol=", "mpol=bind:0,,3"]
        {
            assert_eq!(TmpfsOptions::parse(words), Err(Errno::Einval), "{words}");
        }
    }
}
