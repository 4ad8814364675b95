//! Every workload runs from every captured host, and all laws hold while it does.
//!
//! `CAPTURES=all` runs each from each; without it every capture has its share of workloads, in turn.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::path::PathBuf;

use order9_lab::{Memory, Plan};
use order9_record::Outcome;
use order9_workloads::Workload;

use super::{captured, captures, on, plan};

/// Default parameters.
fn by_default(workload: Workload, memory: Memory) -> Plan {
    Plan { chosen: BTreeMap::new(), ..plan(workload, memory, "linux-6.18") }
}

/// A bundled capture whose name begins so.
fn called(name: &str) -> Memory {
    let is_called = |path: &PathBuf| path.file_stem().is_some_and(|stem| stem.to_string_lossy().starts_with(name));
    captured(captures().iter().find(|path| is_called(path)).expect("it is bundled"))
}

#[test]
fn default_sizes_fit_into_what_is_available_or_are_refused_beforehand() {
    let fits = on(&by_default(Workload::ThpScale, called("tmpfs-full"))).expect("57 MB are available");
    assert_eq!(fits.runs[0].outcome, Outcome::Completed);
    // Its programs were in zram, which the lab has not, and transparent huge pages raise the reserves.
    for workload in [Workload::ThpScale, Workload::Usemem, Workload::JavaHeap, Workload::Stutter] {
        let refused = on(&by_default(workload, called("zram-6.1"))).expect_err("nearly nothing is available");
        let says = refused.to_string();
        assert!(says.contains("by default") && says.contains("MiB are available"), "{says}");
    }
}

/// Of so many workloads one is run from each capture, unless all are asked for.
const TURN: usize = 7;
/// Steps between two checks of all laws: each looks at every frame.
const CHECK_EVERY: u64 = 1 << 19;

#[test]
fn every_workload_runs_from_captured_hosts() {
    let all = std::env::var_os("CAPTURES").is_some_and(|word| word == "all");
    let mut odd = Vec::new();
    for (nth, path) in captures().iter().enumerate() {
        let memory = captured(path);
        let policy = ["linux-6.18", "order9", "linux-5.0", "linux-4.4"][nth % 4];
        let turn = Workload::ALL.into_iter().enumerate().filter(|(at, _)| all || (at + nth) % TURN == 0);
        for (_, workload) in turn {
            let mut plan = plan(workload, memory.clone(), policy);
            plan.check_every = NonZeroU64::new(CHECK_EVERY);
            let run = on(&plan).expect("a small run can start").runs.remove(0);
            // A small guest may be too full for anything.
            if !matches!(run.outcome, Outcome::Completed | Outcome::OutOfMemory { .. }) {
                odd.push(format!("{} from {} under {policy}: {:?}", workload.name(), path.display(), run.outcome));
            }
        }
    }
    assert!(odd.is_empty(), "{}", odd.join("\n"));
}
