//! Words of settings: every value that a file takes as a word, listed once, in the order in which the file shows them.

use order9_mm::mempolicy::Mode;
use order9_mm::thp::{HugeDefrag, HugeEnabled, SizeEnabled, SizeShmemEnabled};
use order9_mm::{ShmemEnabled, ShmemHuge};

/// A value that text has a word for.
pub trait Words: Copy + PartialEq + 'static {
    /// All values and their words, in the order in which files show them.
    const WORDS: &'static [(Self, &'static str)];
    /// The words alone.
    const NAMES: &'static [&'static str];

    /// The value called `word`.
    #[must_use]
    fn find(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|&&(_, name)| name == word).map(|&(value, _)| value)
    }

    /// The word for the value.
    ///
    /// # Panics
    /// If the value is not in [`Words::WORDS`].
    #[must_use]
    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|&&(value, _)| value == self).map(|&(_, name)| name).expect("every value has a word")
    }
}

macro_rules! words {
    ($of:ty { $($value:expr => $word:literal),+ $(,)? }) => {
        impl Words for $of {
            const WORDS: &'static [(Self, &'static str)] = &[$(($value, $word)),+];
            const NAMES: &'static [&'static str] = &[$($word),+];
        }
    };
}

words!(HugeEnabled { Self::Always => "always", Self::Madvise => "madvise", Self::Never => "never" });

words!(HugeDefrag {
    Self::Always => "always",
    Self::Defer => "defer",
    Self::DeferMadvise => "defer+madvise",
    Self::Madvise => "madvise",
    Self::Never => "never",
});

words!(SizeEnabled {
    Self::Always => "always",
    Self::Inherit => "inherit",
    Self::Madvise => "madvise",
    Self::Never => "never",
});

words!(ShmemEnabled {
    Self::Mount(ShmemHuge::Always) => "always",
    Self::Mount(ShmemHuge::WithinSize) => "within_size",
    Self::Mount(ShmemHuge::Advise) => "advise",
    Self::Mount(ShmemHuge::Never) => "never",
    Self::Deny => "deny",
    Self::Force => "force",
});

words!(SizeShmemEnabled {
    Self::Own(ShmemHuge::Always) => "always",
    Self::Inherit => "inherit",
    Self::Own(ShmemHuge::WithinSize) => "within_size",
    Self::Own(ShmemHuge::Advise) => "advise",
    Self::Own(ShmemHuge::Never) => "never",
});

words!(ShmemHuge {
    Self::Always => "always",
    Self::WithinSize => "within_size",
    Self::Advise => "advise",
    Self::Never => "never",
});

words!(Mode {
    Self::Default => "default",
    Self::Preferred => "prefer",
    Self::Bind => "bind",
    Self::Interleave => "interleave",
    Self::Local => "local",
    Self::PreferredMany => "prefer (many)",
    Self::WeightedInterleave => "weighted interleave",
    Self::NodeProximity => "proximity",
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_of_a_memory_policy_has_a_word() {
        assert!(Mode::ALL.iter().eq(Mode::WORDS.iter().map(|(mode, _)| mode)));
    }
}
