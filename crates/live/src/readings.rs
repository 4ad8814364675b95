//! Counters of a running kernel under the names that the lab uses, and the size of its machine.
//!
//! /proc/vmstat is taken as it is. What the lab counts beside it is read where Linux tells it elsewhere: CPU time of the daemons
//! (`/proc/PID/schedstat`), of all CPUs (`/proc/stat`), free huge pages (`/proc/buddyinfo`), and stalls
//! (`/proc/pressure/memory`).

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use order9_units::{CounterMeaning, CounterUnit};
use order9_workloads::Requests;

use crate::message::Facts;

/// Free blocks of this order and above hold a huge page.
const HUGE_ORDER: usize = 9;

/// Open files that hold counters.
pub struct Readings {
    names: Vec<String>,
    notes: Vec<String>,
    vmstat: File,
    others: Vec<Other>,
}

/// A counter outside /proc/vmstat.
struct Other {
    files: Vec<File>,
    read: fn(&str) -> Option<u64>,
}

/// A counter outside /proc/vmstat: its name, where it is, and how it is read from a file's text; the values of several files are added.
struct Source {
    name: &'static str,
    meaning: CounterMeaning,
    files: fn() -> Vec<String>,
    read: fn(&str) -> Option<u64>,
}

const OTHERS: &[Source] = &[
    Source {
        name: "order9_cpu_busy_ns",
        meaning: CounterMeaning::event(CounterUnit::Nanoseconds),
        files: || vec!["/proc/stat".to_owned()],
        read: busy,
    },
    Source {
        name: "order9_kswapd_cpu_ns",
        meaning: CounterMeaning::event(CounterUnit::Nanoseconds),
        files: || schedstats("kswapd"),
        read: first_number,
    },
    Source {
        name: "order9_kcompactd_cpu_ns",
        meaning: CounterMeaning::event(CounterUnit::Nanoseconds),
        files: || schedstats("kcompactd"),
        read: first_number,
    },
    Source {
        name: "order9_khugepaged_cpu_ns",
        meaning: CounterMeaning::event(CounterUnit::Nanoseconds),
        files: || schedstats("khugepaged"),
        read: first_number,
    },
    Source {
        name: "order9_nr_huge_free",
        meaning: CounterMeaning::level(CounterUnit::Blocks),
        files: || vec!["/proc/buddyinfo".to_owned()],
        read: free_huge,
    },
    Source {
        name: "order9_pressure_some_ns",
        meaning: CounterMeaning::event(CounterUnit::Nanoseconds),
        files: pressure,
        read: |text| stalled(text, "some "),
    },
    Source {
        name: "order9_pressure_full_ns",
        meaning: CounterMeaning::event(CounterUnit::Nanoseconds),
        files: pressure,
        read: |text| stalled(text, "full "),
    },
];

/// Meaning of a counter outside /proc/vmstat; `None` where there is no such counter.
#[must_use]
pub fn own_meaning(name: &str) -> Option<CounterMeaning> {
    let source = OTHERS.iter().find(|source| source.name == name);
    let request = || Requests::names().any(|of| of == name).then(|| CounterMeaning::event(CounterUnit::Events));
    source.map(|source| source.meaning).or_else(request)
}

fn pressure() -> Vec<String> {
    vec!["/proc/pressure/memory".to_owned()]
}

impl Readings {
    /// Opens everything that this kernel has.
    ///
    /// # Errors
    /// Where there is no /proc/vmstat.
    pub fn open() -> io::Result<Self> {
        let vmstat = File::open("/proc/vmstat")?;
        let text = read_all(&vmstat)?;
        let mut names: Vec<String> = fields(&text).map(|(name, _)| name.to_owned()).collect();
        let (mut others, mut notes) = (Vec::new(), Vec::new());
        for source in OTHERS {
            let files: Vec<File> = (source.files)().iter().filter_map(|path| File::open(path).ok()).collect();
            let is_readable = |file: &File| read_all(file).ok().and_then(|text| (source.read)(&text)).is_some();
            if files.is_empty() || !files.iter().all(is_readable) {
                notes.push(format!("this kernel does not tell {}", source.name));
                continue;
            }
            names.push(source.name.to_owned());
            others.push(Other { files, read: source.read });
        }
        Ok(Self { names, notes, vmstat, others })
    }

    /// Names of the counters.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Counters that are missing, a sentence each.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Values of the counters now, in the order of the names.
    ///
    /// # Errors
    /// Those of the files; a field of /proc/vmstat that came or went.
    pub fn read(&self) -> io::Result<Vec<u64>> {
        let text = read_all(&self.vmstat)?;
        let mut values = Vec::with_capacity(self.names.len());
        values.extend(fields(&text).map(|(_, value)| value));
        if values.len() + self.others.len() != self.names.len() {
            return Err(io::Error::other("/proc/vmstat has other fields than before"));
        }
        for Other { files, read } in &self.others {
            let mut sum = 0;
            for file in files {
                sum += read(&read_all(file)?).unwrap_or(0);
            }
            values.push(sum);
        }
        Ok(values)
    }
}

/// The whole text of a file of /proc, from its begin, wherever others have read to.
fn read_all(file: &File) -> io::Result<String> {
    let mut bytes = vec![0; 16 << 10];
    let mut length = 0;
    loop {
        if length == bytes.len() {
            bytes.resize(2 * length, 0);
        }
        match file.read_at(&mut bytes[length..], length as u64)? {
            0 => break,
            read => length += read,
        }
    }
    bytes.truncate(length);
    String::from_utf8(bytes).map_err(io::Error::other)
}

/// Names and values of /proc/vmstat.
fn fields(text: &str) -> impl Iterator<Item = (&str, u64)> {
    text.lines().filter_map(|line| {
        let (name, value) = line.split_once(' ')?;
        Some((name, value.parse().ok()?))
    })
}

/// The schedstat files of all tasks of the kernel whose name starts so: `kswapd0`, `kswapd1`.
fn schedstats(daemon: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let is_daemon = |path: &Path| {
        let name = fs::read_to_string(path.join("comm")).unwrap_or_default();
        let rest = name.trim_end().strip_prefix(daemon).map(str::to_owned);
        // A program may have this name, too, but it has a command line.
        rest.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
            && fs::read(path.join("cmdline")).is_ok_and(|line| line.is_empty())
    };
    let paths = entries.flatten().map(|entry| entry.path()).filter(|path| is_daemon(path));
    let mut files: Vec<String> = paths.map(|path| path.join("schedstat").display().to_string()).collect();
    files.sort_unstable();
    files
}

fn first_number(text: &str) -> Option<u64> {
    text.split_whitespace().next()?.parse().ok()
}

/// Time that CPUs did not idle, of /proc/stat, which counts hundredths of a second.
fn busy(text: &str) -> Option<u64> {
    const TICK: u64 = 10_000_000;
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<u64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
    // user, nice, system, idle, iowait, irq, softirq, steal; guests' time is part of user's.
    let idle = |place: usize| place == 3 || place == 4;
    let busy = ticks.iter().take(8).enumerate().filter(|(place, _)| !idle(*place)).map(|(_, ticks)| ticks);
    (ticks.len() >= 4).then(|| busy.sum::<u64>() * TICK)
}

/// Free huge pages of all zones.
fn free_huge(text: &str) -> Option<u64> {
    let of_zone = |line: &str| {
        let blocks = line.split_once("zone")?.1.split_whitespace().skip(1);
        let blocks: Vec<u64> = blocks.map_while(|word| word.parse().ok()).collect();
        Some(
            blocks.iter().enumerate().skip(HUGE_ORDER).map(|(order, count)| count << (order - HUGE_ORDER)).sum::<u64>(),
        )
    };
    text.lines().map(of_zone).sum()
}

/// Time in which tasks stalled for memory.
fn stalled(text: &str, who: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(who))?;
    let micros: u64 = line.split_once("total=")?.1.trim().parse().ok()?;
    Some(micros * 1000)
}

/// The size of this machine; `reserve` bytes of its memory are left alone.
///
/// # Errors
/// Where /proc or /sys does not tell it.
pub fn read_facts(reserve: u64, files: Option<&Path>) -> io::Result<Facts> {
    let meminfo = fs::read_to_string("/proc/meminfo")?;
    let missing = |what: &str| io::Error::other(format!("there is no {what}"));
    let memory = kib(&meminfo, "MemTotal:").ok_or_else(|| missing("MemTotal in /proc/meminfo"))?;
    let available = kib(&meminfo, "MemAvailable:").ok_or_else(|| missing("MemAvailable in /proc/meminfo"))?;
    let disk = files.map(|directory| rustix::fs::statvfs(directory).map(|stat| stat.f_bavail * stat.f_frsize));
    let release = fs::read_to_string("/proc/sys/kernel/osrelease")?;
    Ok(Facts {
        memory,
        cpus: std::thread::available_parallelism()?.get() as u32,
        nodes: nodes().unwrap_or_else(|| vec![memory]),
        disk: disk.transpose()?,
        available: available.saturating_sub(reserve),
        kernel: release.trim().split(['-', '+']).next().unwrap_or_default().to_owned(),
    })
}

/// A line of meminfo, in bytes.
pub(crate) fn kib(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.split_once(name).map(|(_, rest)| rest))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? << 10)
}

/// Memory of each node; `None` where the kernel has no nodes.
fn nodes() -> Option<Vec<u64>> {
    let of = |node: usize| {
        let text = fs::read_to_string(format!("/sys/devices/system/node/node{node}/meminfo")).ok()?;
        kib(&text, "MemTotal:")
    };
    let nodes: Vec<u64> = (0..).map_while(of).collect();
    (!nodes.is_empty()).then_some(nodes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_kernel_are_read_as_they_look() {
        assert_eq!(busy("cpu  10 1 20 500 7 2 3 4 9 0\ncpu0 1 1\n"), Some(40 * 10_000_000));
        assert_eq!(first_number("123456 77 9\n"), Some(123_456));
        let buddy = "Node 0, zone      DMA      1      1      1      1      1      1      1      1      0      1      2 \n\
                     Node 0, zone   Normal      1      0      0      0      0      0      0      0      0      3      0 \n";
        assert_eq!(free_huge(buddy), Some(1 + 4 + 3));
        let psi = "some avg10=0.00 avg60=0.00 avg300=0.00 total=5\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=3\n";
        assert_eq!((stalled(psi, "some "), stalled(psi, "full ")), (Some(5000), Some(3000)));
        assert_eq!(kib("Node 0 MemTotal:       2048 kB\n", "MemTotal:"), Some(2 << 20));
    }

    #[test]
    fn this_host_tells_its_counters() {
        let readings = Readings::open().expect("this is Linux");
        assert!(readings.names().iter().any(|name| name == "pgfault"));
        assert_eq!(readings.read().expect("it can be read").len(), readings.names().len());
        let facts = read_facts(0, None).expect("this is Linux");
        assert!(facts.memory >= facts.available && facts.cpus > 0 && !facts.nodes.is_empty());
    }
}
