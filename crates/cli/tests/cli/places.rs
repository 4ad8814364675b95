//! Where results go and come from: places are tried before the work, pipes carry snapshots and pictures.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::support::{SHORT, folder_with_machine, order9, order9_line};

/// `order9` with `input` on standard input.
fn piped(args: &[&str], input: &[u8]) -> Output {
    let mut order9 = Command::new(env!("CARGO_BIN_EXE_order9"));
    let order9 = order9.args(args).env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
    let mut child = order9.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn snapshots_and_pictures_go_through_pipes() {
    let made = piped(&["snapshot", "synth", "--size", "256M", "-o", "-"], b"");
    assert!(made.status.success() && made.stdout.starts_with(b"\x89O9S"));
    let said = String::from_utf8(made.stderr).unwrap();
    assert!(
        said.contains("order9 snapshot synth") && said.contains("settings"),
        "what was made is said beside it: {said}"
    );
    let info = piped(&["snapshot", "info", "-"], &made.stdout);
    let length = order9_report::number::size(order9_units::Bytes::new(made.stdout.len() as u64));
    assert!(String::from_utf8(info.stdout).unwrap().contains(&length));
    let text = piped(&["inspect", "-"], &made.stdout);
    assert!(String::from_utf8(text.stdout).unwrap().contains("Memory map"));
    let json = piped(&["inspect", "-", "--json"], &made.stdout);
    assert!(serde_json::from_slice::<serde_json::Value>(&json.stdout).is_ok());
    let picture = piped(&["inspect", "-", "--map", "-"], &made.stdout);
    assert!(picture.stdout.starts_with(b"<svg ") && picture.stdout.ends_with(b"</svg>\n"), "the picture alone");
    let both = order9(["inspect", "--map", "-", "--json"]);
    assert!(both.refusal().contains("both would go to standard output"));
    let captured = piped(&["capture", "-o", "-"], b"");
    assert!(piped(&["inspect", "-"], &captured.stdout).status.success());
    assert!(piped(&["inspect", "-"], b"no snapshot").stderr.starts_with(b"order9: -: not an order9 snapshot"));
}

#[test]
fn plots_go_to_standard_output() {
    let folder = folder_with_machine();
    order9_line(&format!("run {SHORT} -o {{}}/d"), folder.path()).success();
    let svg = order9_line("plot {}/d nr_free_pages -o -", folder.path()).success();
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
}

#[test]
fn places_are_tried_before_the_work() {
    let folder = folder_with_machine();
    let nowhere = "cannot be written: no such file or directory";
    let begun = Instant::now();
    // These would take minutes: 16 TiB are made up, and a week is simulated.
    let lines = [
        ("snapshot synth --size 16T -o {}/no/x.o9snap", nowhere),
        ("snapshot synth --size 16T -o /proc/x.o9snap", "/proc/x.o9snap: cannot be written"),
        ("inspect /dev/stdin --map {}/no/map.svg", nowhere),
        ("plot {} nr_free_pages -o {}/no/x.svg", nowhere),
        ("run uptime -o /proc/run", "/proc"),
        ("run uptime -o {}/tiny.toml", "is no directory"),
    ];
    for (line, part) in lines {
        let ran = order9_line(line, folder.path());
        assert!(ran.refusal().contains(part), "{line}: {}", ran.stderr);
    }
    for name in ["latencies.parquet", "counters.parquet", "manifest.toml", "report.txt", "x.O9SNAP"] {
        let policy = folder.path().join(format!("{name}.toml"));
        fs::write(&policy, "base = \"linux-5.0\"\n").unwrap();
        let ran = order9_line(&format!("run uptime -o {{}}/d --policy {{}}/{name}.toml"), folder.path());
        assert!(ran.refusal().contains("would be called like a file of the run"), "{}", ran.stderr);
    }
    assert!(!folder.path().join("d").exists());
    assert!(begun.elapsed() < Duration::from_secs(60), "nothing was simulated");
}

#[test]
fn what_is_no_file_in_a_run_directory_is_refused_at_once() {
    let folder = folder_with_machine();
    order9_line(&format!("run {SHORT} -o {{}}/d"), folder.path()).success();
    let directory = folder.path().join("d");
    for name in ["latencies.parquet", "counters.parquet", "manifest.toml"] {
        let file = directory.join(name);
        let kept = fs::read(&file).unwrap();
        let odd: [&dyn Fn(); 4] = [
            &|| assert!(Command::new("mkfifo").arg(&file).status().unwrap().success()),
            &|| std::os::unix::fs::symlink("/dev/zero", &file).unwrap(),
            &|| fs::create_dir(&file).unwrap(),
            &|| fs::File::create(&file).unwrap().set_len(1 << 40).unwrap(),
        ];
        for make in odd {
            fs::remove_file(&file).or_else(|_| fs::remove_dir(&file)).unwrap();
            make();
            for line in ["compare {}", "plot {}"] {
                let ran = order9_line(line, &directory);
                assert!(ran.refusal().contains(name), "{}", ran.stderr);
            }
        }
        fs::remove_file(&file).unwrap();
        fs::write(&file, kept).unwrap();
    }
    order9_line("compare {}", &directory).success();
}
