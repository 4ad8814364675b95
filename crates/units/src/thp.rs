//! Modes of huge pages, spelled as the files below /sys/kernel/mm/transparent_hugepage spell them.

/// A mode with the words for its values, in the order in which its file shows them.
macro_rules! mode {
    ($(#[$about_mode:meta])* $mode:ident: $count:literal { $($(#[$about:meta])* $value:ident = $word:literal,)+ }) => {
        $(#[$about_mode])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $mode {
            $($(#[$about])* $value,)+
        }

        impl $mode {
            /// All values, in the order in which the file shows them.
            pub const ALL: [Self; $count] = [$(Self::$value),+];
            /// The words for them, in the same order.
            pub const WORDS: [&'static str; $count] = [$($word),+];

            /// The word for the value.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$value => $word,)+
                }
            }

            /// The value called `word`.
            #[must_use]
            pub fn find(word: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|value| value.word() == word)
            }
        }
    };
}

mode! {
    /// `transparent_hugepage/enabled`, and the boot parameter `transparent_hugepage=`: which anonymous memory gets huge pages.
    HugeEnabled: 3 {
        /// All, unless advised against.
        Always = "always",
        /// Memory that `MADV_HUGEPAGE` names.
        Madvise = "madvise",
        /// No memory.
        Never = "never",
    }
}

mode! {
    /// `transparent_hugepage/defrag`: what a fault does that finds no free huge page.
    HugeDefrag: 5 {
        /// The fault reclaims and compacts.
        Always = "always",
        /// The fault wakes kswapd and kcompactd, and takes base pages.
        Defer = "defer",
        /// In advised memory the fault reclaims and compacts; elsewhere it wakes the daemons and takes base pages.
        DeferMadvise = "defer+madvise",
        /// In advised memory the fault reclaims and compacts; elsewhere it takes base pages.
        Madvise = "madvise",
        /// The fault takes base pages where no huge page is free.
        Never = "never",
    }
}

mode! {
    /// `hugepages-*kB/enabled`: which anonymous memory gets huge pages of a size.
    SizeEnabled: 4 {
        /// All, unless advised against.
        Always = "always",
        /// The rule of `transparent_hugepage/enabled`.
        Inherit = "inherit",
        /// Memory that `MADV_HUGEPAGE` names.
        Madvise = "madvise",
        /// No memory.
        Never = "never",
    }
}

impl SizeEnabled {
    /// The rule for huge pages of this size where `transparent_hugepage/enabled` is `all_sizes`.
    #[must_use]
    pub const fn rule(self, all_sizes: HugeEnabled) -> HugeEnabled {
        match self {
            Self::Always => HugeEnabled::Always,
            Self::Inherit => all_sizes,
            Self::Madvise => HugeEnabled::Madvise,
            Self::Never => HugeEnabled::Never,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_name_their_values_and_no_beginnings_of_them() {
        assert_eq!(HugeDefrag::WORDS.map(HugeDefrag::find), HugeDefrag::ALL.map(Some));
        assert_eq!(HugeEnabled::WORDS.map(HugeEnabled::find), HugeEnabled::ALL.map(Some));
        assert_eq!(SizeEnabled::WORDS.map(SizeEnabled::find), SizeEnabled::ALL.map(Some));
        assert_eq!((HugeDefrag::find("def"), HugeEnabled::find("inherit")), (None, None));
    }
}
