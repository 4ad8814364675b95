//! `order9 machines`.

use std::fmt::Display;

use order9_lab::machines::{List, MachineError, Show, load};
use serde::Serialize;

use crate::args::MachinesCommand;
use crate::failure::Failure;
use crate::output::{print, print_json};

/// Lists or shows machines.
pub(crate) fn run(command: &MachinesCommand) -> Result<(), Failure> {
    let refused = |error: MachineError| Failure::Usage(error.to_string());
    match command {
        MachinesCommand::List { json } => output(&List::new().map_err(refused)?, *json),
        MachinesCommand::Show { machine, json } => output(&Show::new(&load(machine).map_err(refused)?), *json),
    }
}

fn output(result: &(impl Display + Serialize), json: bool) -> Result<(), Failure> {
    if json { print_json(result) } else { print(&result.to_string()) }
}
