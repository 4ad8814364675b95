//! Words of settings: every value that a file takes as a word, listed once, in the order in which the file shows them.

use order9_mm::mempolicy::Mode;
use order9_mm::thp::SizeShmemEnabled;
use order9_mm::{ShmemEnabled, ShmemHuge};
use order9_units::{HugeDefrag, HugeEnabled, SizeEnabled};

/// A value that text has a word for.
pub trait Words: Copy + PartialEq + 'static {
    /// All values, in the order in which files show them.
    const ALL: &'static [Self];
    /// The words for them, in the same order.
    const WORDS: &'static [&'static str];

    /// The value called `word`.
    #[must_use]
    fn find(word: &str) -> Option<Self> {
        Self::WORDS.iter().position(|&known| known == word).map(|at| Self::ALL[at])
    }

    /// The word for the value.
    ///
    /// # Panics
    /// If the value is not in [`Words::ALL`].
    #[must_use]
    fn word(self) -> &'static str {
        let at = Self::ALL.iter().position(|&value| value == self);
        Self::WORDS[at.expect("every value has a word")]
    }
}

/// Modes whose words are known below the engine, too.
macro_rules! known {
    ($($of:ty),+) => {
        $(impl Words for $of {
            const ALL: &'static [Self] = &Self::ALL;
            const WORDS: &'static [&'static str] = &Self::WORDS;
        })+
    };
}

macro_rules! words {
    ($of:ty { $($value:expr => $word:literal),+ $(,)? }) => {
        impl Words for $of {
            const ALL: &'static [Self] = &[$($value),+];
            const WORDS: &'static [&'static str] = &[$($word),+];
        }
    };
}

known!(HugeEnabled, HugeDefrag, SizeEnabled);

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
        assert!(Mode::ALL.as_slice() == <Mode as Words>::ALL);
    }
}
