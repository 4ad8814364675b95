//! Arguments of `order9 fleet`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{DemandArgs, TrialArgs};

/// Take many hosts' snapshots together: a table of facts, a page, settings tried on a sample.
///
/// Each snapshot is read, reduced to facts and dropped; files that are known from before are not read again. The directory gets
/// facts.parquet (a row for each host, node, zone and owner), fleet.json and index.html. Exit status 1 says that some files could not
/// be read.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true, after_help = EXAMPLES)]
pub(crate) struct FleetArgs {
    #[command(subcommand)]
    pub(crate) command: Option<FleetCommand>,
    /// Snapshot files, or directories whose *.o9snap are taken, those of directories below included.
    #[arg(value_name = "FILE|DIR")]
    pub(crate) snapshots: Vec<PathBuf>,
    /// Also take the files and directories that this file names, one on each line; - for standard input.
    #[arg(long, value_name = "FILE")]
    pub(crate) from_file: Option<PathBuf>,
    /// The directory of the fleet: a new or empty one, or that of an earlier reading.
    #[arg(short, long, value_name = "DIR", required = true)]
    pub(crate) output: Option<PathBuf>,
    /// Read files again that are known from before.
    #[arg(long)]
    pub(crate) again: bool,
    /// Number of files that are read at the same time. [default: one for each core, as far as memory allows]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
    /// Print everything as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

const EXAMPLES: &str = "\
Examples:
  order9 fleet hosts/*.o9snap -o fleet/
  find /captures -name '*.o9snap' | order9 fleet --from-file - -o fleet/
  order9 fleet query fleet/ \"select kernel, count(*), avg(free_huge) from hosts group by kernel\"
  order9 fleet what-if fleet/ --set vm.defrag_mode=1 --sample 200";

#[derive(Debug, Subcommand)]
pub(crate) enum FleetCommand {
    Query(QueryArgs),
    WhatIf(Box<FleetWhatIfArgs>),
}

/// Ask DuckDB about the facts: the views hosts, nodes, zones and owners have the rows of that level, facts has all.
#[derive(Debug, Args)]
pub(crate) struct QueryArgs {
    /// The directory of the fleet.
    pub(crate) fleet: PathBuf,
    /// A statement in SQL, as DuckDB knows it.
    pub(crate) sql: String,
    /// Form of the answer.
    #[arg(long, value_name = "FORM", value_enum, default_value_t)]
    pub(crate) format: QueryFormat,
}

/// Form of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum QueryFormat {
    /// A table with lines, which leaves out what does not fit.
    #[default]
    Table,
    /// Comma-separated values with a header.
    Csv,
    /// A list of objects.
    Json,
}

/// Try settings on copies of a sample of the hosts, and say how many of the fleet they would help.
///
/// The sample has hosts of every group. What is done stays done: a call that was broken off goes on, and a larger sample adds to a
/// smaller one. The page gets the answer as well.
#[derive(Debug, Args)]
pub(crate) struct FleetWhatIfArgs {
    /// The directory of the fleet.
    pub(crate) fleet: PathBuf,
    /// A setting of the change, by its Linux name; several are written together.
    #[arg(long = "set", value_name = "NAME=VALUE", required = true, allow_hyphen_values = true)]
    pub(crate) settings: Vec<String>,
    /// Number of hosts to try it on; each group has two at least.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) sample: u32,
    /// Seed of the sample.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) demand: DemandArgs,
    #[command(flatten)]
    pub(crate) trial: TrialArgs,
    /// Print everything as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
