//! Compressed memory: the time of the CPU that stores a page in a device of zram, and that brings it back. The device is also the file whose
//! pages leave the page cache: it needs no disk.
//!
//! The device is one of its own, which is taken away afterwards. Requests go past the page cache and have 2 MiB, as those of a huge
//! page that is swapped out whole. Requests of single pages take 1.7 times as long (7.3 and 4.2 us under 6.1), and swap has a way of its
//! own for single pages (`swap`). Pages hold one byte and zeroes otherwise, like those of a program that touches its memory: pages with
//! more in them take longer. Where the kernel has no module zram loaded, nothing is measured.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{Advice, OFlags, fadvise};

use crate::clock::cpu_per;
use crate::direct::Direct;
use crate::sys::{PAGE, PageSize, Region, SLOT};

/// Pages of the device, all of which are written and read.
const PAGES: usize = 4_096;
/// Files by which the module makes a device and takes one away.
const HOT_ADD: &str = "/sys/class/zram-control/hot_add";
const HOT_REMOVE: &str = "/sys/class/zram-control/hot_remove";
/// Time in which a device appears.
const APPEARS: Duration = Duration::from_secs(5);

/// Fills in what a page costs; not a number where the kernel has no such device.
pub(crate) fn measure(direct: &mut Direct) -> io::Result<()> {
    (direct.zram_write, direct.zram_read, direct.uncache) = (f64::NAN, f64::NAN, f64::NAN);
    let device = match Device::new() {
        Ok(device) => device,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let file = device.open(OFlags::DIRECT)?;
    // A transfer past the page cache takes memory that is aligned like the device's blocks.
    let mut region = Region::anonymous(SLOT / PAGE, PageSize::Base)?;
    region.store(0, PAGE);
    let bytes = region.bytes();
    let places = || (0..PAGES * PAGE).step_by(SLOT).map(|at| at as u64);
    direct.zram_write = cpu_per(PAGES, || places().try_for_each(|at| file.write_all_at(bytes, at)))?;
    direct.zram_read = cpu_per(PAGES, || places().try_for_each(|at| file.read_exact_at(bytes, at)))?;
    let cached = device.open(OFlags::empty())?;
    // Without readahead, which from some release on fills the cache with folios of many pages.
    fadvise(&cached, 0, None, Advice::Random)?;
    let mut pages = (0..PAGES * PAGE).step_by(PAGE).map(|at| at as u64);
    pages.try_for_each(|at| cached.read_exact_at(&mut bytes[..PAGE], at))?;
    direct.uncache = cpu_per(PAGES, || Ok(fadvise(&cached, 0, None, Advice::DontNeed)?))?;
    Ok(())
}

/// A device of zram, which goes when it is dropped.
struct Device {
    number: u32,
}

impl Device {
    fn new() -> io::Result<Self> {
        let text = fs::read_to_string(HOT_ADD)?;
        let number =
            text.trim().parse().map_err(|_| io::Error::other(format!("{HOT_ADD}: a number, found {text:?}")))?;
        let device = Self { number };
        fs::write(device.file("disksize"), (PAGES * PAGE).to_string())?;
        Ok(device)
    }

    fn file(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/sys/block/zram{}/{name}", self.number))
    }

    fn open(&self, flags: OFlags) -> io::Result<File> {
        let path = PathBuf::from(format!("/dev/zram{}", self.number));
        let until = Instant::now() + APPEARS;
        while !path.exists() && Instant::now() < until {
            sleep(Duration::from_millis(1));
        }
        OpenOptions::new().read(true).write(true).custom_flags(flags.bits() as i32).open(path)
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // A device that stays is empty, and holds no memory.
        let _ = fs::write(self.file("reset"), "1");
        let _ = fs::write(HOT_REMOVE, self.number.to_string());
    }
}
