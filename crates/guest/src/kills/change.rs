//! Changes of settings that stay until they are taken back, as `order9 apply` makes them.

use std::path::PathBuf;
use std::process::Child;

use order9_apply::{ApplyError, Ledger, Root, Who, argument, plan};
use order9_live::read_frame;

use super::{Changes, start};

/// Argument with which this file makes a change: its settings come from the standard input.
pub(super) const CHANGE: &str = "change";

/// Applies the settings.
pub(super) fn main() -> Result<(), String> {
    let settings: Vec<String> = read_frame(std::io::stdin()).map_err(|error| format!("no settings came: {error}"))?;
    apply(&settings).map_err(|error| error.to_string())
}

fn apply(settings: &[String]) -> Result<(), ApplyError> {
    let wishes: Vec<_> = settings.iter().map(|text| argument(text)).collect::<Result<_, _>>()?;
    let (mut ledger, _) = Ledger::open(Root::host())?;
    let plan = plan(&Root::host(), &wishes, &[], ledger.records())?;
    ledger.apply(plan, Who::of_process()).map(|_| ())
}

/// Changes of the same settings.
pub(super) struct Change<'a> {
    /// Each as NAME=VALUE.
    pub(super) settings: &'a [String],
}

impl Changes for Change<'_> {
    fn start(&self) -> Result<Child, String> {
        start(CHANGE, &self.settings)
    }

    /// Nothing outlives it.
    fn wait(&self) -> Result<(), String> {
        Ok(())
    }

    fn take_back(&self) -> Result<(), String> {
        let undo = || Ledger::open(Root::host())?.0.undo(None, false);
        undo().map(|_| ()).map_err(|error| error.to_string())
    }

    fn way_back(&self) -> Option<PathBuf> {
        let records = Ledger::read(&Root::host()).ok()?;
        (!records.is_empty()).then(|| PathBuf::from("the record of a change"))
    }
}
