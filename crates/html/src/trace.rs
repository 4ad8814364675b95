//! Timelines for Perfetto: traces that the page carries, and hands to ui.perfetto.dev when a reader asks for it.
//!
//! The page itself asks nothing of any network. A click opens a window of the Perfetto UI, and the page posts the trace to
//! that window, as <https://perfetto.dev/docs/visualization/deep-linking-to-perfetto-ui> describes. The trace stays in the
//! reader's browser.

use serde::Serialize;

use crate::Page;

/// Traces of one or several run directories.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Traces {
    traces: Vec<Trace>,
}

#[derive(Clone, Debug, Serialize)]
struct Trace {
    /// Path of the run directory as it was named.
    name: String,
    /// Name of the file for readers who save it.
    file: String,
    /// Number of the blob with the trace.
    blob: usize,
    /// Length of the trace in bytes.
    bytes: usize,
}

impl Traces {
    /// Adds the trace of the run directory `name`, in Perfetto's own format, to the blobs of `page`.
    pub fn add(&mut self, name: &str, trace: Vec<u8>, page: &mut Page) {
        let stem = name.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let file = format!("{}.pftrace", if stem.is_empty() { "runs" } else { stem });
        self.traces.push(Trace { name: name.to_owned(), file, blob: page.blobs.len(), bytes: trace.len() });
        page.blobs.push(trace);
    }
}
