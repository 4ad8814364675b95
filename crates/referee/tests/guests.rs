//! Virtual machines from boot to end: a run, and what becomes of guests that panic, fall silent, or never come up.
//!
//! Without QEMU, a kernel in the cache or the first process a test says so and is left out.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use order9_live::{Job, Kills, Region, Storage, Victim, WireValue};
use order9_record::{Outcome, Run};
use order9_referee::guest::{Accel, Guest, GuestError, GuestSpec, NodeShape, Shape, find_init};
use order9_referee::kernels::Kernels;
use order9_units::{Bytes, Nanos};

/// Says that a test was left out, and why.
fn skip<T>(why: &str) -> Option<T> {
    // Past the harness, which keeps what a test that passes has said.
    writeln!(std::io::stderr(), "SKIPPED: a test of guests: {why}").expect("stderr");
    None
}

fn has_qemu() -> bool {
    Command::new("qemu-system-x86_64").arg("--version").stdout(Stdio::null()).status().is_ok()
}

/// A small guest of this kernel; `None` where it cannot be had here.
fn spec(kernel: Option<PathBuf>) -> Option<GuestSpec> {
    if !has_qemu() {
        return skip("there is no qemu-system-x86_64");
    }
    let cache = Kernels::cache();
    let newest =
        || ["linux-6.12", "linux-7.2", "linux-6.1", "linux-5.10"].into_iter().find_map(|word| cache.find(word).ok());
    let Some(kernel) = kernel.or_else(newest) else {
        return skip("no kernel is in the cache: order9 kernels fetch 6.12 brings one");
    };
    let init = match find_init() {
        Ok(init) => init,
        Err(error) => return skip(&error.to_string()),
    };
    let node = NodeShape { memory: Bytes::new(512 << 20), cpus: 1, distances: vec![10] };
    let shape = Shape { nodes: vec![node] };
    let (cmdline, storage) = (String::new(), Storage::default());
    Some(GuestSpec { kernel, init, shape, storage, cmdline, seed: 1, silence: Duration::from_secs(180) })
}

/// A kernel whose code starts with these bytes: just enough of a bzImage for QEMU to load and start it.
fn fake_kernel(folder: &Path, code: &[u8]) -> PathBuf {
    let mut image = vec![0_u8; 8192];
    let mut put = |at: usize, bytes: &[u8]| image[at..at + bytes.len()].copy_from_slice(bytes);
    put(0x1f1, &[1]); // one sector of set-up behind the first
    put(0x1fe, &[0x55, 0xaa]);
    put(0x200, &[0xeb, 0x7e]); // jmp 0x280, behind the header
    put(0x202, b"HdrS");
    put(0x206, &[0x0c, 0x02]); // version 2.12
    put(0x211, &[1]); // loaded high
    put(0x22c, &[0xff, 0xff, 0xff, 0x7f]); // the highest address of the initramfs
    put(0x280, code);
    let path = folder.join("bzImage");
    fs::write(&path, image).expect("it can be written");
    path
}

fn job(workload: &str, parameters: &[(&str, WireValue)]) -> Job {
    let parameters: BTreeMap<_, _> = parameters.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    Job {
        workload: workload.to_owned(),
        parameters,
        seed: 1,
        settings: Vec::new(),
        files: None,
        every: Nanos::new(1_000_000_000),
        reserve: 0,
        keeps_snapshots: false,
        events: Vec::new(),
        journal: None,
    }
}

/// The message of a run that did not come to its end.
#[track_caller]
fn stopped(run: &Run) -> &str {
    assert_ne!(run.outcome, Outcome::Completed);
    run.outcome.message().unwrap_or_default()
}

#[test]
fn a_guest_runs_a_workload_and_a_panic_and_silence_are_outcomes() {
    let Some(spec) = spec(None) else { return };
    let saved = Guest::boot(&spec, Some(Accel::Tcg)).and_then(Guest::save).expect("the kernel boots");
    let run = |job: &Job, silence: Duration| {
        let mut guest = saved.resume().expect("the state is there");
        guest.allow_silence(silence);
        guest.run(job, "guest", &|_| None).expect("the run starts").run
    };
    let patient = Duration::from_secs(120);
    let ran = run(&job("idle", &[("time", WireValue::Time(1_000_000))]), patient);
    assert_eq!(ran.outcome, Outcome::Completed);
    assert!(ran.notes.iter().any(|note| note.contains("translated (TCG)")), "{:?}", ran.notes);

    let panics = Job { settings: vec![("/proc/sysrq-trigger".to_owned(), "c".to_owned())], ..job("idle", &[]) };
    let ran = run(&panics, patient);
    let message = stopped(&ran);
    assert!(message.starts_with("the guest ended; the last lines of its console: "), "{message}");
    assert!(message.contains("Kernel panic"), "{message}");

    let ran = run(&job("idle", &[("time", WireValue::Time(600_000_000_000))]), Duration::from_secs(5));
    let message = stopped(&ran);
    assert!(message.starts_with("the guest said nothing for 5 s"), "{message}");
}

/// Whoever runs the tests need not be root: the guest's settings are changed, not the host's.
#[test]
fn settings_of_a_guest_are_as_before_after_a_hundred_kills_at_any_moment() {
    let Some(spec) = spec(None) else { return };
    let mut guest = Guest::boot(&spec, Some(Accel::Tcg)).expect("the kernel boots");
    let thp = "/sys/kernel/mm/transparent_hugepage";
    let settings = [
        ("/proc/sys/vm/compaction_proactiveness".to_owned(), "37".to_owned()),
        ("/proc/sys/vm/extfrag_threshold".to_owned(), "437".to_owned()),
        // The kernel changes others along with these: vm.dirty_ratio, and vm.min_free_kbytes.
        ("/proc/sys/vm/dirty_bytes".to_owned(), (64 << 20).to_string()),
        (format!("{thp}/enabled"), "never".to_owned()),
        (format!("{thp}/defrag"), "defer".to_owned()),
        (format!("{thp}/khugepaged/max_ptes_none"), "7".to_owned()),
    ];
    let idle = job("idle", &[("time", WireValue::Time(1_000_000))]);
    // The program itself changes vm.nr_hugepages.
    let parameters = [("size", WireValue::Bytes(4 << 20)), ("driver", WireValue::Word("nr_hugepages".to_owned()))];
    let hugealloc = job("hugealloc", &parameters);
    for (job, times) in [(idle, 90), (hugealloc, 10)] {
        let run = Victim::Run(Job { settings: settings.clone().into(), ..job });
        harmless_kills(&mut guest, &run, times);
    }
}

#[test]
fn settings_of_a_guest_are_as_before_after_a_hundred_kills_of_a_change() {
    let Some(spec) = spec(None) else { return };
    let mut guest = Guest::boot(&spec, Some(Accel::Tcg)).expect("the kernel boots");
    let settings = [
        "vm.compaction_proactiveness=37",
        "vm.swappiness=37",
        // The kernel changes others along with these: vm.dirty_ratio, and vm.min_free_kbytes.
        "vm.dirty_bytes=67108864",
        "thp.enabled=never",
        "thp.defrag=defer",
        "thp/khugepaged/max_ptes_none=7",
    ];
    let change = Victim::Change(settings.map(str::to_owned).into());
    harmless_kills(&mut guest, &change, 100);
}

#[test]
fn memory_that_a_program_uses_is_told_from_memory_that_it_leaves_alone() {
    let Some(spec) = spec(None) else { return };
    let mut guest = Guest::boot(&spec, None).expect("the kernel boots");
    let look = |guest: &mut Guest| match guest.watch() {
        Ok(halves) => Some(halves),
        Err(GuestError::NotStarted(why)) if why.contains("this kernel has no DAMON") => skip(&why),
        Err(error) => panic!("{error}"),
    };
    // Each time somebody has been killed that watched; the second time DAMON is free again.
    for _ in 0..2 {
        let Some(halves) = look(&mut guest) else { return };
        let size = |region: &Region| (region.addresses.end - region.addresses.start) as f64;
        let [used, left] = halves.map(|regions| {
            let sum: f64 = regions.iter().map(size).sum();
            regions.iter().map(|region| region.used * size(region)).sum::<f64>() / sum
        });
        println!("used at {:.0} % of the looks, and at {:.0} %", 100.0 * used, 100.0 * left);
        // A guest that shares its CPU with others comes to fewer passes between two looks.
        assert!(used > 0.1 && left < used / 5.0, "{used} {left}");
    }
}

/// Rounds of kills after which a moment among the changes has come, however unevenly the host lets the guest run.
const ROUNDS: usize = 5;

/// Kills `victim` so many times, after which everything has to be as before. Where no moment was before, among or after the changes, it
/// does so again.
fn harmless_kills(guest: &mut Guest, victim: &Victim, times: u32) {
    guest.allow_silence(Duration::from_secs(600));
    let every_kind_of_moment = (0..ROUNDS).any(|_| {
        let Kills { ways_back, changed, failed } = guest.kill(victim, times).expect("the guest lives");
        assert_eq!(failed, Vec::<String>::new());
        assert!(ways_back >= changed, "{changed} of {ways_back}");
        println!("{times} kills: {ways_back} left a way back on disk, {changed} a setting that was not as before");
        changed > 0 && ways_back < times
    });
    assert!(every_kind_of_moment, "in no round a kill fell among the changes and another beside them");
}

#[test]
fn a_kernel_that_never_comes_up_is_given_up() {
    let folder = tempfile::tempdir().expect("a directory");
    let boot = |code: &[u8]| {
        let spec = spec(Some(fake_kernel(folder.path(), code)))?;
        let spec = GuestSpec { silence: Duration::from_secs(3), ..spec };
        Some(Guest::boot(&spec, Some(Accel::Tcg)).err().expect("there is no guest"))
    };
    // jmp to itself.
    let Some(hangs) = boot(&[0xeb, 0xfe]) else { return };
    assert!(matches!(hangs, GuestError::Lost { .. }), "{hangs}");
    assert_eq!(hangs.to_string(), "the guest said nothing for 3 s; the last lines of its console: there are none");
    // No table of interrupts, and an interrupt: the CPU resets, which ends a machine that must not start again.
    let ends = boot(&[0xfa, 0x2e, 0x0f, 0x01, 0x1e, 0x00, 0x01, 0xcc]).expect("it is there still");
    assert_eq!(ends.to_string(), "the guest ended; the last lines of its console: there are none");
}
