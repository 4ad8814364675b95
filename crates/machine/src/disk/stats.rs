//! Statistics of a disk, as /proc/diskstats and /proc/vmstat have them.

use order9_units::{Nanos, Pages};

use super::Op;

/// Sectors of 512 bytes in a page.
const SECTORS_PER_PAGE: u64 = 8;
const NS_PER_MS: u64 = 1_000_000;

/// One kind of request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpStats {
    /// Number of requests that ended.
    pub ios: u64,
    /// Bios that joined a request.
    pub merges: u64,
    /// Pages transferred by requests that ended.
    pub pages: Pages,
    /// Time from the making of a request to its end, summed over the requests that ended.
    pub ticks: Nanos,
    /// Pages of submitted bios, transferred or not: `pgpgin` and `pgpgout` of /proc/vmstat are counted when bios are
    /// submitted.
    pub submitted: Pages,
    /// Requests that wait or are served.
    pub in_flight: u32,
}

/// Counters of a disk up to some time.
///
/// The law (Little's): `weighted` is the sum of both `ticks`, and of the ages of the requests in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskStats {
    /// Statistics of reads.
    pub read: OpStats,
    /// Statistics of writes.
    pub write: OpStats,
    /// Time during which any request was in flight.
    pub io_ticks: Nanos,
    /// The requests in flight, integrated over time: each nanosecond counts as often as there were requests.
    pub weighted: Nanos,
    /// Time up to which `io_ticks` is counted.
    at: Nanos,
}

impl DiskStats {
    /// KiB that were to be read, as `pgpgin` in /proc/vmstat.
    #[must_use]
    pub const fn pgpgin(&self) -> u64 {
        self.read.submitted.bytes().get() / 1024
    }

    /// KiB that were to be written, as `pgpgout` in /proc/vmstat.
    #[must_use]
    pub const fn pgpgout(&self) -> u64 {
        self.write.submitted.bytes().get() / 1024
    }

    /// The line of /proc/diskstats, without line break, for a disk with these numbers and this name: the 17 fields of
    /// Linux since 5.5, those of discards and flushes 0.
    #[must_use]
    pub fn line(&self, major: u32, minor: u32, name: &str) -> String {
        let op = |op: &OpStats| {
            let sectors = op.pages.get() * SECTORS_PER_PAGE;
            format!("{} {} {sectors} {}", op.ios, op.merges, op.ticks.get() / NS_PER_MS)
        };
        let in_flight = self.in_flight();
        let (busy, weighted) = (self.io_ticks.get() / NS_PER_MS, self.weighted.get() / NS_PER_MS);
        let ops = format!("{} {}", op(&self.read), op(&self.write));
        format!("{major:4} {minor:7} {name} {ops} {in_flight} {busy} {weighted} 0 0 0 0 0 0")
    }

    /// Requests in flight, both ways.
    #[must_use]
    pub const fn in_flight(&self) -> u64 {
        self.read.in_flight as u64 + self.write.in_flight as u64
    }

    pub(super) const fn op(&mut self, op: Op) -> &mut OpStats {
        match op {
            Op::Read => &mut self.read,
            Op::Write => &mut self.write,
        }
    }

    /// Lets time pass, in which nothing comes or ends.
    pub(super) fn tick(&mut self, now: Nanos) {
        let elapsed = now - self.at;
        let in_flight = self.in_flight();
        self.at = now;
        self.weighted += elapsed * in_flight;
        self.io_ticks += if in_flight > 0 { elapsed } else { Nanos::ZERO };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_has_the_columns_of_linux() {
        let read = OpStats { ios: 845_368, merges: 94_470, ticks: Nanos::new(1_869_279_999_999), ..OpStats::default() };
        let read = OpStats { pages: Pages::new(20_861_809), submitted: Pages::new(3), in_flight: 2, ..read };
        let stats = DiskStats { read, io_ticks: Nanos::new(7_000_000), ..DiskStats::default() };
        let line = " 254       0 vda 845368 94470 166894472 1869279 0 0 0 0 2 7 0 0 0 0 0 0 0";
        assert_eq!(stats.line(254, 0, "vda"), line);
        assert_eq!((stats.pgpgin(), stats.pgpgout()), (12, 0));
    }
}
