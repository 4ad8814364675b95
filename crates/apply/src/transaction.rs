//! A change, made as a whole or not at all.

use std::time::SystemTime;

use order9_journal::current;

use crate::error::ApplyError;
use crate::ledger::Ledger;
use crate::plan::Plan;
use crate::record::{Change, Record, Who};
use crate::undo::put_back;

impl Ledger {
    /// Makes the change. Its record is on the disk before the first write.
    ///
    /// # Errors
    /// A write that was refused; all earlier ones have been put back then.
    pub fn apply(&mut self, plan: Plan, by: Who) -> Result<&Record, ApplyError> {
        let Plan { settings, companions, kinds, forms, files } = plan;
        let id = self.records.last().map_or(1, |record| record.id + 1);
        let time = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        let boot = self.root.boot();
        let mut record = Record { id, time, by, boot, under_way: true, settings, companions, kinds, files };
        self.keep(&record)?;
        let texts = forms.iter().filter_map(|form| Some((form.path.as_deref()?, form.text.as_str())));
        match self.write(&mut record, texts) {
            Ok(()) => {
                self.records.push(record);
                Ok(self.records.last().expect("it was pushed"))
            }
            Err(what) => {
                let left = put_back(&self.root, &record).left;
                if left.is_empty() {
                    self.forget(id)?;
                }
                Err(ApplyError::Write { what, left })
            }
        }
    }

    /// Writes settings and files, and the record with what the settings are then. Fails with a sentence.
    fn write<'a>(&self, record: &mut Record, texts: impl Iterator<Item = (&'a str, &'a str)>) -> Result<(), String> {
        let Self { root, .. } = self;
        for Change { path, before, wanted, .. } in &record.settings {
            let wanted = wanted.as_deref().expect("a setting was asked for with a value");
            if wanted != before {
                let refused = |error| format!("{}: the kernel refuses '{wanted}': {error}", root.shown(path));
                root.set(path, wanted).map_err(refused)?;
            }
        }
        for (path, text) in texts {
            root.put(path, text).map_err(|error| format!("{}: cannot be written: {error}", root.shown(path)))?;
        }
        for change in record.settings.iter_mut().chain(&mut record.companions) {
            let text = root.read(&change.path).map_err(|error| format!("{}: {error}", root.shown(&change.path)))?;
            change.after = Some(current(&text).to_owned());
        }
        record.under_way = false;
        self.keep(record).map_err(|error| error.to_string())
    }
}
