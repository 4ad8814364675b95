//! Plans: wishes that this kernel takes, with what is there before, and the files that would keep them.

use order9_journal::{companions, current, excluded};
use order9_procfs::sysctl::Setting;

use crate::check::check;
use crate::error::{ApplyError, Refusal};
use crate::persist::{self, Form, Kept, Kind};
use crate::record::{Change, Record, Written, checksum};
use crate::root::Root;
use crate::wish::Wish;

/// Everything that a change would do. Nothing has been written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The settings, each with the value that it has now.
    pub settings: Vec<Change>,
    /// Settings that may change along.
    pub(crate) companions: Vec<Change>,
    /// Ways in which the settings are kept in files of the host.
    pub(crate) kinds: Vec<Kind>,
    /// Files that keep them, and texts for files that are not this host's.
    pub forms: Vec<Form>,
    /// The files, with what is in their places.
    pub(crate) files: Vec<Written>,
}

/// Checks `wishes`, and says what they would change; `kinds` are ways to keep them, `records` what was applied before.
///
/// # Errors
/// The first wish that this kernel would not take, or a way to keep settings that cannot hold one.
pub fn plan(root: &Root, wishes: &[Wish], kinds: &[Kind], records: &[Record]) -> Result<Plan, ApplyError> {
    if wishes.is_empty() {
        return Err(ApplyError::NoWishes);
    }
    let mut settings: Vec<Change> = Vec::new();
    for wish in wishes {
        let refused = |refusal| wish.refused(refusal);
        let (name, path) = (wish.target.name.clone(), wish.target.path.clone());
        if settings.iter().any(|other| other.path == path) {
            return Err(refused(Refusal::Twice(name)));
        }
        let excludes = |other: &&Change| excluded(&path).is_some_and(|path| path == other.path);
        if let Some(other) = settings.iter().find(excludes) {
            return Err(refused(Refusal::Exclusive(name, other.name.clone())));
        }
        let before = check(root, &wish.target, &wish.value).map_err(refused)?;
        settings.push(Change { name, path, before, wanted: Some(wish.value.clone()), after: None });
    }
    let kept: Vec<Kept> = wishes.iter().map(|wish| Kept::new(&wish.target, &wish.value)).collect();
    let companions = along(root, &settings);
    let forms = persist::forms(root, kinds, &kept, records)?;
    let files = forms.iter().filter_map(|form| place(root, form, records).transpose()).collect::<Result<_, _>>()?;
    Ok(Plan { settings, companions, kinds: kinds.to_vec(), forms, files })
}

/// The place of a file that keeps settings; `None` for a text that is no file of this host. A file that lies there must be that of
/// an earlier change.
fn place(root: &Root, form: &Form, records: &[Record]) -> Result<Option<Written>, ApplyError> {
    let Some(path) = form.path.clone() else { return Ok(None) };
    let unreadable = |error| ApplyError::File { path: root.shown(&path), error };
    let before = root.read_if_there(&path).map_err(unreadable)?;
    let earlier = records.iter().rev().flat_map(|record| &record.files).find(|file| file.path == path);
    let is_own = |text: &String| earlier.is_some_and(|file| file.is_as_written(text));
    if !before.as_ref().is_none_or(is_own) {
        return Err(ApplyError::Foreign(root.shown(&path)));
    }
    let folders = root.missing_folders(&path).map_err(unreadable)?;
    Ok(Some(Written { kind: form.kind, checksum: checksum(&form.text), path, before, folders }))
}

/// Settings that may change with `settings` and are none of them.
fn along(root: &Root, settings: &[Change]) -> Vec<Change> {
    let is_asked = |path: &str| settings.iter().any(|setting| setting.path == path);
    let companion = |path: &str| {
        let setting = Setting::find(path).expect("companions are settings");
        // A file that is not there, or not to be read, is none that could change.
        let text = root.read(path).ok()?;
        let (name, path, before) = (setting.name.to_owned(), path.to_owned(), current(&text).to_owned());
        Some(Change { name, path, before, wanted: None, after: None })
    };
    let paths = settings.iter().flat_map(|setting| companions(&setting.path));
    paths.filter(|path| !is_asked(path)).filter_map(companion).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wish::argument;

    fn planned(root: &Root, arguments: &[&str]) -> Result<Plan, String> {
        let wishes: Vec<_> = arguments.iter().map(|text| argument(text).expect("a setting")).collect();
        plan(root, &wishes, &[], &[]).map_err(|error| error.to_string())
    }

    #[test]
    fn settings_that_change_along_are_noted() {
        let directory = tempfile::tempdir().expect("a directory");
        let root = Root::directory(directory.path());
        for (name, text) in [("dirty_bytes", "0\n"), ("dirty_ratio", "20\n"), ("swappiness", "60\n")] {
            root.put(&format!("/proc/sys/vm/{name}"), text).expect("it can be written");
        }
        let planned_ = planned(&root, &["vm.dirty_bytes=8192", "vm.swappiness=1"]).expect("the kernel takes it");
        let companions: Vec<_> =
            planned_.companions.iter().map(|change| (change.name.as_str(), change.before.as_str())).collect();
        assert_eq!(companions, [("vm.dirty_ratio", "20")]);
        assert_eq!(
            planned(&root, &["vm.dirty_bytes=8192", "vm.dirty_ratio=5"]),
            Err("--set vm.dirty_ratio=5: vm.dirty_ratio and vm.dirty_bytes exclude each other: writing one makes the other 0"
                .to_owned())
        );
        let twice = planned(&root, &["vm.swappiness=1", "/proc/sys/vm/swappiness=2"]);
        assert_eq!(twice, Err("--set /proc/sys/vm/swappiness=2: vm.swappiness is set twice".to_owned()));
        assert!(planned(&root, &[]).is_err());
    }
}
