//! Files of the host that are a guest's disks: sparse, and gone with the last guest that uses them.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use order9_live::{FileDisk, FileSystem, Storage};
use tempfile::TempDir;

use super::error::GuestError;

/// Disks of a guest, in order.
#[derive(Clone, Debug)]
pub(super) struct Images {
    files: Vec<PathBuf>,
    _folder: Arc<TempDir>,
}

impl Images {
    /// Makes the disks, with the file system on the first where one is asked for.
    ///
    /// # Errors
    /// A disk that the host cannot make, or not format.
    pub(super) fn new(storage: &Storage) -> Result<Self, GuestError> {
        let folder = tempfile::tempdir().map_err(GuestError::file(std::env::temp_dir()))?;
        let mut files = Vec::new();
        for (number, &size) in storage.disks().iter().enumerate() {
            let path = folder.path().join(format!("disk-{number}"));
            File::create(&path).and_then(|file| file.set_len(size)).map_err(GuestError::file(&path))?;
            files.push(path);
        }
        if let (Some(disk), Some(path)) = (storage.files, files.first()) {
            format(disk, path)?;
        }
        Ok(Self { files, _folder: Arc::new(folder) })
    }

    /// Arguments of QEMU. A guest that resumes leaves the disks as they are, so that the next one finds them so: its writes go to a file
    /// that is gone with it.
    pub(super) fn arguments(&self, resumes: bool) -> Vec<String> {
        let keeps = if resumes { ",snapshot=on" } else { "" };
        let disk = |(number, path): (usize, &PathBuf)| {
            // QEMU's way to write a comma in a value.
            let path = path.display().to_string().replace(',', ",,");
            [
                "-drive".to_owned(),
                format!("file={path},format=raw,if=none,id=disk{number},cache=unsafe,discard=unmap{keeps}"),
                "-device".to_owned(),
                format!("virtio-blk-pci,drive=disk{number}"),
            ]
        };
        self.files.iter().enumerate().flat_map(disk).collect()
    }
}

/// Programs that make file systems: the program, its arguments, and the package of Debian that has it.
const fn maker(kind: FileSystem) -> (&'static str, &'static [&'static str], &'static str) {
    match kind {
        FileSystem::Ext4 => ("mkfs.ext4", &["-q", "-F"], "e2fsprogs"),
        FileSystem::Xfs => ("mkfs.xfs", &["-q", "-f"], "xfsprogs"),
    }
}

/// Folders of programs that the search path of users leaves out.
const FOLDERS: [&str; 3] = ["/usr/sbin", "/sbin", "/usr/local/sbin"];

fn format(disk: FileDisk, path: &Path) -> Result<(), GuestError> {
    let (program, arguments, package) = maker(disk.file_system);
    let found = FOLDERS.iter().map(|folder| Path::new(folder).join(program)).find(|path| path.is_file());
    let mut command = Command::new(found.unwrap_or_else(|| PathBuf::from(program)));
    let output = command.args(arguments).arg(path).output().map_err(|error| match error.kind() {
        ErrorKind::NotFound => GuestError::NoFormat { program, package },
        _ => GuestError::File { path: program.into(), error },
    })?;
    if output.status.success() {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let said = errors.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it gave no reason").trim().to_owned();
    Err(GuestError::File { path: program.into(), error: io::Error::other(said) })
}

#[cfg(test)]
mod tests {
    use order9_live::SwapArea;

    use super::*;

    #[test]
    fn disks_are_sparse_files_that_go_with_the_guest() {
        let area = |size, is_zram| SwapArea { size, is_zram };
        let images = Images::new(&Storage { files: None, swap: vec![area(1 << 40, false), area(1 << 20, true)] });
        let images = images.expect("no file system is made");
        let [path] = images.files.as_slice() else { panic!("{images:?}") };
        let path = path.clone();
        assert_eq!(path.metadata().expect("it is there").len(), 1 << 40);
        let [drive, options, device, disk] = <[String; 4]>::try_from(images.arguments(true)).expect("one disk");
        assert_eq!(
            (drive.as_str(), device.as_str(), disk.as_str()),
            ("-drive", "-device", "virtio-blk-pci,drive=disk0")
        );
        assert!(options.ends_with(",snapshot=on") && !images.arguments(false)[1].contains("snapshot"), "{options}");
        drop(images);
        assert!(!path.exists());
    }
}
