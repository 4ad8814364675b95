//! `order9 completions`.

use clap::{Command, CommandFactory as _};

use crate::args::{Cli, CompletionsArgs};
use crate::failure::Failure;
use crate::output::print;

/// Prints the script for a shell.
pub(crate) fn run(args: &CompletionsArgs) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut shown(&Cli::command()), "order9", &mut script);
    print(&String::from_utf8(script).expect("help texts are UTF-8"))
}

/// `whole` without hidden commands, which scripts would offer.
fn shown(whole: &Command) -> Command {
    let commands = whole.get_subcommands().filter(|command| !command.is_hide_set());
    Command::new("order9").version(env!("CARGO_PKG_VERSION")).subcommands(commands.cloned())
}
