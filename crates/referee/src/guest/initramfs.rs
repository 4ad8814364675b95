//! The file system with which a guest boots: its first process, two device nodes, modules for its disks and swap, and nothing else.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cpio::newc::{Builder, ModeFileType, trailer};

use super::error::GuestError;
use crate::kernels::Module;

/// Name of the first process' file.
const INIT: &str = "order9-guest";
/// Folders of the first process, from the folder with the command: of an installation, and of the tree where it is built.
const PLACES: [&str; 3] =
    ["../libexec/order9", "../x86_64-unknown-linux-musl/guest", "../../x86_64-unknown-linux-musl/guest"];

/// The first process' file: beside the command, where an installation has it, or where the tree has it that the command was built in.
///
/// # Errors
/// Where it is in none of these places.
pub fn find_init() -> Result<PathBuf, GuestError> {
    let command = std::env::current_exe().map_err(GuestError::file("/proc/self/exe"))?;
    let folder = command.parent().unwrap_or(Path::new("/"));
    let places = std::iter::once(folder.join(INIT)).chain(PLACES.map(|place| folder.join(place).join(INIT)));
    places.into_iter().find(|path| path.is_file()).ok_or(GuestError::NoInit)
}

/// The archive that a kernel unpacks at boot.
pub(super) fn initramfs(init: &[u8], modules: &[Module]) -> io::Result<Vec<u8>> {
    let mut archive = Vec::with_capacity(init.len() + 1024);
    for folder in ["dev", "proc", "sys", "run"] {
        archive =
            Builder::new(folder).mode(0o755).set_mode_file_type(ModeFileType::Directory).write(archive, 0).finish()?;
    }
    // The first process needs something to write to before it can mount /dev.
    for (name, major, minor) in [("dev/console", 5, 1), ("dev/null", 1, 3)] {
        let node = Builder::new(name).mode(0o600).set_mode_file_type(ModeFileType::Char);
        archive = node.rdev_major(major).rdev_minor(minor).write(archive, 0).finish()?;
    }
    archive = add(archive, "init", init)?;
    if !modules.is_empty() {
        let folder = Builder::new("modules").mode(0o755).set_mode_file_type(ModeFileType::Directory);
        archive = folder.write(archive, 0).finish()?;
    }
    // They are loaded in the order of their names.
    for (number, Module { name, content }) in modules.iter().enumerate() {
        archive = add(archive, &format!("modules/{number:02}-{name}.ko"), content)?;
    }
    trailer(archive)
}

/// Adds a file.
fn add(archive: Vec<u8>, name: &str, content: &[u8]) -> io::Result<Vec<u8>> {
    let length = u32::try_from(content.len()).map_err(io::Error::other)?;
    let mut file = Builder::new(name).mode(0o755).set_mode_file_type(ModeFileType::Regular).write(archive, length);
    io::copy(&mut &*content, &mut file)?;
    file.finish()
}

/// Reads the first process and writes the archive to `path`.
pub(super) fn write_initramfs(init: &Path, modules: &[Module], path: &Path) -> Result<(), GuestError> {
    let content = fs::read(init).map_err(GuestError::file(init))?;
    let archive = initramfs(&content, modules).map_err(GuestError::file(path))?;
    fs::write(path, archive).map_err(GuestError::file(path))
}

#[cfg(test)]
mod tests {
    use cpio::newc::Reader;

    use super::*;

    #[test]
    fn the_archive_has_the_first_process_a_console_and_modules_in_order() {
        let module = |name: &str| Module { name: name.to_owned(), content: b"a module".to_vec() };
        let modules = [module("zsmalloc"), module("zram")];
        let archive = initramfs(b"a program", &modules).expect("memory takes it");
        let (mut from, mut names) = (archive.as_slice(), Vec::new());
        loop {
            let reader = Reader::new(from).expect("an entry");
            if reader.entry().is_trailer() {
                break;
            }
            names.push((reader.entry().name().to_owned(), reader.entry().mode()));
            let mut content = Vec::new();
            from = reader.to_writer(&mut content).expect("its content");
            let expected: &[u8] = match names.len() {
                7 => b"a program",
                9.. => b"a module",
                _ => b"",
            };
            assert_eq!(content, expected);
        }
        assert_eq!(names[4], ("dev/console".to_owned(), 0o020_600));
        assert_eq!(names[6], ("init".to_owned(), 0o100_755));
        let files: Vec<&str> = names[7..].iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(files, ["modules", "modules/00-zsmalloc.ko", "modules/01-zram.ko"]);
    }
}
