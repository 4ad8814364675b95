//! Counts of failures and waits of migration by their cause; Linux counts neither apart.

use order9_units::Nanos;

/// Why an attempt to move a page failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MigrateFailure {
    /// The page is being read.
    Locked,
    /// The page is being written.
    Writeback,
    /// The page has a reference besides its owner's, such as a long-term pin.
    Pinned,
    /// The page is dirty, and its file has no handler that moves dirty pages.
    Dirty,
    /// The file of the page has no handler that moves private data, and does not give that up.
    PrivateData,
    /// The driver that has it is using it.
    DriverBusy,
    /// The driver that has it does not let it move.
    DriverRefused,
    /// There was no frame to move it to.
    NoTarget,
}

macro_rules! by_failure {
    ($($(#[$doc:meta])* $field:ident: $failure:ident,)*) => {
        /// Failed attempts to move a page, by reason (engine only). A page that is tried in several passes counts in each.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct MigrateFailures {
            $($(#[$doc])* pub $field: u64,)*
        }

        impl MigrateFailures {
            pub(crate) const fn count(&mut self, failure: MigrateFailure) {
                match failure {
                    $(MigrateFailure::$failure => self.$field += 1,)*
                }
            }

            /// All together.
            #[must_use]
            pub const fn total(&self) -> u64 {
                0 $(+ self.$field)*
            }
        }
    };
}

by_failure! {
    /// Pages that were being read.
    locked: Locked,
    /// Pages that were being written.
    writeback: Writeback,
    /// Pages to which somebody beside their owner has a reference, such as a long-term pin.
    pinned: Pinned,
    /// Dirty pages of files without handler that moves them.
    dirty: Dirty,
    /// Pages of files that have no handler to move private data, and do not give it up.
    private_data: PrivateData,
    /// Pages that the driver that has them was using.
    driver_busy: DriverBusy,
    /// Pages that the driver that has them does not let move.
    driver_refused: DriverRefused,
    /// Pages for which there was no frame.
    no_target: NoTarget,
}

/// Waits of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// Number of waits.
    pub number: u64,
    /// Total time of the waits.
    pub time: Nanos,
}

impl Waits {
    pub(crate) fn add(&mut self, time: Nanos) {
        self.number += 1;
        self.time += time;
    }
}

/// Waits of migration, by who had the page (engine only).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MigrateWaits {
    /// A read of a file, which had it locked.
    pub read: Waits,
    /// A write to a file.
    pub file_write: Waits,
    /// A write to swap.
    pub swap_write: Waits,
}
