//! `order9 run --repeat`.

use order9_host::available_memory;
use order9_lab::scenario::repetition;
use order9_record::{Digest, read_manifest};
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::RunArgs;
use crate::failure::Failure;
use crate::output::{print, print_json};
use crate::results::Results;
use crate::run::{Making, Ran, experiment, target};

/// Digest of a stored run, and digest of its repetition.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Repetition {
    recorded: Digest,
    repeated: Digest,
    same: bool,
}

/// Runs what a directory holds again, and says whether the same came of it.
pub(crate) fn run(args: &RunArgs) -> Result<(), Failure> {
    let directory = args.repeat.as_deref().expect("only called with a directory to repeat");
    let manifest = read_manifest(directory).map_err(|error| Failure::Usage(error.to_string()))?;
    let plan = repetition(&manifest.inputs, available_memory()).map_err(|error| Failure::file(directory, error))?;
    let target = target(args, &plan)?;
    let Ran { experiment, snapshots, .. } = experiment(&Making::of(args, &plan)?, &plan, None)?;
    if let Some(target) = target {
        let files =
            [Results::of(&plan, &experiment, args.shown.layout.unwrap_or_default()).files().as_slice(), &snapshots]
                .concat();
        target.write(&experiment, &files).map_err(|error| Failure::Usage(error.to_string()))?;
    }
    let (recorded, repeated) = (manifest.digest, experiment.digest());
    let same = recorded == repeated;
    if args.json {
        print_json(&Repetition { recorded, repeated, same })?;
    } else {
        print(&format!("recorded  {recorded}\nrepeated  {repeated}\n"))?;
    }
    if same { Ok(()) } else { Err(Failure::Short(difference(directory, &manifest.inputs.order9))) }
}

fn difference(directory: &std::path::Path, version: &str) -> String {
    let directory = order9_escape::path(directory);
    let own = env!("CARGO_PKG_VERSION");
    if version == own {
        return format!("{directory}: the repetition gave other results");
    }
    format!("{directory}: the repetition gave other results; order9 {version} made the run, this is {own}")
}
