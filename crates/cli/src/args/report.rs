//! Arguments of `order9 report`.

use std::path::PathBuf;

use clap::Args;

use super::Layout;

/// Write everything about stored runs into one HTML file, which opens in a browser without a network: tables, latencies,
/// counters over time, maps of memory.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  order9 report runs/thpscale -o thpscale.html\n  order9 report runs/before runs/after -o both.html\n  order9 report runs/usemem --claim claims/002-usemem.toml -o usemem.html\n  order9 report runs/thpscale --perfetto -o thpscale.html"
)]
pub(crate) struct ReportArgs {
    /// Directories that `order9 run -o` wrote, all of one workload.
    #[arg(value_name = "DIR", required = true)]
    pub(crate) directories: Vec<PathBuf>,
    /// The file to write, usually *.html, or - for standard output. [default: DIR.html, beside the directory]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Also judge every statement of a published claim; its two kernels are the first two columns. May be given more than
    /// once.
    #[arg(long = "claim", value_name = "FILE")]
    pub(crate) claims: Vec<PathBuf>,
    /// Also carry timelines, with a button that opens them in ui.perfetto.dev; the page grows by the packed traces.
    #[arg(long)]
    pub(crate) perfetto: bool,
    /// Means over runs with their spread, or the tables of mmtests to the byte, which pool all runs. [default: runs]
    #[arg(long, value_name = "LAYOUT")]
    pub(crate) layout: Option<Layout>,
    /// Print the name and length of the page as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
