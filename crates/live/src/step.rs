//! Work of the kernel that a program asks for by one call, and that is broken off when it has done enough: a process of its own makes the
//! call, and is killed.
//!
//! The kernel looks for a fatal signal while it compacts, block by block, so that such a step ends within milliseconds, and keeps
//! what it has gained.

use std::fs;
use std::io;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use order9_units::Nanos;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, set_parent_process_death_signal, waitid};

/// Nanoseconds of a second.
const SECOND: u64 = 1_000_000_000;

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

/// Runs `command`, which makes the call, and asks `watch` at once and again and again, with the CPU time that the process has taken: for the
/// time until it is to be asked next, or nothing where the process is to be killed.
///
/// # Errors
/// A command that does not start, or fails.
pub fn step(mut command: Command, mut watch: impl FnMut(Nanos) -> Option<Nanos>) -> io::Result<Step> {
    let begin = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let completed = loop {
        let cpu = cpu_time(child.id()).unwrap_or_default();
        let Some(look_in) = watch(cpu) else { break false };
        if ends_within(&child, Some(look_in))? {
            break true;
        }
    };
    if !completed {
        child.kill()?;
        while !ends_within(&child, None)? {}
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

/// Whether the child ends within a time, if one is given. It is not reaped. Its output, in which it writes nothing, is closed when it ends.
fn ends_within(child: &Child, time: Option<Nanos>) -> io::Result<bool> {
    let output = child.stdout.as_ref().expect("it is piped");
    let timeout = time.map(|time| Timespec {
        tv_sec: (time.get() / SECOND).cast_signed(),
        tv_nsec: (time.get() % SECOND).cast_signed(),
    });
    match poll(&mut [PollFd::new(output, PollFlags::IN)], timeout.as_ref()) {
        Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(false),
        ended => ended?,
    };
    let pid = Pid::from_raw(child.id().cast_signed()).expect("a process has a number");
    waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)?;
    Ok(true)
}

/// CPU time of a process with one thread; `None` where the kernel does not count it.
pub(crate) fn cpu_time(pid: u32) -> Option<Nanos> {
    let text = fs::read_to_string(format!("/proc/{pid}/schedstat")).ok()?;
    let time = text.split_whitespace().next()?.parse().ok()?;
    (time > 0).then_some(Nanos::new(time))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).stderr(Stdio::null());
        command
    }

    /// Lets a script go on until so much time has passed.
    fn step_for(command: Command, most: Duration) -> io::Result<(Step, u32)> {
        let (begin, mut looks) = (Instant::now(), 0);
        let step = step(command, |_| {
            looks += 1;
            (begin.elapsed() < most).then_some(Nanos::new(2_000_000))
        });
        Ok((step?, looks))
    }

    #[test]
    fn a_step_ends_by_itself_or_is_broken_off() {
        let forever = Duration::from_secs(60);
        let (ended, _) = step_for(shell("exit 0"), forever).expect("it ends");
        assert!(ended.completed && ended.cpu > Nanos::ZERO && ended.elapsed < Nanos::new(60_000_000_000));
        let (killed, looks) = step_for(shell("exec sleep 60"), Duration::from_millis(10)).expect("it is killed");
        assert!(!killed.completed && looks >= 2 && killed.cpu < killed.elapsed, "{killed:?} {looks}");
        assert!(step_for(shell("exit 3"), forever).is_err());
        assert!(step_for(Command::new("/no/such/program"), forever).is_err());
    }

    #[test]
    fn a_step_is_told_its_cpu_time() {
        let enough = Nanos::new(20_000_000);
        let busy = step(shell("while :; do :; done"), |cpu| (cpu < enough).then_some(Nanos::new(1_000_000)));
        let busy = busy.expect("it is killed");
        assert!(!busy.completed && busy.cpu >= enough, "{busy:?}");
    }
}
