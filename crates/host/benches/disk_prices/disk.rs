//! The file, and what is timed on it.

use std::fs::File;
use std::io::{Error, Result};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;

use memmap2::MmapMut;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl, fstatfs};

const FILE: u64 = 256 << 20;
pub(crate) const PAGE: u64 = 4096;
/// What streams are made of: as large as requests of the block layer come.
const CHUNK: u64 = 1 << 20;
/// Pages read or written here and there by one thread in one round.
const PAGES: u64 = 400;
/// How many threads read at once, to find how many requests the disk serves at once.
pub(crate) const THREADS: [u64; 4] = [4, 8, 16, 32];
/// `TMPFS_MAGIC` of linux/magic.h.
const TMPFS: i64 = 0x0102_1994;

/// One round.
pub(crate) struct Round {
    /// Seconds for one page.
    pub(crate) read_page: f64,
    pub(crate) write_page: f64,
    /// Bytes per second of a stream.
    pub(crate) read_stream: f64,
    pub(crate) write_stream: f64,
    /// Pages per second, read by this many threads: [`THREADS`].
    pub(crate) reads_at_once: [f64; THREADS.len()],
}

pub(crate) struct Disk {
    file: File,
    /// Aligned to a page, as `O_DIRECT` wants it.
    buffer: MmapMut,
    /// Where the next random place is taken from.
    random: u64,
}

impl Disk {
    /// A file without name in `folder`, on a disk.
    pub(crate) fn new(folder: &Path) -> Result<Self> {
        let file = tempfile::tempfile_in(folder)?;
        if fstatfs(&file)?.f_type as i64 == TMPFS {
            return Err(Error::other(format!("{} lies in memory: set TMPDIR to a folder on a disk", folder.display())));
        }
        fcntl_setfl(&file, fcntl_getfl(&file)? | OFlags::DIRECT)?;
        let mut buffer = MmapMut::map_anon(CHUNK as usize)?;
        // Nothing that a disk could compress or leave out.
        let mut state = 1;
        buffer.chunks_exact_mut(8).for_each(|word| word.copy_from_slice(&next(&mut state).to_le_bytes()));
        Ok(Self { file, buffer, random: 7 })
    }

    pub(crate) fn round(&mut self) -> Result<Round> {
        let write_stream = self.stream(|file, buffer, at| file.write_all_at(buffer, at))?;
        let write_page = self.pages(|file, page, at| file.write_all_at(page, at))?;
        let read_stream = self.stream(|file, buffer, at| file.read_exact_at(buffer, at))?;
        let read_page = self.pages(|file, page, at| file.read_exact_at(page, at))?;
        let mut reads_at_once = [0.0; THREADS.len()];
        for (rate, threads) in reads_at_once.iter_mut().zip(THREADS) {
            *rate = self.at_once(threads)?;
        }
        Ok(Round { read_page, write_page, read_stream, write_stream, reads_at_once })
    }

    /// Bytes per second, the whole file in order.
    fn stream(&mut self, mut transfer: impl FnMut(&File, &mut [u8], u64) -> Result<()>) -> Result<f64> {
        let start = Instant::now();
        for at in (0..FILE).step_by(CHUNK as usize) {
            transfer(&self.file, &mut self.buffer, at)?;
        }
        Ok(FILE as f64 / start.elapsed().as_secs_f64())
    }

    /// Seconds for one page, here and there, one after the other.
    fn pages(&mut self, mut transfer: impl FnMut(&File, &mut [u8], u64) -> Result<()>) -> Result<f64> {
        let start = Instant::now();
        for _ in 0..PAGES {
            let at = place(&mut self.random);
            transfer(&self.file, &mut self.buffer[..PAGE as usize], at)?;
        }
        Ok(start.elapsed().as_secs_f64() / PAGES as f64)
    }

    /// Pages per second that so many threads read together.
    fn at_once(&mut self, threads: u64) -> Result<f64> {
        let seeds: Vec<u64> = (0..threads).map(|_| next(&mut self.random)).collect();
        let start = Instant::now();
        let file = &self.file;
        std::thread::scope(|scope| {
            let readers: Vec<_> = seeds.into_iter().map(|seed| scope.spawn(move || read_pages(file, seed))).collect();
            readers.into_iter().try_for_each(|reader| reader.join().expect("a reader does not panic"))
        })?;
        Ok((threads * PAGES) as f64 / start.elapsed().as_secs_f64())
    }
}

fn read_pages(file: &File, mut random: u64) -> Result<()> {
    let mut page = MmapMut::map_anon(PAGE as usize)?;
    (0..PAGES).try_for_each(|_| file.read_exact_at(&mut page, place(&mut random)))
}

/// Where a random page of the file starts.
fn place(random: &mut u64) -> u64 {
    next(random) % (FILE / PAGE) * PAGE
}

/// The next of a row of random numbers (splitmix64).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
