//! `thpfioscale`: threads touch memory for the first time where all nodes are fragmented by page cache and slab that stay in
//! use. After the thpfioscale configurations of mmtests, as published in the thread of "mm: thp: relax __GFP_THISNODE for
//! MADV_HUGEPAGE mappings" (linux-mm, 2018).

use std::collections::BTreeMap;

use order9_units::{Bytes, Nanos};

use super::FAULTS;
use super::beside_load::{STEP, Threads, start_load, threads_for};
use crate::access::ACCESS;
use crate::demand::{Demand, part};
use crate::measure::Measure;
use crate::numa::worth::{BaseAtHome, Got};
use crate::numa::{BREAK_EVEN, SLOTS, TOTAL, home, node_memory};
use crate::parameters::{Kind, Parameter, Parameters, Value};
use crate::spec::{SECOND, Setting, Spec};
use crate::sys::{Advice, Facts, Stop, Sys};

/// The workload, but for its program [`run`].
pub(crate) const WORKLOAD: Spec = Spec {
    name: "thpfioscale",
    summary: "faults of huge pages where page cache and slab of all nodes stay in use: which node to take them from",
    description: "\
        Four processes write small files that are larger than memory together, and others read them from then on: page cache \
        and slab of all nodes stay in use. Threads beside them touch memory for the first time, 2 MiB by 2 MiB. Measured are \
        the latencies of faults, how many of them became huge and where, and what using that memory costs.",
    parameters: PARAMETERS,
    measures: MEASURES,
    settings,
    counters_every: SECOND,
    is_long: false,
    demand: |of| Demand::of_memory(of.bytes("size"), 1).beside(of.file_load()),
};

const PARAMETERS: &[Parameter] = &[
    Parameter {
        key: "size",
        meaning: "memory that the threads together map, of which they touch half",
        kind: Kind::Bytes { min: Bytes::new(STEP) },
        default: |facts| Value::Bytes(size(facts)),
        default_text: "3/4 of a node, or of the node's part of what is available",
    },
    Parameter {
        key: "threads",
        meaning: "threads that touch memory",
        kind: Kind::Count { min: 1, max: 1024 },
        default: |facts| Value::Count(threads_for(facts)),
        default_text: "a quarter of the CPUs of a node less four, at least 1",
    },
    Parameter {
        key: "files_percent",
        meaning: "size of all files, in percent of memory",
        kind: Kind::Count { min: 1, max: 1000 },
        default: |_| Value::Count(150),
        default_text: "150",
    },
    Parameter {
        key: VARIANT,
        meaning: "as published: no advice; MADV_HUGEPAGE; or no advice and thp/defrag at always",
        kind: Kind::Word(&["default", "madvhugepage", "defrag"]),
        default: |_| Value::Word("default"),
        default_text: "default",
    },
    Parameter {
        key: "readers",
        meaning: "whether the files are read while memory is touched, or were until just before",
        kind: Kind::Word(&["running", "stopped"]),
        default: |_| Value::Word("running"),
        default_text: "running",
    },
];

/// The parameter that says which of the published configurations runs.
const VARIANT: &str = "variant";

const MEASURES: &[Measure] = &[FAULTS[0], FAULTS[1], SLOTS, TOTAL, BREAK_EVEN, ACCESS[0], ACCESS[1]];

/// Three quarters of a node, as far as memory is available.
fn size(facts: &Facts) -> Bytes {
    let node = part(node_memory(facts).get(), 75);
    let available = u128::from(node) * u128::from(facts.room().get()) / u128::from(facts.memory.get().max(1));
    Bytes::new(available as u64).max(Bytes::new(STEP))
}

fn settings(chosen: &BTreeMap<&str, Value>) -> &'static [Setting] {
    match chosen.get(VARIANT) {
        Some(Value::Word("defrag")) => &[("thp/enabled", "always"), ("thp/defrag", "always")],
        _ => &[("thp/enabled", "always")],
    }
}

pub(crate) async fn run<S: Sys>(sys: &S, parameters: &Parameters) -> Result<(), Stop> {
    sys.phase("prepare");
    let base = BaseAtHome::measure(sys, home(sys, parameters)).await?;
    let files = part(sys.facts().room().get(), parameters.count("files_percent"));
    let mut load = start_load(sys, Bytes::new(files)).await?;
    if parameters.word("readers") == "stopped" {
        load.stop_reading(sys).await?;
    }
    sys.snapshot("warm");
    sys.phase("measure");
    let (count, size) = (parameters.count("threads"), parameters.bytes("size"));
    let advice = (parameters.word(VARIANT) == "madvhugepage").then_some(Advice::HugePage);
    let touched = Threads { name: "thpfioscale", count, size, advice }.run(sys).await?;
    let suffix = format!("-{count}");
    touched.tally.report(sys, count);
    touched.tally.report_slots(sys, &suffix);
    touched.accesses.report(sys, &suffix);
    let (slots, time) = (touched.tally.all() / count, Nanos::new(touched.tally.time().get() / count));
    Got { slots, time, load: touched.accesses.mean() }.report(sys, base);
    sys.phase("clean-up");
    load.stop(sys).await
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn facts(available: Option<Bytes>) -> Facts {
        let node = Bytes::from_gib(32);
        Facts { memory: Bytes::from_gib(64), cpus: 48, nodes: vec![node, node], disk: None, available }
    }

    #[test]
    fn defaults_are_those_of_the_published_runs() {
        assert_eq!(threads_for(&facts(None)), 5);
        assert_eq!(size(&facts(None)), Bytes::from_gib(24));
        assert_eq!(size(&facts(Some(Bytes::from_gib(16)))), Bytes::from_gib(6), "a node's part of what is available");
        assert_eq!(size(&facts(Some(Bytes::ZERO))), Bytes::new(STEP));
    }

    #[test]
    fn every_setting_runs_under_the_defrag_that_was_published_for_it() {
        let settings = |variant| WORKLOAD.settings(&BTreeMap::from([(VARIANT, Value::Word(variant))]));
        let enabled = ("thp/enabled", "always");
        assert_eq!(settings("default"), [enabled], "the kernel's own defrag");
        assert_eq!(settings("madvhugepage"), [enabled]);
        assert_eq!(settings("defrag"), [enabled, ("thp/defrag", "always")]);
    }
}
