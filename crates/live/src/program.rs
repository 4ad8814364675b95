//! The program: the process that a supervisor starts, which runs one workload and its children.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;

use order9_units::Nanos;
use order9_workloads::Stop;
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::net::{RecvFlags, recv};
use rustix::process::{Resource, Rlimit, Signal, getrlimit, set_parent_process_death_signal, setrlimit};

use crate::clock::Clock;
use crate::files::FilesDirectory;
use crate::job::Job;
use crate::message::{MESSAGE_MAX, Message};
use crate::raw;
use crate::readings::{Readings, read_facts};
use crate::space::{HugeAlignment, Space};
use crate::system::{Process, Run, State};
use crate::thread::{Thread, block_on};

/// Directory for mounts. Other processes see it empty.
pub(crate) const MOUNTS: &str = "/run/order9/mounts";

/// Runs the workload that the supervisor orders at `socket`, to its end; the exit status of the process.
///
/// # Errors
/// What kept it from starting, in words.
pub fn program(socket: OwnedFd, clock: &File) -> Result<u8, String> {
    let said = |what: &'static str| move |error: io::Error| format!("{what}: {error}");
    prepare().map_err(said("the program cannot start"))?;
    let job = order(&socket).map_err(said("the program got no order"))?;
    let clock = Clock::of(clock).map_err(said("the clock"))?;
    let facts = read_facts(job.reserve, job.files.as_deref()).map_err(said("the machine's size"))?;
    let (workload, parameters) = job.load(&facts)?;
    let mounts = mounts().map_err(said("a directory for mounts"))?;
    let on_disk = job.files.as_deref().map(FilesDirectory::create).transpose();
    let on_disk = on_disk.map_err(said("a directory for files"))?;
    let files = on_disk.as_ref().map_or_else(|| mounts.join("files"), |on_disk| on_disk.path().to_owned());
    let readings = Readings::open().map_err(said("counters"))?;
    let clock_price = clock.price();
    let seed = job.seed;
    let space = Space::new(HugeAlignment::of_kernel(&facts.kernel));
    let run = Arc::new(Run { job, facts, clock, clock_price, socket, readings, files, mounts });
    run.say(&Message::ClockPrice(clock_price));
    let mut state = State::default();
    let name = workload.name();
    let thread = Thread::first(
        Process::new(Arc::clone(&run), name.to_owned(), space, {
            state.nth(name);
            state
        }),
        seed,
    );
    let result = block_on(workload.run(thread.clone(), &parameters));
    let at = clock.now();
    thread.process().flush();
    run.say(&Message::ended(at, raw::all_times(), &result));
    remove_files(&run);
    Ok(u8::from(result.is_err()))
}

/// Makes this process one that harms nobody: the kernel kills it first, it dies with its supervisor, and what it mounts is its own.
fn prepare() -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    fs::write("/proc/self/oom_score_adj", "1000")?;
    // Each pin and each pipe takes files.
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })?;
    raw::unshare_mounts()?;
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    Ok(())
}

fn order(socket: &OwnedFd) -> io::Result<Job> {
    let mut bytes = vec![0; MESSAGE_MAX];
    let (length, _) = recv(socket.as_fd(), &mut bytes[..], RecvFlags::empty())?;
    rmp_serde::from_slice(&bytes[..length]).map_err(io::Error::other)
}

/// The directory for mounts, a tmpfs of its own with a directory for files. The workload sizes its files, as it does in the lab; by default a
/// tmpfs would end them at half of memory.
fn mounts() -> io::Result<PathBuf> {
    let mounts = PathBuf::from(MOUNTS);
    fs::create_dir_all(&mounts)?;
    mount("tmpfs", &mounts, "tmpfs", MountFlags::empty(), Some(c"size=100%,huge=never"))
        .or_else(|_| mount("tmpfs", &mounts, "tmpfs", MountFlags::empty(), Some(c"size=100%")))?;
    fs::create_dir(mounts.join("files"))?;
    Ok(mounts)
}

fn remove_files(run: &Run) {
    // On tmpfs they go with the process.
    if run.job.files.is_some() && fs::remove_dir_all(&run.files).is_err() {
        run.say(&Message::Note(format!("files are left in {}", run.files.display())));
    }
}

/// The stop of a process that a signal ended.
pub(crate) fn stop_of_signal(signal: i32, name: &str) -> Stop {
    match signal {
        libc::SIGKILL => Stop::Killed { process: name.to_owned() },
        libc::SIGSEGV => Stop::Signal { signal: "SIGSEGV", addr: 0 },
        libc::SIGBUS => Stop::Signal { signal: "SIGBUS", addr: 0 },
        _ => Stop::Refused { call: "a process", errno: "an unexpected signal" },
    }
}

/// A sample without the price of reading the clock.
pub(crate) fn without(time: Nanos, price: Nanos) -> Nanos {
    time.saturating_sub(price)
}
