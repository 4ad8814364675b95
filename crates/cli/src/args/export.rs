//! Arguments of `order9 export`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Write a stored run or a snapshot in the format of another tool.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ExportArgs {
    /// A directory that `order9 run -o` wrote, or a snapshot file.
    #[arg(value_name = "DIR|SNAPSHOT")]
    pub(crate) source: PathBuf,
    /// The format.
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub(crate) to: ExportFormat,
    /// A new or empty directory, for tables, charts and mmtests; a file, or - for standard output, with --table and for
    /// perfetto.
    #[arg(short, long, value_name = "PATH")]
    pub(crate) output: PathBuf,
    /// Write this table only: runs, samples, counters, events or facts.
    #[arg(long, value_name = "NAME")]
    pub(crate) table: Option<String>,
    /// Export only this policy, by its title; may be given more than once.
    #[arg(long = "policy", value_name = "TITLE")]
    pub(crate) policies: Vec<String>,
    /// Export only this seed; may be given more than once.
    #[arg(long = "seed", value_name = "N")]
    pub(crate) seeds: Vec<u64>,
    /// Print the names and lengths of the files that were written as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Formats of other tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Tables as comma-separated values.
    Csv,
    /// Tables with a JSON object on each line.
    Jsonl,
    /// Tables as Apache Parquet.
    Parquet,
    /// A timeline for ui.perfetto.dev.
    Perfetto,
    /// Charts with their data, for notebooks and papers.
    VegaLite,
    /// JSON of mmtests, and logs of faults where its report scripts look for them.
    Mmtests,
}

const EXAMPLES: &str = "\
Examples:
  order9 export runs/fsmark --to parquet -o fsmark
  order9 export runs/fsmark --to csv --table samples -o - | head
  order9 export runs/fsmark --to perfetto --policy linux-6.18 --seed 1 -o fsmark.pftrace
  order9 export runs/fsmark --to vega-lite -o charts
  order9 export host.o9snap --to jsonl --table facts -o facts.jsonl";
