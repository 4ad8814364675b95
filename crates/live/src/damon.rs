//! DAMON, the kernel's monitor of accesses, tells which memory of programs is used: from 6.2 on, by its files in /sys.
//!
//! Only the given ranges of a process are looked at (`fvaddr`), a page of each region at a time. DAMON splits regions whose parts differ
//! and joins those that do not, so that a few hundred suffice for any size. What its files mean:
//! Documentation/admin-guide/mm/damon/usage.rst of Linux.

use std::cmp::Reverse;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use order9_units::{Nanos, PAGEBLOCK_PAGES};
use serde::{Deserialize, Serialize};

use crate::step::cpu_time;

/// Files of whoever sets up DAMON by /sys.
const ADMIN: &str = "/sys/kernel/mm/damon/admin/kdamonds";
/// Says that the monitors there are are ours: its content is the first process.
const MARKER: &str = "/run/order9/damon";
/// Time between two looks at a page of a region. DAMON itself looks every 5 ms at up to 1,000 regions, which is ten times the work.
const SAMPLE: Duration = Duration::from_millis(10);
/// Looks that are counted together.
const LOOKS: u32 = 20;
/// Most regions of a process.
const REGIONS: u64 = 200;
/// Most processes that are watched at a time: each takes a thread of the kernel.
pub const PROCESSES: usize = 8;

/// Memory of a process to be watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watched {
    /// The process.
    pub pid: u32,
    /// Addresses, upward, of whole pages. Where there are more than a hundred ranges, the smallest gaps between them are watched as well.
    pub ranges: Vec<Range<u64>>,
}

/// A part of the watched memory whose pages are used alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Region {
    /// Addresses.
    pub addresses: Range<u64>,
    /// Share of the latest looks at which the page that was looked at had been used since the look before: 0 to 1.
    pub used: f64,
}

/// Reason for which memory is not watched.
#[derive(Debug, thiserror::Error)]
pub enum DamonError {
    /// The kernel is older than 6.2, or was built without it.
    #[error("this kernel has no DAMON with files in /sys (6.2 and later with CONFIG_DAMON_SYSFS)")]
    Absent,
    /// The kernel cannot watch memory of programs.
    #[error("DAMON of this kernel does not watch memory of programs (CONFIG_DAMON_VADDR)")]
    NotVirtual,
    /// DAMON has been set up by somebody else.
    #[error("DAMON is in use by others")]
    Busy,
    /// A file cannot be read or written.
    #[error("{}: {error}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// DAMON at work on some processes. It stops where this value ends; after `kill -9`, at the next start.
#[derive(Debug)]
pub struct Damon {
    monitors: Vec<Monitor>,
}

/// Folder of the thread that watches a process.
#[derive(Debug)]
struct Monitor(PathBuf);

impl Damon {
    /// Starts to watch the first [`PROCESSES`] processes, in which there is memory to be watched.
    ///
    /// # Errors
    /// A kernel that cannot, or DAMON in the hands of others.
    pub fn start(watched: &[Watched]) -> Result<Self, DamonError> {
        let watched = &watched[..watched.len().min(PROCESSES)];
        take_down_leftovers()?;
        if number_of_monitors()? > 0 {
            return Err(DamonError::Busy);
        }
        let first = watched.first().map_or(0, |process| process.pid);
        write_marker(first).map_err(|error| DamonError::File { path: MARKER.into(), error })?;
        set_number_of_monitors(watched.len())?;
        // From here on DAMON is ours, and goes when this value does.
        let monitors = (0..watched.len()).map(|nth| Monitor(Path::new(ADMIN).join(nth.to_string()))).collect();
        let damon = Self { monitors };
        for (monitor, process) in damon.monitors.iter().zip(watched) {
            monitor.start(process)?;
        }
        Ok(damon)
    }

    /// Regions of each process as they are now, by address. A process that has ended has none.
    ///
    /// # Errors
    /// Files that cannot be read.
    pub fn regions(&self) -> Result<Vec<Vec<Region>>, DamonError> {
        self.monitors.iter().map(Monitor::regions).collect()
    }

    /// CPU time of DAMON since the start.
    #[must_use]
    pub fn cpu_time(&self) -> Nanos {
        self.monitors.iter().map(Monitor::cpu_time).sum()
    }
}

impl Drop for Damon {
    fn drop(&mut self) {
        // Nobody is there to hear of a failure. The marker stays then, and the next start tries again.
        if take_down().is_ok() {
            let _ = fs::remove_file(MARKER);
        }
    }
}

impl Monitor {
    fn start(&self, process: &Watched) -> Result<(), DamonError> {
        self.write("contexts/nr_contexts", &1)?;
        match self.write("contexts/0/operations", &"fvaddr") {
            Err(DamonError::File { error, .. }) if error.kind() == io::ErrorKind::InvalidInput => {
                return Err(DamonError::NotVirtual);
            }
            done => done?,
        }
        let sample = SAMPLE.as_micros();
        let attributes = [
            ("intervals/sample_us", sample),
            ("intervals/aggr_us", sample * u128::from(LOOKS)),
            ("nr_regions/min", 10),
            ("nr_regions/max", REGIONS.into()),
        ];
        for (name, value) in attributes {
            self.write(&format!("contexts/0/monitoring_attrs/{name}"), &value)?;
        }
        self.write("contexts/0/targets/nr_targets", &1)?;
        self.write("contexts/0/targets/0/pid_target", &process.pid)?;
        let pieces = pieces(&process.ranges);
        let regions = "contexts/0/targets/0/regions";
        self.write(&format!("{regions}/nr_regions"), &pieces.len())?;
        for (nth, piece) in pieces.iter().enumerate() {
            self.write(&format!("{regions}/{nth}/start"), &piece.start)?;
            self.write(&format!("{regions}/{nth}/end"), &piece.end)?;
        }
        self.write("contexts/0/schemes/nr_schemes", &1)?;
        // Regions are told by a scheme that does nothing to all there are.
        self.write("contexts/0/schemes/0/action", &"stat")?;
        for (name, most) in [("sz", u64::MAX), ("nr_accesses", u32::MAX.into()), ("age", u32::MAX.into())] {
            self.write(&format!("contexts/0/schemes/0/access_pattern/{name}/max"), &most)?;
        }
        match self.write("state", &"on") {
            // A process that has ended has nothing to be watched.
            Err(DamonError::File { error, .. })
                if error.kind() == io::ErrorKind::InvalidInput && !is_running(process.pid) =>
            {
                Ok(())
            }
            done => done,
        }
    }

    fn regions(&self) -> Result<Vec<Region>, DamonError> {
        match self.write("state", &"update_schemes_tried_regions") {
            // A thread whose process has ended has ended, too.
            Err(DamonError::File { error, .. }) if error.kind() == io::ErrorKind::InvalidInput => return Ok(Vec::new()),
            done => done?,
        }
        read_regions(&self.0.join("contexts/0/schemes/0/tried_regions"))
    }

    fn cpu_time(&self) -> Nanos {
        let pid = fs::read_to_string(self.0.join("pid")).unwrap_or_default();
        pid.trim().parse().ok().and_then(cpu_time).unwrap_or(Nanos::ZERO)
    }

    fn write(&self, name: &str, value: &impl ToString) -> Result<(), DamonError> {
        write(&self.0.join(name), value)
    }
}

fn is_running(pid: u32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}

/// At most so many ranges, of at least one, that cover the given ones: those with the smallest gaps between them become one.
fn joined(ranges: &[Range<u64>], most: usize) -> Vec<Range<u64>> {
    let gap = |nth: usize| ranges[nth].start.saturating_sub(ranges[nth - 1].end);
    let mut gaps: Vec<usize> = (1..ranges.len()).collect();
    // The largest gaps stay, of equals the first.
    gaps.sort_by_key(|&nth| Reverse(gap(nth)));
    gaps.truncate(most - 1);
    gaps.sort_unstable();
    let begins = [0].into_iter().chain(gaps.iter().copied());
    let ends = gaps.iter().copied().chain([ranges.len()]);
    let join = |(begin, end): (usize, usize)| Some(ranges.get(begin)?.start..ranges[..end].last()?.end);
    begins.zip(ends).filter_map(join).collect()
}

/// Cuts ranges into equal pieces of whole huge pages, so many that DAMON can still split half of them.
fn pieces(ranges: &[Range<u64>]) -> Vec<Range<u64>> {
    const HUGE: u64 = PAGEBLOCK_PAGES.bytes().get();
    let most = REGIONS / 2;
    let ranges = joined(ranges, most as usize);
    let total: u64 = ranges.iter().map(|range| range.end.saturating_sub(range.start)).sum();
    // Each range ends in a piece that may be shorter.
    let size = total.div_ceil(most - ranges.len() as u64 + 1).next_multiple_of(HUGE).max(HUGE);
    let cut = |range: &Range<u64>| {
        let end = range.end;
        (range.start..end).step_by(size as usize).map(move |start| start..end.min(start.saturating_add(size)))
    };
    ranges.iter().flat_map(cut).collect()
}

/// Regions in a folder with a folder for each.
fn read_regions(folder: &Path) -> Result<Vec<Region>, DamonError> {
    let failed = |error| DamonError::File { path: folder.to_owned(), error };
    let mut regions = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        // Beside the regions lies the sum of their sizes.
        if entry.file_name().to_string_lossy().bytes().all(|byte| byte.is_ascii_digit()) {
            let number = |name: &str| read_number(&entry.path().join(name));
            let addresses = number("start")?..number("end")?;
            // What was split or joined meanwhile is estimated, and may be more than all.
            let used = (number("nr_accesses")? as f64 / f64::from(LOOKS)).min(1.0);
            regions.push(Region { addresses, used });
        }
    }
    regions.sort_by_key(|region| region.addresses.start);
    Ok(regions)
}

/// Takes down what a start has left that was killed.
fn take_down_leftovers() -> Result<(), DamonError> {
    let Ok(marker) = fs::read_to_string(MARKER) else { return Ok(()) };
    let first = |name: &str| fs::read_to_string(Path::new(ADMIN).join("0").join(name));
    // Somebody else may have set up DAMON since. What had no process yet was not on.
    let is_ours = match first("contexts/0/targets/0/pid_target") {
        Ok(pid) => pid.trim() == marker.trim(),
        Err(_) => first("state").is_ok_and(|state| state.trim() == "off"),
    };
    if is_ours {
        take_down()?;
    }
    fs::remove_file(MARKER).map_err(|error| DamonError::File { path: MARKER.into(), error })
}

fn take_down() -> Result<(), DamonError> {
    for nth in 0..number_of_monitors()? {
        // One whose process has ended is off already.
        let _ = write(&Path::new(ADMIN).join(format!("{nth}/state")), &"off");
    }
    set_number_of_monitors(0)
}

fn write_marker(pid: u32) -> io::Result<()> {
    let path = Path::new(MARKER);
    fs::create_dir_all(path.parent().expect("it lies in a folder"))?;
    fs::write(path, pid.to_string())
}

fn number_of_monitors() -> Result<u64, DamonError> {
    match read_number(&Path::new(ADMIN).join("nr_kdamonds")) {
        Err(DamonError::File { error, .. }) if error.kind() == io::ErrorKind::NotFound => Err(DamonError::Absent),
        number => number,
    }
}

fn set_number_of_monitors(number: usize) -> Result<(), DamonError> {
    match write(&Path::new(ADMIN).join("nr_kdamonds"), &number) {
        Err(DamonError::File { error, .. }) if error.kind() == io::ErrorKind::ResourceBusy => Err(DamonError::Busy),
        done => done,
    }
}

fn read_number(path: &Path) -> Result<u64, DamonError> {
    let failed = |error| DamonError::File { path: path.to_owned(), error };
    let text = fs::read_to_string(path).map_err(failed)?;
    text.trim().parse().map_err(|_| failed(io::Error::other(format!("{:?} is no number", text.trim()))))
}

fn write(path: &Path, value: &impl ToString) -> Result<(), DamonError> {
    fs::write(path, value.to_string()).map_err(|error| DamonError::File { path: path.to_owned(), error })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HUGE: u64 = 2 << 20;

    #[test]
    fn small_ranges_are_cut_into_huge_pages() {
        let ranges = [0..3 * HUGE, 10 * HUGE + 4096..11 * HUGE];
        let last = 10 * HUGE + 4096..11 * HUGE;
        assert_eq!(pieces(&ranges), [0..HUGE, HUGE..2 * HUGE, 2 * HUGE..3 * HUGE, last]);
        assert_eq!(pieces(&[]), []);
    }

    #[test]
    fn ranges_are_joined_over_the_smallest_gaps() {
        let ranges = [0..2, 3..5, 9..10, 11..12, 20..30, 31..32];
        assert_eq!(joined(&ranges, 6), ranges);
        assert_eq!(joined(&ranges, 5), [0..2, 3..5, 9..10, 11..12, 20..32]);
        assert_eq!(joined(&ranges, 3), [0..5, 9..12, 20..32]);
        let all = 0..32;
        let all = std::slice::from_ref(&all);
        assert_eq!((joined(&ranges, 1).as_slice(), joined(all, 3).as_slice()), (all, all));
        assert_eq!(joined(&[], 3), []);
    }

    #[test]
    fn pieces_cover_any_number_of_ranges_of_any_size_and_leave_room_to_split() {
        for (count, size) in [(1, 1 << 40), (3, 7 << 30), (99, 5 << 20), (100, HUGE), (500, HUGE)] {
            let ranges: Vec<_> = (0..count).map(|nth| nth << 42..(nth << 42) + size).collect();
            let pieces = pieces(&ranges);
            assert!(pieces.len() <= REGIONS as usize, "{count} {}", pieces.len());
            let is_covered = |range: &Range<u64>| {
                let inside = pieces.iter().filter(|piece| range.start < piece.end && piece.start < range.end);
                inside.map(|piece| piece.end.min(range.end) - piece.start.max(range.start)).sum::<u64>() == size
            };
            assert!(ranges.iter().all(is_covered), "{count}");
            assert!(pieces.windows(2).all(|two| two[0].end <= two[1].start));
        }
    }

    #[test]
    fn regions_are_read_by_address() {
        let folder = tempfile::tempdir().expect("a directory");
        let put = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("it can be written");
        put("total_bytes", "16384\n");
        for (nth, start, used) in [("0", "8192", "20"), ("1", "0", "5"), ("10", "4096", "31")] {
            fs::create_dir(folder.path().join(nth)).expect("it can be made");
            put(&format!("{nth}/start"), start);
            put(&format!("{nth}/end"), &(start.parse::<u64>().expect("a number") + 4096).to_string());
            put(&format!("{nth}/nr_accesses"), used);
        }
        let regions = read_regions(folder.path()).expect("they can be read");
        let of = |start: u64, used: f64| Region { addresses: start..start + 4096, used };
        assert_eq!(regions, [of(0, 0.25), of(4096, 1.0), of(8192, 1.0)]);
        put("1/end", "much");
        let error = read_regions(folder.path()).expect_err("no number").to_string();
        assert!(error.ends_with("1/end: \"much\" is no number"), "{error}");
    }
}
