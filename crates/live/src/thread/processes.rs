//! Threads and processes: real ones.

use std::future::Future;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::sync::{Arc, LazyLock};

use order9_units::Nanos;
use order9_workloads::{
    Area, ChildKind, Ended, Nodes as _, OomScoreAdj, Processes, Shared, Spread, Stop, Times, streams,
};
use rand_pcg::rand_core::Rng as _;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Signal, set_parent_process_death_signal};
use rustix::thread::{CpuSet, NanosleepRelativeResult, nanosleep, sched_setaffinity};
use rustix::time::{ClockId, Timespec, clock_gettime};

use super::files::NOISE;
use super::{Thread, block_on};
use crate::errno::refused;
use crate::program::stop_of_signal;
use crate::raw;
use crate::space::Space;
use crate::system::{Child, Process};

/// Statuses by which a forked child says how it ended: a stop of memory is told apart, since results do.
const ENDED: i32 = 0;
const STOPPED: i32 = 1;
const OUT_OF_MEMORY: i32 = 2;

impl Processes for Thread {
    /// Place among the children of the process.
    type Child = usize;

    fn seed(&self, name: &str) -> u64 {
        streams::stream(self.key, name).next_u64()
    }

    async fn sleep(&self, time: Nanos) -> Result<(), Stop> {
        let mut left = Timespec {
            tv_sec: (time.get() / 1_000_000_000).cast_signed(),
            tv_nsec: (time.get() % 1_000_000_000).cast_signed(),
        };
        loop {
            match nanosleep(&left) {
                NanosleepRelativeResult::Ok => return Ok(()),
                NanosleepRelativeResult::Interrupted(rest) => left = rest,
                NanosleepRelativeResult::Err(error) => return Err(refused("nanosleep", error)),
            }
        }
    }

    async fn compute(&self, time: Nanos) -> Result<(), Stop> {
        let used = || {
            let time = clock_gettime(ClockId::ThreadCPUTime);
            Nanos::new(time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs())
        };
        let end = used() + time;
        while used() < end {
            std::hint::spin_loop();
        }
        Ok(())
    }

    async fn set_affinity(&self, cpus: &[u32]) -> Result<(), Stop> {
        let mut set = CpuSet::new();
        for &cpu in cpus.iter().filter(|&&cpu| (cpu as usize) < CpuSet::MAX_CPU) {
            set.set(cpu as usize);
        }
        sched_setaffinity(None, &set).map_err(|error| refused("sched_setaffinity", error))
    }

    async fn set_oom_score_adj(&self, _: OomScoreAdj) -> Result<(), Stop> {
        // The program stands at 1000, so that the kernel kills nobody else of the host for it.
        Err(Stop::Refused { call: "oom_score_adj", errno: "EACCES" })
    }

    async fn set_spread(&self, spread: Spread) -> Result<(), Stop> {
        self.process.state().spread = spread;
        Ok(())
    }

    async fn spawn<B, F>(&self, kind: ChildKind, name: &str, body: B) -> Result<usize, Stop>
    where
        B: FnOnce(Self) -> F + Send + 'static,
        F: Future<Output = Result<(), Stop>> + 'static,
    {
        let nth = self.process.state().nth(name);
        let key = streams::task_key(self.process.run.job.seed, name, nth);
        match kind {
            // No program can start a thread of the kernel; one of the process stands for it.
            ChildKind::Thread | ChildKind::Kernel => self.start_thread(name, key, body),
            ChildKind::Process | ChildKind::Fork => self.start_process(kind, name, key, body),
        }
    }

    async fn adopt<B, F>(&self, _: u64, _: &str, _: B) -> Result<usize, Stop>
    where
        B: FnOnce(Self, Area) -> F + Send + 'static,
        F: Future<Output = Result<(), Stop>> + 'static,
    {
        Err(Stop::Refused { call: "adopt", errno: "ENOSYS" })
    }

    fn share(&self, count: usize) -> Result<Shared, Stop> {
        raw::SharedWords::map(count).map(Shared::new).map_err(|error| refused("mmap", error))
    }

    async fn wait(&self, child: usize) -> Result<Ended, Stop> {
        let nobody = Stop::Refused { call: "wait4", errno: "ECHILD" };
        let taken = self.process.state().children.get_mut(child).map(|child| std::mem::replace(child, Child::Gone));
        match taken {
            Some(Child::Thread(thread)) => match thread.join() {
                Ok(ended) => Ok(ended),
                Err(panic) => std::panic::resume_unwind(panic),
            },
            Some(Child::Process { pid, name, report }) => ended(pid, &name, report),
            Some(Child::Gone) | None => Err(nobody),
        }
    }

    async fn barrier(&self, name: &str, threads: u64) -> Result<(), Stop> {
        self.process.wait_at(name, threads);
        Ok(())
    }
}

impl Thread {
    fn start_thread<B, F>(&self, name: &str, key: u64, body: B) -> Result<usize, Stop>
    where
        B: FnOnce(Self) -> F + Send + 'static,
        F: Future<Output = Result<(), Stop>> + 'static,
    {
        let own = Self { process: Arc::clone(&self.process), key };
        let cpus = self.packed();
        let run = move || {
            let bound = cpus.map_or(Ok(()), |cpus| block_on(own.set_affinity(&cpus)));
            let result = bound.and_then(|()| block_on(body(own)));
            Ended { times: raw::thread_times(), result }
        };
        let started = std::thread::Builder::new().name(name.to_owned()).spawn(run);
        let started = started.map_err(|error| refused("clone", error))?;
        let mut state = self.process.state();
        state.children.push(Child::Thread(started));
        Ok(state.children.len() - 1)
    }

    /// The CPUs of this thread's node, where children are to stay there.
    fn packed(&self) -> Option<Vec<u32>> {
        (self.process.state().spread == Spread::Packed).then(|| self.cpus_of(self.node()))
    }

    fn start_process<B, F>(&self, kind: ChildKind, name: &str, key: u64, body: B) -> Result<usize, Stop>
    where
        B: FnOnce(Self) -> F,
        F: Future<Output = Result<(), Stop>>,
    {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| refused("pipe2", error))?;
        let cpus = self.packed();
        let used = self.process.space.used();
        let is_empty = kind == ChildKind::Process;
        // Copying page tables only to drop them would change the parent: its pages would be shared for a moment.
        let shares = |shared: bool| {
            let advice = if shared { libc::MADV_DOFORK } else { libc::MADV_DONTFORK };
            if is_empty {
                // ENOMEM says that some addresses are not mapped; the others were advised.
                let _ = raw::advise(used, advice);
            }
        };
        shares(false);
        // A lock, too, that no child may find taken; and children need not make it each for itself.
        LazyLock::force(&NOISE);
        // The child takes this lock and the allocator's alone; the C library cares for its own.
        let mut state = self.process.state();
        state.record.send(&self.process.run);
        let forked = raw::fork().map_err(|error| refused("fork", error));
        if let Ok(None) = forked {
            let own = state.of_child();
            state.open.clear();
            state.pins.clear();
            state.pipes.clear();
            drop(state);
            let space = if is_empty { Space::beside(&self.process.space) } else { Space::copy(&self.process.space) };
            let process = Process::new(Arc::clone(&self.process.run), name.to_owned(), space, own);
            let child = Self { process: Arc::new(process), key };
            raw::exit_now(child.run_forked(cpus, &writer, body));
        }
        drop(state);
        shares(true);
        let pid = forked?.expect("the child is not here");
        let mut state = self.process.state();
        state.children.push(Child::Process { pid, name: name.to_owned(), report: reader });
        Ok(state.children.len() - 1)
    }

    /// The whole life of a forked child.
    fn run_forked<B, F>(self, cpus: Option<Vec<u32>>, report: &OwnedFd, body: B) -> i32
    where
        B: FnOnce(Self) -> F,
        F: Future<Output = Result<(), Stop>>,
    {
        let run = || {
            set_parent_process_death_signal(Some(Signal::KILL)).map_err(|error| refused("prctl", error))?;
            if let Some(cpus) = cpus {
                block_on(self.set_affinity(&cpus))?;
            }
            block_on(body(self.clone()))
        };
        let result = run();
        self.process.flush();
        let Err(stop) = result else { return ENDED };
        // The text is shorter than a pipe; a parent that does not read it sees the status.
        let _ = rustix::io::write(report, stop.to_string().as_bytes());
        if matches!(stop, Stop::Killed { .. } | Stop::OutOfMemory(_)) { OUT_OF_MEMORY } else { STOPPED }
    }
}

/// Waits for the end of a child that was forked.
fn ended(pid: i32, name: &str, report: OwnedFd) -> Result<Ended, Stop> {
    let (status, times): (i32, Times) = raw::wait(pid).map_err(|error| refused("wait4", error))?;
    let result = if libc::WIFSIGNALED(status) {
        Err(stop_of_signal(libc::WTERMSIG(status), name))
    } else {
        match libc::WEXITSTATUS(status) {
            ENDED => Ok(()),
            status => {
                let mut text = String::new();
                let told = rustix::fs::fcntl_setfl(&report, rustix::fs::OFlags::NONBLOCK).map_err(std::io::Error::from);
                let told = told.and_then(|()| std::fs::File::from(report).read_to_string(&mut text));
                // A brother of the child may hold the other end still: what was told has been read then.
                let _ = told;
                Err(told_stop(status, text, name))
            }
        }
    };
    Ok(Ended { times, result })
}

fn told_stop(status: i32, text: String, name: &str) -> Stop {
    match status {
        OUT_OF_MEMORY => Stop::OutOfMemory(text),
        _ if text.is_empty() => Stop::OutOfMemory(format!("{name} ended with status {status}")),
        // A program ends with such an error, so this happens once or twice in its life.
        _ => match text.split_once(" failed with ") {
            Some((call, errno)) => {
                Stop::Refused { call: String::leak(call.to_owned()), errno: String::leak(errno.to_owned()) }
            }
            None => Stop::Refused { call: String::leak(format!("{name}: {text}")), errno: "a signal" },
        },
    }
}
