//! Why there can be no such disk.

/// A [`DiskSpec`](super::DiskSpec) that describes no disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiskError {
    /// A figure that must not be 0.
    #[error("{0} of a disk must be more than 0")]
    Zero(&'static str),
    /// A figure larger than the arithmetic of times can bear.
    #[error("{what} of a disk is at most {most}, got {got}")]
    TooLarge {
        /// Name of the figure, with unit.
        what: &'static str,
        /// Largest accepted value.
        most: u64,
        /// The given value.
        got: u64,
    },
    /// A queue too short for thresholds of congestion that differ.
    #[error("nr_requests of a disk is at least {least}, got {got}")]
    QueueTooShort {
        /// Least accepted number of requests, as in Linux (`BLKDEV_MIN_RQ`).
        least: u32,
        /// The given number of requests.
        got: u32,
    },
    /// An arm that reaches its neighbour later than an average place.
    #[error("the seek from track to track of a disk takes longer than its average seek")]
    SeekOrder,
}
