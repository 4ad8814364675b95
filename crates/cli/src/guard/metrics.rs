//! Metrics of the guard in the text format of Prometheus.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use order9_export::metrics::{Kind, Metric, Sample, text};
use order9_guard::{Controller, NodeStatus, Verdict};
use order9_units::{Nanos, PAGE_SIZE};

/// Configurations that were read since the start.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reloads {
    /// Taken.
    pub(super) taken: u64,
    /// Refused: the one before stayed in force.
    pub(super) refused: u64,
}

/// All metrics.
pub(super) fn metrics(controller: &Controller, reloads: Reloads) -> String {
    let (totals, [cpu, stall]) = (controller.totals(), controller.budgets());
    let metric = |name, help, kind, samples| Metric { name, help, kind, samples };
    let of_nodes = |value: &dyn Fn(&NodeStatus) -> f64| -> Vec<Sample> {
        let sample = |status: NodeStatus| labelled("node", status.seen.node.to_string(), value(&status));
        controller.nodes().map(sample).collect()
    };
    let (gauge, counter) = (Kind::Gauge, Kind::Counter);
    text(&[
        metric(
            "order9_guard_free_huge_pages",
            "Free huge pages of 2 MiB.",
            gauge,
            of_nodes(&|node| node.seen.huge as f64),
        ),
        metric(
            "order9_guard_goal_huge_pages",
            "Huge pages that are to be free.",
            gauge,
            of_nodes(&|node| node.goal as f64),
        ),
        metric(
            "order9_guard_expected_huge_pages",
            "The fewest free huge pages that are expected within the time that is looked ahead.",
            gauge,
            of_nodes(&|node| node.expected as f64),
        ),
        metric(
            "order9_guard_free_bytes",
            "Free memory.",
            gauge,
            of_nodes(&|node| (node.seen.free.get() * PAGE_SIZE.get()) as f64),
        ),
        metric(
            "order9_guard_gained_huge_pages_total",
            "Free huge pages that compaction has added.",
            counter,
            of_nodes(&|node| node.gained as f64),
        ),
        metric("order9_guard_verdict", "Verdict on the node: 1 for the one that holds.", gauge, verdicts(controller)),
        metric(
            "order9_guard_steps_total",
            "Steps that were made.",
            counter,
            vec![
                labelled("action", "compact".to_owned(), totals.compactions as f64),
                labelled("action", "collapse".to_owned(), totals.collapses as f64),
            ],
        ),
        metric(
            "order9_guard_steps_broken_off_total",
            "Steps that were broken off.",
            counter,
            bare(totals.broken_off as f64),
        ),
        metric("order9_guard_steps_in_vain_total", "Steps in vain.", counter, bare(totals.in_vain as f64)),
        metric(
            "order9_guard_collapsed_huge_pages_total",
            "Huge pages that ranges of programs were collapsed into.",
            counter,
            bare(totals.collapsed as f64),
        ),
        metric("order9_guard_cpu_seconds_total", "CPU time of all steps.", counter, bare(seconds(totals.cpu))),
        metric(
            "order9_guard_stalled_seconds_total",
            "Time during steps in which some task waited for memory.",
            counter,
            bare(seconds(totals.stalled)),
        ),
        metric(
            "order9_guard_budget_seconds",
            "Time that is left of a budget.",
            gauge,
            vec![
                labelled("budget", "cpu".to_owned(), seconds(cpu)),
                labelled("budget", "stall".to_owned(), seconds(stall)),
            ],
        ),
        metric(
            "order9_guard_config_reloads_total",
            "Configurations that were read anew.",
            counter,
            vec![
                labelled("result", "taken".to_owned(), reloads.taken as f64),
                labelled("result", "refused".to_owned(), reloads.refused as f64),
            ],
        ),
    ])
}

/// Puts a file in the place of another one: a reader never sees half of it. It need not survive a crash of the machine.
pub(super) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    let new = PathBuf::from(new);
    // What lies there is a file of a guard that was killed, or nobody's.
    let _ = fs::remove_file(&new);
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o644).open(&new)?;
    file.write_all(text.as_bytes())?;
    fs::rename(&new, path)
}

fn verdicts(controller: &Controller) -> Vec<Sample> {
    let of_node = |status: NodeStatus| {
        Verdict::WORDS.map(|word| Sample {
            labels: vec![("node", status.seen.node.to_string()), ("verdict", word.to_owned())],
            value: f64::from(u8::from(status.verdict.word() == word)),
        })
    };
    controller.nodes().flat_map(of_node).collect()
}

fn bare(value: f64) -> Vec<Sample> {
    vec![Sample { labels: Vec::new(), value }]
}

fn labelled(label: &'static str, text: String, value: f64) -> Sample {
    Sample { labels: vec![(label, text)], value }
}

fn seconds(time: Nanos) -> f64 {
    time.get() as f64 / 1e9
}
