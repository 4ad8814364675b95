//! A process whose memory is watched: it uses one half of it, again and again, and leaves the other alone.

use std::hint::black_box;
use std::io::{BufRead as _, BufReader, Write as _};
use std::ops::Range;
use std::process::{Command, ExitCode, Stdio};
use std::thread::sleep;
use std::time::Duration;

use order9_live::{Damon, DamonError, Region, Watched};

use crate::console::say;

/// Argument with which this file is that process.
pub(crate) const USES: &str = "uses";

/// Memory of a half, in bytes.
const HALF: usize = 64 << 20;
const PAGE: usize = 4096;
/// Size of a range that is watched: 256 of them for both halves.
const RANGE: u64 = 512 << 10;
/// A buffer that the allocator maps and unmaps each time.
const BUFFER: usize = 1 << 20;
/// Time between two passes over the half that is used.
const PASS: Duration = Duration::from_millis(2);
/// Time that DAMON has: ten of its aggregations.
const WATCH: Duration = Duration::from_secs(2);

/// Argument with which this file watches a process until it is killed.
pub(crate) const WATCHES: &str = "watches";
/// Says whether the first thread of DAMON is at work.
const STATE: &str = "/sys/kernel/mm/damon/admin/kdamonds/0/state";
/// Looks at it, a hundredth of a second apart, after which it counts as never at work.
const LOOKS: u32 = 1000;

/// The process: says where its halves lie, and uses the first until it is killed.
pub(crate) fn main() -> ExitCode {
    let [mut used, left] = [0, 1].map(|byte| vec![byte | 2_u8; HALF]);
    let place = |half: &[u8]| half.as_ptr().addr();
    if writeln!(std::io::stdout(), "{} {}", place(&used), place(&left)).is_err() {
        return ExitCode::FAILURE;
    }
    loop {
        used.iter_mut().step_by(PAGE).for_each(|byte| *byte = black_box(*byte).wrapping_add(1));
        // DAMON clears the accessed bit and leaves the TLB alone. That of an emulated CPU keeps 64 MiB, so that the bit would stay clear:
        // to unmap more than a few pages empties it.
        drop(black_box(vec![1_u8; BUFFER]));
        sleep(PASS);
    }
}

/// Watches the process with this number, whose halves come from the standard input.
pub(crate) fn watches(pid: &str) -> ExitCode {
    let mut line = String::new();
    let read = std::io::stdin().read_line(&mut line);
    let (Ok(_), Ok(pid), Some(halves)) = (read, pid.parse(), halves(&line)) else { return ExitCode::FAILURE };
    match Damon::start(&[watched(pid, &halves)]) {
        Ok(_damon) => loop {
            sleep(WATCH);
        },
        Err(error) => {
            say(&error.to_string());
            ExitCode::FAILURE
        }
    }
}

/// Watches such a process, after another one has been killed that did, and says what was seen of either half.
pub(crate) fn watch() -> Result<[Vec<Region>; 2], String> {
    let mut command = Command::new("/proc/self/exe");
    let started = command.arg(USES).stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let mut process = started.map_err(|error| format!("{USES} did not start: {error}"))?;
    let mut line = String::new();
    let read = BufReader::new(process.stdout.take().expect("it is piped")).read_line(&mut line);
    let seen = read.map_err(|error| error.to_string()).and_then(|_| {
        let halves = halves(&line).ok_or_else(|| format!("{USES} said {line:?}"))?;
        leave_behind(process.id(), &line)?;
        seen(process.id(), &halves).map_err(|error| error.to_string())
    });
    let _ = process.kill();
    process.wait().map_err(|error| error.to_string())?;
    seen
}

/// Leaves DAMON at work, as whoever is killed does.
fn leave_behind(pid: u32, halves: &str) -> Result<(), String> {
    let mut command = Command::new("/proc/self/exe");
    let started = command.args([WATCHES, &pid.to_string()]).stdin(Stdio::piped()).spawn();
    let mut watches = started.map_err(|error| format!("{WATCHES} did not start: {error}"))?;
    let told = watches.stdin.take().expect("it is piped").write_all(halves.as_bytes());
    let is_on = || std::fs::read_to_string(STATE).is_ok_and(|state| state.trim() == "on");
    let mut looks = 0..LOOKS;
    while told.is_ok() && !is_on() && watches.try_wait().is_ok_and(|ended| ended.is_none()) && looks.next().is_some() {
        sleep(Duration::from_millis(10));
    }
    let was_on = is_on();
    let _ = watches.kill();
    let ended = watches.wait().map_err(|error| error.to_string())?;
    // One that has ended by itself cannot watch, and the next one says why.
    match was_on || ended.code().is_some() {
        true => Ok(()),
        false => Err(format!("{WATCHES} did not set DAMON to work")),
    }
}

/// Both halves, cut into more ranges than DAMON can have, a page between any two.
fn watched(pid: u32, halves: &[Range<u64>; 2]) -> Watched {
    let cut = |half: &Range<u64>| {
        let end = half.end;
        let starts = (half.start..end).step_by(RANGE as usize);
        starts.map(move |start| start..end.min(start + RANGE - PAGE as u64)).collect::<Vec<_>>()
    };
    let mut ranges: Vec<Range<u64>> = halves.iter().flat_map(cut).collect();
    ranges.sort_by_key(|range| range.start);
    Watched { pid, ranges }
}

fn seen(pid: u32, halves: &[Range<u64>; 2]) -> Result<[Vec<Region>; 2], DamonError> {
    let damon = Damon::start(&[watched(pid, halves)])?;
    sleep(WATCH);
    let regions: Vec<Region> = damon.regions()?.into_iter().flatten().collect();
    say(&format!("DAMON took {} us", damon.cpu_time().get() / 1000));
    let of = |half: &Range<u64>| {
        let overlaps = |region: &&Region| region.addresses.start < half.end && half.start < region.addresses.end;
        regions.iter().filter(overlaps).cloned().collect()
    };
    Ok([of(&halves[0]), of(&halves[1])])
}

/// Whole pages of both halves.
fn halves(line: &str) -> Option<[Range<u64>; 2]> {
    let mut starts = line.split_whitespace().map(|word| word.parse::<u64>().ok());
    let mut half = || {
        let start = starts.next()??.next_multiple_of(PAGE as u64);
        Some(start..start + HALF as u64 - PAGE as u64)
    };
    Some([half()?, half()?])
}
