//! Compressed memory: the time of the CPU that stores a page in a device of zram, and that brings it back. The device is also the file whose
//! pages leave the page cache: it needs no disk.
//!
//! The device is one of its own, which is taken away afterwards. Each page goes by itself and past the page cache, as swap goes to
//! zram. Pages hold one word and zeroes otherwise, like those of a program that touches its memory: pages with more in them take
//! longer. Where the kernel has no module zram loaded, nothing is measured.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{Advice, OFlags, fadvise};

use crate::clock::cpu_per;
use crate::direct::Direct;
use crate::sys::PAGE;

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
    let mut buffer = vec![0; 2 * PAGE];
    // A transfer past the page cache takes memory that is aligned like the device's blocks.
    let start = buffer.as_ptr().align_offset(PAGE);
    let page = &mut buffer[start..start + PAGE];
    direct.zram_write = cpu_per(PAGES, || {
        (1..=PAGES).try_for_each(|nth| {
            page[..8].copy_from_slice(&nth.to_le_bytes());
            file.write_all_at(page, place(nth))
        })
    })?;
    direct.zram_read = cpu_per(PAGES, || (1..=PAGES).try_for_each(|nth| file.read_exact_at(page, place(nth))))?;
    let cached = device.open(OFlags::empty())?;
    // Without readahead, which from some release on fills the cache with folios of many pages.
    fadvise(&cached, 0, None, Advice::Random)?;
    (1..=PAGES).try_for_each(|nth| cached.read_exact_at(page, place(nth)))?;
    direct.uncache = cpu_per(PAGES, || Ok(fadvise(&cached, 0, None, Advice::DontNeed)?))?;
    Ok(())
}

fn place(nth: usize) -> u64 {
    ((nth - 1) * PAGE) as u64
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
