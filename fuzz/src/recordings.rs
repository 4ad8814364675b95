//! Any text as a recording: it is read and prints as it was, or it is refused in one line.

use order9_workloads::Recording;

/// Reads `text`.
pub(crate) fn run(text: &str) {
    match Recording::parse(text) {
        Ok(recording) => {
            assert_eq!(Recording::parse(&recording.to_string()).as_ref(), Ok(&recording), "it prints as another one");
            assert!(recording.length().get() > 0);
            let _ = recording.total(|interval| interval.allocated);
        }
        Err(error) => {
            let line = error.to_string();
            assert!(!line.is_empty() && !line.contains('\n'), "{line:?}");
        }
    }
}
