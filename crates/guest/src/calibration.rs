//! Prices of work in the guest, measured by a process of their own: it pins itself to a CPU and raises its priority.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, ExitCode};

use order9_calibrate::{Direct, Places};
use order9_live::{Storage, read_frame, write_frame};

use crate::console::say;

/// Argument with which this file measures.
pub(crate) const CALIBRATION: &str = "calibration";

/// Starts the process and takes what it measured.
pub(crate) fn measure(rounds: usize) -> Result<Vec<Direct>, String> {
    let mut command = Command::new("/proc/self/exe");
    command.args([CALIBRATION, &rounds.to_string()]);
    let output = command.output().map_err(|error| format!("the calibration did not start: {error}"))?;
    let said: Result<Vec<Direct>, String> =
        read_frame(output.stdout.as_slice()).map_err(|error| format!("the calibration says nothing: {error}"))?;
    said
}

/// Setting of khugepaged: pages that a pass looks at.
const PAGES_TO_SCAN: &str = "/sys/kernel/mm/transparent_hugepage/khugepaged/pages_to_scan";
/// All of a guest's memory and more: the calibration has khugepaged collapse everything in one pass.
const ALL_PAGES: &str = "100000000";

/// The directory on the guest's disk, where it has one.
fn files() -> Option<&'static Path> {
    Some(Path::new(Storage::FILES)).filter(|place| place.exists())
}

/// The process.
pub(crate) fn main(rounds: &str) -> ExitCode {
    // Where the kernel has no khugepaged, the calibration leaves its prices out.
    let _ = std::fs::write(PAGES_TO_SCAN, ALL_PAGES);
    let tracefs = order9_live::tracefs().ok();
    let places = Places { files: files(), tracefs: tracefs.as_deref() };
    let measured = rounds
        .parse()
        .map_err(|_| format!("a number of rounds of {rounds}"))
        .and_then(|rounds| order9_calibrate::measure(rounds, places, |_| {}).map_err(|error| error.to_string()));
    let mut frame = Vec::new();
    let written = write_frame(&mut frame, &measured).and_then(|()| std::io::stdout().write_all(&frame));
    if let Err(error) = written {
        say(&format!("the calibration: {error}"));
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
