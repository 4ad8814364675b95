//! `order9 snapshot info`.

use order9_report::facts::Facts;
use order9_units::Bytes;

use crate::args::InfoArgs;
use crate::failure::Failure;
use crate::output::{ColourChoice, print, print_json};
use crate::source;

/// Prints what a snapshot file holds.
pub(crate) fn run(args: &InfoArgs) -> Result<(), Failure> {
    let snapshot = source::read(&args.file)?;
    let length = std::fs::metadata(&args.file).map_or(0, |metadata| metadata.len());
    let facts = Facts::new(&snapshot, Bytes::new(length));
    if args.json { print_json(&facts) } else { print(&facts.text(ColourChoice::Auto.depth())) }
}
