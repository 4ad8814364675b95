//! Arguments of `order9 guard`.

use std::path::PathBuf;

use clap::Args;

/// Keep huge pages ready on this host: compact its nodes ahead of the need, within budgets of CPU and stall time.
///
/// Runs until SIGTERM; SIGHUP reads the configuration anew. Decisions are logged on standard error, each with its reason. Nothing
/// but nodeN/compact is written, and no setting is changed.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct GuardArgs {
    /// The configuration, a TOML file; --print-config prints one.
    #[arg(long, value_name = "FILE", required_unless_present_any = ["print_config", "print_unit", "simulate", "check"])]
    pub(crate) config: Option<PathBuf>,
    /// Check the configuration, print what is in force, and stop.
    #[arg(long, conflicts_with_all = ["print_config", "print_unit", "simulate"])]
    pub(crate) check: bool,
    /// Print a configuration with all defaults, which says what every key means.
    #[arg(long, conflicts_with_all = ["config", "print_unit", "simulate"])]
    pub(crate) print_config: bool,
    /// Print a systemd unit for this configuration, with the least rights that it needs.
    #[arg(long, conflicts_with = "simulate")]
    pub(crate) print_unit: bool,
    /// Try the guard in the lab, on a copy of this host's memory or on a capture, beside the kernel's own proactive compaction.
    #[arg(long)]
    pub(crate) simulate: bool,
    /// A snapshot file for --simulate, or - for standard input; without one, this host.
    #[arg(requires = "simulate")]
    pub(crate) snapshot: Option<PathBuf>,
    /// The program that runs meanwhile: a workload (`order9 workloads` names all). [default: map-and-write]
    #[arg(long, value_name = "WORKLOAD", allow_hyphen_values = true, requires = "simulate")]
    pub(crate) demand: Option<String>,
    /// A parameter of the program.
    #[arg(long = "param", value_name = "KEY=VALUE", allow_hyphen_values = true, requires = "simulate")]
    pub(crate) parameters: Vec<String>,
    /// The policy of the kernel: built-in, a file, or host.
    #[arg(long, value_name = "POLICY", allow_hyphen_values = true, requires = "simulate")]
    pub(crate) policy: Option<String>,
    /// The machine whose prices the copy has.
    #[arg(long, value_name = "MACHINE", visible_alias = "machine", allow_hyphen_values = true, requires = "simulate")]
    pub(crate) prices: Option<String>,
    /// Number of runs, each with another seed. [default: 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000), requires = "simulate")]
    pub(crate) seeds: Option<u64>,
    /// Keep the runs in this directory, for `order9 compare`, `plot` and `report`.
    #[arg(short, long, value_name = "DIR", requires = "simulate")]
    pub(crate) output: Option<PathBuf>,
    /// Print everything as JSON.
    #[arg(long, requires = "simulate")]
    pub(crate) json: bool,
}

const EXAMPLES: &str = "\
Examples:
  order9 guard --print-config > guard.toml
  order9 guard --check --config guard.toml
  order9 guard --simulate host.o9snap --config guard.toml
  sudo order9 guard --config guard.toml
  order9 guard --print-unit --config /etc/order9/guard.toml > /etc/systemd/system/order9-guard.service";
