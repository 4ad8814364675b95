//! Work of the kernel that a program asks for by one call, and that is broken off after a time: a process of its own makes the
//! call, and is killed.
//!
//! The kernel looks for a fatal signal while it compacts, block by block, so that such a step ends within milliseconds, and keeps
//! what it has gained.

use std::fs;
use std::io;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use order9_units::Nanos;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, set_parent_process_death_signal, waitid};

/// Time between two looks at the process.
const LOOK: Duration = Duration::from_millis(1);

/// A step that was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Duration.
    pub elapsed: Nanos,
    /// CPU time of the process.
    pub cpu: Nanos,
    /// Whether it came to its end by itself.
    pub completed: bool,
}

/// Runs `command`, which makes the call, and kills it after `at_most`.
///
/// # Errors
/// A command that does not start, or fails.
pub fn step(mut command: Command, at_most: Nanos) -> io::Result<Step> {
    let begin = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
    let completed = ends_within(&child, begin, Duration::from_nanos(at_most.get()))?;
    if !completed {
        child.kill()?;
        ends_within(&child, begin, Duration::MAX)?;
    }
    let elapsed = Nanos::new(begin.elapsed().as_nanos() as u64);
    // A process that has ended tells its time until it is waited for.
    let cpu = cpu_time(child.id()).unwrap_or(elapsed);
    let status = child.wait()?;
    match completed && !status.success() {
        true => Err(io::Error::other(format!("{} failed ({status})", command.get_program().display()))),
        false => Ok(Step { elapsed, cpu, completed }),
    }
}

/// The calling process ends with its parent: nobody would break it off any longer.
///
/// # Errors
/// A refusal of the kernel.
pub fn end_with_parent() -> io::Result<()> {
    Ok(set_parent_process_death_signal(Some(Signal::KILL))?)
}

/// Whether the child ends before so much time has passed since `begin`. The child is not waited for.
fn ends_within(child: &Child, begin: Instant, time: Duration) -> io::Result<bool> {
    let pid = Pid::from_raw(child.id().cast_signed()).expect("a process has a number");
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    loop {
        if waitid(WaitId::Pid(pid), options)?.is_some() {
            return Ok(true);
        }
        if begin.elapsed() >= time {
            return Ok(false);
        }
        sleep(LOOK);
    }
}

/// CPU time of a process with one thread; `None` where the kernel does not count it.
pub(crate) fn cpu_time(pid: u32) -> Option<Nanos> {
    let text = fs::read_to_string(format!("/proc/{pid}/schedstat")).ok()?;
    let time = text.split_whitespace().next()?.parse().ok()?;
    (time > 0).then_some(Nanos::new(time))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).stderr(Stdio::null());
        command
    }

    #[test]
    fn a_step_ends_by_itself_or_is_broken_off() {
        let forever = Nanos::new(60_000_000_000);
        let ended = step(shell("exit 0"), forever).expect("it ends");
        assert!(ended.completed && ended.cpu > Nanos::ZERO && ended.elapsed < forever);
        let killed = step(shell("exec sleep 60"), Nanos::new(5_000_000)).expect("it is killed");
        assert!(!killed.completed && killed.elapsed < forever && killed.cpu < killed.elapsed);
        assert!(step(shell("exit 3"), forever).is_err());
        assert!(step(Command::new("/no/such/program"), forever).is_err());
    }
}
