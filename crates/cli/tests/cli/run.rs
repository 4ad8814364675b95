//! `order9 run`: what it prints and stores, alike on one core and several, on made machines and on this host's memory.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;

use crate::golden::compare;
use crate::support::{SHORT, folder_with_machine, order9, order9_line, short_repeated};

/// The line of the digest.
fn digest(text: &str) -> &str {
    text.lines().find(|line| line.starts_with("digest ")).expect("a digest is printed")
}

#[test]
fn two_policies_are_compared_as_in_mmtests() {
    let folder = folder_with_machine();
    let text = order9_line(&format!("run {SHORT} --policy linux-5.0 --policy linux-5.1"), folder.path()).success();
    compare("run-usemem.txt", text.split_once("\ndigest ").expect("a digest is printed").0);
    let line = format!("run {SHORT} --policy linux-5.0 --policy linux-5.1 --layout mmtests");
    let published = order9_line(&line, folder.path()).success();
    compare("run-usemem-mmtests.txt", published.split_once("\ndigest ").expect("a digest is printed").0);
    assert!(!text.contains("not modelled yet"), "these presets need nothing that is missing: {text}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing is written without -o");
}

#[test]
fn the_digest_is_the_same_in_every_process_and_on_any_number_of_cores() {
    let folder = folder_with_machine();
    let run = |jobs: &str| {
        let line = format!("run {} --policy linux-4.4 --policy linux-6.18 --seeds 2 --jobs {jobs}", short_repeated());
        order9_line(&line, folder.path()).success()
    };
    let (one, two) = (run("1"), run("2"));
    assert_eq!(one, two);
    assert_eq!(digest(&one), digest(&run("2")));
}

#[test]
fn a_stored_run_holds_what_was_printed() {
    let folder = folder_with_machine();
    let line = format!("run {SHORT} --events mm_page_alloc_extfrag --every 5ms -o {{}}/runs/a");
    let text = order9_line(&line, folder.path()).success();
    let directory = folder.path().join("runs/a");
    assert!(text.ends_with(&format!("written to {}\n", directory.display())), "{text}");
    assert!(text.starts_with(&fs::read_to_string(directory.join("report.txt")).unwrap()));
    let manifest = fs::read_to_string(directory.join("manifest.toml")).unwrap();
    assert!(manifest.contains(&digest(&text)["digest ".len()..]));
    assert!(manifest.contains("every_ns = 5000000") && manifest.contains("command = [\"order9\", \"run\", \"usemem\""));
    let again = order9_line(&line, folder.path());
    assert!(again.refusal().ends_with("; --force replaces it"), "{}", again.stderr);
    order9_line(&format!("{line} --force"), folder.path()).success();
}

#[test]
fn json_holds_tables_outcomes_and_digests() {
    let folder = folder_with_machine();
    let text = order9_line(&format!("run {SHORT} --json -o {{}}/a"), folder.path()).success();
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(json["runs"][0]["outcome"]["how"], "completed");
    assert_eq!(json["runs"][0]["policy"], "linux-6.18");
    assert_eq!(json["report"]["benchmark"], "usemem");
    let printed = order9_line(&format!("run {SHORT}"), folder.path()).success();
    assert_eq!(digest(&printed), format!("digest {}", json["digest"].as_str().expect("a digest")));
}

#[test]
fn a_scenario_runs_and_arguments_replace_its_parts() {
    let folder = folder_with_machine();
    let scenario = "workload = 'usemem'\nmachine = 'tiny.toml'\npolicies = ['linux-5.0']\n\
                    [parameters]\nsize = '64M'\nloops = 1\niterations = 1\nthreads = [1]\n\
                    [memory]\nstart = 'synthetic'\nfill = 0.4\nunmovable = 0.1\nclean_cache = 0\nhuge = 0\n";
    fs::write(folder.path().join("mine.toml"), scenario).unwrap();
    let text = order9_line("run {}/mine.toml --seeds 1 --set vm.min_free_kbytes=4096 -o {}/a", folder.path()).success();
    assert!(text.contains("linux\n") && text.contains("5.0\n"), "{text}");
    let manifest = fs::read_to_string(folder.path().join("a/manifest.toml")).unwrap();
    assert!(manifest.contains("start = \"synthetic\"") && manifest.contains("vm.min_free_kbytes"), "{manifest}");
    order9_line("run --repeat {}/a", folder.path()).success();
}

#[test]
fn memory_that_runs_out_is_a_result_and_a_failure() {
    let folder = folder_with_machine();
    // A base without disks, and so without swap.
    let diskless = "base = 'xeon-2s'\n[[nodes]]\nmemory = '512 MiB'\ncpus = 2\ndistances = [10]\n";
    fs::write(folder.path().join("diskless.toml"), diskless).unwrap();
    let line = "run fill-and-free --machine {}/diskless.toml --param size=1G --seeds 2 -o {}/a";
    let ran = order9_line(line, folder.path());
    assert_eq!(ran.status, 2);
    let message = ran.stderr.strip_suffix('\n').expect("a line");
    assert!(
        message.starts_with("order9: fill-and-free under linux-6.18, seed 1: memory ran out after 0."),
        "{message}"
    );
    assert!(message.ends_with("(and 1 more of the runs did not end)") && !message.contains('\n'), "{message}");
    assert!(ran.stdout.contains("Ops Minor Faults") && ran.stdout.contains("written to"), "{}", ran.stdout);
    let manifest = fs::read_to_string(folder.path().join("a/manifest.toml")).unwrap();
    assert!(manifest.contains("how = \"out-of-memory\""));
}

#[test]
fn files_of_proc_are_those_of_a_host() {
    let folder = folder_with_machine();
    order9_line(&format!("run {SHORT} --proc-dir {{}}/files --every 10ms"), folder.path()).success();
    let run = folder.path().join("files/linux-6.18/seed-1");
    let mut moments: Vec<_> = fs::read_dir(&run).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    moments.sort();
    assert!(moments.len() > 3 && moments[0] == "000000.000" && moments[1] == "000000.010", "{moments:?}");
    let free = |moment: &Path| {
        let snapshot = folder.path().join("x.o9snap");
        let words = ["capture", "-o", snapshot.to_str().unwrap(), "--root", moment.to_str().unwrap()];
        order9(words).success();
        let meminfo = fs::read_to_string(moment.join("proc/meminfo")).unwrap();
        let line = meminfo.lines().find(|line| line.starts_with("MemFree:")).expect("MemFree").to_owned();
        let words: Vec<_> = line.split_whitespace().collect();
        words[1].parse::<u64>().expect("a number")
    };
    assert!(free(&run.join(&moments[0])) > free(&run.join(&moments[1])));
    let last = run.join(moments.last().expect("there are some"));
    assert!(fs::read_dir(run.join(&moments[1]).join("proc")).unwrap().count() > 5, "processes have files");
    let read = |path: &str| fs::read_to_string(last.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    assert_eq!(read("sys/kernel/mm/transparent_hugepage/hpage_pmd_size"), "2097152\n");
    assert_eq!(read("proc/sys/vm/swappiness"), "60\n");
    let free = |path: &str, before: &str| {
        let line = read(path).lines().find_map(|line| line.strip_prefix(before).map(str::to_owned));
        line.unwrap_or_else(|| panic!("no {before} in {path}")).trim().to_owned()
    };
    assert_eq!(free("sys/devices/system/node/node0/meminfo", "Node 0 MemFree:"), free("proc/meminfo", "MemFree:"));
    assert_eq!(read("sys/devices/system/node/node0/cpulist"), "0-1\n");
}

#[test]
fn made_up_memory_leaves_a_policy_its_own_settings() {
    let folder = tempfile::tempdir().unwrap();
    for start in ["empty", "synth"] {
        let what = "run fill-and-free --machine desktop-8g --param size=64M --param rounds=1 --seeds 1";
        let line = format!("{what} --policy linux-4.4 --policy linux-6.18 --memory {start} --proc-dir {{}}/{start}");
        order9_line(&line, folder.path()).success();
        for (policy, word) in [("linux-4.4", "[always]"), ("linux-6.18", "[madvise]")] {
            let run = folder.path().join(start).join(policy).join("seed-1/000000.000");
            let defrag = fs::read_to_string(run.join("sys/kernel/mm/transparent_hugepage/defrag"));
            let defrag = defrag.expect("every policy has the file");
            assert!(defrag.contains(word), "{start}, {policy}: {defrag}");
        }
    }
}

#[test]
fn the_end_of_a_run_can_be_inspected_with_its_map() {
    let folder = folder_with_machine();
    order9_line(&format!("run {SHORT} --proc-dir {{}}/files"), folder.path()).success();
    let run = folder.path().join("files/linux-6.18/seed-1");
    let last = fs::read_dir(&run).unwrap().map(|entry| entry.unwrap().path()).max().expect("there are some");
    let frames = fs::metadata(last.join("proc/kpageflags")).unwrap().len();
    assert_eq!((frames % 8, fs::metadata(last.join("proc/kpagecount")).unwrap().len()), (0, frames));
    let text = order9(["inspect", "--root", last.to_str().unwrap()]).success();
    assert!(text.contains("Memory map") && !text.contains("No map") && !text.contains("says that"), "{text}");
    let json = order9(["inspect", "--json", "--root", last.to_str().unwrap()]).success();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["inconsistencies"].as_array().map(Vec::len), Some(0), "{}", json["inconsistencies"]);
    // What holds the moments says where they are.
    for above in [run.as_path(), &folder.path().join("files")] {
        let ran = order9(["inspect", "--root", above.to_str().unwrap()]);
        assert!(ran.status == 2 && ran.stderr.contains(last.to_str().unwrap()), "{}", ran.stderr);
    }
}

#[test]
fn this_hosts_own_memory_is_a_machine() {
    let mut word = [0; 8];
    let readable = fs::File::open("/proc/kpageflags").and_then(|mut file| file.read_exact(&mut word));
    if let Err(error) = readable {
        writeln!(std::io::stderr(), "skipped: /proc/kpageflags cannot be read here ({error})").unwrap();
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    order9_line("capture --no-calibrate -o {}/host.o9snap", folder.path()).success();
    // However busy this host is: what is in its page cache can be reclaimed there as well.
    let line = "run usemem --machine {}/host.o9snap --param size=64M --param loops=1 --param iterations=1 --threads 1 --seeds 1 \
                -o {}/a";
    let text = order9_line(line, folder.path()).success();
    assert!(text.contains("Ops Minor Faults"), "{text}");
    let manifest = fs::read_to_string(folder.path().join("a/manifest.toml")).unwrap();
    assert!(manifest.contains("start = \"snapshot\"") && manifest.contains("name = \"epyc-vm\""));
    order9_line("run --repeat {}/a", folder.path()).success();
    // With the host's own prices, which come with the snapshot and are told.
    order9_line("capture -o {}/priced.o9snap", folder.path()).success();
    let info = order9_line("snapshot info {}/priced.o9snap", folder.path()).success();
    if info.contains("not measured") {
        writeln!(std::io::stderr(), "skipped: too little memory to measure prices").unwrap();
        return;
    }
    let line = line.replace("host.o9snap", "priced.o9snap").replace("{}/a", "{}/b");
    let text = order9_line(&line, folder.path()).success();
    let note = "copying, clearing and scanning pages is priced as measured on the host of the snapshot";
    assert!(text.split_whitespace().collect::<Vec<_>>().join(" ").contains(note), "{text}");
    let manifest = fs::read_to_string(folder.path().join("b/manifest.toml")).unwrap();
    assert!(manifest.contains("name = \"epyc-vm+measured\""), "{manifest}");
    order9_line("run --repeat {}/b", folder.path()).success();
    let asked = order9_line(&line.replace("{}/b", "{}/c --prices epyc-vm"), folder.path()).success();
    assert!(!asked.contains("measured on the host"), "{asked}");
}

#[test]
fn a_workload_is_shown_in_words() {
    let text = order9(["workloads", "show", "stream-reader"]).success();
    assert!(text.contains("over and over") && text.contains("order [default: sequential]"), "{text}");
    assert!(text.contains("takes \"sequential\" or \"random\""), "{text}");
    let json = order9(["workloads", "show", "idle", "--json"]).success();
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["parameters"][0]["key"], "time");
    let ran = order9(["workloads", "show", "stream-raeder"]);
    assert!(ran.refusal().contains("did you mean stream-reader?"), "{}", ran.stderr);
}

#[test]
fn workloads_are_listed() {
    let text = order9(["workloads"]).success();
    assert!(text.contains("usemem: ") && text.contains("  anon_percent  "), "{text}");
    let json = order9(["workloads", "--json"]).success();
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert!(json.as_array().expect("a list").iter().any(|workload| workload["name"] == "idle"));
}
