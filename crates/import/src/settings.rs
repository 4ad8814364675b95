//! Settings of a snapshot, written to an engine as a program writes to their files.
//!
//! Key type: [`SettingsReport`] (what became of each). What the engine models is in its own list of settings, so that this
//! one names only what is written in a way of its own, and what other settings bear on results.

use order9_mm::Mm;
use order9_procfs::sysctl::{self, Access, HugetlbFile, Knob, Model, SETTINGS, Setting, SettingError};
use order9_snapshot::Snapshot;
use order9_units::{HugeSize, SizeEnabled};

use crate::ImportError;

/// Settings of a snapshot, sorted by whether the engine could take them over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SettingsReport {
    /// Settings that are in force now, in the order of [`SETTINGS`].
    pub taken: Vec<Taken>,
    /// Settings whose file the policy's kernels do not have, or take no such value for, where they say something else than Linux
    /// starts with.
    pub not_in_policy: Vec<Untaken>,
    /// Settings that hide where memory was put, and are on only where somebody asks for them.
    pub left_off: Vec<Untaken>,
    /// Settings without a model in the engine, where they say something else than Linux does by default.
    pub not_modelled: Vec<Untaken>,
}

/// A setting that was taken over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The setting that was written.
    pub setting: &'static Setting,
    /// The value with which the engine starts under this policy.
    pub before: String,
    /// The value that was written.
    pub value: String,
}

/// A setting that was not taken over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untaken {
    /// Name of the setting, as in [`Setting::name`].
    pub name: String,
    /// Value of the setting in the snapshot.
    pub value: String,
}

/// A setting that the engine has no list of, and what it says where it has no effect.
struct Other {
    /// Beginning of the path.
    begin: &'static str,
    /// End of the path, behind the size of a page where there is one.
    end: &'static str,
    /// The value that Linux starts with.
    default: &'static str,
}

const HUGEPAGES: &str = "/sys/kernel/mm/hugepages/";
/// The only size of hugetlb pages that the engine has.
const MODELLED_SIZE: &str = "hugepages-2048kB/";

/// Settings that bear on results and that the engine has no model of.
const OTHERS: &[Other] = &[
    Other { begin: HUGEPAGES, end: "kB/nr_hugepages", default: "0" },
    Other { begin: HUGEPAGES, end: "kB/nr_overcommit_hugepages", default: "0" },
    Other { begin: "/sys/kernel/mm/lru_gen/", end: "enabled", default: "0x0000" },
    Other { begin: "/sys/kernel/mm/numa/", end: "demotion_enabled", default: "false" },
    Other { begin: "/sys/kernel/mm/transparent_hugepage/", end: "-8kB/shmem_enabled", default: "never" },
];

/// Writes the settings of `snapshot` to `mm`.
///
/// # Errors
/// [`ImportError::Setting`] for the first that no kernel would say.
pub(crate) fn write(snapshot: &Snapshot, mm: &mut Mm) -> Result<SettingsReport, ImportError> {
    let mut report = SettingsReport { not_modelled: others(snapshot), ..SettingsReport::default() };
    let mut held: Vec<(&'static Setting, String)> =
        SETTINGS.iter().filter_map(|setting| held(snapshot, setting)).collect();
    // Huge pages raise it, and the file says what came of that.
    held.sort_by_key(|(setting, _)| setting.model == Model::Engine(Knob::MinFreeKbytes));
    for (setting, value) in held {
        let untaken = || Untaken { name: setting.name.to_owned(), value: value.clone() };
        if let Model::Missing(_) = setting.model {
            report.not_modelled.extend(is_unusual(setting, &value).then(untaken));
            continue;
        }
        if setting.model == Model::Engine(Knob::NumaBalancing) {
            report.left_off.extend((value != "0").then(untaken));
            continue;
        }
        let before = sysctl::read(mm, setting.name).map(|text| value_shown(&text));
        match sysctl::write(mm, setting.name, &value) {
            Ok(()) => {
                let before = before.expect("what can be written as a setting can be read");
                report.taken.push(Taken { setting, before, value });
            }
            Err(SettingError::Absent(_) | SettingError::TooLarge(..)) => {
                report.not_in_policy.extend(is_unusual(setting, &value).then(untaken));
                write_without_sizes(setting, &value, mm)?;
            }
            // A copy has no bandwidths yet, and the setting is one of what is made of them.
            Err(SettingError::NoBandwidth(_)) => report.left_off.push(untaken()),
            Err(error) => return Err(ImportError::Setting { path: setting.path, value, error }),
        }
    }
    // What was written last may have changed what came before.
    for taken in &mut report.taken {
        taken.value =
            sysctl::read(mm, taken.setting.name).map_or_else(|_| taken.value.clone(), |text| value_shown(&text));
    }
    report.taken.sort_by_key(|taken| SETTINGS.iter().position(|setting| std::ptr::eq(setting, taken.setting)));
    Ok(report)
}

/// The value of a setting in the snapshot, as it is written. `None` where the snapshot does not have the setting, or
/// the value is not to be written.
fn held(snapshot: &Snapshot, setting: &'static Setting) -> Option<(&'static Setting, String)> {
    let text = |path: &str| snapshot.settings.get(path).map(|text| value_shown(text));
    let value = text(setting.path)?;
    let Model::Engine(knob) = setting.model else { return Some((setting, value)) };
    // Of these the later one switches the other off, and what is off says 0.
    let is_off = |other: &str| value == "0" && text(other).is_some_and(|other| other != "0");
    let is_left_out = match knob {
        Knob::DirtyBytes | Knob::DirtyBackgroundBytes => value == "0",
        Knob::DirtyRatio => is_off("/proc/sys/vm/dirty_bytes"),
        Knob::DirtyBackgroundRatio => is_off("/proc/sys/vm/dirty_background_bytes"),
        // The map holds the pages of the pools.
        Knob::Hugetlb(HugetlbFile::Nr) => true,
        _ => setting.access != Access::ReadWrite,
    };
    (!is_left_out).then_some((setting, value))
}

/// Writes the value of a per-size file to the file for all sizes, for policies that have no files by size.
fn write_without_sizes(setting: &'static Setting, value: &str, mm: &mut Mm) -> Result<(), ImportError> {
    if setting.model != Model::Engine(Knob::ThpSizeEnabled(HugeSize::PMD)) {
        return Ok(());
    }
    let invalid = |error| ImportError::Setting { path: setting.path, value: value.to_owned(), error };
    let size = SizeEnabled::find(value).ok_or_else(|| invalid(SettingError::Invalid(setting)))?;
    let enabled = size.rule(mm.phys().thp_enabled());
    mm.phys_mut().set_thp_enabled(enabled);
    Ok(())
}

/// Whether a setting says something else than Linux starts with, where that is one value.
fn is_unusual(setting: &Setting, value: &str) -> bool {
    let is_one_value =
        !setting.default.is_empty() && !setting.default.contains(|c: char| c.is_alphabetic() || c == '%');
    let is_word = matches!(setting.values, order9_procfs::sysctl::Values::Words(_));
    (is_one_value || is_word) && !value.split_whitespace().eq(setting.default.split_whitespace())
}

/// Settings beside those of the engine's list that say something else than Linux starts with.
fn others(snapshot: &Snapshot) -> Vec<Untaken> {
    let says = |(path, text): (&String, &String)| {
        let is_other = |other: &&Other| path.starts_with(other.begin) && path.ends_with(other.end);
        let other = OTHERS.iter().find(is_other).filter(|_| !path.contains(MODELLED_SIZE))?;
        let value = value_shown(text);
        let name = path.strip_prefix("/sys/kernel/mm/").unwrap_or(path);
        let name =
            name.strip_prefix("transparent_hugepage/").map_or_else(|| name.to_owned(), |name| format!("thp/{name}"));
        (value != other.default).then_some(Untaken { name, value })
    };
    snapshot.settings.iter().filter_map(says).collect()
}

/// The content of a file as it would be written: of several words that in brackets; blanks between numbers.
#[must_use]
pub fn value_shown(text: &str) -> String {
    let word = text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(word, _)| word.to_owned());
    word.unwrap_or_else(|| text.split_whitespace().collect::<Vec<_>>().join(" "))
}
