//! The work that tells the hypervisor of free blocks ([free page reporting](crate::phys)), a share of each list at a time.

use order9_units::Nanos;

use crate::env::Env;

/// Delay from a free to the report of the block, and between two passes: 2 s. Source: Linux 5.7, commit "mm: introduce Reported pages".
pub const REPORTING_DELAY: Nanos = Nanos::new(2_000_000_000);

/// Reports what became free, at every interval; never ends. To be run as a task of its own, and not before `phase` at first. Linux
/// starts the work two seconds after a free; here it looks every two seconds whether something came free.
pub async fn page_reporting<E: Env>(env: &E, mut phase: Option<Nanos>) {
    loop {
        env.sleep(phase.take().unwrap_or(REPORTING_DELAY)).await;
        for list in env.with(|mm| mm.phys.reportable_lists()) {
            env.with(|mm| mm.phys.report_free_pages(list));
            env.spend().await;
        }
    }
}
