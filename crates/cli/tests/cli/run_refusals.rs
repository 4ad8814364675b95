//! What `order9 run` refuses: one sentence, status 2, nothing written.

use std::fs;

use crate::support::{SHORT, bundled, folder_with_machine, order9_line, short_repeated};

/// Runs `line`, which must be refused with a sentence that holds all of `parts`, and must leave no file behind. `{}` is a
/// folder with `tiny.toml` and these files.
#[track_caller]
fn refused_with(files: &[(&str, &[u8])], line: &str, parts: &[&str]) {
    let folder = folder_with_machine();
    for (name, content) in files {
        fs::write(folder.path().join(name), content).unwrap();
    }
    let ran = order9_line(&format!("run {line}"), folder.path());
    let message = ran.refusal();
    for part in parts {
        assert!(message.contains(part), "expected {part:?} in: {message}");
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), files.len() + 1, "nothing is left behind by: {line}");
}

/// The same, with arguments added to a run that would take place, and be stored.
#[track_caller]
fn refused(more: &str, parts: &[&str]) {
    refused_with(&[], &format!("{} -o {{}}/out {more}", short_repeated()), parts);
}

#[test]
fn names_that_do_not_exist() {
    refused_with(&[], "usemen -o {}/out", &["no workload is called 'usemen'; did you mean usemem?"]);
    refused_with(&[], "{}/gone.toml", &["/gone.toml: no such file or directory"]);
    refused_with(&[], "idle --machine {}/gone.toml", &["--machine: ", "/gone.toml: no such file or directory"]);
    refused("--policy linux-5.00", &["--policy linux-5.00: no policy is called 'linux-5.00'; did you mean linux-5.0?"]);
    refused_with(
        &[],
        "idle --machine xeon-3s",
        &["--machine xeon-3s: no machine is called 'xeon-3s'; did you mean xeon-"],
    );
    refused("--events mm_page_fre", &["did you mean mm_page_free?"]);
    refused("--param siez=1G", &["--param siez=1G: usemem has no parameter siez; did you mean size?"]);
    refused(
        "--set vm.min_fre_kbytes=1",
        &["no setting is called 'vm.min_fre_kbytes'; did you mean vm.min_free_kbytes?"],
    );
    refused("--cmdline thp=never", &["--cmdline thp=never: no kernel parameter is called 'thp'"]);
    refused("--polcy x", &["'--polcy'", "a similar argument exists: '--policy'"]);
}

#[test]
fn values_out_of_range() {
    refused("--seeds 0", &["--seeds 0: ", "expected how many seeds, from 1 to 10000"]);
    refused("--seeds -1", &["--seeds -1: ", "expected how many seeds"]);
    refused_with(&[], "usemem --threads 0", &["--threads 0: ", "expected numbers from 1 to 4096"]);
    refused_with(&[], "usemem --threads -3", &["--threads -3: ", "expected numbers from 1 to 4096"]);
    refused("--param loops=-1", &["loops is \"-1\", expected a number from 1 to 1000000"]);
    refused("--param size=1K", &["expected an amount of memory"]);
    refused("--every 0s", &["--every 0s: ", "at least \"1ms\""]);
    refused("--every -1s", &["--every -1s: "]);
    refused("--jobs 0", &["--jobs 0: expected a whole number from 1 on"]);
    refused("--jobs -2", &["--jobs -2: expected"]);
    refused("--set vm.min_free_kbytes=-5", &["vm.min_free_kbytes is \"-5\", expected 0 to 2147483647 (kB)"]);
    refused("--set vm.watermark_scale_factor=3001", &["expected 1 to 3000"]);
    refused_with(&[], "idle --threads 1", &["idle has no parameter threads"]);
}

#[test]
fn settings_that_are_not_modelled() {
    let meaning = "Whether pages move to the node that uses them";
    let tiers = "kernel.numa_balancing is not modelled with this value: there is no memory tiering";
    refused("--set kernel.numa_balancing=2", &[tiers, meaning]);
    refused("--set kernel.numa_balancing=on", &["expected 0 to 3"]);
    refused("--policy linux-6.18 --set kernel.numa_balancing_scan_size_mb=9", &["does not exist under linux-6.18"]);
    refused("--policy linux-5.9 --set numa_balancing/scan_size_mb=9", &["does not exist under linux-5.9"]);
    refused("--set vm.panic_on_oom=1", &["vm.panic_on_oom is not modelled yet"]);
    refused("--policy linux-4.4 --set vm.watermark_boost_factor=0", &["does not exist under linux-4.4"]);
}

#[test]
fn files_that_are_no_good() {
    let cycle = [("a.toml", b"base = 'b.toml'".as_slice()), ("b.toml", b"base = 'a.toml'")];
    refused_with(
        &cycle,
        "idle --policy {}/a.toml -o {}/out",
        &["policies must not be based on each other in a circle"],
    );
    let no_cpus: &[u8] = b"base = 'tiny.toml'\n[[nodes]]\nmemory = '256 MiB'\ncpus = 0\ndistances = [10]\n";
    let line = "idle --machine {}/none.toml -o {}/out";
    refused_with(&[("none.toml", no_cpus)], line, &["none.toml, line 2: a machine needs at least one CPU, got 0"]);
    let unknown: &[u8] = b"workload = 'idle'\npolices = ['linux-5.0']\n";
    let line = "{}/mine.toml -o {}/out";
    refused_with(&[("mine.toml", unknown)], line, &["mine.toml, line 2: unknown key polices; did you mean policies?"]);
}

#[test]
fn sizes_that_nothing_could_hold() {
    for size in ["999T", "18446744073709551615"] {
        let line = format!("usemem --machine {{}}/tiny.toml --param size={size} -o {{}}/out");
        refused_with(
            &[],
            &line,
            &["usemem: a process would map ", " TiB, and can map 128 TiB; expected smaller parameters"],
        );
    }
    let line = "stream-reader --machine {}/tiny.toml --param size=1T -o {}/out";
    refused_with(&[], line, &["files would hold 1 TiB together, and the machine's disk has "]);
}

#[test]
fn a_host_where_memory_is_that_of_none() {
    let says = &["--policy host: host is the policy of the kernel that a snapshot was captured on"];
    refused_with(&[], "idle --machine {}/tiny.toml --policy host -o {}/out", says);
}

#[test]
fn snapshots_that_are_no_good() {
    let whole = fs::read(bundled("host-fresh.o9snap")).unwrap();
    let line = "idle --machine {}/x.o9snap -o {}/out";
    refused_with(&[], line, &["x.o9snap: no such file or directory, expected a snapshot file"]);
    refused_with(&[("x.o9snap", &whole[..whole.len() / 2])], line, &["x.o9snap: ", "cut off"]);
    refused_with(&[("x.o9snap", b"text\n")], line, &["x.o9snap: not an order9 snapshot: it looks like text"]);
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 1;
    refused_with(&[("x.o9snap", &damaged)], line, &["damaged: checksum"]);
    let named_otherwise = "idle --machine {}/x -o {}/out";
    refused_with(&[("x", &damaged)], named_otherwise, &["damaged: checksum"]);
    refused_with(&[], "idle --memory {}/x -o {}/out", &["/x: no such file or directory, expected a snapshot file"]);
}

#[test]
fn places_that_are_taken() {
    refused_with(&[("out", b"mine")], &format!("{SHORT} -o {{}}/out"), &["/out: is no directory"]);
    refused("--proc-dir {}", &["expected a new or empty directory for the files of /proc"]);
    refused("--proc-dir {}/tiny.toml", &["tiny.toml"]);
    let ran = order9_line("run idle -o {}", folder_with_machine().path());
    assert!(ran.refusal().contains("holds files that no run wrote"), "{}", ran.stderr);
}

#[test]
fn arguments_that_do_not_go_together() {
    refused("--prices xeon-2s", &["--prices xeon-2s: prices are asked for with a snapshot only"]);
    refused("--policy linux-5.0 --policy linux-5.0", &["two policies are called linux-5.0"]);
    refused_with(&[], "--seeds 2", &["WORKLOAD|SCENARIO"]);
    refused_with(&[], &format!("{SHORT} --force"), &["--output"]);
    refused("--memory synth --set vm.min_free_kbytes", &["expected NAME=VALUE"]);
}
