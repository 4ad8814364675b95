//! The way back: what a change wrote is put back, unless somebody has changed it since.

use std::collections::BTreeMap;

use order9_journal::{current, excluded};
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::ApplyError;
use crate::ledger::Ledger;
use crate::record::{Change, Record, Written};
use crate::root::Root;

/// A change that was taken back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UndoneRecord {
    /// Number of the change.
    pub id: u32,
    /// Whether the machine was restarted since: its settings had gone by themselves, and only files were removed.
    pub restarted: bool,
    /// Settings that have their old values again, the last change first.
    pub settings: Vec<Restored>,
    /// Files that were removed, or have their old text again.
    pub files: Vec<String>,
    /// Sentences about settings and files that could not be put back.
    pub left: Vec<String>,
}

/// A setting that was put back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Restored {
    /// Linux' name of the setting.
    pub name: String,
    /// The file of the setting.
    pub path: String,
    /// The value before it was put back.
    pub before: String,
    /// The value that it has again.
    pub after: String,
}

impl Ledger {
    /// Takes back the latest `last` changes, or all. A change that was interrupted is one of them. With `force`, whatever somebody
    /// has changed since is put back as well, and what cannot be put back is left as it is.
    ///
    /// # Errors
    /// Files that are not as they were left: nothing has been taken back then. Files that cannot be put back.
    pub fn undo(&mut self, last: Option<usize>, force: bool) -> Result<Vec<UndoneRecord>, ApplyError> {
        let count = last.unwrap_or(usize::MAX);
        let records: Vec<Record> = self.records.iter().rev().take(count).cloned().collect();
        let changed = changed_since(&self.root, &records);
        if !force && !changed.is_empty() {
            return Err(ApplyError::Changed(changed));
        }
        records.into_iter().map(|record| self.take_back(record, force)).collect()
    }

    /// Puts back a change that was interrupted, if there is one: a program that was killed left it.
    ///
    /// # Errors
    /// As for [`undo`](Self::undo).
    pub fn recover(&mut self) -> Result<Option<UndoneRecord>, ApplyError> {
        let is_interrupted = self.records.last().is_some_and(|record| record.under_way);
        if is_interrupted { Ok(self.undo(Some(1), false)?.pop()) } else { Ok(None) }
    }

    fn take_back(&mut self, record: Record, force: bool) -> Result<UndoneRecord, ApplyError> {
        // Killed from here on, it is an interrupted change, and put back whatever its settings are.
        let record = Record { under_way: true, ..record };
        self.keep(&record)?;
        let undone = put_back(&self.root, &record);
        if !force && !undone.left.is_empty() {
            return Err(ApplyError::Left(undone.left));
        }
        self.forget(record.id)?;
        Ok(undone)
    }
}

/// Sentences about whatever is not as `records`, the latest first, left it.
fn changed_since(root: &Root, records: &[Record]) -> Vec<String> {
    let boot = root.boot();
    let mut changed = Vec::new();
    // Files as they will be once later records have been taken back.
    let mut settings: BTreeMap<&str, &str> = BTreeMap::new();
    let mut files: BTreeMap<&str, Option<&str>> = BTreeMap::new();
    for record in records {
        for change in record.changes().filter(|change| change.is_change() && record.boot == boot) {
            let Change { name, path, before, after, .. } = change;
            let now = settings.get(path.as_str()).map_or_else(|| value(root, path), |value| Ok((*value).to_owned()));
            match (now, after) {
                (Err(why), _) => changed.push(why),
                (Ok(now), Some(after)) if !record.under_way && now != *after && now != *before => {
                    changed.push(format!("{name} is {now}, and was left at {after}"));
                }
                _ => {}
            }
            settings.insert(path, before);
        }
        for file @ Written { path, before, .. } in &record.files {
            let now = match files.get(path.as_str()) {
                Some(text) => Ok(text.map(str::to_owned)),
                None => root.read_if_there(path),
            };
            match now {
                Err(error) => changed.push(format!("{}: {error}", root.shown(path))),
                Ok(now) if now == *before || now.as_ref().is_some_and(|text| file.is_as_written(text)) => {}
                Ok(None) => changed.push(format!("{} is gone", root.shown(path))),
                Ok(Some(_)) => changed.push(format!("{} was changed since", root.shown(path))),
            }
            files.insert(path, before.as_deref());
        }
    }
    changed
}

/// The value of a setting, or why there is none.
fn value(root: &Root, path: &str) -> Result<String, String> {
    let text = root.read(path).map_err(|error| format!("{}: {error}", root.shown(path)))?;
    Ok(current(&text).to_owned())
}

/// Puts back everything that `record` says.
pub(crate) fn put_back(root: &Root, record: &Record) -> UndoneRecord {
    let restarted = record.boot != root.boot();
    let mut undone = UndoneRecord { id: record.id, restarted, ..UndoneRecord::default() };
    if !restarted {
        undone.put_back_settings(root, record);
    }
    for file in record.files.iter().rev() {
        undone.put_back_file(root, file);
    }
    undone
}

impl UndoneRecord {
    /// Puts settings back: those that were asked for in reverse, then those that the kernel changed along.
    fn put_back_settings(&mut self, root: &Root, record: &Record) {
        let changes = record.settings.iter().rev().chain(&record.companions).filter(|change| change.is_change());
        let found: Vec<_> = changes.map(|change| (change, value(root, &change.path))).collect();
        for (Change { path, before, .. }, _) in found.iter().filter(|(change, _)| !is_left_to_other(change, record)) {
            // What was written may have changed this one.
            if value(root, path).as_ref() == Ok(before) {
                root.sweep(path);
            } else if let Err(error) = root.set(path, before) {
                self.left.push(format!("{}: '{before}': {error}", root.shown(path)));
            }
        }
        for (Change { name, path, before, .. }, found) in found {
            match value(root, path) {
                Ok(now) if now != *before => self.left.push(format!("{name} is {now} and was {before}")),
                Ok(now) => {
                    let before = found.unwrap_or_default();
                    let (name, path) = (name.clone(), path.clone());
                    self.settings.extend((before != now).then_some(Restored { name, path, before, after: now }));
                }
                Err(why) => self.left.push(why),
            }
        }
    }

    fn put_back_file(&mut self, root: &Root, file: &Written) {
        let Written { path, before, folders, .. } = file;
        let is_there = root.read_if_there(path).is_ok_and(|now| now != *before);
        let done = match before {
            Some(text) => root.put(path, text),
            None => root.remove(path),
        };
        match done {
            Ok(()) => self.files.extend(is_there.then(|| path.clone())),
            Err(error) => self.left.push(format!("{}: {error}", root.shown(path))),
        }
        root.remove_folders(folders);
    }
}

/// Whether the setting becomes 0 again when the other one is written that excludes it. Kernels refuse the 0 itself.
fn is_left_to_other(change: &Change, record: &Record) -> bool {
    let other = excluded(&change.path).and_then(|other| record.changes().find(|change| change.path == other));
    change.before == "0" && other.is_some_and(|other| other.before != "0")
}
