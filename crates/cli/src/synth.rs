//! `order9 snapshot synth`.

use order9_host::available_memory;
use order9_report::facts::Facts;
use order9_snapshot::limits::Shortage;
use order9_snapshot::synth::synth;

use crate::args::SynthArgs;
use crate::capture::{save, tell};
use crate::failure::Failure;
use crate::output::ColourChoice;
use crate::target::Target;
use crate::waiting::Waiting;

/// Makes up a machine and saves it.
pub(crate) fn run(args: &SynthArgs) -> Result<(), Failure> {
    let target = Target::new(&args.output, false)?;
    args.spec().check().map_err(|error| Failure::Usage(error.to_string()))?;
    Shortage::check(args.spec().memory(), available_memory())
        .map_err(|shortage| Failure::Usage(format!("--size: a machine of this size {shortage}")))?;
    let waiting = Waiting::new("making up memory");
    let made = synth(&args.spec());
    waiting.goes_on("writing");
    let saved = made.map_err(|error| Failure::Usage(error.to_string())).and_then(|(snapshot, _)| {
        let length = save(&snapshot, &target)?;
        Ok((snapshot, length))
    });
    drop(waiting);
    let (snapshot, length) = saved?;
    let facts = Facts::new(&snapshot, length);
    tell(&facts, &target, args.json, || facts.text(ColourChoice::Auto.depth()))
}
