//! Operations on address spaces, as data that prints as code, and how they are drawn.

use order9_mm::space::{Access, Madvise, Prot};
use proptest::prelude::*;

/// One step. Spaces, files and pins are counted modulo how many there are; `page` counts from the start of the window.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    Create,
    CreateFile {
        size: u64,
    },
    CloseFile {
        file: usize,
    },
    Truncate {
        file: usize,
        size: u64,
    },
    Punch {
        file: usize,
        index: u64,
        pages: u64,
    },
    Mmap {
        space: usize,
        place: At,
        pages: u64,
        prot: Prot,
        from: From,
        locked: bool,
    },
    Munmap {
        space: usize,
        page: u64,
        pages: u64,
    },
    Mprotect {
        space: usize,
        page: u64,
        pages: u64,
        prot: Prot,
    },
    Madvise {
        space: usize,
        page: u64,
        pages: u64,
        advice: Madvise,
    },
    Lock {
        space: usize,
        page: u64,
        pages: u64,
        locked: bool,
    },
    Populate {
        space: usize,
        page: u64,
        pages: u64,
    },
    Mremap {
        space: usize,
        page: u64,
        old: u64,
        new: u64,
        to: To,
    },
    Touch {
        space: usize,
        page: u64,
        pages: u64,
        access: Access,
    },
    /// An access during whose allocation the page is unmapped, discarded, or touched by another thread.
    RacedTouch {
        space: usize,
        page: u64,
        access: Access,
        race: Race,
    },
    Fork {
        space: usize,
    },
    Exit {
        space: usize,
    },
    Pin {
        space: usize,
        page: u64,
    },
    Isolate {
        space: usize,
        page: u64,
    },
    Unpin {
        nth: usize,
    },
    /// Steps of reclaim: a pass, or a part of one that ends before its pages are dealt with.
    Reclaim {
        steps: usize,
        priority: u8,
        kswapd: bool,
        may_unmap: bool,
        may_write: bool,
    },
    /// The oldest writes to swap end.
    EndWrites {
        writes: usize,
    },
    MarkAccessed {
        space: usize,
        page: u64,
    },
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum At {
    Anywhere,
    Hint(u64),
    Fixed(u64),
    NoReplace(u64),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum From {
    Anon,
    AnonShared,
    File { file: usize, offset: u64, shared: bool },
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum To {
    InPlace,
    MayMove,
    Fixed(u64),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Race {
    Munmap,
    DontNeed,
    Touch,
    Fork,
    Punch,
    Exit,
}

fn page() -> impl Strategy<Value = u64> {
    // Crowded around the edges of two slots, so that operations meet.
    prop_oneof![12 => 504..524_u64, 4 => 1_016..1_036_u64, 1 => 0..2_000_u64]
}

fn pages() -> impl Strategy<Value = u64> {
    prop_oneof![12 => 1..12_u64, 1 => 1..600_u64]
}

fn prot() -> impl Strategy<Value = Prot> {
    prop_oneof![
        4 => Just(Prot::RW),
        1 => Just(Prot::READ),
        1 => Just(Prot::NONE),
        1 => Just(Prot::READ | Prot::EXEC),
    ]
}

fn access() -> impl Strategy<Value = Access> {
    prop_oneof![1 => Just(Access::Read), 2 => Just(Access::Write)]
}

fn from() -> impl Strategy<Value = From> {
    prop_oneof![
        2 => Just(From::Anon),
        1 => Just(From::AnonShared),
        3 => (0..3_usize, 0..16_u64, any::<bool>()).prop_map(|(file, offset, shared)| From::File { file, offset, shared }),
    ]
}

fn at() -> impl Strategy<Value = At> {
    prop_oneof![
        1 => Just(At::Anywhere),
        3 => page().prop_map(At::Fixed),
        1 => page().prop_map(At::Hint),
        1 => page().prop_map(At::NoReplace),
    ]
}

fn race() -> impl Strategy<Value = Race> {
    prop_oneof![
        Just(Race::Munmap),
        Just(Race::DontNeed),
        Just(Race::Touch),
        Just(Race::Fork),
        Just(Race::Punch),
        Just(Race::Exit),
    ]
}

/// Any step.
pub(crate) fn op() -> impl Strategy<Value = Op> {
    let space = 0..3_usize;
    let range = (space.clone(), page(), pages()).boxed();
    let advice = prop_oneof![
        2 => Just(Madvise::DontNeed),
        1 => Just(Madvise::Remove),
        1 => Just(Madvise::HugePage),
        1 => Just(Madvise::NoHugePage)
    ];
    let to = prop_oneof![Just(To::InPlace), Just(To::MayMove), page().prop_map(To::Fixed)];
    prop_oneof![
        1 => Just(Op::Create),
        2 => (0..24_u64).prop_map(|size| Op::CreateFile { size }),
        1 => (0..3_usize).prop_map(|file| Op::CloseFile { file }),
        1 => (0..3_usize, 0..24_u64).prop_map(|(file, size)| Op::Truncate { file, size }),
        1 => (0..3_usize, 0..24_u64, 1..8_u64).prop_map(|(file, index, pages)| Op::Punch { file, index, pages }),
        10 => (space.clone(), at(), pages(), prot(), from(), prop::bool::weighted(0.1)).prop_map(
            |(space, place, pages, prot, from, locked)| Op::Mmap { space, place, pages, prot, from, locked }
        ),
        4 => range.clone().prop_map(|(space, page, pages)| Op::Munmap { space, page, pages }),
        4 => (range.clone(), prot()).prop_map(|((space, page, pages), prot)| Op::Mprotect { space, page, pages, prot }),
        4 => (range.clone(), advice).prop_map(|((space, page, pages), advice)| Op::Madvise { space, page, pages, advice }),
        2 => (range.clone(), any::<bool>()).prop_map(|((space, page, pages), locked)| Op::Lock { space, page, pages, locked }),
        1 => range.clone().prop_map(|(space, page, pages)| Op::Populate { space, page, pages }),
        5 => (range.clone(), pages(), to).prop_map(|((space, page, old), new, to)| Op::Mremap { space, page, old, new, to }),
        12 => (range.clone(), access()).prop_map(|((space, page, pages), access)| Op::Touch { space, page, pages, access }),
        4 => (space.clone(), page(), access(), race())
            .prop_map(|(space, page, access, race)| Op::RacedTouch { space, page, access, race }),
        2 => space.clone().prop_map(|space| Op::Fork { space }),
        1 => space.clone().prop_map(|space| Op::Exit { space }),
        2 => (space.clone(), page()).prop_map(|(space, page)| Op::Pin { space, page }),
        1 => (space.clone(), page()).prop_map(|(space, page)| Op::Isolate { space, page }),
        6 => (1..40_usize, 0..4_u8, any::<bool>(), prop::bool::weighted(0.9), prop::bool::weighted(0.9)).prop_map(
            |(steps, priority, kswapd, may_unmap, may_write)| Op::Reclaim { steps, priority, kswapd, may_unmap, may_write }
        ),
        4 => (1..40_usize).prop_map(|writes| Op::EndWrites { writes }),
        4 => (space, page()).prop_map(|(space, page)| Op::MarkAccessed { space, page }),
        2 => (0..3_usize).prop_map(|nth| Op::Unpin { nth }),
    ]
}
