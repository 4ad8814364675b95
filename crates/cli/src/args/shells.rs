//! Arguments of `order9 completions` and `order9 man`.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

/// Print the script with which a shell completes commands and options of order9.
#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

const COMPLETIONS: &str = "\
Examples:
  source <(order9 completions bash)
  order9 completions bash > ~/.local/share/bash-completion/completions/order9
  order9 completions zsh > ~/.zfunc/_order9
  order9 completions fish > ~/.config/fish/completions/order9.fish";

/// Write the manual pages: one for order9, and one for each command.
#[derive(Debug, Args)]
#[command(after_help = MAN)]
pub(crate) struct ManArgs {
    /// The directory to write, new or empty.
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: PathBuf,
    /// Print the names and lengths of the pages as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

const MAN: &str = "\
Examples:
  order9 man -o man1 && man -l man1/order9-run.1";
