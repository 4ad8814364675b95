//! The command on kernels of choice: what the cache holds, and a run in a virtual machine from the command line to the table.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::schemas::hold;
use crate::support::{Ran, order9, order9_line};

/// A kernel that can be booted here; `None`, with a line that says why, where there is none.
fn kernel() -> Option<&'static str> {
    let skip = |why: &str| writeln!(std::io::stderr(), "SKIPPED: a test of guests: {why}").expect("stderr");
    if Command::new("qemu-system-x86_64").arg("--version").stdout(Stdio::null()).status().is_err() {
        skip("there is no qemu-system-x86_64");
        return None;
    }
    let listed = order9(["kernels", "list"]).success();
    let is_fetched = |word: &&str| listed.lines().any(|line| line.starts_with(word) && !line.ends_with("not fetched"));
    let found = ["linux-6.12 ", "linux-7.2 ", "linux-6.1 ", "linux-5.10 "].into_iter().find(is_fetched);
    if found.is_none() {
        skip("no kernel is in the cache: order9 kernels fetch 6.12 brings one");
    }
    found.map(str::trim)
}

/// Runs the words of `line` behind the kernel; `None` where the guest's first process was not built.
fn in_guest(line: &str, folder: &Path) -> Option<Ran> {
    let ran = order9_line(line, folder);
    if ran.status == 2 && ran.stderr.contains("order9-guest is not beside order9") {
        write!(std::io::stderr(), "SKIPPED: a test of guests: {}", ran.stderr).expect("stderr");
        return None;
    }
    Some(ran)
}

/// A folder with a machine of 512 MiB, `small.toml`.
fn small(base: &str) -> TempDir {
    let folder = tempfile::tempdir().expect("a directory");
    let node = "[[nodes]]\nmemory = \"512 MiB\"\ncpus = 1\ndistances = [10]\n";
    std::fs::write(folder.path().join("small.toml"), format!("base = \"{base}\"\n{node}")).expect("it can be written");
    folder
}

#[test]
fn kernels_are_listed_without_a_network() {
    let folder = tempfile::tempdir().expect("a directory");
    let list = |argument: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_order9"));
        // Without a path, no apt can be started either.
        command.args(["kernels", "list"]).args(argument).env("XDG_CACHE_HOME", folder.path()).env("PATH", "");
        let output = command.output().expect("the command starts");
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let text = list(&[]);
    assert_eq!(text.lines().count(), 5, "{text}");
    assert!(text.lines().skip(1).all(|line| line.starts_with("linux-") && line.ends_with("not fetched")), "{text}");
    let cached = folder.path().join("order9/kernels/6.12");
    std::fs::create_dir_all(cached.join("modules")).expect("it can be made");
    std::fs::write(cached.join("package"), "linux-image-6.12.1\n").expect("it can be written");
    assert!(list(&[]).contains("linux-6.12    trixie      linux-image-6.12.1\n"), "{}", list(&[]));
    let json: serde_json::Value = serde_json::from_str(&list(&["--json"])).expect("JSON");
    hold("kernels list", &json);
    assert_eq!((&json[2]["package"], &json[2]["modules"]), (&"linux-image-6.12.1".into(), &true.into()));
    assert_eq!((&json[3]["package"], &json[3]["modules"]), (&serde_json::Value::Null, &false.into()));
}

#[test]
fn a_workload_runs_on_a_kernel_of_choice() {
    let Some(kernel) = kernel() else { return };
    let folder = small("xeon-2s");
    let line = format!(
        "bench hugealloc --param driver=advised --param size=64M --kernel {kernel} --machine {{}}/small.toml --deterministic -o {{}}/guest"
    );
    let Some(ran) = in_guest(&line, folder.path()) else { return };
    let text = ran.success();
    assert!(text.contains("hugealloc") && text.contains("THP fault alloc"), "{text}");
    assert!(text.contains("time is counted instructions"), "{text}");
    let json = order9_line("compare {}/guest --json", folder.path()).success();
    assert!(json.contains(&format!("live-{}", kernel.trim_start_matches("linux-"))), "{json}");
}

#[test]
fn a_validation_is_judged_again_without_the_kernel() {
    let Some(kernel) = kernel() else { return };
    let folder = small("xeon-2s");
    let what = "validate hugealloc --param driver=advised --param size=64M --runs 2";
    let line = format!("{what} --kernel {kernel} --machine {{}}/small.toml --deterministic -o {{}}/out");
    let Some(_either_verdict) = in_guest(&line, folder.path()) else { return };
    let verdicts = || std::fs::read_to_string(folder.path().join("out/fidelity.json")).expect("verdicts");
    let first = verdicts();
    assert!(first.contains("\"faults that became huge (%)\""), "{first}");
    let judged: serde_json::Value = serde_json::from_str(&first).expect("JSON");
    let under = judged["experiments"][0]["kernel"].as_str().expect("a title");
    std::fs::write(folder.path().join("out/fidelity.json"), "").expect("it can be written");
    let ran = order9_line(&format!("{what} --again {{}}/out --json"), folder.path());
    assert_eq!(verdicts(), first);
    hold("validate", &serde_json::from_str(&ran.stdout).expect("JSON"));
    hold("fidelity.json", &serde_json::from_str(&first).expect("JSON"));
    let gaps = order9_line("fidelity {}/out/fidelity.json --json", folder.path()).success();
    hold("fidelity", &serde_json::from_str(&gaps).expect("JSON"));
    let other = what.replace("64M", "32M");
    let ran = order9_line(&format!("{other} --again {{}}/out"), folder.path());
    let difference = "these runs differ from what is asked for in: workload or its parameters";
    assert!(ran.refusal().contains(difference), "{}", ran.stderr);
    let ran = order9_line(&format!("{what} --again {{}}"), folder.path());
    let skipped = "SKIPPED: hugealloc under out: no runs were stored\n";
    assert!(ran.status == 2 && ran.stderr.contains(skipped), "{}", ran.stderr);
    assert!(ran.stderr.contains("holds no real runs of what is asked for"), "{}", ran.stderr);

    let real = |start: u8| {
        std::fs::read(folder.path().join(format!("out/{under}/hugealloc/start-{start}/real/latencies.parquet")))
    };
    let kept = real(1).expect("the runs of the first boot");
    let ran = order9_line(&line.replace("--runs 2", "--runs 3 --more"), folder.path());
    assert!(ran.stdout.contains("(3 real)"), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(real(1).expect("the runs of the first boot"), kept, "what a kernel did stands");
    assert!(real(3).is_ok(), "and one more boots");
}

/// The guest that a command runs, once it runs.
fn guest_of(command: u32) -> Option<String> {
    let children = std::fs::read_to_string(format!("/proc/{command}/task/{command}/children")).ok()?;
    children.split_whitespace().map(str::to_owned).find(|child| is_guest(child))
}

fn is_guest(process: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{process}/cmdline"))
        .is_ok_and(|line| line.starts_with("qemu") && line.contains("-kernel"))
}

#[test]
fn a_guest_ends_with_a_command_that_is_killed() {
    let Some(kernel) = kernel() else { return };
    let mut command = Command::new(env!("CARGO_BIN_EXE_order9"));
    command.args(["bench", "hugealloc", "--kernel", kernel, "--deterministic"]);
    let mut command = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut guest = None;
    while guest.is_none() && command.try_wait().expect("it can be asked").is_none() {
        std::thread::sleep(Duration::from_millis(20));
        guest = guest_of(command.id());
    }
    let Some(guest) = guest else {
        let said = command.wait_with_output().expect("it has ended").stderr;
        let said = String::from_utf8_lossy(&said);
        assert!(said.contains("order9-guest is not beside order9"), "{said}");
        return write!(std::io::stderr(), "SKIPPED: a test of guests: {said}").expect("stderr");
    };
    command.kill().expect("it runs");
    command.wait().expect("it ends");
    let begin = Instant::now();
    while is_guest(&guest) {
        assert!(begin.elapsed() < Duration::from_secs(60), "QEMU {guest} runs on");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_guest_swaps_to_compressed_memory() {
    let Some(kernel) = kernel() else { return };
    let has_modules = order9(["kernels", "list"])
        .success()
        .lines()
        .any(|line| line.starts_with(kernel) && !line.contains("without modules"));
    if !has_modules {
        writeln!(std::io::stderr(), "SKIPPED: a test of guests: no modules lie beside {kernel}").expect("stderr");
        return;
    }
    let folder = small("guest-zram");
    let line = format!(
        "bench fill-and-free --param size=512M --param hold=1s --kernel {kernel} --machine {{}}/small.toml --deterministic -o {{}}/guest --full"
    );
    let Some(ran) = in_guest(&line, folder.path()) else { return };
    let text = ran.success();
    assert!(text.contains("MiB of swap on zram"), "{text}");
    let row = text
        .lines()
        .find(|line| line.trim_start().starts_with("Ops Page writes anon"))
        .unwrap_or_else(|| panic!("{text}"));
    let pages: f64 =
        row.split_whitespace().last().and_then(|word| word.replace(',', "").parse().ok()).expect("a number");
    assert!(pages > 1000.0, "{text}");
}
