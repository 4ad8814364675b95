//! Arguments of `order9 apply` and `order9 undo`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use order9_apply::{Kind, Limit};

/// Change settings of the running kernel, all or none, and write down what they were.
///
/// Every name and value is checked before the first one is written. `order9 undo` takes the change back.
#[derive(Debug, Args)]
#[command(after_help = APPLY_EXAMPLES)]
pub(crate) struct ApplyArgs {
    /// A TOML file with settings, at the top or in a table `settings`.
    pub(crate) file: Option<PathBuf>,
    /// A setting by its Linux name; it replaces one of the file.
    #[arg(long = "set", value_name = "NAME=VALUE", allow_hyphen_values = true)]
    pub(crate) settings: Vec<String>,
    /// Keep the settings beyond a restart, in this way. May be given more than once; cmdline and ansible are texts for
    /// another place.
    #[arg(long = "persist", value_name = "KIND", value_parser = kind())]
    pub(crate) kinds: Vec<Kind>,
    /// Write the text of cmdline or ansible into this file instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Watch the change for this long, 10s or more, and take it back if it breaks a --limit.
    #[arg(long, value_name = "TIME", value_parser = watch, conflicts_with_all = ["dry_run", "root"])]
    pub(crate) watch: Option<Duration>,
    /// The most of any ten seconds that the change may cost: kcompactd, kswapd, khugepaged (of a CPU), psi, psi-full (of the
    /// time). May be given more than once.
    #[arg(long = "limit", value_name = "NAME=PERCENT", requires = "watch")]
    pub(crate) limits: Vec<Limit>,
    /// Say what would be written, and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print everything as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Take all files below this directory instead of this host's, as copies of them.
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
}

/// Put back what `order9 apply` changed, and remove the files that kept it.
#[derive(Debug, Args)]
#[command(after_help = UNDO_EXAMPLES)]
pub(crate) struct UndoArgs {
    /// Only the latest N changes.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) last: Option<u16>,
    /// Name the changes that can be taken back, and take back none.
    #[arg(long, conflicts_with_all = ["last", "force"])]
    pub(crate) list: bool,
    /// Put back also what somebody has changed since.
    #[arg(long)]
    pub(crate) force: bool,
    /// Print everything as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Take all files below this directory instead of this host's, as copies of them.
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
}

const APPLY_EXAMPLES: &str = "\
Examples:
  sudo order9 apply --set vm.compaction_proactiveness=60 --set thp.defrag=defer+madvise
  sudo order9 apply settings.toml --persist sysctl.d --persist tmpfiles.d
  sudo order9 apply settings.toml --watch 60s --limit kcompactd=5% --limit psi=10%
  order9 apply settings.toml --persist systemd --dry-run
  order9 apply settings.toml --persist ansible --dry-run -o tasks.yml";

const UNDO_EXAMPLES: &str = "\
Examples:
  order9 undo --list
  sudo order9 undo --last 1
  sudo order9 undo";

/// A length of time over which limits can be judged.
fn watch(text: &str) -> Result<Duration, String> {
    let time = order9_lab::scenario::length_of_time(text).map(|time| Duration::from_nanos(time.get()));
    time.filter(|time| *time >= Duration::from_secs(10)).ok_or_else(|| "expected a time of 10s or more".to_owned())
}

/// Takes the words of kinds and, given another, proposes the nearest.
fn kind() -> impl TypedValueParser<Value = Kind> {
    let known = |word: String| Kind::ALL.into_iter().find(|kind| kind.word() == word).ok_or("no such kind");
    PossibleValuesParser::new(Kind::ALL.map(Kind::word)).try_map(known)
}
