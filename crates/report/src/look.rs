//! Looks of pageblocks on a map: one colour, one letter and one line of the legend for each state.
//!
//! The palette runs from bright to deep with the work that stands between a block and a huge page: mint (free), teal
//! to indigo (more and more pages to move), violet (held by what could be dropped), mauve (perhaps
//! free already). Warm colours are apart from that scale: gold is a huge page at work, vermilion a huge page lost to a
//! few frames. Neighbouring steps differ in lightness as well as hue, so they stay apart for colour-blind readers and in
//! grey.

use anstyle::{Ansi256Color, RgbColor};
use order9_snapshot::census::{BlockState, BlockSummary};
use order9_snapshot::classify::FrameClass;
use order9_units::PAGEBLOCK_PAGES;

/// Appearance of one pageblock in a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Look {
    /// Free as one block of a huge page.
    FreeHuge,
    /// Movable pages and free frames only: up to 64 pages to move.
    Recoverable64,
    /// 65 to 192 pages to move.
    Recoverable192,
    /// 193 to 320 pages to move.
    Recoverable320,
    /// 321 to 448 pages to move.
    Recoverable448,
    /// 449 pages to move, or more.
    Recoverable512,
    /// The block is in use as a huge page.
    HugeInUse,
    /// Held by reclaimable slab alone.
    Reclaimable,
    /// Held by unmarked frames alone, which may all be free pages on per-CPU lists.
    Unmarked,
    /// Held by 1 to 8 immovable frames.
    HeldByFew,
    /// Held by 9 to 64 immovable frames.
    HeldBySome,
    /// Held by more than 64 immovable frames.
    HeldByMany,
    /// Mostly reserved or firmware frames, or a hole in part.
    Reserved,
    /// Exists but was not given to the buddy allocator yet.
    Deferred,
    /// The block has no memory.
    Hole,
}

impl Look {
    /// Number of looks.
    pub const COUNT: usize = 15;

    /// All looks in the order of the legend.
    pub const ALL: [Self; Self::COUNT] = [
        Self::FreeHuge,
        Self::Recoverable64,
        Self::Recoverable192,
        Self::Recoverable320,
        Self::Recoverable448,
        Self::Recoverable512,
        Self::HugeInUse,
        Self::Reclaimable,
        Self::Unmarked,
        Self::HeldByFew,
        Self::HeldBySome,
        Self::HeldByMany,
        Self::Reserved,
        Self::Deferred,
        Self::Hole,
    ];

    /// Position in [`Look::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The look of a pageblock with this content.
    #[must_use]
    pub fn of(block: &BlockSummary) -> Self {
        match block.state() {
            BlockState::Free => Self::FreeHuge,
            BlockState::Evacuable => Self::recoverable(block.movable()),
            BlockState::Huge(_) => Self::HugeInUse,
            BlockState::Slab => Self::Reclaimable,
            BlockState::Unmarked => Self::Unmarked,
            BlockState::Deferred => Self::Deferred,
            BlockState::Partial if u64::from(block.absent()) == PAGEBLOCK_PAGES.get() => Self::Hole,
            BlockState::Partial => Self::Reserved,
            BlockState::Lost => match block.holder() {
                Some((FrameClass::Reserved, _)) => Self::Reserved,
                _ => Self::held(block.immovable()),
            },
        }
    }

    /// The look of a block that `moves` pages must leave, 0 to 512.
    #[must_use]
    pub const fn recoverable(moves: u16) -> Self {
        match moves {
            0..=64 => Self::Recoverable64,
            65..=192 => Self::Recoverable192,
            193..=320 => Self::Recoverable320,
            321..=448 => Self::Recoverable448,
            _ => Self::Recoverable512,
        }
    }

    /// The look of a block that `frames` immovable frames hold.
    #[must_use]
    pub const fn held(frames: u16) -> Self {
        match frames {
            0..=8 => Self::HeldByFew,
            9..=64 => Self::HeldBySome,
            _ => Self::HeldByMany,
        }
    }

    /// Colour of the look.
    #[must_use]
    pub const fn colour(self) -> RgbColor {
        match self {
            Self::FreeHuge => RgbColor(0x8d, 0xf7, 0xc4),
            Self::Recoverable64 => RgbColor(0x2f, 0xc9, 0xb4),
            Self::Recoverable192 => RgbColor(0x1d, 0xa2, 0xc0),
            Self::Recoverable320 => RgbColor(0x2b, 0x7b, 0xc4),
            Self::Recoverable448 => RgbColor(0x3b, 0x57, 0xb4),
            Self::Recoverable512 => RgbColor(0x43, 0x3d, 0x96),
            Self::HugeInUse => RgbColor(0xf6, 0xc9, 0x45),
            Self::Reclaimable => RgbColor(0xb5, 0x7e, 0xdc),
            Self::Unmarked => RgbColor(0x8f, 0x62, 0x78),
            Self::HeldByFew => RgbColor(0xff, 0x5b, 0x2e),
            Self::HeldBySome => RgbColor(0xb8, 0x43, 0x32),
            Self::HeldByMany => RgbColor(0x74, 0x80, 0x90),
            Self::Reserved => RgbColor(0x47, 0x4e, 0x59),
            Self::Deferred => RgbColor(0x2a, 0x30, 0x3a),
            Self::Hole => RgbColor(0x14, 0x18, 0x1f),
        }
    }

    /// Colour of the look in a palette of 256: chosen by hand, since the nearest entries of that palette turn deep
    /// blues grey.
    #[must_use]
    pub const fn colour_256(self) -> Ansi256Color {
        Ansi256Color(match self {
            Self::FreeHuge => 121,
            Self::Recoverable64 => 43,
            Self::Recoverable192 => 38,
            Self::Recoverable320 => 32,
            Self::Recoverable448 => 26,
            Self::Recoverable512 => 19,
            Self::HugeInUse => 221,
            Self::Reclaimable => 140,
            Self::Unmarked => 96,
            Self::HeldByFew => 202,
            Self::HeldBySome => 124,
            Self::HeldByMany => 245,
            Self::Reserved => 240,
            Self::Deferred => 236,
            Self::Hole => 233,
        })
    }

    /// Character of the look where there is no colour.
    #[must_use]
    pub const fn letter(self) -> char {
        match self {
            Self::FreeHuge => '.',
            Self::Recoverable64 => '1',
            Self::Recoverable192 => '2',
            Self::Recoverable320 => '3',
            Self::Recoverable448 => '4',
            Self::Recoverable512 => '5',
            Self::HugeInUse => 'H',
            Self::Reclaimable => 's',
            Self::Unmarked => '?',
            Self::HeldByFew => 'x',
            Self::HeldBySome => 'X',
            Self::HeldByMany => '#',
            Self::Reserved => 'r',
            Self::Deferred => '-',
            Self::Hole => ' ',
        }
    }

    /// Line of the look in the legend, at most 29 characters.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::FreeHuge => "free huge page",
            Self::Recoverable64 => "all movable, 0-64 moves",
            Self::Recoverable192 => "all movable, 65-192 moves",
            Self::Recoverable320 => "all movable, 193-320 moves",
            Self::Recoverable448 => "all movable, 321-448 moves",
            Self::Recoverable512 => "all movable, 449-512 moves",
            Self::HugeInUse => "huge page in use",
            Self::Reclaimable => "held by reclaimable slab only",
            Self::Unmarked => "perhaps free on per-CPU lists",
            Self::HeldByFew => "held by 1-8 immovable pages",
            Self::HeldBySome => "held by 9-64 immovable pages",
            Self::HeldByMany => "held by 65 or more",
            Self::Reserved => "reserved, or a hole in part",
            Self::Deferred => "not yet initialised",
            Self::Hole => "no memory",
        }
    }
}
