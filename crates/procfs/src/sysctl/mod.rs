//! Settings by the names Linux gives them: read and written as the files of /proc/sys/vm and /sys are.
//!
//! Key types: [`Setting`] (a name, what it means, what it takes), [`SETTINGS`] (all of them: the one list that programs, docs
//! and tests read), [`Knob`] (what of the engine a setting sets), [`SettingError`]. [`read`] answers with the content of the
//! file, [`write()`] takes what would be written to it. A setting whose mechanism the engine does not have is in the list and
//! refused by name. What differs between releases and is no setting there is a [`order9_mm::policy::Policy`]. Behaviour and
//! sources: docs/settings.md.

mod error;
mod hugetlb;
mod knob;
mod numbers;
mod sizes;
mod table;
mod thp;
mod value;
mod weights;

use alloc::string::String;
use alloc::vec::Vec;

use order9_mm::Mm;

pub use error::SettingError;
pub use hugetlb::pool_size;
pub use knob::{HugetlbFile, KhugepagedFile, Knob, NumaScanFile, NumaScanFolder};
pub use table::SETTINGS;
pub use value::Values;

/// A setting of Linux, modelled or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The name that sysctl(8) uses, such as `vm.swappiness`. Files in /sys/kernel/mm/transparent_hugepage are `thp/`
    /// and their path there, files in /sys/kernel/mm/hugepages/hugepages-2048kB are `hugetlb/` and their path there.
    pub name: &'static str,
    /// Path of the file.
    pub path: &'static str,
    /// The effect of the setting, in words.
    pub meaning: &'static str,
    /// Unit of its value; empty where it has none.
    pub unit: &'static str,
    /// The value that Linux starts with.
    pub default: &'static str,
    /// The values that may be written.
    pub values: Values,
    /// Whether the file can be read and written.
    pub access: Access,
    /// Whether and how the engine has the setting.
    pub model: Model,
}

/// Access that the mode of a setting's file allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Mode 0644.
    ReadWrite,
    /// Mode 0444.
    ReadOnly,
    /// Mode 0200: writing it starts something.
    WriteOnly,
}

/// Whether and how the engine has a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// The setting has the effect that it has on Linux.
    Engine(Knob),
    /// The setting cannot be written, because the engine does not have this.
    Missing(&'static str),
}

impl Setting {
    /// The setting that `name` names: by [`Setting::name`], with `/` and `.` alike, or by [`Setting::path`].
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        let canonical = |byte: u8| if byte == b'.' { b'/' } else { byte };
        let is_named = |setting: &&Self| {
            name == setting.path || name.bytes().map(canonical).eq(setting.name.bytes().map(canonical))
        };
        SETTINGS.iter().find(is_named)
    }

    /// Whether it has an effect.
    #[must_use]
    pub const fn is_modelled(&self) -> bool {
        matches!(self.model, Model::Engine(_))
    }

    /// Whether it is a file of /sys, which takes a number and nothing else.
    #[must_use]
    pub fn is_sysfs(&self) -> bool {
        self.path.starts_with("/sys/")
    }

    /// Whether `value` is one of its [`values`](Self::values), written as its file reads it.
    #[must_use]
    pub fn admits(&self, value: &str) -> bool {
        match self.values {
            Values::Words(words) => words.contains(&value),
            _ => self.numbers(value).is_some(),
        }
    }

    /// The numbers that its file reads in `value`; `None` where it refuses them.
    fn numbers(&self, value: &str) -> Option<Vec<i64>> {
        if self.is_sysfs() { self.values.parse_sysfs(value) } else { self.values.parse(value) }
    }

    fn knob(&'static self) -> Result<Knob, SettingError> {
        match self.model {
            Model::Engine(knob) => Ok(knob),
            Model::Missing(_) => Err(SettingError::NotModelled(self)),
        }
    }
}

/// The content of the file of a setting, closing newline included. `name` is as [`Setting::find`] takes it, or the path of
/// a file of a node: of its hugetlb pool, or the weight that interleaving gives it.
///
/// # Errors
/// [`SettingError`], never `ReadOnly` or `Invalid`.
pub fn read(mm: &Mm, name: &str) -> Result<String, SettingError> {
    if let Some((node, setting)) = hugetlb::of_node(name) {
        return hugetlb::read(mm, node, setting);
    }
    if let Some((node, setting)) = weights::of_node(name) {
        return weights::read(mm, node, setting);
    }
    let setting = Setting::find(name).ok_or(SettingError::Unknown)?;
    if setting.access == Access::WriteOnly {
        return Err(SettingError::WriteOnly(setting));
    }
    let knob = setting.knob()?;
    if let Some(words) = thp::read_words(mm, knob) {
        return Ok(words);
    }
    let numbers = numbers::shown(mm, knob).ok_or(SettingError::Absent(setting))?;
    Ok(value::render(&numbers))
}

/// Writes `value` to a setting, as a program that writes to its file once. `name` is as for [`read`]. A pool
/// of huge pages grows as far as free memory goes, see [`pool_size`].
///
/// # Errors
/// [`SettingError`], never `WriteOnly`.
pub fn write(mm: &mut Mm, name: &str, value: &str) -> Result<(), SettingError> {
    if let Some(size) = pool_size(mm, name, value)? {
        mm.set_nr_hugepages(size);
        return Ok(());
    }
    if let Some((node, setting)) = weights::of_node(name) {
        return weights::write(mm, node, setting, value);
    }
    let setting = Setting::find(name).ok_or(SettingError::Unknown)?;
    if setting.access == Access::ReadOnly {
        return Err(SettingError::ReadOnly(setting));
    }
    let knob = setting.knob()?;
    if knob == Knob::InterleaveAuto {
        return weights::write_auto(mm, setting, value);
    }
    if let Some(known) = thp::write_words(mm, knob, value) {
        return if known { Ok(()) } else { Err(SettingError::Invalid(setting)) };
    }
    numbers::shown(mm, knob).ok_or(SettingError::Absent(setting))?;
    let numbers = setting.numbers(value).ok_or(SettingError::Invalid(setting))?;
    if knob == Knob::NumaBalancing && numbers[0] > 1 {
        return Err(SettingError::ValueNotModelled(setting, "memory tiering"));
    }
    match numbers::policy_max(mm.policy(), knob) {
        Some(max) if numbers[0] > max => return Err(SettingError::TooLarge(setting, max)),
        _ => numbers::set(mm, knob, &numbers),
    }
    Ok(())
}
