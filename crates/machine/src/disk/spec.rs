//! Properties of a disk: size, speeds and queue.

use order9_units::{Bytes, Nanos, Pages};

use super::error::DiskError;
use super::{Block, Op};

/// Speed of reads, or of writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Time that a request takes before its data is transferred, whatever its size, in ns.
    pub latency: Nanos,
    /// Bytes per second, over all requests.
    pub bandwidth: Bytes,
}

/// The mechanics of a rotating disk: what a request costs that does not start where the last one ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rotating {
    /// Seek to the next track, in ns.
    pub seek_track: Nanos,
    /// Average seek, in ns: over a third of the disk. Between the two, seeks grow with the root of the distance.
    pub seek: Nanos,
    /// One rotation, in ns. Half of it passes until the place comes by.
    pub rotation: Nanos,
}

/// Memory, or fast flash, in which writes end as long as there is room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteCache {
    /// Capacity of the cache.
    pub size: Bytes,
    /// Bytes per second into it. It empties at the bandwidth of writes while nothing is transferred.
    pub bandwidth: Bytes,
}

/// A kind of disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskSpec {
    /// Capacity of the disk.
    pub size: Pages,
    /// Speed of reads.
    pub read: Transfer,
    /// Speed of writes.
    pub write: Transfer,
    /// Number of requests that the disk serves at the same time.
    pub queue_depth: u32,
    /// Number of requests of each kind in the queue at which Linux calls the disk congested:
    /// /sys/block/*/queue/nr_requests, 128 by default; at least 4.
    pub nr_requests: u32,
    /// Largest transfer of one request: /sys/block/*/queue/max_sectors_kb.
    pub max_request: Pages,
    /// Mechanics of a rotating disk; `None` for a disk without moving parts.
    pub rotating: Option<Rotating>,
    /// The write cache, where one is modelled.
    pub write_cache: Option<WriteCache>,
    /// Memory that holds compressed pages, as zram does: whoever reads or writes a page pays for it with time of the CPU, and
    /// the transfer is over at once.
    pub in_memory: bool,
}

/// Largest time in a specification: the sum of all waits of a run must stay countable.
const TIME_MAX: Nanos = Nanos::new(1_000_000_000);
/// 4 PiB, for the same reason.
const SIZE_MAX: Pages = Pages::new(1 << 40);
/// 256 MiB: Linux keeps sizes of requests in 32 bits.
const REQUEST_MAX: Pages = Pages::new(1 << 16);
/// Linux' `BLKDEV_MIN_RQ`.
const NR_REQUESTS_MIN: u32 = 4;
const NS_PER_SECOND: u128 = 1_000_000_000;

impl DiskSpec {
    /// Memory that holds compressed pages, `size` of them.
    #[must_use]
    pub const fn in_memory(size: Pages) -> Self {
        let at_once = Transfer { latency: Nanos::ZERO, bandwidth: Bytes::new(u64::MAX) };
        Self {
            size,
            read: at_once,
            write: at_once,
            queue_depth: u32::MAX,
            nr_requests: u32::MAX,
            max_request: Pages::new(1),
            rotating: None,
            write_cache: None,
            in_memory: true,
        }
    }

    /// Refuses what no disk is.
    ///
    /// # Errors
    /// The first figure that cannot be.
    pub fn validate(&self) -> Result<(), DiskError> {
        self.validate_figures()?;
        if self.nr_requests < NR_REQUESTS_MIN {
            return Err(DiskError::QueueTooShort { least: NR_REQUESTS_MIN, got: self.nr_requests });
        }
        if self.rotating.is_some_and(|rotating| rotating.seek_track > rotating.seek) {
            return Err(DiskError::SeekOrder);
        }
        Ok(())
    }

    fn validate_figures(&self) -> Result<(), DiskError> {
        let sizes = [
            ("the size, in pages,", self.size, SIZE_MAX),
            ("the largest request, in pages,", self.max_request, REQUEST_MAX),
        ];
        if let Some((what, got, most)) = sizes.into_iter().find(|(_, got, most)| got > most) {
            return Err(DiskError::TooLarge { what, most: most.get(), got: got.get() });
        }
        let (seek, rotation) =
            self.rotating.map_or_else(Default::default, |rotating| (rotating.seek, rotating.rotation));
        let times = [
            ("the read latency, in ns,", self.read.latency),
            ("the write latency, in ns,", self.write.latency),
            ("the seek, in ns,", seek),
            ("the rotation, in ns,", rotation),
        ];
        if let Some((what, time)) = times.into_iter().find(|(_, time)| *time > TIME_MAX) {
            return Err(DiskError::TooLarge { what, most: TIME_MAX.get(), got: time.get() });
        }
        let counts = [
            ("the size", self.size.get()),
            ("the read bandwidth", self.read.bandwidth.get()),
            ("the write bandwidth", self.write.bandwidth.get()),
            ("the bandwidth of the write cache", self.write_cache.map_or(1, |cache| cache.bandwidth.get())),
            ("the queue depth", self.queue_depth.into()),
            ("the largest request", self.max_request.get()),
        ];
        counts.into_iter().find(|(_, count)| *count == 0).map_or(Ok(()), |(what, _)| Err(DiskError::Zero(what)))
    }

    /// Speed of requests of this kind.
    pub(super) const fn transfer(&self, op: Op) -> &Transfer {
        match op {
            Op::Read => &self.read,
            Op::Write => &self.write,
        }
    }

    /// Time that the arm of a rotating disk takes from its position to a request.
    pub(super) fn positioning(&self, from: Block, to: Block) -> Nanos {
        let Some(rotating) = self.rotating.filter(|_| from != to) else { return Nanos::ZERO };
        let distance = u128::from(from.get().abs_diff(to.get()));
        // The root in thousandths of that of a third of the disk; further than that it goes on growing.
        let root = (3_000_000 * distance / u128::from(self.size.get())).isqrt() as u64;
        let grows = rotating.seek - rotating.seek_track;
        let seek = rotating.seek_track + Nanos::new(grows.get() * root / 1000);
        seek + Nanos::new(rotating.rotation.get() / 2)
    }

    /// Requests of one kind from which on the queue counts as congested: 7/8 and one, as in Linux.
    pub(super) const fn congestion_on(&self) -> u32 {
        self.nr_requests - self.nr_requests / 8 + 1
    }

    /// Requests of one kind below which it no longer does: 13/16 less one, as in Linux.
    pub(super) const fn congestion_off(&self) -> u32 {
        self.nr_requests - self.nr_requests / 8 - self.nr_requests / 16 - 1
    }
}

/// Duration of a transfer of `pages` at a bandwidth. A started nanosecond counts in full, so that the bandwidth is
/// never exceeded.
pub(super) fn time_at(bandwidth: Bytes, pages: Pages) -> Nanos {
    let time = (u128::from(pages.bytes().get()) * NS_PER_SECOND).div_ceil(u128::from(bandwidth.get()));
    Nanos::new(u64::try_from(time).unwrap_or(u64::MAX))
}

/// Number of whole bytes transferred at a bandwidth in `time`.
pub(super) fn bytes_at(bandwidth: Bytes, time: Nanos) -> Bytes {
    let bytes = u128::from(bandwidth.get()) * u128::from(time.get()) / NS_PER_SECOND;
    Bytes::new(u64::try_from(bytes).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk() -> DiskSpec {
        let transfer = Transfer { latency: Nanos::new(100), bandwidth: Bytes::new(150_000_000) };
        DiskSpec {
            size: Pages::new(3_000_000),
            read: transfer,
            write: transfer,
            queue_depth: 1,
            nr_requests: 128,
            max_request: Pages::new(320),
            rotating: Some(Rotating {
                seek_track: Nanos::new(1_000_000),
                seek: Nanos::new(8_000_000),
                rotation: Nanos::new(8_333_333),
            }),
            write_cache: None,
            in_memory: false,
        }
    }

    #[test]
    fn seeks_grow_from_track_to_track_to_the_average_over_a_third_of_the_disk() {
        let positioning = |to| disk().positioning(Block::new(0), Block::new(to)).get();
        assert_eq!(positioning(0), 0);
        assert_eq!(positioning(1), 1_000_000 + 7000 + 4_166_666);
        assert_eq!(positioning(250_000), 1_000_000 + 3_500_000 + 4_166_666);
        assert_eq!(positioning(1_000_000), 8_000_000 + 4_166_666);
    }

    #[test]
    fn thresholds_of_congestion_are_those_of_linux() {
        assert_eq!((disk().congestion_on(), disk().congestion_off()), (113, 103));
        let shortest = DiskSpec { nr_requests: 4, ..disk() };
        assert!(shortest.congestion_off() < shortest.congestion_on());
    }

    #[test]
    fn a_started_nanosecond_counts_in_full() {
        assert_eq!(time_at(Bytes::new(4096), Pages::new(1)), Nanos::new(1_000_000_000));
        assert_eq!(time_at(Bytes::new(u64::MAX), Pages::new(1)), Nanos::new(1));
        assert_eq!(bytes_at(Bytes::new(4096), Nanos::new(999_999_999)), Bytes::new(4095));
    }

    #[test]
    fn what_no_disk_is_is_refused() {
        assert_eq!(disk().validate(), Ok(()));
        let zero = DiskSpec { size: Pages::ZERO, ..disk() };
        assert_eq!(zero.validate(), Err(DiskError::Zero("the size")));
        let short = DiskSpec { nr_requests: 3, ..disk() };
        assert_eq!(short.validate(), Err(DiskError::QueueTooShort { least: 4, got: 3 }));
        let slow = Transfer { latency: Nanos::new(1_000_000_001), ..disk().read };
        let slow = DiskSpec { read: slow, ..disk() };
        assert_eq!(
            slow.validate().map_err(|error| error.to_string()),
            Err("the read latency, in ns, of a disk is at most 1000000000, got 1000000001".to_owned())
        );
        let rotating = disk().rotating.map(|rotating| Rotating { seek: Nanos::ZERO, ..rotating });
        assert_eq!(DiskSpec { rotating, ..disk() }.validate(), Err(DiskError::SeekOrder));
    }
}
