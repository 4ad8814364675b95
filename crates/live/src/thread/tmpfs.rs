//! Mounts of tmpfs in the run's own namespace, and what its files alone can do.

use std::ffi::CString;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;

use order9_units::{Bytes, Pages};
use order9_workloads::{FileId, Mount, Statfs, Stop, Tmpfs};
use rustix::fs::{FallocateFlags, fallocate, statfs};
use rustix::mount::{MountFlags, mount, mount_remount};

use super::Thread;
use crate::errno::refused;

impl Thread {
    fn mount_path(&self, mount: Mount) -> PathBuf {
        self.process.run.mounts.join(format!("mount-{}", mount.0))
    }
}

fn options_of(options: &str) -> Result<CString, Stop> {
    CString::new(options).map_err(|_| Stop::Refused { call: "mount", errno: "EINVAL" })
}

impl Tmpfs for Thread {
    async fn mount_tmpfs(&self, options: &str) -> Result<Mount, Stop> {
        let number = Mount(self.process.run.clock.new_mount());
        let path = self.mount_path(number);
        let options = options_of(options)?;
        fs::create_dir(&path).map_err(|error| refused("mkdir", error))?;
        let mounted = mount("tmpfs", &path, "tmpfs", MountFlags::empty(), Some(options.as_c_str()));
        mounted.map_err(|error| refused("mount", error))?;
        Ok(number)
    }

    async fn remount_tmpfs(&self, mount: Mount, options: &str) -> Result<(), Stop> {
        let options = options_of(options)?;
        let done = mount_remount(self.mount_path(mount), MountFlags::empty(), options.as_c_str());
        done.map_err(|error| refused("mount", error))
    }

    async fn statfs(&self, mount: Mount) -> Result<Statfs, Stop> {
        let stat = statfs(self.mount_path(mount)).map_err(|error| refused("statfs", error))?;
        Ok(Statfs { blocks: Pages::new(stat.f_blocks), free: Pages::new(stat.f_bfree) })
    }

    async fn create_on(&self, mount: Mount) -> Result<FileId, Stop> {
        let file = FileId(self.process.run.clock.new_file());
        let path = self.mount_path(mount).join(file.0.to_string());
        let created = File::options().read(true).write(true).create(true).truncate(true).open(&path);
        let created = created.map_err(|error| refused("open", error))?;
        symlink(&path, self.path(file)).map_err(|error| refused("open", error))?;
        self.process.state().open.insert(file.0, Arc::new(created));
        Ok(file)
    }

    async fn truncate(&self, file: FileId, length: Bytes) -> Result<(), Stop> {
        self.file("ftruncate", file)?.set_len(length.get()).map_err(|error| refused("ftruncate", error))
    }

    async fn fallocate(&self, file: FileId, offset: Bytes, length: Bytes) -> Result<(), Stop> {
        let open = self.file("fallocate", file)?;
        let done = fallocate(&open, FallocateFlags::empty(), offset.get(), length.get());
        done.map_err(|error| refused("fallocate", error))
    }

    async fn punch_hole(&self, file: FileId, offset: Bytes, length: Bytes) -> Result<(), Stop> {
        let open = self.file("fallocate", file)?;
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        fallocate(&open, flags, offset.get(), length.get()).map_err(|error| refused("fallocate", error))
    }
}
