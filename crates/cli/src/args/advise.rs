//! Arguments of the commands that try things on a copy of a host's memory.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use order9_advise::tune::{Goal, Limit};
use order9_units::{Bytes, Nanos};

/// Say whether a program would get memory in huge pages now, how long its faults would take, and what stands in the way first.
///
/// A program in the lab asks for it on a copy of this host's memory, as root, or on a capture. Nothing is done to the host.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  order9 ask 4G\n  order9 ask 4G --node 0 host.o9snap\n  order9 ask 512M --madvise no --defrag always host.o9snap"
)]
pub(crate) struct AskArgs {
    /// Memory that the program writes, 4G for instance.
    pub(crate) size: Bytes,
    /// A snapshot file, or - for standard input; without one, this host.
    pub(crate) snapshot: Option<PathBuf>,
    /// The only node that the program may have memory of.
    #[arg(long, value_name = "N")]
    pub(crate) node: Option<u16>,
    /// Whether the program advises its memory MADV_HUGEPAGE.
    #[arg(long, value_name = "yes|no", value_enum, default_value = "yes")]
    pub(crate) madvise: YesNo,
    /// Mode of transparent_hugepage/defrag. [default: that of the host]
    #[arg(long, value_name = "MODE", allow_hyphen_values = true)]
    pub(crate) defrag: Option<String>,
    #[command(flatten)]
    pub(crate) trial: TrialArgs,
    /// Print everything as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Try settings on a copy of this host's memory, or on a capture, beside those that it has.
///
/// A program runs in the lab with the settings as they are, and again with the change. Nothing is done to the host.
#[derive(Debug, Args)]
#[command(after_help = WHAT_IF_EXAMPLES)]
pub(crate) struct WhatIfArgs {
    /// A snapshot file, or - for standard input; without one, this host.
    pub(crate) snapshot: Option<PathBuf>,
    /// A setting of the change, by its Linux name; several are written together.
    #[arg(long = "set", value_name = "NAME=VALUE", required_unless_present = "cases", allow_hyphen_values = true)]
    pub(crate) settings: Vec<String>,
    /// Another change: settings that are written together, separated by commas. May be given more than once; each is a column.
    #[arg(long = "case", value_name = "NAME=VALUE,...", allow_hyphen_values = true)]
    pub(crate) cases: Vec<String>,
    #[command(flatten)]
    pub(crate) demand: DemandArgs,
    #[command(flatten)]
    pub(crate) trial: TrialArgs,
    /// Print everything as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

const WHAT_IF_EXAMPLES: &str = "\
Examples:
  order9 what-if --set vm.compaction_proactiveness=60 --set thp.defrag=defer+madvise
  order9 what-if host.o9snap --case thp.defrag=always --case thp.defrag=defer,vm.compaction_proactiveness=60
  order9 what-if host.o9snap --set vm.min_free_kbytes=262144 --demand java-heap --param heap=4G";

/// Try remedies on a copy of this host's memory, or on a capture, and name those that are worth it, with their commands.
///
/// A program that wants huge pages runs in the lab with the host as it is, and again with each remedy: settings, caches dropped, nodes
/// compacted; on this host, or on a capture with owners, also memory of processes collapsed, and processes started anew. Nothing is done to
/// the host.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  sudo order9 advise\n  order9 advise host.o9snap --want 20G\n  order9 advise host.o9snap --want 4G --use 10min --param madvise=no\n  order9 record -o look --for 30s --events && order9 advise --demand look/"
)]
pub(crate) struct AdviseArgs {
    /// A snapshot file, or - for standard input; without one, this host.
    pub(crate) snapshot: Option<PathBuf>,
    /// Memory that the program wants in huge pages, 20G for instance. [default: half of what is available]
    #[arg(long, value_name = "SIZE")]
    pub(crate) want: Option<Bytes>,
    /// Time for which the program uses its memory and does nothing else, on one CPU.
    #[arg(long = "use", value_name = "TIME", value_parser = time, default_value = "1min")]
    pub(crate) use_time: Nanos,
    #[command(flatten)]
    pub(crate) demand: DemandArgs,
    #[command(flatten)]
    pub(crate) trial: TrialArgs,
    /// Also write a page for a browser into a file: all remedies in a table, owners of memory, the map, and the text. With - it goes to
    /// standard output instead of the text.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Print everything as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Collapse memory of a process into huge pages (MADV_COLLAPSE, Linux 6.1 and later), as root.
///
/// Ranges that the process has advised MADV_HUGEPAGE come alone where there are some, the largest first. What cannot be collapsed now
/// stays as it is.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  sudo order9 collapse 4711\n  sudo order9 collapse 4711 --size 2G")]
pub(crate) struct CollapseArgs {
    /// Number of the process.
    pub(crate) pid: u32,
    /// The most memory that is collapsed, 2G for instance. [default: all]
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: Option<Bytes>,
}

/// The program that stands for a demand.
#[derive(Debug, Args)]
pub(crate) struct DemandArgs {
    /// The program that runs: a workload (`order9 workloads` names all), or the directory of a recording, which others replay beside
    /// the usual program. [default: map-and-write, which waits 10 s, writes half of the available memory in advised huge pages, and
    /// keeps it for 20 s]
    #[arg(
        long,
        value_name = "WORKLOAD|DIR",
        allow_hyphen_values = true,
        default_value = "map-and-write",
        hide_default_value = true
    )]
    pub(crate) demand: String,
    /// A parameter of the program.
    #[arg(long = "param", value_name = "KEY=VALUE", allow_hyphen_values = true)]
    pub(crate) parameters: Vec<String>,
}

fn time(text: &str) -> Result<Nanos, String> {
    order9_lab::scenario::length_of_time(text).ok_or_else(|| "expected a time such as 30s, 10min or 2h".to_owned())
}

/// Search settings that reach a goal within limits, on a copy of this host's memory or on a capture.
///
/// A program runs in the lab under many combinations of settings, and the better ones run again, with other seeds and other sizes. The
/// trade-off is printed, with the effect of each setting. Nothing is done to the host: `order9 apply` writes the settings that were
/// found.
#[derive(Debug, Args)]
#[command(after_help = TUNE_EXAMPLES)]
pub(crate) struct TuneArgs {
    /// A snapshot file, or - for standard input; without one, this host.
    pub(crate) snapshot: Option<PathBuf>,
    /// The measure to reach, with a value, or to make as good as can be, without one: huge=95%, p99=1ms, free-huge.
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub(crate) goal: Goal,
    /// The most that a measure may be, or the least where more is better: p99=1ms, kcompactd=5%. May be given more than once.
    /// [default: none; p99 and kcompactd are weighed against the goal]
    #[arg(long = "limit", value_name = "NAME=VALUE")]
    pub(crate) limits: Vec<Limit>,
    /// A setting to search, by its Linux name, with its values. May be given more than once. [default: thp/defrag,
    /// vm.compaction_proactiveness, vm.watermark_boost_factor, vm.min_free_kbytes, vm.watermark_scale_factor,
    /// thp/khugepaged/scan_sleep_millisecs, vm.defrag_mode, as far as the kernel has them]
    #[arg(long = "setting", value_name = "NAME=VALUE,...", allow_hyphen_values = true)]
    pub(crate) settings: Vec<String>,
    #[command(flatten)]
    pub(crate) demand: DemandArgs,
    /// Number of combinations that are drawn at random; all are tried where there are no more.
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub(crate) sample: u16,
    /// Seed of the drawing.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) trial: TrialArgs,
    /// Folder of cells, as of `order9 sweep`: runs that are there are not made again, and others are kept there. A search that was
    /// interrupted goes on.
    #[arg(long, value_name = "DIR")]
    pub(crate) cache: Option<PathBuf>,
    /// Write the settings that were found (best.toml), everything (tune.json) and a picture (front.svg, front.png) into this directory,
    /// which must be absent or empty.
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Print everything as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

const TUNE_EXAMPLES: &str = "\
Examples:
  order9 tune --goal huge=95% --limit p99=1ms --limit kcompactd=5% -o tune/
  order9 tune host.o9snap --goal huge --setting vm.compaction_proactiveness=0,20,40,60,80 --setting thp.defrag=madvise,defer
  order9 tune host.o9snap --goal p99 --limit huge=90% --demand java-heap --param heap=4G";

/// Kernel, prices and number of runs on a copy.
#[derive(Debug, Args)]
pub(crate) struct TrialArgs {
    /// The policy of the kernel: built-in, a file, or host. [default: host, the nearest to the kernel's release; linux-6.18 for a
    /// snapshot of no host]
    #[arg(long, value_name = "POLICY", allow_hyphen_values = true)]
    pub(crate) policy: Option<String>,
    /// The machine whose prices the copy has. [default: epyc-vm, with what was measured on the host]
    #[arg(long, value_name = "MACHINE", visible_alias = "machine", allow_hyphen_values = true)]
    pub(crate) prices: Option<String>,
    /// Number of runs, each with another seed.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub(crate) seeds: u64,
}

/// A choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum YesNo {
    /// Advised.
    Yes,
    /// Not advised.
    No,
}
