//! The first process of a guest: mounts what a program needs, runs the jobs that the host sends, and sends back what they say.
//!
//! Nothing else is in the guest: no shell, no network, no disk unless the host gives one. The host is at the other end of the second
//! serial port, which every kernel has that boots here; the console is the first.
#![forbid(unsafe_code)]

mod calibration;
mod console;
mod cpu_lists;
mod kills;
mod maps;
mod mounts;
mod port;
mod storage;
mod watch;
mod work;

use std::fs::File;
use std::os::fd::AsFd as _;
use std::process::ExitCode;

use rustix::system::{RebootCommand, reboot};

use console::say;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, word, clock] = arguments.as_slice()
        && word == work::PROGRAM
    {
        return program(clock);
    }
    if let [_, word, rounds] = arguments.as_slice()
        && word == calibration::CALIBRATION
    {
        return calibration::main(rounds);
    }
    if let [_, word, pid] = arguments.as_slice()
        && word == watch::WATCHES
    {
        return watch::watches(pid);
    }
    if let [_, word] = arguments.as_slice()
        && word == watch::USES
    {
        return watch::main();
    }
    if let [_, word] = arguments.as_slice()
        && let Some(code) = kills::main(word)
    {
        return code;
    }
    if let Err(error) = mounts::mount_all().map_err(|error| error.to_string()).and_then(|()| work::serve()) {
        say(&format!("the guest ends: {error}"));
    }
    rustix::fs::sync();
    // A first process must not end: the kernel panics then, which ends the machine as well.
    if let Err(error) = reboot(RebootCommand::PowerOff) {
        say(&format!("the guest cannot be switched off: {error}"));
    }
    ExitCode::FAILURE
}

/// The program that a supervisor in this guest starts.
fn program(clock: &str) -> ExitCode {
    let run = || {
        let socket = std::io::stdin().as_fd().try_clone_to_owned().map_err(|error| error.to_string())?;
        let clock = File::options().read(true).write(true).open(clock).map_err(|error| error.to_string())?;
        order9_live::program(socket, &clock)
    };
    match run() {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            say(&error);
            ExitCode::FAILURE
        }
    }
}
