//! Files below /sys/kernel/mm/transparent_hugepage: those that hold words, the one in force in brackets, and the numbers of
//! khugepaged. The switch of interleaving's weights is such a file, too.

use alloc::format;
use alloc::string::String;
use core::fmt::Write;

use super::{KhugepagedFile, Knob};
use crate::Mm;
use crate::shmem::ShmemEnabled;
use crate::thp::{HugeDefrag, HugeEnabled, SizeEnabled, SizeShmemEnabled};
use crate::trace::Tracer;

impl<T: Tracer> Mm<T> {
    /// The content of the file; `None` if it holds no words, or the policy in force has no such file.
    pub(super) fn read_words(&self, knob: Knob) -> Option<String> {
        match knob {
            Knob::InterleaveAuto => self.auto_weights().map(|on| format!("{on}\n")),
            Knob::ThpEnabled => Some(bracketed(HugeEnabled::WORDS.into_iter(), self.thp_enabled())),
            Knob::ThpDefrag => Some(bracketed(self.defrag_words(), self.thp_defrag())),
            Knob::ThpShmemEnabled if self.policy.thp.shmem => {
                Some(bracketed(ShmemEnabled::WORDS.into_iter(), self.shmem_enabled()))
            }
            Knob::ThpSizeEnabled if self.has_sizes() => {
                Some(bracketed(SizeEnabled::WORDS.into_iter(), self.thp_size_enabled()))
            }
            Knob::ThpSizeShmemEnabled if self.has_sizes() => {
                Some(bracketed(SizeShmemEnabled::WORDS.into_iter(), self.shmem_size_enabled()))
            }
            _ => None,
        }
    }

    /// Writes a word to the file, and says whether it is one of its words; `None` as [`Mm::read_words`].
    pub(super) fn write_words(&mut self, knob: Knob, text: &str) -> Option<bool> {
        let is_exactly = |word: &str| text.strip_suffix('\n').unwrap_or(text) == word;
        let is_named = |word: &str| match self.policy.thp.words_by_prefix {
            true => !text.is_empty() && text.bytes().zip(word.bytes()).all(|(a, b)| a == b),
            false => is_exactly(word),
        };
        match knob {
            Knob::ThpEnabled => {
                let found = HugeEnabled::WORDS.into_iter().find(|(_, word)| is_named(word));
                Some(found.map(|(value, _)| self.set_thp_enabled(value)).is_some())
            }
            Knob::ThpDefrag => {
                let found = self.defrag_words().find(|(_, word)| is_named(word));
                Some(found.map(|(value, _)| self.set_thp_defrag(value)).is_some())
            }
            Knob::ThpShmemEnabled if self.policy.thp.shmem => {
                let found = ShmemEnabled::WORDS.into_iter().find(|(_, word)| is_exactly(word));
                let found = found.filter(|&(value, _)| self.may_enable_shmem(value));
                Some(found.map(|(value, _)| self.set_shmem_enabled(value)).is_some())
            }
            Knob::ThpSizeEnabled if self.has_sizes() => {
                let found = SizeEnabled::WORDS.into_iter().find(|(_, word)| is_exactly(word));
                Some(found.map(|(value, _)| self.set_thp_size_enabled(value)).is_some())
            }
            Knob::ThpSizeShmemEnabled if self.has_sizes() => {
                let found = SizeShmemEnabled::WORDS.into_iter().find(|(_, word)| is_exactly(word));
                Some(found.map(|(value, _)| self.set_shmem_size_enabled(value)).is_some())
            }
            _ => None,
        }
    }

    /// The number in a file of khugepaged; `None` where the policy in force has no such file.
    pub(super) fn khugepaged_value(&self, file: KhugepagedFile) -> Option<u64> {
        let (settings, policy) = (&self.settings.thp.khugepaged, &self.policy.thp);
        match file {
            KhugepagedFile::AllocSleepMillisecs => Some(settings.alloc_sleep_ms),
            KhugepagedFile::Defrag => Some(u64::from(settings.defrag)),
            KhugepagedFile::FullScans => Some(u64::from(self.khugepaged_full_scans())),
            KhugepagedFile::MaxPtesNone => Some(settings.max_ptes_none),
            KhugepagedFile::MaxPtesShared => policy.max_ptes_shared.then_some(settings.max_ptes_shared),
            KhugepagedFile::MaxPtesSwap => policy.max_ptes_swap.then_some(settings.max_ptes_swap),
            KhugepagedFile::PagesCollapsed => Some(u64::from(self.khugepaged_pages_collapsed())),
            KhugepagedFile::PagesToScan => Some(settings.pages_to_scan),
            KhugepagedFile::ScanSleepMillisecs => Some(settings.scan_sleep_ms),
        }
    }

    /// Sets a file of khugepaged that can be written. Writing the length of a pause ends the one that is being made.
    pub(super) fn set_khugepaged(&mut self, file: KhugepagedFile, number: u64) {
        let settings = &mut self.settings.thp.khugepaged;
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
        let is_pause = matches!(file, KhugepagedFile::AllocSleepMillisecs | KhugepagedFile::ScanSleepMillisecs);
        self.wakeups.khugepaged |= is_pause;
    }

    fn defrag_words(&self) -> impl Iterator<Item = (HugeDefrag, &'static str)> + use<T> {
        let policy = self.policy.thp.clone();
        HugeDefrag::WORDS.into_iter().filter(move |(value, _)| value.exists(&policy))
    }
}

fn bracketed<V: PartialEq + Copy>(words: impl Iterator<Item = (V, &'static str)>, current: V) -> String {
    let mut text = String::new();
    for (at, (value, word)) in words.enumerate() {
        let separator = if at == 0 { "" } else { " " };
        let written = match value == current {
            true => write!(text, "{separator}[{word}]"),
            false => write!(text, "{separator}{word}"),
        };
        written.expect("a string takes everything");
    }
    text.push('\n');
    text
}
