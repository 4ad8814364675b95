//! Files below /sys/kernel/mm/transparent_hugepage that hold words, the one in force in brackets.

use alloc::string::String;
use core::fmt::Write;

use super::Knob;
use crate::Mm;
use crate::thp::{HugeDefrag, HugeEnabled};
use crate::trace::Tracer;

impl<T: Tracer> Mm<T> {
    /// The content of the file; `None` if it holds no words.
    pub(super) fn read_words(&self, knob: Knob) -> Option<String> {
        match knob {
            Knob::ThpEnabled => Some(bracketed(HugeEnabled::WORDS.into_iter(), self.thp_enabled())),
            Knob::ThpDefrag => Some(bracketed(self.defrag_words(), self.thp_defrag())),
            _ => None,
        }
    }

    /// Writes a word to the file, and says whether it is one of its words; `None` if it holds no words.
    pub(super) fn write_words(&mut self, knob: Knob, text: &str) -> Option<bool> {
        let is_named = |word: &str| match self.policy.thp.words_by_prefix {
            true => !text.is_empty() && text.bytes().zip(word.bytes()).all(|(a, b)| a == b),
            false => text.strip_suffix('\n').unwrap_or(text) == word,
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
            _ => None,
        }
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
