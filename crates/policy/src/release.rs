//! Policies of Linux releases that no file describes: each switch as the table of switches says that it was then.
//!
//! Key types: [`Release`] (a number, from what `uname -r` prints), [`Releases`] (those for which a value of a switch holds).
//! The numbers in the table are from change logs; docs/policies.md says how exact they are.

use std::fmt;

use crate::diff::Diff;
use crate::error::PolicyError;
use crate::load::{Loaded, load};
use crate::presets::PRESETS;
use crate::switch::{Switch, Value, Values};
use crate::table::switches;

/// A release of Linux, by the two numbers that matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release {
    major: u32,
    minor: u32,
}

/// Policies of stable kernels, each with the first update that has what it says. Lists say the day of an update and not its number:
/// the numbers follow from the pace of one a week, and may be off by a few.
const UPDATED: [(&str, u32); 5] = [
    ("linux-5.10-lts", 253),
    ("linux-6.1-lts", 167),
    ("linux-6.6-lts", 130),
    ("linux-6.12-lts", 29),
    ("linux-6.18-lts", 17),
];

/// A release with a built-in policy in its place, where there is no policy of the release itself.
#[derive(Clone, Debug)]
pub struct OfRelease {
    /// The policy, called `linux-` and the number.
    pub policy: Loaded,
    /// The built-in policy that it differs least from.
    pub nearest: Loaded,
    /// Differences between that policy and the release.
    pub diff: Diff,
}

impl Release {
    /// The release that `text` begins with, as `6.12.9-200.fc41` does; `None` where it begins with none.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let mut numbers = text.split(|c: char| !c.is_ascii_digit());
        let (major, minor) = (numbers.next()?, numbers.next()?);
        let is_dotted = text[major.len()..].starts_with('.');
        Some(Self { major: major.parse().ok().filter(|_| is_dotted)?, minor: minor.parse().ok()? })
    }

    /// The built-in policy of the stable kernel that `text` begins with, where its updates changed the policy of its release:
    /// `linux-6.12-lts` for `6.12.107`.
    #[must_use]
    pub fn with_updates(text: &str) -> Option<&'static str> {
        let release = Self::of(text)?;
        let update = text.split(|c: char| !c.is_ascii_digit()).nth(2)?.parse::<u32>().ok()?;
        let updated = |&&(name, first): &&(&str, u32)| {
            Self::of(name.strip_prefix("linux-").unwrap_or_default()) == Some(release) && update >= first
        };
        UPDATED.iter().find(updated).map(|(name, _)| *name)
    }

    /// The oldest and the newest release with a built-in policy.
    #[must_use]
    pub fn known() -> (Self, Self) {
        let releases = || built_in().map(|(release, _)| release);
        (releases().min().expect("there are releases"), releases().max().expect("there are releases"))
    }

    /// The policy of this release; `None` where it is older than all that are known. What is newer than all is taken to be
    /// as the newest.
    ///
    /// # Errors
    /// None, as long as the built-in files and the table are what their tests saw.
    pub fn policy(self) -> Result<Option<OfRelease>, PolicyError> {
        let (oldest, newest) = Self::known();
        if self < oldest {
            return Ok(None);
        }
        let presets = built_in().map(|(release, name)| Ok((release, load(name)?)));
        let presets = presets.collect::<Result<Vec<_>, PolicyError>>()?;
        let at = self.min(newest);
        let (before, base) =
            presets.iter().rev().find(|(release, _)| *release <= at).expect("it is not older than all");
        let policy = if *before == at { base.clone() } else { at.after(base, &presets)? };
        let compared = presets.iter().map(|(_, preset)| (preset, Diff::new(preset, &policy)));
        let (nearest, diff) = compared.min_by_key(|(_, diff)| diff.differences.len()).expect("there are releases");
        Ok(Some(OfRelease { nearest: nearest.clone(), diff, policy }))
    }

    /// `preset`, of an older release, with every switch of which the table says another value for this one. Where it says
    /// none there is nothing yet that the switch could change.
    fn after(self, preset: &Loaded, presets: &[(Self, Loaded)]) -> Result<Loaded, PolicyError> {
        let value = |switch: &'static Switch| {
            let was = switch.get(&preset.policy);
            let others = presets.iter().map(|(_, other)| switch.get(&other.policy)).chain(words(switch));
            let holds = |value: &Value| Releases::of(switch, *value).has(self);
            (switch, std::iter::once(was).chain(others).find(holds).unwrap_or(was))
        };
        let name = format!("linux-{self}");
        let summary = format!("Linux {self}: {} with what the table of switches says of {self}", preset.name);
        preset.with_values(switches().map(value), name, summary)
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Releases with a file of their own, oldest first.
fn built_in() -> impl Iterator<Item = (Release, &'static str)> {
    PRESETS.iter().filter_map(|preset| {
        let release = Release::of(preset.name.strip_prefix("linux-")?)?;
        (preset.name == format!("linux-{release}")).then_some((release, preset.name))
    })
}

/// The values of a switch that have names.
fn words(switch: &Switch) -> Vec<Value> {
    match &switch.values {
        Values::Flag { .. } => vec![Value::Flag(false), Value::Flag(true)],
        Values::Word { cases, .. } => cases.iter().map(|case| Value::Word(case.name)).collect(),
        Values::Number { absent, .. } => absent.iter().map(|case| Value::Word(case.name)).collect(),
    }
}

/// Releases for which a value of a switch holds, as the table tells them.
struct Releases {
    text: &'static str,
    /// The number that is the value, where the text tells of several.
    number: Option<u64>,
}

impl Releases {
    fn of(switch: &Switch, value: Value) -> Self {
        let number = if let Value::Number(number) = value { Some(number) } else { None };
        Self { text: switch.releases(value), number }
    }

    fn has(&self, release: Release) -> bool {
        let known = self.text.split(';').next().unwrap_or_default();
        known == "every release"
            || known.split([',']).flat_map(|part| part.split(" and ")).any(|part| self.part_has(part, release))
    }

    /// `up to 4.7`, `4.8+`, `4.8 to 5.2`, `4.8`, `from 4.8 on`; a number in front is the only one that this is said of.
    fn part_has(&self, part: &str, release: Release) -> bool {
        let part = part.trim().trim_start_matches("and ");
        let (first, rest) = part.split_once(' ').unwrap_or((part, ""));
        match (first.parse::<u64>(), self.number) {
            (Ok(said), number) if !rest.is_empty() => {
                return number == Some(said) && Self { text: "", number: None }.part_has(rest, release);
            }
            _ => {}
        }
        let at = |text: &str| Release::of(text.trim());
        if let Some(last) = part.strip_prefix("up to ") {
            at(last).is_some_and(|last| release <= last)
        } else if let Some(first) = part.strip_suffix('+').or_else(|| part.strip_prefix("from ")?.strip_suffix(" on")) {
            at(first).is_some_and(|first| release >= first)
        } else if let Some((first, last)) = part.split_once(" to ") {
            at(first).zip(at(last)).is_some_and(|(first, last)| (first..=last).contains(&release))
        } else {
            at(part) == Some(release)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(text: &str) -> Release {
        Release::of(text).expect("a release")
    }

    #[test]
    fn releases_are_read_from_what_uname_prints() {
        for (text, is) in [("6.18.44-fc-v657", "6.18"), ("5.14.0-427.el9.x86_64", "5.14"), ("4.4", "4.4")] {
            assert_eq!(release(text).to_string(), is);
        }
        for text in ["", "lab", "6", "6-1", "x6.1", "13.2-RELEASE-but-not.1".trim_start_matches("13.2")] {
            assert_eq!(Release::of(text), None, "{text}");
        }
        assert!(release("6.9.1") < release("6.18"));
    }

    #[test]
    fn what_the_table_says_of_releases_is_understood() {
        let has = |text, at, number| Releases { text, number }.has(release(at));
        for (text, releases) in [
            ("up to 4.7", ["4.7", "4.8"]),
            ("4.8+", ["6.0", "4.7"]),
            ("4.18 and 4.19", ["4.19", "4.20"]),
            ("up to 4.17, and 5.0+", ["5.0", "4.18"]),
            ("5.14 to 5.19", ["5.19", "6.0"]),
            ("5.1+; 5.0 had it without effect", ["5.1", "5.0"]),
        ] {
            assert_eq!(releases.map(|at| has(text, at, None)), [true, false], "{text}");
        }
        assert!(has("every release", "5.5", None) && !has("order9", "5.5", None));
        let limits = "65536 up to 5.7, 262144 from 5.8 on";
        assert_eq!([65_536, 262_144].map(|number| has(limits, "5.8", Some(number))), [false, true]);
    }

    #[test]
    fn updates_of_a_release_may_have_a_policy_of_their_own() {
        for (text, name) in [
            ("6.12.107+deb13-cloud-amd64", Some("linux-6.12-lts")),
            ("6.12.28", None),
            ("6.12", None),
            ("5.14.0-427.el9.x86_64", None),
            ("6.18.44-fc-v657", Some("linux-6.18-lts")),
        ] {
            assert_eq!(Release::with_updates(text), name, "{text}");
        }
        for (name, _) in UPDATED {
            assert!(load(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn no_switch_says_two_values_of_a_release() {
        let presets: Vec<_> = built_in().map(|(_, name)| load(name).expect("built in")).collect();
        let mut odd = Vec::new();
        for text in
            ["4.4", "4.9", "4.14", "4.19", "5.4", "5.10", "5.15", "6.1", "6.6", "6.12", "6.15", "6.18", "7.0", "7.2"]
        {
            for switch in switches() {
                let values = presets.iter().map(|preset| switch.get(&preset.policy)).chain(words(switch));
                let mut held: Vec<Value> = Vec::new();
                for value in values.filter(|value| Releases::of(switch, *value).has(release(text))) {
                    if !held.contains(&value) {
                        held.push(value);
                    }
                }
                if held.len() > 1 {
                    odd.push(format!("{} of {text}: {held:?}", switch.key));
                }
            }
        }
        assert!(odd.is_empty(), "{}", odd.join("\n"));
    }

    #[test]
    fn a_release_with_a_file_is_what_the_table_says_of_it() {
        let presets: Vec<_> = built_in().map(|(release, name)| (release, load(name).expect("built in"))).collect();
        let mut odd = Vec::new();
        for (at, own) in &presets {
            for switch in switches() {
                let holds = |value: Value| Releases::of(switch, value).has(*at);
                let value = switch.get(&own.policy);
                if words(switch).into_iter().any(holds) && !holds(value) {
                    odd.push(format!("{at}: {} is {value}", switch.key));
                }
            }
        }
        assert!(odd.is_empty(), "{}", odd.join("\n"));
    }

    #[test]
    fn releases_between_files_are_nearest_to_what_they_share_most_with() {
        let of = |at| release(at).policy().expect("it is sound").expect("it is known");
        let found = of("6.15.5");
        assert_eq!((found.policy.name.as_str(), found.nearest.name.as_str()), ("linux-6.15", "linux-6.12"));
        let keys: Vec<_> = found.diff.differences.iter().map(|difference| difference.key).collect();
        assert_eq!(keys, ["fallback.search", "fallback.defrag_mode", "thp.zero_write", "thp.free_empty_tables"]);
        assert_eq!(of("6.18.44").diff.differences.len(), 0);
        assert_eq!(of("6.18.44").policy.name, "linux-6.18");
        assert_eq!(of("7.3").policy.name, "linux-7.2");
        assert!(release("3.10.0").policy().expect("it is sound").is_none());
    }
}
