//! `order9 guard`: its configuration and unit, the guard in the lab, and the guard on this host where the test runs as root.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};

use serde_json::Value;

use crate::golden::compare;
use crate::schemas::hold;
use crate::support::{bundled, host_alone, order9, order9_line};

/// A demand of a few seconds on a capture of 1 GiB.
const SIMULATE: &str = "guard --simulate {} --seeds 2 --param pause=5s --param hold=1s";

#[test]
fn a_configuration_is_printed_and_checked() {
    let template = order9(["guard", "--print-config"]).success();
    compare("guard-config.txt", &template);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("guard.toml");
    fs::write(&file, &template).unwrap();
    let checked = order9_line("guard --check --config {}", &file).success();
    assert!(checked.starts_with("goal = \"5%\"\n") && checked.contains("\n[vain]\ngain = 4\n"), "{checked}");
    fs::write(&file, &checked).unwrap();
    assert_eq!(order9_line("guard --check --config {}", &file).success(), checked);
}

#[test]
fn mistakes_are_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("guard.toml");
    fs::write(&file, "[budget]\ncpu = 5\n").unwrap();
    let wrong = order9_line("guard --check --config {}", &file);
    assert!(wrong.refusal().ends_with("guard.toml, line 2: budget.cpu is 5, expected a share such as \"5%\""));
    let map = bundled("captures/fragmented-6.1.o9snap");
    for (line, says) in [
        ("guard", "--config <FILE>"),
        ("guard --config /no/such/guard.toml", "/no/such/guard.toml: no such file or directory"),
        ("guard --config {} --demand uptime", "--simulate"),
        ("guard --simulate {} --demand uptme", "--demand: no workload is called 'uptme'; did you mean uptime?"),
        ("guard --simulate {} --param size=1K", "size"),
        ("guard --simulate {} --policy linux-4.4", "does not exist under linux-4.4"),
    ] {
        let refused = order9_line(line, &map);
        assert!(refused.refusal().contains(says), "{line}: {}", refused.stderr);
    }
}

#[test]
fn a_unit_has_no_more_rights_than_its_configuration_needs() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("guard.toml");
    let unit = |config: &str| {
        fs::write(&file, config).unwrap();
        order9_line("guard --print-unit --config {}", &file).success()
    };
    let least = unit("");
    for line in [
        "CapabilityBoundingSet=\n",
        "NoNewPrivileges=yes\n",
        "ProtectSystem=strict\n",
        "PrivateNetwork=yes\n",
        "RestrictAddressFamilies=none\n",
        "ReadWritePaths=/sys/devices/system/node/node0/compact\n",
    ] {
        assert!(least.contains(line), "{line}{least}");
    }
    let metrics = "[metrics]\ntextfile = \"/var/lib/a b/guard.prom\"\nlisten = \"127.0.0.1:9409\"\n";
    let more = unit(&format!("actions = [\"compact\", \"collapse\"]\n{metrics}"));
    for line in [
        "CapabilityBoundingSet=CAP_SYS_PTRACE CAP_SYS_NICE\n",
        "SystemCallFilter=process_madvise pidfd_open\n",
        "PrivateNetwork=no\n",
        "ReadWritePaths=\"/var/lib/a b\"\n",
    ] {
        assert!(more.contains(line), "{line}{more}");
    }
    let exposed = exposure(folder.path(), &least);
    assert!(exposed.is_none_or(|exposure| exposure < 2.0), "{exposed:?}");
}

/// Exposure of a unit by `systemd-analyze security`, from 0 to 10; nothing where this host has no such command.
fn exposure(folder: &Path, unit: &str) -> Option<f64> {
    let file = folder.join("order9-guard.service");
    fs::write(&file, unit).unwrap();
    let arguments = ["security", "--offline=true", "--no-pager"];
    let output = Command::new("systemd-analyze").args(arguments).arg(&file).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let Some(line) = text.lines().find(|line| line.contains("Overall exposure level")) else {
        eprintln!("skipped: this host has no systemd-analyze that judges files");
        return None;
    };
    line.split(": ").last()?.split(' ').next()?.parse().ok()
}

#[test]
fn the_guard_is_tried_beside_the_kernel_and_the_runs_are_kept() {
    let map = bundled("captures/fragmented-6.1.o9snap");
    let text = order9_line(SIMULATE, &map).success();
    compare("guard-simulate.txt", &text);
    assert_eq!(text.lines().find(|line| line.chars().count() > 98), None, "text fits 98 columns");
    let folder = tempfile::tempdir().unwrap();
    let runs = folder.path().join("runs");
    let line = format!("{SIMULATE} --json -o {}", runs.display());
    let json: Value = serde_json::from_str(&order9_line(&line, &map).success()).unwrap();
    hold("guard", &json);
    assert_eq!(json["verdicts"].as_array().unwrap().len(), 6);
    assert!(order9_line("compare {}", &runs).success().contains("guard"));
    let repeated = order9_line("run --repeat {}", &runs).success();
    let digests: Vec<_> = repeated.lines().filter_map(|line| line.split_whitespace().nth(1)).collect();
    assert!(digests.len() == 2 && digests[0] == digests[1], "guards repeat to the same digest: {repeated}");
}

/// Balance of the budgets of the guards of this host hold.
const BUDGET: &str = "/run/order9/guard.budget";

/// A guard on this host; killed where a test fails.
struct Guard {
    child: Child,
    log: BufReader<ChildStderr>,
}

impl Guard {
    fn start(config: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_order9"));
        command.args(["guard", "--config"]).arg(config).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let log = BufReader::new(child.stderr.take().expect("it is piped"));
        Self { child, log }
    }

    /// Reads the log up to a line with `word`.
    fn says(&mut self, word: &str) -> String {
        let mut log = String::new();
        loop {
            let mut line = String::new();
            let length = self.log.read_line(&mut line).expect("it is text");
            log += &line;
            assert!(length > 0, "the log ended without {word:?}:\n{log}");
            if line.contains(word) {
                return line;
            }
        }
    }

    fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().expect("kill is there").success());
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether a guard can run here: as root, on the host itself.
fn can_guard(config: &Path) -> bool {
    let mut guard = Guard::start(config);
    let mut line = String::new();
    guard.log.read_line(&mut line).expect("it is text");
    let is_root = line.starts_with("order9 guard: node ");
    if !is_root {
        eprintln!("skipped: no guard runs here: {line}");
    }
    is_root
}

#[test]
fn a_guard_on_this_host_acts_reloads_and_ends() {
    let _alone = host_alone();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let config = path("guard.toml");
    // More than there can be, so that it acts; and little of this host's time.
    let text = format!(
        "goal = \"100%\"\nperiod = \"50ms\"\n[budget]\ncpu = \"20%\"\nsave = \"100ms\"\n[pressure]\nsome = \"100%\"\n\
         full = \"100%\"\n[metrics]\ntextfile = \"{0}/guard.prom\"\nlisten = \"unix:{0}/guard.sock\"\n",
        folder.path().display()
    );
    fs::write(&config, &text).unwrap();
    if !can_guard(&config) {
        return;
    }
    let mut guard = Guard::start(&config);
    guard.says("free huge pages");
    // Whether memory can be compacted is the host's business; that it is judged is the guard's.
    guard.says(": waits: ");
    let kept = fs::read_to_string(BUDGET).expect("it was kept before the first step");
    assert!(kept.starts_with("at ") && kept.contains("\ncpu ") && kept.contains("\nstall "), "{kept}");
    let second = order9_line("guard --config {}", &config);
    assert!(second.refusal().starts_with("another order9 guard runs on this host"), "{}", second.stderr);

    fs::write(&config, "goal = \"much\"\n").unwrap();
    guard.signal("-HUP");
    assert!(guard.says("goal is").ends_with(": the configuration before stays in force\n"));
    fs::write(&config, text.replace("100%\"\nperiod", "0%\"\nperiod")).unwrap();
    guard.signal("-HUP");
    guard.says(": read anew");
    assert!(guard.says("ready").contains("the goal is 0"));

    let mut metrics = String::new();
    let mut scrape = UnixStream::connect(path("guard.sock")).expect("it listens");
    scrape.write_all(b"GET /metrics HTTP/1.1\r\nHost: guard\r\n\r\n").unwrap();
    scrape.read_to_string(&mut metrics).unwrap();
    for line in [
        "HTTP/1.1 200 OK\r\n",
        "order9_guard_goal_huge_pages{node=\"0\"} 0\n",
        "order9_guard_verdict{node=\"0\",verdict=\"ready\"} 1\n",
        "order9_guard_config_reloads_total{result=\"taken\"} 1\n",
        "order9_guard_config_reloads_total{result=\"refused\"} 1\n",
        "# TYPE order9_guard_cpu_seconds_total counter\n",
    ] {
        assert!(metrics.contains(line), "{line}{metrics}");
    }
    assert!(fs::read_to_string(path("guard.prom")).unwrap().starts_with("# HELP order9_guard_free_huge_pages "));

    guard.signal("-TERM");
    guard.says("ended");
    assert!(guard.child.wait().unwrap().success());
    assert!(!path("guard.sock").exists() && !path("guard.prom").exists(), "nothing is left behind");

    fs::write(BUDGET, "much\n").unwrap();
    let mut next = Guard::start(&config);
    let refused = next.says("budgets begin empty");
    assert_eq!(refused, format!("order9 guard: {BUDGET}: not as a guard wrote it: budgets begin empty\n"));
    next.signal("-TERM");
    next.says("ended");
    fs::remove_file(BUDGET).unwrap();
}

#[test]
fn in_a_container_nothing_is_done() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("guard.toml");
    fs::write(&config, "").unwrap();
    let mut contained = Command::new("unshare");
    contained.args(["--user", "--map-root-user", env!("CARGO_BIN_EXE_order9"), "guard", "--config"]).arg(&config);
    let output = contained.output();
    let Some(output) = output.ok().filter(|output| !String::from_utf8_lossy(&output.stderr).starts_with("unshare: "))
    else {
        eprintln!("skipped: this host does not let users be mapped");
        return;
    };
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.starts_with("order9: this is a container: "), "{message}");
    assert_eq!((output.status.code(), message.lines().count()), (Some(2), 1));
}
