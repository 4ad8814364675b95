//! Times actions and places threads.

use std::io;
use std::time::Instant;

use rustix::thread::CpuSet;
use rustix::time::{ClockId, clock_getres, clock_gettime};

/// CPU time of this thread per operation, in ns: what others do on the CPU meanwhile does not count.
pub(crate) fn cpu_of(operations: usize, action: impl FnOnce()) -> f64 {
    let start = thread_cpu_ns();
    action();
    (thread_cpu_ns() - start) as f64 / operations as f64
}

/// [`cpu_of`] what can fail.
pub(crate) fn cpu_per(operations: usize, action: impl FnOnce() -> io::Result<()>) -> io::Result<f64> {
    let mut result = Ok(());
    let time = cpu_of(operations, || result = action());
    result.map(|()| time)
}

/// Time per operation, in ns, for what waits for another thread.
pub(crate) fn wall_per(operations: usize, action: impl FnOnce() -> io::Result<()>) -> io::Result<f64> {
    let start = Instant::now();
    action()?;
    Ok(start.elapsed().as_nanos() as f64 / operations as f64)
}

/// Time of all CPUs per operation, in ns, but for what they idle: for what interrupts and threads of the kernel have a part in.
pub(crate) fn busy_per(operations: usize, action: impl FnOnce() -> io::Result<()>) -> io::Result<f64> {
    let (start, (_, idle)) = (Instant::now(), cpus_and_idle_ns()?);
    action()?;
    let (cpus, idle_since) = cpus_and_idle_ns()?;
    Ok((start.elapsed().as_nanos() as f64 * cpus - (idle_since - idle)) / operations as f64)
}

/// Number of CPUs, whether or not this thread may run on all of them, and the time that all have idled since boot, also for want of a
/// disk, in ns: /proc/stat, in steps of 10 ms.
fn cpus_and_idle_ns() -> io::Result<(f64, f64)> {
    /// Columns of a line of /proc/stat, behind its name: idle, and idle while a task waits for a disk.
    const IDLE: std::ops::RangeInclusive<usize> = 3..=4;
    /// `USER_HZ`, which is 100 on every machine of today.
    const NS_PER_TICK: f64 = 1e7;
    let text = std::fs::read_to_string("/proc/stat")?;
    let line = text.lines().find_map(|line| line.strip_prefix("cpu ")).unwrap_or_default();
    let ticks: Vec<f64> = line.split_whitespace().filter_map(|ticks| ticks.parse().ok()).collect();
    let idle = ticks.get(IDLE).ok_or_else(|| io::Error::other("/proc/stat does not say how long CPUs idled"))?;
    let cpus = text.lines().filter(|line| line.starts_with("cpu") && !line.starts_with("cpu ")).count();
    Ok((cpus as f64, idle.iter().sum::<f64>() * NS_PER_TICK))
}

fn thread_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// Period of the timer interrupt, in ns: the coarse clock goes on with each.
pub(crate) fn tick() -> f64 {
    let period = clock_getres(ClockId::MonotonicCoarse);
    (period.tv_sec * 1_000_000_000 + period.tv_nsec) as f64
}

/// Keeps this thread on `cpu`.
pub(crate) fn pin(cpu: usize) -> io::Result<()> {
    let mut cpus = CpuSet::new();
    cpus.set(cpu);
    Ok(rustix::thread::sched_setaffinity(None, &cpus)?)
}

/// CPUs to measure on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cpus {
    /// The CPU of the measuring thread.
    pub(crate) here: usize,
    /// Another CPU, for what CPUs do to each other.
    pub(crate) there: Option<usize>,
}

/// The first two CPUs that this process may use.
pub(crate) fn cpus() -> io::Result<Cpus> {
    let allowed = rustix::thread::sched_getaffinity(None)?;
    let mut cpus = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu));
    let here = cpus.next().ok_or_else(|| io::Error::other("expected a CPU, found none"))?;
    Ok(Cpus { here, there: cpus.next() })
}
