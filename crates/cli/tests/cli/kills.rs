//! Kills at any moment: every setting is as before once order9 has started again.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Instant;

use order9_live::settings_of_memory;

use crate::bench::{UNDO, host, programs, wait_for};
use crate::support::order9_line;

/// Kills, each at a moment of its own. A hundred take place in a guest, where nobody has to be root.
const KILLS: u32 = 25;
/// Settings that hurt nobody, with two values each, one of which the host does not have.
const SETTINGS: [(&str, [&str; 2]); 3] = [
    ("vm.compaction_proactiveness", ["37", "38"]),
    ("vm.extfrag_threshold", ["437", "438"]),
    ("vm.page-cluster", ["2", "4"]),
];

/// A run that changes every setting and puts all back, as long as it is let.
fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_order9"));
    command.args(["bench", "idle", "--param", "time=100ms"]);
    for (name, [one, other]) in SETTINGS {
        let path = format!("/proc/sys/{}", name.replace('.', "/"));
        let now = fs::read_to_string(path).expect("a kernel from 5.9 on");
        command.args(["--set", &format!("{name}={}", if now.trim() == one { other } else { one })]);
    }
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// The next of a row of numbers that look like chance.
pub(crate) fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

#[test]
fn settings_are_as_before_after_kills_at_any_moment() {
    let Some(_host) = host() else { return };
    let before = settings_of_memory();
    let begin = Instant::now();
    assert!(command().status().expect("the command starts").success());
    let whole = begin.elapsed();
    assert_eq!(settings_of_memory(), before);
    let (mut changed, mut journals) = (0, 0);
    for kill in 0..KILLS {
        let moment = whole * 11 / 10 * kill / KILLS;
        let mut child = command().spawn().expect("the command starts");
        sleep(moment);
        // A run that is through already leaves nothing to be killed.
        let _ = child.kill();
        child.wait().expect("it ends");
        wait_for("the end of the program", || programs() == 0);
        changed += u32::from(settings_of_memory() != before);
        journals += u32::from(Path::new(UNDO).exists());
        let ran = order9_line("bench idle --param time=1ms", Path::new(""));
        assert_eq!(ran.status, 0, "kill {kill} after {moment:?}: {}", ran.stderr);
        assert_eq!(settings_of_memory(), before, "kill {kill} after {moment:?}");
        assert!(!Path::new(UNDO).exists(), "kill {kill} after {moment:?}");
    }
    // Moments before, among and after the changes are all among them.
    assert!(changed > 3 && journals >= changed && journals < KILLS, "{changed} {journals}");
    println!("{KILLS} kills: {journals} left a journal, {changed} settings that were not as before; all were put back");
}
