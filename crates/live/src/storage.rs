//! Disks and swap of a guest: what the host asks for, and swap areas, which the guest makes by itself.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use order9_units::PAGE_SIZE;
use serde::{Deserialize, Serialize};

use crate::raw;

/// Disks and swap of a guest. Its disks are `vda`, `vdb` and so on: first the one with files, then those that are swap.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Storage {
    /// The disk with a file system for files of workloads; without one they lie on a tmpfs.
    pub files: Option<FileDisk>,
    /// Swap areas in the order in which they are filled.
    pub swap: Vec<SwapArea>,
}

/// A disk with a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDisk {
    /// Size in bytes.
    pub size: u64,
    /// Kind of the file system.
    pub file_system: FileSystem,
}

/// A kind of file system that guests can have on a disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileSystem {
    /// ext4.
    #[default]
    Ext4,
    /// XFS.
    Xfs,
}

/// A swap area.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwapArea {
    /// Size in bytes.
    pub size: u64,
    /// Whether it is compressed memory, and no disk.
    pub is_zram: bool,
}

impl FileSystem {
    /// Name of the kind, as `mount` takes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ext4 => "ext4",
            Self::Xfs => "xfs",
        }
    }
}

impl Storage {
    /// Directory of a guest where the file system is mounted.
    pub const FILES: &'static str = "/files";

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.files.is_none() && self.swap.is_empty()
    }

    /// Sizes of the disks, in order.
    #[must_use]
    pub fn disks(&self) -> Vec<u64> {
        let swap = self.swap.iter().filter(|area| !area.is_zram).map(|area| area.size);
        self.files.iter().map(|disk| disk.size).chain(swap).collect()
    }
}

/// Makes `device` a swap area as a whole, and swaps to it.
///
/// # Errors
/// Those of the device; a device that is too small, or a kernel without swap.
pub fn swap_on(device: &Path, size: u64) -> io::Result<()> {
    File::options().write(true).open(device)?.write_all_at(&header(size)?, 0)?;
    raw::swap_on(device)
}

/// The first page of a swap area: where the signature is, and how many pages follow.
fn header(size: u64) -> io::Result<Vec<u8>> {
    const VERSION: u32 = 1;
    const AT: usize = 1024;
    const SIGNATURE: &[u8] = b"SWAPSPACE2";
    let page = PAGE_SIZE.get();
    let last = u32::try_from(size / page).ok().and_then(|pages| pages.checked_sub(1)).filter(|&last| last > 0);
    let last = last.ok_or_else(|| io::Error::other(format!("{size} bytes are no size of a swap area")))?;
    let mut header = vec![0; page as usize];
    header[AT..AT + 4].copy_from_slice(&VERSION.to_le_bytes());
    header[AT + 4..AT + 8].copy_from_slice(&last.to_le_bytes());
    let end = header.len() - SIGNATURE.len();
    header[end..].copy_from_slice(SIGNATURE);
    Ok(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_swap_area_says_how_many_pages_it_has() {
        let header = header(64 << 20).expect("a size");
        assert_eq!(header.len(), 4096);
        assert_eq!(header[1024..1032], [1, 0, 0, 0, 0xff, 0x3f, 0, 0]);
        assert_eq!(&header[4086..], b"SWAPSPACE2");
        assert!(header[..1024].iter().all(|&byte| byte == 0));
        assert!(super::header(4096).is_err() && super::header(u64::MAX).is_err());
    }

    #[test]
    fn disks_are_those_with_files_and_then_swap() {
        let area = |size, is_zram| SwapArea { size, is_zram };
        let files = Some(FileDisk { size: 7, file_system: FileSystem::Ext4 });
        let storage = Storage { files, swap: vec![area(1, true), area(2, false)] };
        assert_eq!(storage.disks(), [7, 2]);
        assert!(!storage.is_empty() && Storage::default().is_empty());
    }
}
