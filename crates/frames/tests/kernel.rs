//! The example kernel, booted: what an OS author starts from works, without a heap and without an operating system below.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The kernel's own status for success, as QEMU's exit device gives it on.
const SUCCESS: i32 = 2 * 16 + 1;

/// The page that shows the kernel's output.
const PAGE: &str = include_str!("../../../docs/embedding.md");
/// Memory of the machine whose output it shows.
const SHOWN: &str = "256M";

/// Builds the kernel; the error says why it cannot be built here.
fn build() -> Result<PathBuf, String> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/kernel");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernel");
    let built = Command::new(env!("CARGO"))
        .args(["build", "--release", "--locked", "--offline", "--target-dir"])
        .arg(&target)
        .current_dir(&package)
        // What the workspace is built with is not meant for a kernel.
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("CARGO_BUILD_TARGET")
        .output()
        .map_err(|error| format!("cargo does not start: {error}"))?;
    let says = String::from_utf8_lossy(&built.stderr);
    if says.contains("target may not be installed") {
        return Err("the target x86_64-unknown-none is not installed".to_owned());
    }
    assert!(built.status.success(), "the kernel does not build:\n{says}");
    Ok(target.join("x86_64-unknown-none/release/order9-frames-kernel"))
}

/// Output of the kernel on a machine with so much memory.
fn boot(kernel: &Path, memory: &str) -> Result<String, String> {
    let ran = Command::new("qemu-system-x86_64")
        .arg("-kernel")
        .arg(kernel)
        .args(["-m", memory, "-display", "none", "-serial", "stdio", "-no-reboot"])
        .args(["-device", "isa-debug-exit,iobase=0xf4"])
        .output()
        .map_err(|error| format!("qemu-system-x86_64 does not start: {error}"))?;
    let printed = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert_eq!(ran.status.code(), Some(SUCCESS), "{memory}: {printed}{}", String::from_utf8_lossy(&ran.stderr));
    Ok(printed)
}

#[test]
fn the_example_kernel_manages_its_memory_before_it_has_a_heap() {
    for memory in ["64M", SHOWN, "1G"] {
        match build().and_then(|kernel| boot(&kernel, memory)) {
            Ok(printed) => {
                assert!(printed.ends_with("all is well\n"), "{memory}: {printed}");
                let shown = || without_numbers(PAGE).contains(&without_numbers(&printed));
                assert!(memory != SHOWN || shown(), "docs/embedding.md does not show:\n{printed}");
            }
            // Not by way of the macro, which the test runner keeps to itself.
            Err(why) => return writeln!(std::io::stderr(), "skipped: {why}").expect("standard error is open"),
        }
    }
}

/// Text with each number as `#`: how many pages are managed depends on the size of the kernel that was built.
fn without_numbers(text: &str) -> String {
    let mut masked = String::new();
    for c in text.chars() {
        match c.is_ascii_digit() {
            false => masked.push(c),
            true if masked.ends_with('#') => {}
            true => masked.push('#'),
        }
    }
    masked
}
