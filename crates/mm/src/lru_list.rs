//! Names of LRU lists: [`LruList`], and [`LruType`] of the pages on them.

/// A list of pages; Linux' `enum lru_list`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LruList {
    /// Anonymous and tmpfs pages that reclaim takes next.
    InactiveAnon,
    /// Anonymous and tmpfs pages found in use.
    ActiveAnon,
    /// Pages of files on disk that reclaim takes next.
    InactiveFile,
    /// Pages of files on disk found in use.
    ActiveFile,
    /// Pages of mlocked mappings.
    Unevictable,
}

/// Kind of storage that a page would be written back to; Linux counts tmpfs among the anonymous pages here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LruType {
    /// Swap.
    Anon,
    /// A file on disk.
    File,
}

impl LruType {
    /// Number of types.
    pub const COUNT: usize = 2;

    /// Type of the pages of an evictable list; of an unevictable page the list does not tell.
    #[must_use]
    pub const fn of(list: LruList) -> Self {
        match list {
            LruList::InactiveFile | LruList::ActiveFile => Self::File,
            LruList::InactiveAnon | LruList::ActiveAnon | LruList::Unevictable => Self::Anon,
        }
    }

    /// Position in arrays by type.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The list of pages found in use.
    #[must_use]
    pub const fn active(self) -> LruList {
        match self {
            Self::Anon => LruList::ActiveAnon,
            Self::File => LruList::ActiveFile,
        }
    }

    /// The list that reclaim takes from.
    #[must_use]
    pub const fn inactive(self) -> LruList {
        match self {
            Self::Anon => LruList::InactiveAnon,
            Self::File => LruList::InactiveFile,
        }
    }
}

impl LruList {
    /// Number of lists.
    pub const COUNT: usize = 5;
    /// All lists, in Linux' order.
    pub const ALL: [Self; Self::COUNT] =
        [Self::InactiveAnon, Self::ActiveAnon, Self::InactiveFile, Self::ActiveFile, Self::Unevictable];

    /// Name of the type in counters and trace events.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::InactiveAnon => "inactive_anon",
            Self::ActiveAnon => "active_anon",
            Self::InactiveFile => "inactive_file",
            Self::ActiveFile => "active_file",
            Self::Unevictable => "unevictable",
        }
    }

    /// Position in arrays by list.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }
}
