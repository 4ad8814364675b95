//! `order9 snapshot synth`.

use std::time::Duration;

use indicatif::ProgressBar;
use order9_host::available_memory;
use order9_report::facts::Facts;
use order9_snapshot::limits::Shortage;
use order9_snapshot::synth::synth;

use crate::args::SynthArgs;
use crate::capture::{save, tell};
use crate::failure::Failure;
use crate::output::ColourChoice;
use crate::target::Target;

/// Makes up a machine and saves it.
pub(crate) fn run(args: &SynthArgs) -> Result<(), Failure> {
    let target = Target::new(&args.output, false)?;
    Shortage::check(args.spec().memory(), available_memory())
        .map_err(|shortage| Failure::Usage(format!("--size: a machine of this size {shortage}")))?;
    let spinner = ProgressBar::new_spinner().with_message("making up memory");
    spinner.enable_steady_tick(Duration::from_millis(120));
    let made = synth(&args.spec());
    spinner.set_message("writing");
    let saved = made.map_err(|error| Failure::Usage(error.to_string())).and_then(|(snapshot, _)| {
        let length = save(&snapshot, &target)?;
        Ok((snapshot, length))
    });
    spinner.finish_and_clear();
    let (snapshot, length) = saved?;
    let facts = Facts::new(&snapshot, length);
    tell(&facts, &target, args.json, || facts.text(ColourChoice::Auto.depth()))
}
