//! `order9 policies`.

use std::fmt::Display;

use order9_policy::{Diff, List, PolicyError, Show, load};
use serde::Serialize;

use crate::args::PoliciesCommand;
use crate::failure::Failure;
use crate::output::{print, print_json};

/// Lists, shows or compares policies.
pub(crate) fn run(command: &PoliciesCommand) -> Result<(), Failure> {
    let refused = |error: PolicyError| Failure::Usage(error.to_string());
    match command {
        PoliciesCommand::List { json } => output(&List::new().map_err(refused)?, *json),
        PoliciesCommand::Show { policy, json } => output(&Show::new(&load(policy).map_err(refused)?), *json),
        PoliciesCommand::Diff { before, after, json } => {
            let (before, after) = (load(before).map_err(refused)?, load(after).map_err(refused)?);
            output(&Diff::new(&before, &after), *json)
        }
    }
}

fn output(result: &(impl Display + Serialize), json: bool) -> Result<(), Failure> {
    if json { print_json(result) } else { print(&result.to_string()) }
}
