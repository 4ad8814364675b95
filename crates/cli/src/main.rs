//! The `order9` command: reads arguments, calls the libraries, prints.
//!
//! Exit status: 0 success, 1 a repetition that came out otherwise, a verdict that got worse or a change that broke a limit, 2 usage
//! or input error or a run that did not come to its end, each but the first with one sentence on standard error. Holds nothing that
//! another front end would need again.
#![forbid(unsafe_code)]
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod advise;
mod anonymise;
mod apply;
mod args;
mod ask;
mod bench;
mod calibrate;
mod capture;
mod collapse;
mod compare;
mod completions;
mod doc;
mod export;
mod failure;
mod fidelity;
mod fleet;
mod folder;
mod guard;
mod info;
mod inspect;
mod interrupt;
mod kernels;
mod machines;
mod man;
mod output;
mod pager;
mod picture_file;
mod plot;
mod policies;
mod record;
mod repeat;
mod report;
mod reproduce;
mod results;
mod run;
mod schema;
mod screen;
mod source;
mod sweep;
mod synth;
mod target;
mod timing;
mod trial;
mod tune;
mod validate;
mod waiting;
mod watch;
mod what_if;
mod workloads;
mod written;

use std::process::ExitCode;

use clap::Parser as _;
use clap::error::ErrorKind;

use args::{Cli, Command, SnapshotCommand};
use failure::{Failure, usage_sentence};

fn main() -> ExitCode {
    match parse().and_then(run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) if failure.is_broken_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            output::complain(&failure);
            ExitCode::from(failure.status())
        }
    }
}

/// The command line; help and version are printed here and end the program.
fn parse() -> Result<Cli, Failure> {
    use ErrorKind::{DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion};
    Cli::try_parse().map_err(|error| match error.kind() {
        DisplayHelp | DisplayHelpOnMissingArgumentOrSubcommand | DisplayVersion => error.exit(),
        _ => Failure::Usage(usage_sentence(&error.to_string())),
    })
}

fn run(cli: Cli) -> Result<(), Failure> {
    match cli.command {
        Command::Inspect(args) => inspect::run(&args),
        Command::Capture(args) => capture::run(&args),
        Command::Snapshot(SnapshotCommand::Synth(args)) => synth::run(&args),
        Command::Snapshot(SnapshotCommand::Info(args)) => info::run(&args),
        Command::Snapshot(SnapshotCommand::Anonymise(args)) => anonymise::run(&args),
        Command::Policies(command) => policies::run(&command),
        Command::Machines(command) => machines::run(&command),
        Command::Ask(args) => ask::run(&args),
        Command::WhatIf(args) => what_if::run(&args),
        Command::Advise(args) => advise::run(&args),
        Command::Tune(args) => tune::run(&args),
        Command::Fleet(args) => fleet::run(&args),
        Command::Run(args) if args.repeat.is_some() => repeat::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Sweep(args) => sweep::run(&args),
        Command::Merge(args) => sweep::merge(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Apply(args) => apply::apply(&args),
        Command::Undo(args) => apply::undo(&args),
        Command::Collapse(args) => collapse::run(&args),
        Command::Guard(args) => guard::run(&args),
        Command::Record(args) => record::run(&args),
        Command::Validate(args) => validate::run(&args),
        Command::Fidelity(args) => fidelity::run(&args),
        Command::Calibrate(args) => calibrate::run(&args),
        Command::Kernels(command) => kernels::run(&command),
        Command::CompactNode { node } => guard::compact_node(node),
        Command::Program { clock } => bench::program(&clock),
        Command::Compare(args) => compare::run(&args),
        Command::Plot(args) => plot::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Reproduce(args) => reproduce::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Workloads(args) => workloads::run(&args),
        Command::Doc(args) => doc::run(&args),
        Command::Schema(args) => schema::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    }
}
