//! File systems of the kernel, which a guest has to mount by itself.

use std::fs;
use std::io;

use rustix::mount::{MountFlags, mount};

/// Mounts what /proc, /sys and /dev are made of, and /run.
pub(crate) fn mount_all() -> io::Result<()> {
    for (kind, path) in [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("tmpfs", "/run")] {
        fs::create_dir_all(path)?;
        match mount(kind, path, kind, MountFlags::empty(), None) {
            // Some kernels mount /dev by themselves.
            Err(rustix::io::Errno::BUSY) => {}
            done => done?,
        }
    }
    // A kernel without events has no such file system.
    let _ = mount("tracefs", "/sys/kernel/tracing", "tracefs", MountFlags::empty(), None);
    Ok(())
}
