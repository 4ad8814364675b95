//! `order9 capture`.

use std::path::Path;

use order9_report::facts::{self, Facts};
use order9_snapshot::{Snapshot, format};
use order9_units::Bytes;

use crate::args::CaptureArgs;
use crate::failure::{Failure, io_sentence};
use crate::output::{print, print_json, write_file};
use crate::source::{self, Wish};

/// Captures into a file and prints what that cost and what is missing.
pub(crate) fn run(args: &CaptureArgs) -> Result<(), Failure> {
    let snapshot = source::capture(args.root.as_deref(), Wish { full_release: args.full_release })?;
    let length = save(&snapshot, &args.output)?;
    let facts = Facts::new(&snapshot, length);
    if args.json { print_json(&facts) } else { print(&facts::captured(&facts, &args.output.display().to_string())) }
}

/// Writes `snapshot` to `path` and says how long the file is.
pub(crate) fn save(snapshot: &Snapshot, path: &Path) -> Result<Bytes, Failure> {
    write_file(path, |out| format::write(snapshot, out))?;
    let metadata = std::fs::metadata(path).map_err(|error| Failure::file(path, io_sentence(&error)))?;
    Ok(Bytes::new(metadata.len()))
}
