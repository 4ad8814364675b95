//! Arguments of `order9 sweep` and `order9 merge`.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use order9_sweep::emit::Engine;
use order9_sweep::{Shard, Share};

/// Run every combination of policies, machines, memories, parameters, settings and seeds of a plan.
///
/// A cell is kept under the digest of everything that decides it: the same command goes on with a sweep that was interrupted, and a plan
/// that changed runs what is new.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SweepArgs {
    /// The plan, a TOML file.
    pub(crate) plan: String,
    /// Folder of the cells and of the results: a new or empty one, or one of a sweep.
    #[arg(short, long, value_name = "DIR", required_unless_present_any = ["dry_run", "emit"])]
    pub(crate) output: Option<PathBuf>,
    /// Another folder of cells, which several sweeps may share: cells that are there do not run again.
    #[arg(long, value_name = "DIR")]
    pub(crate) cache: Option<PathBuf>,
    /// Number of cells at the same time. [default: one per core, as far as there is memory for all]
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Run one part of many, such as 7/64: points are dealt out by their digests.
    #[arg(long, value_name = "PART/PARTS", conflicts_with = "emit")]
    pub(crate) shard: Option<Shard>,
    /// Only say what would run: cells, those that are kept, time of CPUs, memory. A short cell is run for it where none has run before.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Run a share of the cells again at the end, such as 1%, and compare digests: exit status 1 if they differ.
    #[arg(long, value_name = "SHARE", conflicts_with_all = ["dry_run", "emit"])]
    pub(crate) verify: Option<Share>,
    /// Seed by which cells for --verify are drawn.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "verify")]
    pub(crate) verify_seed: u64,
    /// Only print a job file that runs the sweep in parts under this engine, and merges them.
    #[arg(long, value_name = "ENGINE", conflicts_with_all = ["dry_run", "json", "cache"])]
    pub(crate) emit: Option<EngineChoice>,
    /// Number of parts of the job file.
    #[arg(long, value_name = "N", requires = "emit", default_value = "8")]
    pub(crate) shards: NonZeroU32,
    /// Print the summary as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Engine of a job file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineChoice {
    /// A script that submits a job array and a job that merges.
    Slurm,
    /// An indexed Job, and one that merges.
    Kubernetes,
    /// A job definition file.
    Hyperqueue,
    /// A workflow with a matrix.
    GithubActions,
}

impl From<EngineChoice> for Engine {
    fn from(choice: EngineChoice) -> Self {
        match choice {
            EngineChoice::Slurm => Self::Slurm,
            EngineChoice::Kubernetes => Self::Kubernetes,
            EngineChoice::Hyperqueue => Self::Hyperqueue,
            EngineChoice::GithubActions => Self::GithubActions,
        }
    }
}

const EXAMPLES: &str = "\
Examples:
  order9 sweep sweeps/proactiveness.toml --dry-run
  order9 sweep sweeps/proactiveness.toml -o sweep
  order9 sweep plan.toml -o sweep --verify 1%
  order9 sweep plan.toml --shard 7/64 -o parts/7
  order9 merge parts/* -o all
  order9 sweep plan.toml --emit slurm --shards 64 > sweep.sh";

/// Put the cells of several sweeps, or of the parts of one, into one folder.
///
/// Cells of one name have one result, whoever ran them; a cell with two results is refused.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  order9 merge parts/* -o all")]
pub(crate) struct MergeArgs {
    /// Folders of `order9 sweep -o`.
    #[arg(required = true, value_name = "DIR")]
    pub(crate) parts: Vec<PathBuf>,
    /// Folder of all cells: a new or empty one, or one of a sweep, whose cells stay.
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: PathBuf,
    /// Print the summary as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
