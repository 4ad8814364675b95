//! `order9 guard`.

mod balance;
mod collapse;
mod host;
mod listen;
mod metrics;
mod service;
mod simulate;
mod unit;

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use order9_guard::GuardFile;

use crate::args::GuardArgs;
use crate::failure::{Failure, io_sentence};
use crate::output::print;
pub(crate) use host::compact_node;

/// More bytes than any configuration has: a mistaken name must not fill the memory.
const FILE_MAX: u64 = 1 << 20;

/// Guards this host, or does one of the things around it.
pub(crate) fn run(args: &GuardArgs) -> Result<(), Failure> {
    if args.print_config {
        return print(&GuardFile::template());
    }
    let config = args.config.as_deref();
    let file = config.map_or_else(|| Ok(GuardFile::default()), read)?;
    match config {
        _ if args.simulate => simulate::run(args, file.config),
        _ if args.print_unit => print(&unit::unit(config, &file)?),
        _ if args.check => print(&file.show()),
        Some(path) => service::run(path, file),
        None => unreachable!("the arguments require a configuration"),
    }
}

/// The configuration in a file.
fn read(path: &Path) -> Result<GuardFile, Failure> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(FILE_MAX).read_to_string(&mut text));
    read.map_err(|error| Failure::file(path, io_sentence(&error)))?;
    GuardFile::parse(&order9_escape::path(path), &text).map_err(|error| Failure::Usage(error.to_string()))
}
