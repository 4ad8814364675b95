//! Arguments of `order9 reproduce`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};

/// Run published experiments again, and judge every statement of the claims about them.
///
/// Runs are kept in DIR/runs and not made again as long as nothing that decides them has changed. An interrupted reproduction
/// goes on where it was. DIR/reproduce.json and DIR/reproduce.md hold the verdicts.
#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("choice").required(true).multiple(true).args(["names", "list", "quick", "full"]),
    after_help = EXAMPLES
)]
pub(crate) struct ReproduceArgs {
    /// Claims or experiments to reproduce, or the beginning of names of claims up to a hyphen: 003, 004-thpfioscale.
    #[arg(value_name = "NAME", conflicts_with = "full")]
    pub(crate) names: Vec<String>,
    /// Name every claim with its experiment, and say how long that takes; nothing runs.
    #[arg(long, conflicts_with_all = ["quick", "full", "output", "seeds", "jobs", "against", "any_build"])]
    pub(crate) list: bool,
    /// Run the experiments in the same shapes on little memory: all of them within minutes.
    #[arg(long, conflicts_with = "full")]
    pub(crate) quick: bool,
    /// Run every experiment at full size, which takes hours.
    #[arg(long)]
    pub(crate) full: bool,
    /// Directory for the runs and the verdicts.
    #[arg(short, long, value_name = "DIR", required_unless_present = "list")]
    pub(crate) output: Option<PathBuf>,
    /// Number of runs of every policy, each with another seed. [default: as the table of experiments says, mostly 1]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) seeds: Option<String>,
    /// Number of runs at the same time, as far as there is memory for them. [default: one per core]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) jobs: Option<String>,
    /// Say what changed since another reproduction, in its directory or its reproduce.json: exit status 1 where a verdict got
    /// worse.
    #[arg(long, value_name = "DIR|FILE")]
    pub(crate) against: Option<PathBuf>,
    /// Also take over runs that another build of order9 made; the verdicts say so.
    #[arg(long)]
    pub(crate) any_build: bool,
    /// Print everything as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

const EXAMPLES: &str = "\
Examples:
  order9 reproduce --list
  order9 reproduce --quick -o repro/
  order9 reproduce 003-thpscale-latency 000 -o repro/
  order9 reproduce --full -o repro/ --against docs/results/results.json";
