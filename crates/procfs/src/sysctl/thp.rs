//! Files below /sys/kernel/mm/transparent_hugepage: those that hold words, the one in force in brackets, and the numbers of
//! khugepaged. The switch of interleaving's weights is such a file, too.

use alloc::string::String;
use core::fmt::Write;

use order9_mm::policy::{HugeInterface, Policy};
use order9_mm::thp::{HugeDefrag, HugeEnabled, KhugepagedSettings, SizeEnabled, SizeShmemEnabled};
use order9_mm::{Mm, ShmemEnabled};

use super::{KhugepagedFile, Knob, weights};
use crate::Words;

/// The content of the file; `None` if it holds no words, or the policy in force has no such file.
pub(super) fn read_words(mm: &Mm, knob: Knob) -> Option<String> {
    let policy = mm.policy();
    match knob {
        Knob::InterleaveAuto => weights::read_auto(mm),
        Knob::ThpEnabled => Some(bracketed(<HugeEnabled as Words>::ALL, mm.phys().thp_enabled())),
        Knob::ThpDefrag => Some(bracketed(defrag_modes(policy), mm.phys().thp_defrag())),
        Knob::ThpShmemEnabled if policy.thp.shmem => {
            Some(bracketed(<ShmemEnabled as Words>::ALL, mm.pages().cache().shmem_enabled()))
        }
        Knob::ThpSizeEnabled(size) if has_sizes(policy) => {
            Some(bracketed(<SizeEnabled as Words>::ALL, mm.phys().thp_size_enabled(size)))
        }
        Knob::ThpSizeShmemEnabled if has_sizes(policy) => {
            Some(bracketed(<SizeShmemEnabled as Words>::ALL, mm.pages().cache().shmem_size_enabled()))
        }
        _ => None,
    }
}

/// Writes a word to the file, and says whether it is one of its words; `None` as [`read_words`].
pub(super) fn write_words(mm: &mut Mm, knob: Knob, text: &str) -> Option<bool> {
    let policy = mm.policy();
    let exactly = text.strip_suffix('\n').unwrap_or(text);
    let is_named = |word: &str| match policy.thp.words_by_prefix {
        true => !text.is_empty() && text.bytes().zip(word.bytes()).all(|(a, b)| a == b),
        false => exactly == word,
    };
    match knob {
        Knob::ThpEnabled => {
            let found = HugeEnabled::ALL.into_iter().find(|value| is_named(value.word()));
            Some(found.map(|value| mm.phys_mut().set_thp_enabled(value)).is_some())
        }
        Knob::ThpDefrag => {
            let found = defrag_modes(policy).find(|value| is_named(value.word()));
            Some(found.map(|&value| mm.phys_mut().set_thp_defrag(value)).is_some())
        }
        Knob::ThpShmemEnabled if policy.thp.shmem => {
            // Force is for sizes that inherit.
            let may_force = mm.pages().cache().shmem_size_enabled() == SizeShmemEnabled::Inherit;
            let found = ShmemEnabled::find(exactly).filter(|&value| value != ShmemEnabled::Force || may_force);
            Some(found.map(|value| mm.pages_mut().cache_mut().set_shmem_enabled(value)).is_some())
        }
        Knob::ThpSizeEnabled(size) if has_sizes(policy) => {
            Some(SizeEnabled::find(exactly).map(|value| mm.phys_mut().set_thp_size_enabled(size, value)).is_some())
        }
        Knob::ThpSizeShmemEnabled if has_sizes(policy) => Some(
            SizeShmemEnabled::find(exactly)
                .map(|value| mm.pages_mut().cache_mut().set_shmem_size_enabled(value))
                .is_some(),
        ),
        _ => None,
    }
}

/// The number in a file of khugepaged; `None` where the policy in force has no such file.
pub(super) fn khugepaged_number(mm: &Mm, file: KhugepagedFile) -> Option<u64> {
    let (settings, policy) = (mm.tunables().khugepaged, &mm.policy().thp);
    match file {
        KhugepagedFile::AllocSleepMillisecs => Some(settings.alloc_sleep_ms),
        KhugepagedFile::Defrag => Some(u64::from(settings.defrag)),
        KhugepagedFile::FullScans => Some(u64::from(mm.pages().huge().khugepaged_full_scans())),
        KhugepagedFile::MaxPtesNone => Some(settings.max_ptes_none),
        KhugepagedFile::MaxPtesShared => policy.max_ptes_shared.then_some(settings.max_ptes_shared),
        KhugepagedFile::MaxPtesSwap => policy.max_ptes_swap.then_some(settings.max_ptes_swap),
        KhugepagedFile::PagesCollapsed => Some(u64::from(mm.pages().huge().khugepaged_pages_collapsed())),
        KhugepagedFile::PagesToScan => Some(settings.pages_to_scan),
        KhugepagedFile::ScanSleepMillisecs => Some(settings.scan_sleep_ms),
    }
}

/// Sets a file of khugepaged that can be written.
pub(super) fn tune_khugepaged(settings: &mut KhugepagedSettings, file: KhugepagedFile, number: u64) {
    match file {
        KhugepagedFile::AllocSleepMillisecs => settings.alloc_sleep_ms = number,
        KhugepagedFile::Defrag => settings.defrag = number != 0,
        KhugepagedFile::MaxPtesNone => settings.max_ptes_none = number,
        KhugepagedFile::MaxPtesShared => settings.max_ptes_shared = number,
        KhugepagedFile::MaxPtesSwap => settings.max_ptes_swap = number,
        KhugepagedFile::PagesToScan => settings.pages_to_scan = number,
        KhugepagedFile::ScanSleepMillisecs => settings.scan_sleep_ms = number,
        KhugepagedFile::FullScans | KhugepagedFile::PagesCollapsed => unreachable!("{file:?} is read-only"),
    }
}

/// Whether kernels of this policy have a folder for each size of huge pages.
pub(super) fn has_sizes(policy: &Policy) -> bool {
    policy.thp.interface >= HugeInterface::Sizes
}

fn defrag_modes(policy: &Policy) -> impl Iterator<Item = &'static HugeDefrag> {
    HugeDefrag::ALL.iter().filter(|&&value| policy.thp.has_defrag(value))
}

/// All words, the one in force in brackets.
fn bracketed<V: Words>(values: impl IntoIterator<Item = &'static V>, current: V) -> String {
    let mut text = String::new();
    for (at, &value) in values.into_iter().enumerate() {
        let (separator, word) = (if at == 0 { "" } else { " " }, value.word());
        let written = match value == current {
            true => write!(text, "{separator}[{word}]"),
            false => write!(text, "{separator}{word}"),
        };
        written.expect("a string takes everything");
    }
    text.push('\n');
    text
}
