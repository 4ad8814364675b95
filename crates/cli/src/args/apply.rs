//! Arguments of `order9 apply` and `order9 undo`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use order9_apply::Kind;

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
  order9 apply settings.toml --persist systemd --dry-run
  order9 apply settings.toml --persist ansible --dry-run -o tasks.yml";

const UNDO_EXAMPLES: &str = "\
Examples:
  order9 undo --list
  sudo order9 undo --last 1
  sudo order9 undo";

/// Takes the words of kinds and, given another, proposes the nearest.
fn kind() -> impl TypedValueParser<Value = Kind> {
    let known = |word: String| Kind::ALL.into_iter().find(|kind| kind.word() == word).ok_or("no such kind");
    PossibleValuesParser::new(Kind::ALL.map(Kind::word)).try_map(known)
}
