//! Arguments of `order9 plot`.

use std::path::PathBuf;

use clap::Args;

/// Draw what a stored run measured over time: a panel for each metric, a line for each policy and seed.
///
/// Without a metric, says which counters changed during the run.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct PlotArgs {
    /// A directory that `order9 run -o` wrote.
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// Metrics to draw, from top to bottom.
    #[arg(value_name = "METRIC")]
    pub(crate) metrics: Vec<String>,
    /// Also draw the samples of this operation, 1-files/sec for instance, as dots.
    #[arg(long = "sample", value_name = "OPERATION", allow_hyphen_values = true)]
    pub(crate) operations: Vec<String>,
    /// Draw instead how samples are spread: metrics are operations, fault-huge-4 for instance, or none for those times of
    /// which there are most. Thin lines are seeds.
    #[arg(long)]
    pub(crate) cdf: bool,
    /// Draw instead what the switches of a run with --ablate are worth: by how much each changes the mean of this operation,
    /// or the growth of this counter.
    #[arg(long, value_name = "OPERATION|COUNTER", conflicts_with_all = ["metrics", "operations", "cdf", "policies", "seeds", "from", "to", "height"])]
    pub(crate) worth: Option<String>,
    /// Write a page for a browser, where values can be read under the pointer, instead of a picture.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["output", "width", "height"])]
    pub(crate) html: Option<PathBuf>,
    /// The picture: .svg, .png, or - for SVG on standard output. [default: DIR.svg, beside the directory]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Draw only this policy.
    #[arg(long = "policy", value_name = "POLICY")]
    pub(crate) policies: Vec<String>,
    /// Draw only this seed.
    #[arg(long = "seed", value_name = "N")]
    pub(crate) seeds: Vec<u64>,
    /// Begin at this time after the start of the run, such as 500ms or '1m 30s'.
    #[arg(long, value_name = "TIME")]
    pub(crate) from: Option<String>,
    /// End at this time.
    #[arg(long, value_name = "TIME")]
    pub(crate) to: Option<String>,
    /// Pixels from side to side: 400 to 4000.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(400..=4000))]
    pub(crate) width: u32,
    /// Without a metric, print as JSON which counters changed.
    #[arg(long, conflicts_with_all = ["html", "output", "cdf", "worth"])]
    pub(crate) json: bool,
    /// Pixels from top to bottom, or more where the panels need more: 200 to 8000. [default: as the panels need]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(200..=8000))]
    pub(crate) height: Option<u32>,
}

const HELP: &str = "\
Metrics:
  NAME                 a counter or level of the run; levels of memory are drawn in GiB, MiB or KiB
  A+B  A-B             of one unit
  A/s  rate(A)         growth per second
  A/B                  in percent, where both have one unit
  A%                   share of the machine's memory
  (A+B)/(A+B+C)        brackets; quote them for the shell

Examples:
  order9 plot runs/fsmark
  order9 plot runs/fsmark nr_free_pages nr_slab_reclaimable+nr_slab_unreclaimable pgscan_kswapd/s -o memory.svg
  order9 plot runs/thpscale --cdf fault-base-3 fault-huge-3
  order9 plot runs/fsmark nr_dirty% --sample 1-files/sec --from 1m --policy linux-5.0 -o dirty.png";
