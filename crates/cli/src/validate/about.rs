//! Facts of a real kernel that a comparison needs, now or when the lab runs again.

use order9_live::Facts;
use order9_record::Machine;
use order9_units::Bytes;
use serde::{Deserialize, Serialize};

use crate::bench::machine;

/// A real kernel's machine and clock.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct About {
    /// Kind of the machine.
    pub(super) kind: Kind,
    /// Size of the machine, and the kernel's release.
    pub(super) facts: Facts,
    /// Origin of times.
    pub(super) clock: Clock,
    /// Memory that programs must leave alone, in bytes.
    #[serde(default)]
    pub(super) reserve: Bytes,
    /// Whether files of the workloads lie on a disk of this host.
    #[serde(default)]
    pub(super) files_on_disk: bool,
}

impl About {
    /// Machine of the kernel, for manifests.
    pub(super) fn machine(&self) -> Machine {
        let name = match self.kind {
            Kind::Guest => "guest",
            Kind::Live => "live",
        };
        machine(name, &self.facts)
    }

    /// Whether all runs start from the very same memory, lists included.
    pub(super) fn starts_alike(&self) -> bool {
        self.kind == Kind::Guest
    }
}

/// Kind of a kernel's machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    /// A virtual machine, whose runs resume from one saved state.
    Guest,
    /// This host, whose runs follow each other.
    Live,
}

/// Origin of a kernel's times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Clock {
    /// The hardware.
    Real,
    /// Counted instructions: a time like any other to a lab that has the prices of such a guest.
    Counted,
    /// Translated code, whose times say nothing.
    Translated,
}

impl Clock {
    /// Whether times can be compared with those of a lab with the default prices, or with prices that were chosen.
    pub(super) fn compares(self, has_prices: bool) -> bool {
        match self {
            Self::Real => true,
            Self::Counted => has_prices,
            Self::Translated => false,
        }
    }
}
