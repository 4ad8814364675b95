//! `order9 fidelity`: the verdicts of many validations on one page.

use std::fs;
use std::path::Path;

use order9_lab::{Causes, Fidelity, Gaps};
use serde::Deserialize;

use crate::args::FidelityArgs;
use crate::failure::{Failure, io_sentence};
use crate::output::{print, print_json};

/// A file of verdicts.
#[derive(Deserialize)]
struct Json {
    experiments: Vec<Fidelity>,
}

/// Prints the page.
pub(crate) fn run(args: &FidelityArgs) -> Result<(), Failure> {
    let mut judged = Vec::new();
    for path in &args.files {
        let json: Json = serde_json::from_str(&text(path)?)
            .map_err(|error| Failure::file(path, format!("{error}; expected a fidelity.json of order9 validate")))?;
        judged.extend(json.experiments);
        if let Some((experiment, kernel)) = Gaps::repeated(&judged) {
            return Err(Failure::file(path, format!("{experiment} under {kernel} stands in a file before, too")));
        }
    }
    let causes = args.causes.as_deref().map_or_else(
        || Ok(Causes::default()),
        |path| Causes::parse(&text(path)?).map_err(|error| Failure::file(path, error)),
    )?;
    let named = args.causes.as_deref().unwrap_or(Path::new("--causes"));
    let gaps = Gaps::new(&judged, &causes).map_err(|error| Failure::file(named, error))?;
    if args.json { print_json(&gaps.list()) } else { print(&gaps.page(&args.origin)) }
}

fn text(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| Failure::file(path, io_sentence(&error)))
}
