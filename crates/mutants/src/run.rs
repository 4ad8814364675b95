//! A process that runs one test, with bounds on its time and memory.

use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;
use std::{fs, io};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::param::clock_ticks_per_second;
use rustix::process::{Pid, PidfdFlags, Resource, Rlimit, Signal, kill_process_group, pidfd_open, prlimit};

/// The most memory that a test may ask for: a defect may make it ask for ever more.
const MEMORY_MAX: u64 = 16 << 30;

/// Factor of its CPU time that a test may take: the host may be busy with other things.
const PATIENCE: u32 = 20;

/// End of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Passed,
    Failed,
    /// The test took too long.
    TooLong,
}

/// Runs a test until it ends, has had `limit` of a CPU, or takes much longer than that without one; how it ended, and the CPU
/// time that it took.
pub(crate) fn run(command: &mut Command, limit: Duration) -> io::Result<(End, Duration)> {
    use std::os::unix::process::CommandExt;
    // Programs that the test starts are in its group, and end with it.
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = quiet.process_group(0).spawn()?;
    restrict(&child, Resource::Cpu, limit.as_secs().max(1))?;
    restrict(&child, Resource::As, MEMORY_MAX)?;
    if wait(&child, PATIENCE * limit)? {
        let takes = cpu_time(&child)?;
        return Ok((End::of(child.wait()?), takes));
    }
    match kill_process_group(Pid::from_child(&child), Signal::KILL) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => {}
        Err(error) => return Err(error.into()),
    }
    child.wait()?;
    Ok((End::TooLong, limit))
}

/// CPU time of a process that has ended and not been waited for, and of those that it has waited for.
fn cpu_time(child: &Child) -> io::Result<Duration> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id()))?;
    // The name of the program stands in parentheses and may hold anything; the times are 11 fields behind it.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace();
    let ticks: u64 = fields.skip(11).take(4).filter_map(|field| field.parse::<u64>().ok()).sum();
    Ok(Duration::from_millis(1000 * ticks / clock_ticks_per_second()))
}

fn restrict(child: &Child, what: Resource, most: u64) -> io::Result<()> {
    // At the second limit the kernel kills without a word.
    let limit = Rlimit { current: Some(most), maximum: Some(most + 5) };
    match prlimit(Some(Pid::from_child(child)), what, limit) {
        // It has ended already.
        Ok(_) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Whether the process ends within `limit`.
fn wait(child: &Child, limit: Duration) -> io::Result<bool> {
    let process = pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
    let limit = Timespec::try_from(limit).map_err(io::Error::other)?;
    Ok(poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&limit))? > 0)
}

impl End {
    fn of(status: ExitStatus) -> Self {
        use std::os::unix::process::ExitStatusExt;
        const XCPU: i32 = 24;
        match status.signal() {
            Some(XCPU) => Self::TooLong,
            _ if status.success() => Self::Passed,
            _ => Self::Failed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> End {
        run(Command::new("sh").args(["-c", script]), limit).expect("a shell runs").0
    }

    #[test]
    fn the_time_of_a_test_is_what_it_and_its_programs_have_had_of_a_cpu() {
        let takes = |script| run(Command::new("sh").args(["-c", script]), Duration::from_secs(60)).expect("it runs").1;
        assert!(takes("sleep 0.2") < Duration::from_millis(100), "it waits");
        let busy = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
        assert!(takes(busy) >= Duration::from_millis(50), "it counts");
        assert!(takes(&format!("sh -c '{busy}'; true")) >= Duration::from_millis(50), "another one counts for it");
    }

    #[test]
    fn the_exit_status_tells_how_a_test_ended() {
        let long = Duration::from_secs(60);
        assert_eq!(shell("exit 0", long), End::Passed);
        assert_eq!(shell("exit 101", long), End::Failed);
        assert_eq!(shell("kill -ABRT $$", long), End::Failed);
        assert_eq!(shell("kill -XCPU $$", long), End::TooLong, "what the kernel sends when the CPU time is up");
    }

    #[test]
    fn a_test_that_does_nothing_is_over_at_some_time() {
        assert_eq!(shell("sleep 600; true", Duration::from_millis(1)), End::TooLong);
    }
}
