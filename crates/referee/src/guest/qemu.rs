//! A process of QEMU, and its sockets.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::accel::Accel;
use super::error::GuestError;
use super::images::Images;
use super::initramfs::write_initramfs;
use super::machine::GuestSpec;
use super::qmp::Qmp;
use crate::kernels::Modules;

/// The program.
const QEMU: &str = "qemu-system-x86_64";
/// Lines of the console that an error shows.
const LINES: usize = 8;

/// A running QEMU; it ends when this is dropped.
pub(super) struct Qemu {
    child: Child,
    folder: TempDir,
}

impl Qemu {
    /// Starts a machine; with `resumes` it waits for its state.
    pub(super) fn start(spec: &GuestSpec, accel: Accel, images: &Images, resumes: bool) -> Result<Self, GuestError> {
        let folder = tempfile::tempdir().map_err(GuestError::file(std::env::temp_dir()))?;
        let place = |name: &str| folder.path().join(name);
        let modules = Modules::beside(&spec.kernel).of(&spec.storage)?;
        write_initramfs(&spec.init, &modules, &place("initramfs"))?;
        let text = |path: PathBuf| path.display().to_string();
        let mut command = bound_to_this_process();
        command.args(["-nodefaults", "-no-user-config", "-display", "none", "-vga", "none", "-no-reboot"]);
        command.args(accel.arguments()).args(accel.random_numbers(spec.seed));
        command.args(spec.shape.arguments()).args(images.arguments(resumes));
        command.arg("-kernel").arg(&spec.kernel).arg("-initrd").arg(place("initramfs"));
        // Pages that are cleared whenever somebody takes them are an option of distributions, which no preset has. Tests of
        // ciphers, which newer kernels make in threads of their own, would share the CPU with the first seconds of a program.
        let console = "console=ttyS0 quiet panic=-1 nokaslr init_on_alloc=0 cryptomgr.notests rdinit=/init";
        command.args(["-append", format!("{console} {}", spec.cmdline).trim_end()]);
        command.args(["-serial", &format!("file:{}", text(place("console")))]);
        command.args(["-chardev", &format!("socket,id=port,path={},server=on,wait=off", text(place("port")))]);
        command.args(["-serial", "chardev:port"]);
        command.args(["-qmp", &format!("unix:{},server=on,wait=off", text(place("monitor")))]);
        if resumes {
            command.args(["-incoming", "defer"]);
        }
        let errors = fs::File::create(place("errors")).map_err(GuestError::file(place("errors")))?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::from(errors));
        let child = command.spawn().map_err(|error| GuestError::NoQemu { program: QEMU.to_owned(), error })?;
        Ok(Self { child, folder })
    }

    /// The serial port to the guest.
    pub(super) fn port(&mut self) -> Result<UnixStream, GuestError> {
        self.connect("port")
    }

    /// The monitor.
    pub(super) fn monitor(&mut self) -> Result<Qmp, GuestError> {
        Qmp::new(self.connect("monitor")?)
    }

    fn connect(&mut self, name: &str) -> Result<UnixStream, GuestError> {
        let path = self.folder.path().join(name);
        // QEMU makes its sockets after it has touched all memory of the guest.
        let until = Instant::now() + Duration::from_secs(120);
        loop {
            match UnixStream::connect(&path) {
                Ok(stream) => return Ok(stream),
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => {}
                Err(error) => return Err(GuestError::File { path, error }),
            }
            if !self.is_running() {
                return Err(GuestError::Qmp(self.errors().unwrap_or_else(|| "it ended and gave no reason".to_owned())));
            }
            if Instant::now() > until {
                return Err(self.lost("did not start within two minutes"));
            }
            sleep(Duration::from_millis(5));
        }
    }

    pub(super) fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Last line of QEMU's own messages.
    fn errors(&self) -> Option<String> {
        let text = fs::read_to_string(self.folder.path().join("errors")).unwrap_or_default();
        text.lines().last().map(str::to_owned)
    }

    /// Text of the guest's console.
    pub(super) fn console(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.folder.path().join("console")).unwrap_or_default()).into_owned()
    }

    /// The error of a guest with which something has happened.
    pub(super) fn lost(&self, what: &str) -> GuestError {
        GuestError::Lost { what: what.to_owned(), console: last_lines(&self.console()) }
    }

    /// The error of a guest whose machine has ended: by itself, or since QEMU would not have it.
    pub(super) fn ended(&self) -> GuestError {
        match (self.console().trim(), self.errors()) {
            ("", Some(errors)) => GuestError::Qmp(errors),
            _ => self.lost("ended"),
        }
    }
}

/// QEMU, which ends with the thread that starts it, whatever ends that, where util-linux' `setpriv` is there.
fn bound_to_this_process() -> Command {
    if !is_in_path("setpriv") || !is_in_path(QEMU) {
        return Command::new(QEMU);
    }
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--", QEMU]);
    command
}

fn is_in_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// The last lines of a console, in one. Where the kernel has panicked, its reason comes first: registers and calls follow it.
fn last_lines(console: &str) -> String {
    let lines: Vec<&str> = console.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let (before, last) = lines.split_at(lines.len().saturating_sub(LINES));
    let panic = before.iter().rfind(|line| line.contains("Kernel panic"));
    let told: Vec<&str> = panic.into_iter().chain(last).copied().collect();
    if told.is_empty() { "there are none".to_owned() } else { told.join(" | ") }
}

impl Drop for Qemu {
    fn drop(&mut self) {
        // A process that is gone needs no end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_of_a_console_are_one_line() {
        assert_eq!(last_lines("one\r\n\r\ntwo\r\n"), "one | two");
        assert_eq!(last_lines(""), "there are none");
        let many: String = (0..20).map(|number| format!("{number}\n")).collect();
        assert_eq!(last_lines(&many), "12 | 13 | 14 | 15 | 16 | 17 | 18 | 19");
        let panic = last_lines(&format!("booting\n[ 5.1] Kernel panic - not syncing: of old age\n{many}"));
        assert!(panic.starts_with("[ 5.1] Kernel panic - not syncing: of old age | 12 | 13"), "{panic}");
    }
}
