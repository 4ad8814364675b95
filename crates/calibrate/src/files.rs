//! Pages of files on a disk: finding one in the page cache, making it dirty, writing it back, reading it ahead.
//!
//! Writing back and reading are in part the work of interrupts and of threads of the kernel. So all CPUs count, less the time that
//! they idle: others on the machine disturb these two.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::{Advice, OFlags, fadvise, fsync};

use crate::clock::{busy_per, cpu_per};
use crate::direct::Direct;
use crate::sys::PAGE;

/// Pages of the file: 128 MiB.
const PAGES: usize = 32 * 1024;
/// Pages that one call reads or writes whole: a window of readahead, unless `read_ahead_kb` was changed.
pub(crate) const CHUNK: usize = 32;

/// Fills in what pages of files in `directory` cost; not a number where there is none.
pub(crate) fn measure(direct: &mut Direct, directory: Option<&Path>) -> io::Result<()> {
    for price in [
        &mut direct.file_read_none,
        &mut direct.file_read_byte,
        &mut direct.file_read_chunk,
        &mut direct.file_dirty,
        &mut direct.file_redirty,
        &mut direct.file_write_back,
        &mut direct.file_read_disk,
        &mut direct.large_read_chunk,
        &mut direct.large_dirty,
        &mut direct.large_redirty,
        &mut direct.large_write_back,
        &mut direct.large_uncache,
        &mut direct.large_read_disk,
    ] {
        *price = f64::NAN;
    }
    let Some(directory) = directory else { return Ok(()) };
    measure_pages(direct, directory)?;
    measure_folios(direct, directory)
}

/// Pages each by itself: without readahead, which from some release on fills the cache with folios of many pages.
fn measure_pages(direct: &mut Direct, directory: &Path) -> io::Result<()> {
    let file = without_name(directory)?;
    fadvise(&file, 0, None, Advice::Random)?;
    file.set_len((PAGES * PAGE) as u64)?;
    let mut chunk = vec![0; CHUNK * PAGE];
    // Holes are read into clean pages of the page cache, for which no block is reserved yet.
    read_all(&file, &mut chunk)?;
    direct.file_read_chunk = cpu_per(PAGES, || read_all(&file, &mut chunk))?;
    direct.file_read_none = cpu_per(PAGES, || of_each_page(|at| file.read_at(&mut [], at).map(drop)))?;
    direct.file_read_byte = cpu_per(PAGES, || of_each_page(|at| file.read_exact_at(&mut [0], at)))?;
    direct.file_dirty = cpu_per(PAGES, || of_each_page(|at| file.write_all_at(&[1], at)))?;
    direct.file_redirty = cpu_per(PAGES, || of_each_page(|at| file.write_all_at(&[2], at)))?;
    direct.file_write_back = busy_per(PAGES, || Ok(fsync(&file)?))?;
    fadvise(&file, 0, None, Advice::DontNeed)?;
    direct.file_read_disk = busy_per(PAGES, || read_all(&file, &mut chunk))?;
    Ok(())
}

/// Pages as readahead leaves them: from some release on, in folios of [`CHUNK`] pages or more.
fn measure_folios(direct: &mut Direct, directory: &Path) -> io::Result<()> {
    let file = without_name(directory)?;
    file.set_len((PAGES * PAGE) as u64)?;
    let mut chunk = vec![0; CHUNK * PAGE];
    read_all(&file, &mut chunk)?;
    direct.large_read_chunk = cpu_per(PAGES, || read_all(&file, &mut chunk))?;
    direct.large_dirty = cpu_per(PAGES, || write_all(&file, &chunk))?;
    direct.large_redirty = cpu_per(PAGES, || write_all(&file, &chunk))?;
    direct.large_write_back = busy_per(PAGES, || Ok(fsync(&file)?))?;
    fadvise(&file, 0, None, Advice::DontNeed)?;
    direct.large_read_disk = busy_per(PAGES, || read_all(&file, &mut chunk))?;
    // Pages that were written hold what the filesystem knows of their blocks, which takes more to give up.
    direct.large_uncache = cpu_per(PAGES, || Ok(fadvise(&file, 0, None, Advice::DontNeed)?))?;
    Ok(())
}

/// A file that goes when it is closed, also when this process is killed.
fn without_name(directory: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    match options.custom_flags(OFlags::TMPFILE.bits() as i32).open(directory) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => {
            let path = directory.join(format!(".order9-calibrate-{}", std::process::id()));
            let file = options.custom_flags(0).create_new(true).open(&path)?;
            fs::remove_file(&path)?;
            Ok(file)
        }
        opened => opened,
    }
}

fn read_all(file: &File, chunk: &mut [u8]) -> io::Result<()> {
    (0..PAGES).step_by(CHUNK).try_for_each(|page| file.read_exact_at(chunk, place(page)))
}

fn write_all(file: &File, chunk: &[u8]) -> io::Result<()> {
    (0..PAGES).step_by(CHUNK).try_for_each(|page| file.write_all_at(chunk, place(page)))
}

fn of_each_page(mut call: impl FnMut(u64) -> io::Result<()>) -> io::Result<()> {
    (0..PAGES).try_for_each(|page| call(place(page)))
}

fn place(page: usize) -> u64 {
    (page * PAGE) as u64
}
