//! Settings that are searched, each with its values, and combinations of them.

use std::collections::BTreeMap;

use order9_lab::scenario::taken;
use order9_policy::Loaded;
use order9_procfs::sysctl::Setting;
use order9_units::Bytes;

use super::TuneError;

/// A setting with the values that are tried.
#[derive(Clone, Debug)]
pub(super) struct Dimension {
    pub(super) setting: &'static Setting,
    /// The value of today, then the others.
    pub(super) values: Vec<String>,
}

/// All combinations of values.
#[derive(Clone, Debug)]
pub(super) struct Space(pub(super) Vec<Dimension>);

/// A combination: the position of a value for each setting; 0 leaves the setting as it is today.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Choice(pub(super) Vec<usize>);

/// Values of settings today, by name.
pub(super) type Today = BTreeMap<&'static str, String>;

/// Settings that are searched where nobody names any: those that decide when the kernel compacts and reclaims for huge pages. Sources of
/// the values: Linux' Documentation/admin-guide/sysctl/vm.rst and admin-guide/mm/transhuge.rst, defaults and their surroundings.
const USUAL: &[(&str, &[&str])] = &[
    ("thp/defrag", &["always", "defer", "defer+madvise", "madvise", "never"]),
    ("vm.compaction_proactiveness", &["0", "20", "40", "60", "80"]),
    ("vm.watermark_boost_factor", &["0", "15000", "60000"]),
    (MIN_FREE, &[]),
    ("vm.watermark_scale_factor", &["10", "50", "200"]),
    ("thp/khugepaged/scan_sleep_millisecs", &["1000", "10000"]),
    ("vm.defrag_mode", &["0", "1"]),
];
/// Values of this setting are multiples of what it is.
const MIN_FREE: &str = "vm.min_free_kbytes";
const MULTIPLES: [u64; 2] = [2, 4];
/// Least part of memory that its values leave to programs is 1 - 1 / this.
const MIN_FREE_SHARE: u64 = 20;

impl Space {
    /// The usual settings, as far as the kernel has them and takes their values.
    pub(super) fn usual(policy: &Loaded, today: &Today, memory: Bytes) -> Self {
        let dimension = |&(name, values): &(&str, &[&str])| {
            let now = today.get(name)?;
            let mut values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
            if name == MIN_FREE {
                values = multiples(now, memory);
            }
            values.retain(|value| taken(policy, name, value).is_ok());
            Some(Dimension::new(Setting::find(name)?, now, values))
        };
        Self(USUAL.iter().filter_map(dimension).filter(|dimension| dimension.values.len() > 1).collect())
    }

    /// The settings in arguments `NAME=VALUE,VALUE`.
    pub(super) fn asked(arguments: &[String], policy: &Loaded, today: &Today) -> Result<Self, TuneError> {
        let mut space = Self(Vec::new());
        for text in arguments {
            let said = || order9_toml::shown(text);
            let (name, values) = text.split_once('=').ok_or_else(|| TuneError::NoValues(said()))?;
            let (mut found, mut list) = (None, Vec::new());
            for value in values.split(',').map(str::trim) {
                found = Some(taken(policy, name.trim(), value).map_err(|problem| TuneError::setting(said(), problem))?);
                list.push(value.to_owned());
            }
            let setting = found.expect("a split text has a first part");
            if space.0.iter().any(|dimension| dimension.setting.name == setting.name) {
                return Err(TuneError::Twice { option: "--setting", name: setting.name });
            }
            let now = today.get(setting.name).ok_or(TuneError::Unreadable(setting.name))?;
            space.0.push(Dimension::new(setting, now, list));
        }
        Ok(space)
    }

    /// Everything as it is.
    pub(super) fn today(&self) -> Choice {
        Choice(vec![0; self.0.len()])
    }

    /// Number of combinations.
    pub(super) fn size(&self) -> usize {
        self.lengths().into_iter().fold(1, usize::saturating_mul)
    }

    /// Number of values of each setting.
    pub(super) fn lengths(&self) -> Vec<usize> {
        self.0.iter().map(|dimension| dimension.values.len()).collect()
    }

    /// Every combination.
    pub(super) fn all(&self) -> Vec<Choice> {
        let empty = vec![Choice(Vec::new())];
        self.lengths().into_iter().fold(empty, |begun, length| {
            let longer = |Choice(begin): &Choice| {
                let begin = begin.clone();
                (0..length).map(move |value| Choice([begin.as_slice(), &[value]].concat()))
            };
            begun.iter().flat_map(longer).collect()
        })
    }

    /// Every combination with another value of one setting than `choice` has.
    pub(super) fn around(&self, choice: &Choice) -> Vec<Choice> {
        let others = |(at, length): (usize, usize)| {
            (0..length).filter(move |&value| value != choice.0[at]).map(move |value| choice.with(at, value))
        };
        self.lengths().into_iter().enumerate().flat_map(others).collect()
    }

    /// Names and values of what differs from today.
    pub(super) fn changes(&self, choice: &Choice) -> Vec<(&'static str, &str)> {
        let changed = self.0.iter().zip(&choice.0).filter(|(_, value)| **value > 0);
        changed.map(|(dimension, &value)| (dimension.setting.name, dimension.values[value].as_str())).collect()
    }
}

impl Dimension {
    fn new(setting: &'static Setting, now: &str, mut values: Vec<String>) -> Self {
        values.retain(|value| value != now);
        values.insert(0, now.to_owned());
        let mut seen = Vec::new();
        values.retain(|value| {
            !seen.contains(value) && {
                seen.push(value.clone());
                true
            }
        });
        Self { setting, values }
    }
}

impl Choice {
    /// This combination with another value of one setting.
    pub(super) fn with(&self, at: usize, value: usize) -> Self {
        let mut choice = self.clone();
        choice.0[at] = value;
        choice
    }

    /// Number of settings that differ from today.
    pub(super) fn count(&self) -> usize {
        self.0.iter().filter(|value| **value > 0).count()
    }
}

/// Multiples of what is, as far as they leave programs nearly all of `memory`.
fn multiples(now: &str, memory: Bytes) -> Vec<String> {
    let most = memory.get() / 1024 / MIN_FREE_SHARE;
    let now: u64 = now.parse().unwrap_or(0);
    MULTIPLES
        .map(|times| now.saturating_mul(times))
        .into_iter()
        .filter(|of| *of <= most)
        .map(|of| of.to_string())
        .collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A space of settings with so many values each.
    pub(in crate::tune) fn space(lengths: &[usize]) -> Space {
        let names = USUAL.iter().map(|(name, _)| Setting::find(name).expect("it exists"));
        let values = |length: usize| (0..length).map(|value| value.to_string()).collect();
        Space(names.zip(lengths).map(|(setting, &length)| Dimension { setting, values: values(length) }).collect())
    }

    fn policy() -> Loaded {
        order9_policy::load("linux-6.1").expect("it is built in")
    }

    #[test]
    fn the_usual_settings_are_those_of_the_kernel() {
        let today: Today =
            USUAL.iter().map(|(name, values)| (*name, values.get(1).unwrap_or(&"66000").to_string())).collect();
        let usual = Space::usual(&policy(), &today, Bytes::from_gib(4));
        let names: Vec<&str> = usual.0.iter().map(|dimension| dimension.setting.name).collect();
        assert!(!names.contains(&"vm.defrag_mode"), "6.1 does not have it: {names:?}");
        assert_eq!(names.len(), 6);
        let min_free = usual.0.iter().find(|dimension| dimension.setting.name == MIN_FREE).expect("it is there");
        assert_eq!(min_free.values, ["66000", "132000"], "four times as much is more than a twentieth of memory");
        assert_eq!(usual.0[0].values[0], "defer", "the value of today is the first");
    }

    #[test]
    fn settings_are_asked_for_by_lists() {
        let today = Today::from([("vm.swappiness", "60".to_owned())]);
        let asked = |of: &[&str]| {
            let arguments: Vec<String> = of.iter().map(|text| (*text).to_owned()).collect();
            Space::asked(&arguments, &policy(), &today)
                .map(|space| space.0[0].values.clone())
                .map_err(|e| e.to_string())
        };
        assert_eq!(asked(&["vm/swappiness=0,60,100,0"]), Ok(["60", "0", "100"].map(str::to_owned).to_vec()));
        assert_eq!(asked(&["vm.swappiness"]), Err("--setting vm.swappiness: expected NAME=VALUE,VALUE,...".to_owned()));
        let twice = asked(&["vm.swappiness=0", "vm/swappiness=10"]);
        assert_eq!(twice, Err("--setting vm.swappiness: named twice, expected all values in one list".to_owned()));
        let refused = |text: &str| asked(&[text]).expect_err("it is wrong");
        assert!(refused("vm.swapiness=1").contains("did you mean vm.swappiness?"), "{}", refused("vm.swapiness=1"));
        assert!(
            refused("vm.swappiness=1,999").starts_with("--setting vm.swappiness=1,999: "),
            "{}",
            refused("vm.swappiness=1,999")
        );
        assert!(refused("vm.defrag_mode=1").contains("does not exist under linux-6.1"));
    }

    #[test]
    fn neighbours_differ_in_one_setting() {
        let space = space(&[3, 2]);
        assert_eq!(space.size(), 6);
        assert_eq!(space.all().len(), 6);
        let around = space.around(&Choice(vec![1, 0]));
        assert_eq!(around, [vec![0, 0], vec![2, 0], vec![1, 1]].map(Choice));
        assert_eq!(space.changes(&Choice(vec![2, 0])), [("thp/defrag", "2")]);
    }
}
