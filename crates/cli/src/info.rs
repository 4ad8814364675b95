//! `order9 snapshot info`.

use order9_report::facts::Facts;

use crate::args::InfoArgs;
use crate::failure::Failure;
use crate::output::{ColourChoice, print_json, print_styled};
use crate::source;

/// Prints what a snapshot file holds.
pub(crate) fn run(args: &InfoArgs) -> Result<(), Failure> {
    let (snapshot, length) = source::read(&args.file)?;
    let facts = Facts::new(&snapshot, length);
    if args.json { print_json(&facts) } else { print_styled(&facts.text(ColourChoice::Auto.depth())) }
}
