//! `order9 snapshot anonymise`.

use order9_report::facts::Facts;

use crate::args::AnonymiseArgs;
use crate::capture::{save, tell};
use crate::failure::Failure;
use crate::output::ColourChoice;
use crate::source;
use crate::target::Target;

/// Copies a snapshot without what could tell its host.
pub(crate) fn run(args: &AnonymiseArgs) -> Result<(), Failure> {
    let target = Target::new(&args.output, false)?;
    let (mut snapshot, _) = source::read(&args.file)?;
    snapshot.anonymise();
    let length = save(&snapshot, &target)?;
    let facts = Facts::new(&snapshot, length);
    tell(&facts, &target, args.json, || facts.text(ColourChoice::Auto.depth()))
}
