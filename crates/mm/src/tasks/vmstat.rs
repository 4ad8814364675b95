//! The periodic work of each CPU on its counters and lists, of which per-CPU lists of free pages are modelled: they shrink with time.

use order9_units::Nanos;

use crate::env::Env;

/// Interval between two rounds of [`vmstat`] (`vm.stat_interval`): 1 s.
pub const STAT_INTERVAL: Nanos = Nanos::new(1_000_000_000);

/// Shrinks the per-CPU lists of every CPU once a second; never ends. To be run as a task of its own where lists
/// [decay](crate::policy::PcpPolicy::decay), and not before `phase` at first.
pub async fn vmstat<E: Env>(env: &E, mut phase: Option<Nanos>) {
    loop {
        env.sleep(phase.take().unwrap_or(STAT_INTERVAL)).await;
        for cpu in 0..env.with(|mm| mm.phys.frames.cpus().len()) {
            env.with(|mm| mm.phys.frames.decay_pcps(cpu));
            env.spend().await;
        }
    }
}
