//! Disks and swap: modules of the kernel, the file system for files of workloads, swap areas.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use order9_live::{FileDisk, Storage, swap_on};
use rustix::mount::{MountFlags, mount};
use rustix::system::finit_module;

/// Directory of the modules, whose names sort in the order in which they are loaded.
const MODULES: &str = "/modules";
/// Time in which a device appears after its driver was loaded.
const APPEARS: Duration = Duration::from_secs(10);

/// Makes all of `storage` ready; the directory for files, where there is one.
///
/// # Errors
/// What is missing, in words.
pub(crate) fn equip(storage: &Storage) -> Result<Option<PathBuf>, String> {
    load_modules()?;
    let mut disks = (b'a'..=b'z').map(|letter| format!("/dev/vd{}", char::from(letter)));
    let mut disk = || device(&disks.next().unwrap_or_default());
    let files = storage.files.map(|files| mount_files(files, &disk()?)).transpose()?;
    let mut zrams = 0;
    for area in &storage.swap {
        let device = if area.is_zram { zram(&mut zrams, area.size)? } else { disk()? };
        swap_on(&device, area.size).map_err(of_file(&device))?;
    }
    Ok(files)
}

fn of_file(path: &Path) -> impl FnOnce(io::Error) -> String + '_ {
    move |error| format!("{}: {error}", path.display())
}

/// Loads all modules, and frees the memory of their files.
fn load_modules() -> Result<(), String> {
    let folder = Path::new(MODULES);
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort_unstable();
    for path in paths {
        let file = File::open(&path).map_err(of_file(&path))?;
        finit_module(&file, c"", 0).map_err(|error| of_file(&path)(error.into()))?;
    }
    fs::remove_dir_all(folder).map_err(of_file(folder))
}

/// Waits for a device.
fn device(path: &str) -> Result<PathBuf, String> {
    let until = Instant::now() + APPEARS;
    while !Path::new(path).exists() {
        if Instant::now() > until {
            return Err(format!("there is no {path}"));
        }
        sleep(Duration::from_millis(10));
    }
    Ok(PathBuf::from(path))
}

fn mount_files(files: FileDisk, disk: &Path) -> Result<PathBuf, String> {
    let kind = files.file_system.name();
    let place = PathBuf::from(Storage::FILES);
    fs::create_dir_all(&place).map_err(of_file(&place))?;
    // ext4 would go on formatting in the background.
    let options = (kind == "ext4").then_some(c"noinit_itable");
    let mounted = mount(disk, &place, kind, MountFlags::NOATIME, options);
    mounted.map_err(|error| format!("{} cannot be mounted as {kind}: {error}", disk.display()))?;
    Ok(place)
}

/// The next device of compressed memory, by the kernel's default compressor.
fn zram(known: &mut u32, size: u64) -> Result<PathBuf, String> {
    const HOT_ADD: &str = "/sys/class/zram-control/hot_add";
    let number = *known;
    // The module comes with the first.
    if number > 0 {
        fs::read(HOT_ADD).map_err(of_file(Path::new(HOT_ADD)))?;
    }
    *known += 1;
    let device = device(&format!("/dev/zram{number}"))?;
    let setting = PathBuf::from(format!("/sys/block/zram{number}/disksize"));
    fs::write(&setting, size.to_string()).map_err(of_file(&setting))?;
    Ok(device)
}
