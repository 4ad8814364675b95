//! Strings of a snapshot: which characters they may hold.
//!
//! A snapshot comes from another host, and its strings end up on terminals and in pictures. So they hold plain characters
//! only ([`order9_escape::is_plain`]), and a setting also tabs and line ends, which the kernel writes between numbers. A
//! capture replaces what else it meets; [`format`](crate::format) neither reads nor writes a snapshot with anything else.

use std::collections::BTreeMap;

use order9_escape::is_plain;

use crate::owners::Owners;
use crate::{Snapshot, Source};

/// Stands in a capture for a character that a snapshot cannot hold.
const REPLACEMENT: char = char::REPLACEMENT_CHARACTER;

impl Snapshot {
    /// The first string that holds a character which it may not, and what it is.
    pub(crate) fn odd_string(&self) -> Option<(&'static str, &str)> {
        let Self { source, machine, nodes, zones, settings, vmstat, meminfo, missing, owners, .. } = self;
        let source = if let Source::Synthetic(arguments) = source { arguments.as_str() } else { "" };
        let single = [
            ("the source", source),
            ("the kernel release", machine.kernel_release.as_str()),
            ("the kernel command line", machine.kernel_command_line.as_str()),
        ];
        let counters = nodes.iter().map(|node| &node.counters).chain(zones.iter().map(|zone| &zone.counters));
        let counters = counters.chain([vmstat, meminfo]).flat_map(BTreeMap::keys);
        let missing = missing.iter().flat_map(|missing| [&missing.path, &missing.reason]);
        let lines = single
            .into_iter()
            .chain(counters.map(|name| ("the name of a counter", name.as_str())))
            .chain(settings.keys().map(|name| ("the name of a setting", name.as_str())))
            .chain(missing.map(|text| ("what is missing", text.as_str())))
            .chain(owners.iter().flat_map(Owners::names).map(|name| ("the name of an owner", name.as_str())));
        let values = settings.values().map(|value| ("the value of a setting", value.as_str()));
        let odd_line = |(_, text): &(_, &str)| !text.chars().all(is_plain);
        let odd_value = |(_, text): &(_, &str)| !text.chars().all(is_laid_out);
        lines.filter(odd_line).chain(values.filter(odd_value)).next()
    }

    /// Puts U+FFFD in the place of every character that a string of a snapshot cannot hold.
    pub fn replace_odd_characters(&mut self) {
        if self.odd_string().is_none() {
            return;
        }
        let Self { source, machine, nodes, zones, settings, vmstat, meminfo, missing, owners, .. } = self;
        if let Source::Synthetic(arguments) = source {
            replace(arguments, is_plain);
        }
        replace(&mut machine.kernel_release, is_plain);
        replace(&mut machine.kernel_command_line, is_plain);
        nodes.iter_mut().for_each(|node| replace_names(&mut node.counters));
        zones.iter_mut().for_each(|zone| replace_names(&mut zone.counters));
        replace_names(vmstat);
        replace_names(meminfo);
        replace_names(settings);
        settings.values_mut().for_each(|value| replace(value, is_laid_out));
        for missing in missing {
            replace(&mut missing.path, is_plain);
            replace(&mut missing.reason, is_plain);
        }
        owners.iter_mut().flat_map(Owners::names_mut).for_each(|name| replace(name, is_plain));
    }
}

/// Whether the value of a setting may hold `c` for its layout.
fn is_laid_out(c: char) -> bool {
    is_plain(c) || c == '\n' || c == '\t'
}

fn replace(text: &mut String, fits: fn(char) -> bool) {
    if !text.chars().all(fits) {
        *text = text.chars().map(|c| if fits(c) { c } else { REPLACEMENT }).collect();
    }
}

fn replace_names<T>(map: &mut BTreeMap<String, T>) {
    let fitting = |(mut name, value): (String, T)| {
        replace(&mut name, is_plain);
        (name, value)
    };
    *map = std::mem::take(map).into_iter().map(fitting).collect();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Machine, Missing};

    #[test]
    fn a_capture_keeps_no_odd_character() {
        let odd = "a\u{1b}[2Jb\u{202e}";
        let mut snapshot = Snapshot {
            source: Source::Synthetic(odd.to_owned()),
            machine: Machine {
                kernel_release: odd.to_owned(),
                kernel_command_line: odd.to_owned(),
                ..Machine::default()
            },
            settings: [(odd.to_owned(), "256\t32\n\u{7}".to_owned())].into(),
            vmstat: [(odd.to_owned(), 1)].into(),
            meminfo: [(odd.to_owned(), 2)].into(),
            missing: vec![Missing { path: odd.to_owned(), reason: odd.to_owned() }],
            ..Snapshot::default()
        };
        assert_eq!(snapshot.odd_string(), Some(("the source", odd)));
        snapshot.replace_odd_characters();
        assert_eq!(snapshot.odd_string(), None);
        assert_eq!(snapshot.machine.kernel_release, "a\u{fffd}[2Jb\u{fffd}");
        assert_eq!(snapshot.settings["a\u{fffd}[2Jb\u{fffd}"], "256\t32\n\u{fffd}");
    }
}
