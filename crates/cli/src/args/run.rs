//! Arguments of the commands around experiments. Values are text here: the lab reads them, as it reads scenario files.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// Run an experiment on a machine in virtual time, and compare policies.
///
/// Arguments replace what a scenario file says.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RunArgs {
    /// A workload (`order9 workloads` names all), or a scenario file (with / or .toml in its name).
    #[arg(value_name = "WORKLOAD|SCENARIO", required_unless_present = "repeat", allow_hyphen_values = true)]
    pub(crate) what: Option<String>,
    /// With the workload trace: the directory of a recording of `order9 record`. The run starts from the memory with which that began.
    #[arg(value_name = "RECORDING", requires = "what")]
    pub(crate) recording: Option<String>,
    /// One case of a scenario file that holds cases, as an experiment of its own.
    #[arg(long, value_name = "NAME", requires = "what", allow_hyphen_values = true)]
    pub(crate) case: Option<String>,
    /// A policy to compare, with the first one: built-in, a file, or host for the kernel of a snapshot. [default: linux-6.18,
    /// host with a snapshot of one]
    #[arg(long = "policy", value_name = "POLICY", allow_hyphen_values = true)]
    pub(crate) policies: Vec<String>,
    /// A policy to take apart: what is each of its switches worth? Goes with --against, instead of --policy.
    #[arg(long, value_name = "POLICY", allow_hyphen_values = true)]
    pub(crate) ablate: Option<String>,
    /// The policy to hold --ablate against: every switch in which they differ is tried alone and taken away.
    #[arg(long, value_name = "POLICY", allow_hyphen_values = true)]
    pub(crate) against: Option<String>,
    /// Machine of the run: a built-in machine, a machine file, or a snapshot file. [default: xeon-1s]
    #[arg(long, value_name = "MACHINE|SNAPSHOT", allow_hyphen_values = true)]
    pub(crate) machine: Option<String>,
    /// Contents of memory at the start: empty, synth, or a snapshot file. [default: empty]
    #[arg(long, value_name = "empty|synth|SNAPSHOT", allow_hyphen_values = true)]
    pub(crate) memory: Option<String>,
    /// The machine whose prices a snapshot gets. [default: epyc-vm]
    #[arg(long, value_name = "MACHINE", allow_hyphen_values = true)]
    pub(crate) prices: Option<String>,
    /// Number of runs of every policy, each with another seed. [default: 3, or 1 where runs are long]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) seeds: Option<String>,
    /// Short for --param threads=1,3,5.
    #[arg(long, value_name = "1,3,5", allow_hyphen_values = true)]
    pub(crate) threads: Option<String>,
    /// A parameter of the workload.
    #[arg(long = "param", value_name = "KEY=VALUE", allow_hyphen_values = true)]
    pub(crate) parameters: Vec<String>,
    /// Command line of the kernel, "transparent_hugepage=madvise hugepages=64" for instance.
    #[arg(long, value_name = "PARAMETERS", allow_hyphen_values = true)]
    pub(crate) cmdline: Option<String>,
    /// A setting by its Linux name, written before the start.
    #[arg(long = "set", value_name = "NAME=VALUE", allow_hyphen_values = true)]
    pub(crate) settings: Vec<String>,
    /// Interval between readings of the counters, in virtual time. [default: 200 to 400 times a run, at least every 1s;
    /// fsmark 10s, uptime 10m]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) every: Option<String>,
    /// Keep the events of this tracepoint, mm_page_alloc_extfrag for instance.
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub(crate) events: Vec<String>,
    /// Also store maps of memory, one for each of these intervals, which `order9 report` shows over time. A map is taken when
    /// counters are read. [default: none]
    #[arg(long, value_name = "TIME", requires = "output", allow_hyphen_values = true)]
    pub(crate) maps: Option<String>,
    /// Check all laws of the engine and the content of all pages after every N steps: slow. [default: 0, never]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) check: Option<String>,
    /// Store everything that was measured in this directory.
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Replace the run that the directory holds.
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
    /// Go on with an experiment for this directory that was interrupted: runs that had ended are not made again.
    #[arg(long, requires = "output", conflicts_with = "repeat")]
    pub(crate) resume: bool,
    /// Print everything as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the files of /proc and /sys into this directory, every --every.
    #[arg(long, value_name = "DIR")]
    pub(crate) proc_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) shown: ShownArgs,
    /// Number of runs at the same time. [default: one per core, as far as 10 GiB are enough for all]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) jobs: Option<String>,
    /// Run again what this directory holds, and compare the digests: exit status 1 if they differ.
    #[arg(long, value_name = "DIR", conflicts_with_all = CHOICES)]
    pub(crate) repeat: Option<PathBuf>,
}

/// Names of the arguments that decide what runs.
const CHOICES: [&str; 18] = [
    "what",
    "recording",
    "case",
    "policies",
    "ablate",
    "against",
    "machine",
    "memory",
    "prices",
    "seeds",
    "threads",
    "parameters",
    "cmdline",
    "settings",
    "every",
    "events",
    "maps",
    "check",
];

const EXAMPLES: &str = "\
Examples:
  order9 run usemem --policy linux-5.0 --policy linux-5.1 --param size=4G --param loops=2
  order9 run scenarios/usemem-two-releases.toml --seeds 3 -o runs/usemem
  order9 run hugealloc --machine desktop-8g --ablate linux-5.1 --against linux-5.0
  order9 run fill-and-free --machine host.o9snap --param size=1G --set vm.min_free_kbytes=262144
  order9 run scenarios/usemem-two-releases.toml --seeds 3 -o runs/usemem --resume
  order9 run scenarios/numa-thread.toml
  order9 run trace rec --policy host --policy linux-6.18
  order9 run --repeat runs/usemem";

impl RunArgs {
    /// The options that were given, each with its value.
    pub(crate) fn chosen(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let single = [
            (&self.recording, "RECORDING"),
            (&self.ablate, "--ablate"),
            (&self.against, "--against"),
            (&self.machine, "--machine"),
            (&self.memory, "--memory"),
            (&self.prices, "--prices"),
            (&self.seeds, "--seeds"),
            (&self.threads, "--threads"),
            (&self.cmdline, "--cmdline"),
            (&self.every, "--every"),
            (&self.maps, "--maps"),
            (&self.check, "--check"),
        ];
        let several = [
            (&self.policies, "--policy"),
            (&self.parameters, "--param"),
            (&self.settings, "--set"),
            (&self.events, "--events"),
        ];
        let single = single.into_iter().filter_map(|(text, option)| Some((option, text.as_deref()?)));
        let several =
            several.into_iter().flat_map(|(texts, option)| texts.iter().map(move |text| (option, text.as_str())));
        several.chain(single)
    }
}

/// Compare runs that were stored: every policy of every directory is a column, compared with the first.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  order9 compare runs/before runs/after\n  order9 compare runs/fsmark --claim claims/001-fsmark-small-file-stream.toml\n  order9 compare runs/fioscale --policy linux-4.19 --policy linux-4.19-noretry"
)]
pub(crate) struct CompareArgs {
    /// Directories that `order9 run -o` wrote, all of one workload.
    #[arg(value_name = "DIR", required = true)]
    pub(crate) directories: Vec<PathBuf>,
    /// Only this column, by its title; may be given more than once, the first is what the others are compared with.
    #[arg(long = "policy", value_name = "TITLE")]
    pub(crate) policies: Vec<String>,
    /// Also judge every statement of a published claim; its two kernels are the first two columns.
    #[arg(long, value_name = "FILE")]
    pub(crate) claim: Option<PathBuf>,
    /// Also write the tables and verdicts as a page for a browser into a file. With - it goes to standard output instead of the
    /// text.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Print everything as JSON; the same as --format json.
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
    /// Form of the tables. Markdown and LaTeX have the rows that are not 0, CSV and JSON all rows.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) format: TableFormat,
    #[command(flatten)]
    pub(crate) shown: ShownArgs,
}

/// Form of a comparison's tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableFormat {
    /// Columns of text.
    #[default]
    Text,
    /// Tables as GitHub, and readers of mails, know them.
    Markdown,
    /// Tables for papers: longtable and booktabs.
    Latex,
    /// A line for each value.
    Csv,
    /// Everything, for programs.
    Json,
}

/// Length and form of a printed comparison.
#[derive(Debug, Args)]
pub(crate) struct ShownArgs {
    /// Print what decides between policies, in at most 20 lines. [default: on a terminal]
    #[arg(long, conflicts_with_all = ["full", "json", "layout"])]
    pub(crate) brief: bool,
    /// Print all rows that are not 0. [default: elsewhere]
    #[arg(long)]
    pub(crate) full: bool,
    /// Means over runs with their spread, or the tables of mmtests to the byte, which pool all runs. [default: runs]
    #[arg(long, value_name = "LAYOUT")]
    pub(crate) layout: Option<Layout>,
}

/// Form of the tables that are made of runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Layout {
    /// Means over runs, their spread, and tests over runs.
    #[default]
    Runs,
    /// All runs pooled, as published tables have iterations.
    Mmtests,
}

/// Name the workloads, and what can be chosen about each.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct WorkloadsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<WorkloadsCommand>,
    /// Print them as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum WorkloadsCommand {
    /// Say what a workload does and measures, and what can be chosen about it.
    Show {
        /// Name of the workload.
        workload: String,
        /// Print it as JSON.
        #[arg(long)]
        json: bool,
    },
}
