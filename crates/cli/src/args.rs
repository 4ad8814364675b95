//! The command line. Doc comments are the help texts.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use order9_snapshot::synth::{Pattern, SynthSpec};
use order9_units::Bytes;

use crate::output::ColourChoice;

mod advise;
mod apply;
mod bench;
mod doc;
mod export;
mod fleet;
mod guard;
mod plot;
mod record;
mod report;
mod reproduce;
mod run;
mod schema;
mod shells;
mod sweep;

pub(crate) use advise::{AdviseArgs, AskArgs, CollapseArgs, DemandArgs, TrialArgs, TuneArgs, WhatIfArgs, YesNo};
pub(crate) use apply::{ApplyArgs, UndoArgs};
pub(crate) use bench::{BenchArgs, CalibrateArgs, DiskFormat, FidelityArgs, KernelArgs, ValidateArgs};
pub(crate) use doc::DocArgs;
pub(crate) use export::{ExportArgs, ExportFormat};
pub(crate) use fleet::{FleetArgs, FleetCommand, FleetWhatIfArgs, QueryArgs, QueryFormat};
pub(crate) use guard::GuardArgs;
pub(crate) use plot::PlotArgs;
pub(crate) use record::RecordArgs;
pub(crate) use report::ReportArgs;
pub(crate) use reproduce::ReproduceArgs;
pub(crate) use run::{CompareArgs, Layout, RunArgs, ShownArgs, TableFormat, WorkloadsArgs, WorkloadsCommand};
pub(crate) use schema::SchemaArgs;
pub(crate) use shells::{CompletionsArgs, ManArgs};
pub(crate) use sweep::{EngineChoice, MergeArgs, SweepArgs};

/// See physical memory as the page allocator sees it: huge pages free, recoverable, at what cost, and what blocks the
/// rest.
#[derive(Debug, Parser)]
#[command(name = "order9", version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Inspect(InspectArgs),
    Capture(CaptureArgs),
    /// Make or look into snapshot files.
    #[command(subcommand)]
    Snapshot(SnapshotCommand),
    /// Name, show or compare policies: how memory management behaves, in Linux releases, patches and files of your own.
    #[command(subcommand)]
    Policies(PoliciesCommand),
    /// Name or show machines: CPUs, nodes, memory, and what work costs there, with the source of every figure.
    #[command(subcommand)]
    Machines(MachinesCommand),
    Ask(AskArgs),
    WhatIf(WhatIfArgs),
    Advise(AdviseArgs),
    Tune(TuneArgs),
    Fleet(Box<FleetArgs>),
    Run(Box<RunArgs>),
    Sweep(Box<SweepArgs>),
    Merge(MergeArgs),
    Bench(Box<BenchArgs>),
    Apply(ApplyArgs),
    Undo(UndoArgs),
    Collapse(CollapseArgs),
    Guard(Box<GuardArgs>),
    Record(RecordArgs),
    Validate(Box<ValidateArgs>),
    Fidelity(FidelityArgs),
    Calibrate(Box<CalibrateArgs>),
    /// Name or fetch kernels to run on: Debian's, from the mirror that this machine's apt has.
    #[command(subcommand)]
    Kernels(KernelsCommand),
    /// The program that a bench starts.
    #[command(hide = true)]
    Program {
        /// File with the clock of the run; standard input is the socket of the supervisor.
        clock: PathBuf,
    },
    /// The process that compacts a node until the guard breaks it off.
    #[command(hide = true)]
    CompactNode {
        /// The node.
        node: u16,
    },
    Compare(CompareArgs),
    Plot(PlotArgs),
    Report(ReportArgs),
    Reproduce(ReproduceArgs),
    Export(ExportArgs),
    Workloads(WorkloadsArgs),
    Doc(DocArgs),
    Schema(SchemaArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

/// Show this host's memory, or a snapshot's: huge pages, what compaction could recover, and a map.
#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// A snapshot file, or - for standard input; without one, this host.
    pub(crate) snapshot: Option<PathBuf>,
    /// Print everything as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print gauges in the text format of Prometheus.
    #[arg(long, conflicts_with_all = ["json", "map", "watch", "timing", "node"])]
    pub(crate) prometheus: bool,
    /// Write them instead as order9.prom into this directory, which is that of node_exporter's textfile collector.
    #[arg(long, value_name = "DIR", requires = "prometheus")]
    pub(crate) textfile: Option<PathBuf>,
    /// Also draw the map into a file: .png or .svg. With - it goes to standard output, as SVG, instead of the text.
    #[arg(long, value_name = "FILE")]
    pub(crate) map: Option<PathBuf>,
    /// Also write a page for a browser into a file: the map with what every pageblock holds, and the text. With - it goes to
    /// standard output instead of the text.
    #[arg(long, value_name = "FILE", conflicts_with = "watch")]
    pub(crate) html: Option<PathBuf>,
    /// Redraw every SECONDS (default 2) with what changed; q ends it.
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "2", value_parser = interval,
          conflicts_with_all = ["snapshot", "json", "map", "timing"])]
    pub(crate) watch: Option<Duration>,
    /// Say how long each part took, and how that compares with merely reading the two files.
    #[arg(long, conflicts_with = "json")]
    pub(crate) timing: bool,
    /// Do not measure what memory work costs on this host (half a second at most).
    #[arg(long)]
    pub(crate) no_calibrate: bool,
    /// Also look who holds memory on this host: the largest processes, files that they map, control groups, users in the kernel.
    #[arg(long, conflicts_with_all = ["snapshot", "root", "watch"])]
    pub(crate) owners: bool,
    /// Show only this node.
    #[arg(long, value_name = "N")]
    pub(crate) node: Option<u16>,
    /// Columns to draw in: 40 to 240 (default: the terminal's, or 80).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(40..=240))]
    pub(crate) width: Option<u16>,
    /// Use of colour; NO_COLOR and CLICOLOR_FORCE are honoured.
    #[arg(long, value_name = "WHEN", value_enum, default_value_t)]
    pub(crate) color: ColourChoice,
    /// Read copies of /proc and /sys below this directory instead of this host's.
    #[arg(long, value_name = "DIR", conflicts_with = "snapshot")]
    pub(crate) root: Option<PathBuf>,
}

/// Save the state of this host's memory in a file.
#[derive(Debug, Args)]
pub(crate) struct CaptureArgs {
    /// The file to write, usually *.o9snap, or - for standard output.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Read copies of /proc and /sys below this directory instead of this host's.
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// Keep the kernel's release whole; what its builders added to it may name them.
    #[arg(long)]
    pub(crate) full_release: bool,
    /// Keep who holds memory, by name: the largest processes, files that they map, control groups, users in the kernel. These names are
    /// private data.
    #[arg(long, conflicts_with = "root")]
    pub(crate) owners: bool,
    /// Do not measure what memory work costs on this host (half a second at most).
    #[arg(long)]
    pub(crate) no_calibrate: bool,
    /// Measure that before memory is looked at, and not after: for a snapshot of memory as a program will find it that starts now.
    #[arg(long, conflicts_with_all = ["no_calibrate", "root"])]
    pub(crate) calibrate_first: bool,
    /// Print the cost as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SnapshotCommand {
    Synth(SynthArgs),
    Info(InfoArgs),
    Anonymise(AnonymiseArgs),
}

/// Make up a machine and save the state of its memory.
///
/// Shares are of all memory, from 0 to 1. What is in use and not named otherwise is anonymous memory in base pages.
#[derive(Debug, Args)]
pub(crate) struct SynthArgs {
    /// The file to write, usually *.o9snap, or - for standard output.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Memory of the machine: 256M to 16T, in steps of 128M.
    #[arg(long, default_value = "16G")]
    pub(crate) size: Bytes,
    /// NUMA nodes; each of several needs 4G.
    #[arg(long, value_name = "N", default_value_t = SynthSpec::default().nodes)]
    pub(crate) nodes: u16,
    /// Share of memory in use.
    #[arg(long, value_name = "SHARE", default_value_t = SynthSpec::default().fill)]
    pub(crate) fill: f64,
    /// Share that the kernel holds and nothing can move.
    #[arg(long, value_name = "SHARE", default_value_t = SynthSpec::default().unmovable)]
    pub(crate) unmovable: f64,
    /// Share in reclaimable slab.
    #[arg(long, value_name = "SHARE", default_value_t = SynthSpec::default().reclaimable)]
    pub(crate) reclaimable: f64,
    /// Share in anonymous pages with a long-term pin.
    #[arg(long, value_name = "SHARE", default_value_t = SynthSpec::default().pinned)]
    pub(crate) pinned: f64,
    /// Share in anonymous huge pages.
    #[arg(long, value_name = "SHARE", default_value_t = SynthSpec::default().huge)]
    pub(crate) huge: f64,
    /// Share in clean page cache that no process maps.
    #[arg(long, value_name = "SHARE", default_value_t = SynthSpec::default().clean_cache)]
    pub(crate) clean_cache: f64,
    /// Arrangement of used and free frames.
    #[arg(long, value_name = "NAME", value_parser = pattern(), default_value = SynthSpec::default().pattern.name())]
    pub(crate) pattern: Pattern,
    /// Share of the free memory that lies scattered in partly used pageblocks; the rest is whole free pageblocks.
    #[arg(long, value_name = "SHARE", default_value_t = SynthSpec::default().degree)]
    pub(crate) degree: f64,
    /// Share of the partly used pageblocks that hold one unmovable page (patterns contaminated and aged).
    #[arg(long, value_name = "SHARE", default_value_t = SynthSpec::default().contamination)]
    pub(crate) contamination: f64,
    /// Seed of the machine; equal seeds give equal machines.
    #[arg(long, value_name = "N", default_value_t = SynthSpec::default().seed)]
    pub(crate) seed: u64,
    /// Print what was made as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Say what a snapshot file holds.
#[derive(Debug, Args)]
pub(crate) struct InfoArgs {
    /// The snapshot file, or - for standard input.
    pub(crate) file: PathBuf,
    /// Print it as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Copy a snapshot without what could tell its host: command line, release beyond its first two numbers, uptime, most counters.
///
/// The copy inspects to the same numbers. docs/snapshot.md lists all that stays.
#[derive(Debug, Args)]
pub(crate) struct AnonymiseArgs {
    /// The snapshot file, or - for standard input.
    pub(crate) file: PathBuf,
    /// The file to write, usually *.o9snap, or - for standard output.
    pub(crate) output: PathBuf,
    /// Print the facts of the copy as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PoliciesCommand {
    /// Name the built-in policies.
    List {
        /// Print them as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print every switch of a policy: its value, where it was set, what it does. The text is a policy file again.
    Show {
        /// A built-in policy, or a file (with / or .toml in its name).
        policy: String,
        /// Print it as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Say in words what a policy does otherwise than another.
    Diff {
        /// The policy to compare with: a built-in one, or a file.
        before: String,
        /// The policy to describe: a built-in one, or a file.
        after: String,
        /// Print it as JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum KernelsCommand {
    /// Name the kernels that can be had, and those of the cache.
    List {
        /// Print them as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Bring kernels into the cache, verified by the mirror's signed index.
    Fetch {
        /// Series, 6.12 for instance.
        #[arg(required = true)]
        series: Vec<String>,
        /// Print them as JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum MachinesCommand {
    /// Name the built-in machines.
    List {
        /// Print them as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print a machine with every figure, its source and where it was set. The text is a machine file again.
    Show {
        /// A built-in machine, or a file (with / or .toml in its name).
        machine: String,
        /// Print it as JSON.
        #[arg(long)]
        json: bool,
    },
}

impl SynthArgs {
    /// The machine to make up.
    pub(crate) fn spec(&self) -> SynthSpec {
        SynthSpec {
            size: self.size,
            nodes: self.nodes,
            fill: self.fill,
            unmovable: self.unmovable,
            reclaimable: self.reclaimable,
            pinned: self.pinned,
            huge: self.huge,
            clean_cache: self.clean_cache,
            pattern: self.pattern,
            degree: self.degree,
            contamination: self.contamination,
            seed: self.seed,
        }
    }
}

/// Takes the names of patterns and, given another, proposes the nearest.
fn pattern() -> impl TypedValueParser<Value = Pattern> {
    PossibleValuesParser::new(Pattern::ALL.map(|pattern| pattern.name())).try_map(|name| name.parse())
}

/// Seconds between two frames, with decimals: 0.1 to 3600.
fn interval(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.1..=3600.0).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err("expected seconds from 0.1 to 3600".to_owned()),
    }
}
