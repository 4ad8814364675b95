//! `order9 capture`.

use order9_report::facts::{self, Facts};
use order9_snapshot::{Snapshot, format};
use order9_units::Bytes;

use crate::args::CaptureArgs;
use crate::failure::Failure;
use crate::output::{print_json, print_styled, say};
use crate::source::{self, When, Wish};
use crate::target::Target;

/// Captures into a file and prints what that cost and what is missing.
pub(crate) fn run(args: &CaptureArgs) -> Result<(), Failure> {
    let target = Target::new(&args.output, false)?;
    let prices = match (args.no_calibrate, args.calibrate_first) {
        (true, _) => When::Never,
        (false, true) => When::Before,
        (false, false) => When::After,
    };
    let wish = Wish { full_release: args.full_release, prices, owners: args.owners };
    let snapshot = source::capture(args.root.as_deref(), wish)?;
    let facts = Facts::new(&snapshot, save(&snapshot, &target)?);
    let name = order9_escape::path(target.name());
    tell(&facts, &target, args.json, || facts::captured(&facts, &name))
}

/// Writes `snapshot` to `target` and says how long it is there.
pub(crate) fn save(snapshot: &Snapshot, target: &Target) -> Result<Bytes, Failure> {
    target.write(|out| format::write(snapshot, out))
}

/// Says what was written: on standard output, unless the snapshot itself went there.
pub(crate) fn tell(
    facts: &Facts<'_>,
    target: &Target,
    json: bool,
    text: impl FnOnce() -> String,
) -> Result<(), Failure> {
    match (target.is_output(), json) {
        (true, _) => say(&text()),
        (false, true) => print_json(facts),
        (false, false) => print_styled(&text()),
    }
}
