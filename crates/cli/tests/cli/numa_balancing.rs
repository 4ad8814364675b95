//! NUMA balancing from the command line: it is off, settings switch it on, and the tables say what it did.

use std::fs;

use crate::support::order9_line;

/// Two nodes of 128 MiB with a CPU each.
const MACHINE: &str = "base = 'xeon-2s'\n\
    [[nodes]]\nmemory = '128 MiB'\ncpus = 1\ndistances = [10, 21]\n\
    [[nodes]]\nmemory = '128 MiB'\ncpus = 1\ndistances = [21, 10]\n\
    [reserved.boot_tables]\nsize = '1 MiB'\nsource = 'Made up: small.'\n";
/// Two threads that pass over base pages for four tenths of a second.
const RUN: &str = "run usemem --machine {}/two.toml --policy linux-4.19 --param size=64M --param loops=3000 \
    --param iterations=1 --threads 2 --seeds 1 --set thp/enabled=never";
/// Scans at once and ten times in a second, instead of once after a second.
const ON: &str = " --set kernel.numa_balancing=1 --set kernel.numa_balancing_scan_delay_ms=0 \
    --set kernel.numa_balancing_scan_period_min_ms=100";

/// The figure in a row of the tables; `None` where it is 0 or missing.
fn figure(text: &str, row: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(row)?.split_whitespace().next().map(str::to_owned));
    line.map(|figure| figure.parse().expect("a number"))
}

#[test]
fn a_setting_switches_it_on_and_the_tables_say_what_it_did() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    fs::write(folder.path().join("two.toml"), MACHINE).expect("the file can be written");
    let run = |settings: &str| order9_line(&format!("{RUN}{settings}"), folder.path()).success();
    let (off, on) = (run(""), run(ON));
    let hints = figure(&on, "Ops NUMA hint faults ").expect("there are some");
    assert!(hints > 1000.0 && figure(&off, "Ops NUMA hint faults ").is_none(), "{on}");
    assert!(figure(&on, "Ops NUMA PTE updates ") >= Some(hints), "who faults was asked about");
    let minor = |text: &str| figure(text, "Ops Minor Faults ").expect("memory is touched");
    assert_eq!(minor(&on) - minor(&off), hints, "a hint fault is a fault");
    assert_eq!(on, run(ON), "a run is the same again");
}
