//! Arguments of `order9 bench`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use order9_units::Bytes;

use super::ShownArgs;

/// Run a workload on a real kernel, that of this host as root or any other in a virtual machine: the program of the lab, by real system calls.
///
/// Settings that the workload wants are changed for the time of the run and put back whatever ends it, at the next start of order9 if need
/// be. The program is the first that the kernel kills for memory, and is ended where it leaves less than --reserve to others.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BenchArgs {
    /// A workload (`order9 workloads` names all), or a scenario file (with / or .toml in its name).
    #[arg(value_name = "WORKLOAD|SCENARIO", allow_hyphen_values = true)]
    pub(crate) what: String,
    /// One case of a scenario file that holds cases.
    #[arg(long, value_name = "NAME")]
    pub(crate) case: Option<String>,
    /// A parameter of the workload.
    #[arg(long = "param", value_name = "KEY=VALUE", allow_hyphen_values = true)]
    pub(crate) parameters: Vec<String>,
    /// Short for --param threads=1,3,5.
    #[arg(long, value_name = "1,3,5", allow_hyphen_values = true)]
    pub(crate) threads: Option<String>,
    /// A setting by its Linux name, written before the start and put back at the end.
    #[arg(long = "set", value_name = "NAME=VALUE", allow_hyphen_values = true)]
    pub(crate) settings: Vec<String>,
    /// Number of runs, one after another, each with another seed. [default: 1]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) seeds: Option<String>,
    /// Interval between readings of the counters. [default: 1s; fsmark 10s, uptime 10m]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) every: Option<String>,
    #[command(flatten)]
    pub(crate) kernels: KernelArgs,
    /// Keep the events of this tracepoint, mm_compaction_end for instance, from a tracefs instance of its own. May be given more than
    /// once, or with commas between names.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) events: Vec<String>,
    /// Keep no state of memory where the workload would have one: daemons of the kernel work on while it is looked at.
    #[arg(long)]
    pub(crate) no_snapshots: bool,
    /// Directory for files of the workload. [default: a tmpfs of its own, as on a machine without a disk]
    #[arg(long, value_name = "DIR", conflicts_with = "kernels")]
    pub(crate) files: Option<PathBuf>,
    /// Memory that is left available to others. [default: a sixteenth of memory, at least 256M]
    #[arg(long, value_name = "BYTES", conflicts_with = "kernels")]
    pub(crate) reserve: Option<Bytes>,
    /// Say what would run and be changed, and do nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Store everything that was measured in this directory.
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Replace the run that the directory holds.
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
    /// Print everything as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) shown: ShownArgs,
}

/// Measure what memory work costs on this host, as root, or on a kernel of choice in a virtual machine.
///
/// Prints every measurement with its spread, the prices of the lab's cost model that follow, and sums of prices beside what was measured
/// whole. Takes a minute and less than 2 GiB, changes no setting, and compacts memory.
#[derive(Debug, Args)]
pub(crate) struct CalibrateArgs {
    /// Number of rounds; each measures everything once.
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) rounds: u16,
    /// Machine whose figures stand for those that cannot be measured here: a built-in one, or a file.
    #[arg(long, value_name = "MACHINE", default_value = "epyc-vm")]
    pub(crate) base: String,
    /// A directory on a disk of this host, for prices of pages of files; a file of 128 MiB comes and goes there. In a virtual machine it is
    /// the machine's disk. [default: these prices are those of the base]
    #[arg(long, value_name = "DIR", conflicts_with = "kernels")]
    pub(crate) files: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) kernels: KernelArgs,
    /// Write the prices into this file, as a machine of the lab; - for standard output.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Print the tables as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A file system.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum DiskFormat {
    /// ext4, which Debian's kernels have built in.
    Ext4,
    /// XFS, from a module.
    Xfs,
}

/// Kernels of virtual machines.
#[derive(Debug, Args)]
pub(crate) struct KernelArgs {
    /// Run on this kernel in a virtual machine, instead of this host's: a bzImage by a path with a /, or one that `order9 kernels fetch`
    /// has brought, linux-6.12 for instance. May be given more than once, but for calibration; each is a column.
    #[arg(long = "kernel", value_name = "KERNEL")]
    pub(crate) kernels: Vec<String>,
    /// CPUs, nodes, memory, disk and swap of the virtual machine: a built-in machine, or a file. [default: that of the scenario, else 2 CPUs
    /// and 2 GiB on one node without a disk]
    #[arg(long, value_name = "MACHINE", requires = "kernels")]
    pub(crate) machine: Option<String>,
    /// File system of the virtual machine's disk. [default: ext4]
    #[arg(long, value_name = "KIND", value_enum, requires = "kernels")]
    pub(crate) file_system: Option<DiskFormat>,
    /// Parameters of the virtual machine's kernel.
    #[arg(long, value_name = "PARAMETERS", requires = "kernels")]
    pub(crate) cmdline: Option<String>,
    /// Let the virtual machine's time be counted instructions, on one CPU: the same run gives the same counts again.
    #[arg(long, requires = "kernels")]
    pub(crate) deterministic: bool,
}

const EXAMPLES: &str = "\
Examples:
  order9 bench hugealloc --param size=2G --param driver=advised --dry-run
  order9 bench hugealloc --param size=2G --param driver=advised -o live
  order9 bench thpscale --param size=4G --files /var/tmp --seeds 3 -o live
  order9 bench hugealloc --kernel linux-6.1 --kernel ./bzImage --param driver=advised -o guests
  order9 bench usemem --kernel linux-6.12 --machine guest-zram -o swapping
  order9 compare live lab";

impl BenchArgs {
    /// Whether the state of memory is kept where the workload asks for it.
    pub(crate) fn keeps_snapshots(&self) -> bool {
        self.output.is_some() && !self.no_snapshots
    }

    /// The options that were given, each with its value.
    pub(crate) fn chosen(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let single = [(&self.threads, "--threads"), (&self.seeds, "--seeds"), (&self.every, "--every")];
        let single = single.into_iter().filter_map(|(text, option)| Some((option, text.as_deref()?)));
        let several = [(&self.parameters, "--param"), (&self.settings, "--set")];
        let several =
            several.into_iter().flat_map(|(texts, option)| texts.iter().map(move |text| (option, text.as_str())));
        several.chain(single)
    }
}

/// Run a workload on real kernels and in the lab from the same memory, and judge each quantity.
///
/// A kernel of choice is booted once in a virtual machine and the whole machine saved. Every real run resumes from that state, and the lab
/// starts from its memory map, with the same parameters, settings and seeds. Without --kernel this host's kernel is judged, as root: its
/// runs follow each other, and the lab starts from the memory before each. Exit status 1 where a quantity is outside its goal.
#[derive(Debug, Args)]
#[command(after_help = VALIDATE_EXAMPLES)]
pub(crate) struct ValidateArgs {
    /// A workload (`order9 workloads` names all), or a scenario file (with / or .toml in its name).
    #[arg(value_name = "WORKLOAD|SCENARIO", allow_hyphen_values = true)]
    pub(crate) what: String,
    /// One case of a scenario file that holds cases; otherwise each of them is judged.
    #[arg(long, value_name = "NAME")]
    pub(crate) case: Option<String>,
    #[command(flatten)]
    pub(crate) kernels: KernelArgs,
    /// Number of real runs of each kernel.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub(crate) runs: u64,
    /// Number of times that each kernel boots, each time into other memory, or that this host's memory is captured. Runs of both sides are
    /// dealt out to these in turn. [default: once for each run]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub(crate) starts: Option<u64>,
    /// Number of runs of the lab. [default: three times as many]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=3000))]
    pub(crate) lab_runs: Option<u64>,
    /// The policy to hold the kernel against: built-in, or a file. [default: host, the nearest to the kernel's release]
    #[arg(long, value_name = "POLICY", default_value = "host", allow_hyphen_values = true, hide_default_value = true)]
    pub(crate) policy: String,
    /// The machine whose prices the lab has. [default: epyc-vm]
    #[arg(long, value_name = "MACHINE", allow_hyphen_values = true)]
    pub(crate) prices: Option<String>,
    /// A directory on a disk of this host, for files of the workload; those of the lab lie on the disk of the machine of --prices.
    /// [default: a tmpfs of its own, as on a machine without a disk]
    #[arg(long, value_name = "DIR", conflicts_with_all = ["kernels", "again"])]
    pub(crate) files: Option<PathBuf>,
    /// A parameter of the workload.
    #[arg(long = "param", value_name = "KEY=VALUE", allow_hyphen_values = true)]
    pub(crate) parameters: Vec<String>,
    /// Short for --param threads=1,3,5.
    #[arg(long, value_name = "1,3,5", allow_hyphen_values = true)]
    pub(crate) threads: Option<String>,
    /// A setting by its Linux name, written before the start.
    #[arg(long = "set", value_name = "NAME=VALUE", allow_hyphen_values = true)]
    pub(crate) settings: Vec<String>,
    /// Store the runs of both sides, the memory they started from and the verdicts below this directory.
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Hold the lab against the real runs that an earlier validation stored below this directory. No kernel runs; the lab's runs and the
    /// verdicts there are replaced.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["output", "kernels"])]
    pub(crate) again: Option<PathBuf>,
    /// Add boots of the kernels to the real runs that the directory holds, until there are as many as --runs says. The lab's runs and the
    /// verdicts there are replaced.
    #[arg(long, requires = "output", requires = "kernels", conflicts_with = "force")]
    pub(crate) more: bool,
    /// Replace what the directory holds.
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
    /// Print everything as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

const VALIDATE_EXAMPLES: &str = "\
Examples:
  order9 validate hugealloc --kernel linux-6.1 --kernel linux-6.12 --param driver=advised --runs 5
  order9 validate thpscale --kernel ./bzImage --machine small.toml -o checked
  order9 validate scenarios/referee.toml --kernel linux-6.12 --deterministic --prices guest.toml -o checked
  order9 validate scenarios/referee.toml --kernel linux-6.12 --deterministic --prices guest.toml -o checked --more --runs 6
  order9 validate scenarios/referee.toml --prices guest.toml --again checked
  order9 validate thpscale --param size=4G --files /var/tmp --prices here.toml -o here";

impl ValidateArgs {
    /// Number of memories from which runs start: no more than there are runs.
    pub(crate) fn starts(&self) -> u64 {
        self.starts.unwrap_or(self.runs).min(self.runs).min(self.lab_runs())
    }

    /// Number of runs of the lab: more than real ones where nobody says how many, since they cost little, and their median is to be that of
    /// the lab and not of chance.
    pub(crate) fn lab_runs(&self) -> u64 {
        self.lab_runs.unwrap_or(self.runs * 3)
    }

    /// The options that were given, each with its value.
    pub(crate) fn chosen(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let threads = self.threads.as_deref().map(|threads| ("--threads", threads));
        let several = [(&self.parameters, "--param"), (&self.settings, "--set")];
        let several =
            several.into_iter().flat_map(|(texts, option)| texts.iter().map(move |text| (option, text.as_str())));
        several.chain(threads)
    }
}

/// Put the verdicts of many `order9 validate` together: what is good enough, and every quantity outside its goal with its cause, as Markdown.
#[derive(Debug, Args)]
pub(crate) struct FidelityArgs {
    /// Files fidelity.json, as `order9 validate -o` writes them.
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// File with causes that have been found: `[[cause]]` with title, text and the quantities, kernels and experiments that it explains.
    #[arg(long, value_name = "FILE")]
    pub(crate) causes: Option<PathBuf>,
    /// Sentences on when and where the experiments ran.
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) origin: String,
    /// Print every quantity outside its goal as JSON.
    #[arg(long, conflicts_with = "origin")]
    pub(crate) json: bool,
}
