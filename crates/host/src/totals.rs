//! Totals of a kernel's memory as they are at one moment, for programs that look again and again.

use std::collections::BTreeMap;

use order9_snapshot::{Pressure, ZoneInfo};

use crate::parse::{buddyinfo, counters, pressure, zoneinfo};
use crate::source::{COUNTERS_MAX, Files, LINE_MAX, TABLE_MAX};
use crate::{CaptureError, Root};

/// Totals of memory: what four small files tell.
#[derive(Clone, Debug, PartialEq)]
pub struct Totals {
    /// Every zone with its free pages, watermarks and free blocks, but without migratetypes.
    pub zones: Vec<ZoneInfo>,
    /// /proc/vmstat.
    pub vmstat: BTreeMap<String, u64>,
    /// /proc/pressure/memory; `None` where the kernel has none.
    pub pressure: Option<Pressure>,
}

/// Why there are no totals.
#[derive(Debug, thiserror::Error)]
pub enum TotalsError {
    /// A file that describes a machine that order9 does not model.
    #[error(transparent)]
    Unsupported(#[from] CaptureError),
    /// A file that cannot be read.
    #[error("{path}: {reason}")]
    Missing {
        /// The file.
        path: String,
        /// The reason, in words.
        reason: String,
    },
}

/// Reads /proc/zoneinfo, /proc/buddyinfo, /proc/vmstat and /proc/pressure/memory.
///
/// # Errors
/// Where one of the first three cannot be read.
pub fn totals(root: &Root) -> Result<Totals, TotalsError> {
    let mut files = Files::new(root);
    let zones = files.parse("/proc/zoneinfo", TABLE_MAX, zoneinfo::parse)?;
    let blocks = files.parse("/proc/buddyinfo", TABLE_MAX, buddyinfo::parse)?;
    let vmstat = files.parse("/proc/vmstat", COUNTERS_MAX, counters::parse)?;
    let (Some(zones), Some(mut blocks), Some(vmstat)) = (zones, blocks, vmstat) else {
        let missing = files.into_missing().into_iter().next().expect("what is not there is noted");
        return Err(TotalsError::Missing { path: missing.path, reason: missing.reason });
    };
    let mut zones = zones.zones;
    for zone in &mut zones {
        zone.free_blocks = blocks.remove(&(zone.node, zone.kind)).unwrap_or_default();
    }
    let pressure = files.parse("/proc/pressure/memory", LINE_MAX, pressure::parse)?;
    Ok(Totals { zones, vmstat, pressure })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_host_tells_its_totals() {
        let totals = totals(&Root::live()).expect("this is Linux");
        assert!(totals.zones.iter().any(|zone| zone.free_blocks.iter().any(|&blocks| blocks > 0)));
        assert!(totals.vmstat.contains_key("pgfree"));
    }

    #[test]
    fn a_file_that_is_missing_is_named() {
        let bundle = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(bundle.path().join("proc")).expect("it can be made");
        let error = totals(&Root::directory(bundle.path())).expect_err("nothing is there").to_string();
        assert_eq!(error, "/proc/zoneinfo: not among the copied files");
    }
}
