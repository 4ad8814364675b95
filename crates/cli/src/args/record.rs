//! Arguments of `order9 record`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

/// Record what the kernel of this host does while something else runs, as root: counters once a second, and memory at both ends.
///
/// Ctrl-C ends it, the end of the command, or --for. No setting of the host is changed. `order9 run trace DIR` replays it in the lab.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RecordArgs {
    /// Directory for the recording.
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: PathBuf,
    /// Replace the run that the directory holds.
    #[arg(long)]
    pub(crate) force: bool,
    /// Length of the recording; a command that goes on then is ended with SIGTERM. [default: until the command ends, or ctrl-C]
    #[arg(long = "for", value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) time: Option<String>,
    /// Interval between readings of the counters. [default: 1s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) every: Option<String>,
    /// Also count requests of the page allocator by order and type, from tracepoint mm_page_alloc. --events=NAME keeps the events of
    /// another tracepoint; may be given more than once, or with commas between names.
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true, value_delimiter = ',', default_missing_value = "kmem:mm_page_alloc")]
    pub(crate) events: Vec<String>,
    /// Keep who holds memory, by name: owners in the snapshots of both ends, and memory.stat and memory.pressure of the largest control
    /// groups over time. These names are private data.
    #[arg(long)]
    pub(crate) owners: bool,
    /// Print the results as JSON. What the command prints to standard output then goes to standard error.
    #[arg(long)]
    pub(crate) json: bool,
    /// The command to run meanwhile, with its arguments; without one, the host is recorded as it is.
    #[arg(value_name = "COMMAND", last = true)]
    pub(crate) command: Vec<OsString>,
}

const EXAMPLES: &str = "\
Examples:
  order9 record -o rec --for 30s
  order9 record -o rec -- ./my-service --port 80
  order9 record -o rec --events -- make -j8
  order9 run trace rec
  order9 compare rec other";
