//! Puts a [`Snapshot`] together from the files of a host.

use std::collections::BTreeMap;
use std::path::PathBuf;

use order9_snapshot::{DaemonWork, Snapshot, Source, ZoneInfo};
use order9_units::{Bytes, Nanos, NodeId, Order, PAGE_SIZE, Pages, ZoneKind};

use crate::owners::owners;
use crate::parse::pagetypeinfo::ZoneTypes;
use crate::parse::{buddyinfo, cmdline, counters, iomem, pagetypeinfo, pressure, release, uptime, zoneinfo};
use crate::source::{COUNTERS_MAX, Files, LINE_MAX, TABLE_MAX};
use crate::stopwatch::Stopwatch;
use crate::{Progress, Root, frames, settings, topology};

/// Why there is no snapshot at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CaptureError {
    /// This is not Linux, or /proc is not mounted.
    #[error("no /proc/vmstat and no /proc/zoneinfo: not a Linux host, or /proc is not mounted")]
    NotLinux,
    /// The directory holds none of the files, or none that can be used.
    #[error(
        "{}: expected copies of a host's files such as proc/zoneinfo, proc/vmstat or proc/kpageflags, found none that \
         can be used", directory.display()
    )]
    NoFiles {
        /// The directory that was to be captured.
        directory: PathBuf,
    },
    /// The machine is of a kind that order9 does not model.
    #[error("{}: {what}", file.display())]
    Unsupported {
        /// The file that says so.
        file: PathBuf,
        /// The feature that is not modelled, and the one that is.
        what: String,
    },
}

/// Choices for a capture.
#[derive(Default)]
pub struct Options<'a> {
    /// Called after every 128 MiB of memory.
    pub progress: Option<&'a mut dyn FnMut(Progress)>,
    /// Whether the kernel's release is kept with what its builders added to it, which may name them.
    pub full_release: bool,
    /// Whether owners of memory are looked for, with their names: processes, control groups, files.
    pub owners: bool,
}

/// Reads a host's memory. Reads every file once (/proc/zoneinfo and /proc/vmstat of a live host a second time, to see how far memory
/// moved on, and whether daemons worked) and changes nothing.
///
/// # Errors
/// Only where nothing useful could be read or the machine is of a kind that order9 does not model; whatever else cannot
/// be read is named in `Snapshot::missing`.
pub fn capture(root: &Root, options: Options<'_>) -> Result<Snapshot, CaptureError> {
    let watch = Stopwatch::start();
    check_base_page(root)?;
    let mut files = Files::new(root);
    let mut snapshot = Snapshot {
        source: if root.is_live() { Source::Host } else { Source::Directory },
        settings: settings::read(&mut files),
        ..Snapshot::default()
    };
    check_huge_page(root, &snapshot)?;
    read_machine(&mut files, &mut snapshot, options.full_release)?;
    read_memory(&mut files, &mut snapshot, options)?;
    if snapshot.zones.is_empty() && snapshot.vmstat.is_empty() && snapshot.frames.is_none() {
        return Err(if root.is_live() {
            CaptureError::NotLinux
        } else {
            CaptureError::NoFiles { directory: root.name().to_owned() }
        });
    }
    snapshot.missing = files.into_missing();
    snapshot.replace_odd_characters();
    snapshot.cost.wall = watch.wall();
    snapshot.cost.cpu = watch.cpu();
    Ok(snapshot)
}

/// Reads what hardly changes.
fn read_machine(files: &mut Files<'_>, snapshot: &mut Snapshot, full_release: bool) -> Result<(), CaptureError> {
    let keep = if full_release { release::Keep::Everything } else { release::Keep::Version };
    let release = files.parse("/proc/sys/kernel/osrelease", LINE_MAX, |text| release::parse(text, keep))?;
    let line = cmdline::filter(&files.text("/proc/cmdline", LINE_MAX).unwrap_or_default());
    let machine = &mut snapshot.machine;
    machine.kernel_release = release.unwrap_or_default();
    machine.kernel_command_line = line.kept;
    machine.kernel_parameters_dropped = line.dropped;
    machine.page_size = PAGE_SIZE;
    machine.pageblock_order = Order::PAGEBLOCK.get();
    machine.uptime = files.parse("/proc/uptime", LINE_MAX, uptime::parse)?;
    match files.parse("/proc/iomem", TABLE_MAX, iomem::parse)? {
        Some(Some(ram)) => snapshot.ram = ram,
        Some(None) => files.miss("/proc/iomem", "shows no addresses: needs root (CAP_SYS_ADMIN)"),
        None => {}
    }
    snapshot.offline = topology::offline_memory(files)?;
    Ok(())
}

/// Reads what changes all the time: the totals just before the map, which takes longest.
fn read_memory(files: &mut Files<'_>, snapshot: &mut Snapshot, options: Options<'_>) -> Result<(), CaptureError> {
    const ZONEINFO: &str = "/proc/zoneinfo";
    const VMSTAT: &str = "/proc/vmstat";
    snapshot.meminfo = files.parse("/proc/meminfo", COUNTERS_MAX, counters::parse)?.unwrap_or_default();
    let watch = Stopwatch::start();
    snapshot.vmstat = files.parse(VMSTAT, COUNTERS_MAX, counters::parse)?.unwrap_or_default();
    snapshot.pressure = files.parse("/proc/pressure/memory", LINE_MAX, pressure::parse)?;
    let before = files.parse(ZONEINFO, TABLE_MAX, zoneinfo::parse)?.unwrap_or_default();
    snapshot.zones = before.zones;
    snapshot.nodes = topology::nodes(files, &snapshot.zones, &before.node_counters, &mut snapshot.settings)?;
    snapshot.machine.cpus = topology::cpus_online(files, &snapshot.zones)?;
    read_free_blocks(files, &mut snapshot.zones)?;

    let mut silent = |_: Progress| {};
    let progress = options.progress.unwrap_or(&mut silent);
    if let Some(frames) = frames::read(files, end_of(&snapshot.zones), progress) {
        snapshot.cost.frames = frames.map.len();
        snapshot.cost.inconsistent = frames.inconsistent;
        snapshot.frames = Some(frames.map);
    }
    if options.owners {
        read_owners(files, snapshot);
    }
    if !files.root().is_live() {
        return Ok(());
    }
    if let Some(after) = files.parse(ZONEINFO, TABLE_MAX, zoneinfo::parse)? {
        snapshot.cost.free_drift = free_drift(&snapshot.zones, &after.zones);
    }
    if let Some(after) = files.parse(VMSTAT, COUNTERS_MAX, counters::parse)? {
        snapshot.daemons = daemon_work(&snapshot.vmstat, &after, watch.wall());
    }
    Ok(())
}

/// Work of the daemons between two readings of /proc/vmstat; `None` where the kernel counts none.
fn daemon_work(before: &BTreeMap<String, u64>, after: &BTreeMap<String, u64>, watched: Nanos) -> Option<DaemonWork> {
    let grown = |is_one: &dyn Fn(&str) -> bool| {
        let sum = |of: &BTreeMap<String, u64>| -> Option<u64> {
            of.iter().filter(|(name, _)| is_one(name)).map(|(_, count)| *count).reduce(u64::saturating_add)
        };
        Some(Pages::new(sum(after)?.saturating_sub(sum(before)?)))
    };
    let scanned = ["compact_daemon_migrate_scanned", "compact_daemon_free_scanned"];
    // Up to 4.7 there is a counter for each kind of zone.
    let (kcompactd, kswapd) =
        (grown(&|name| scanned.contains(&name))?, grown(&|name| name.starts_with("pgscan_kswapd"))?);
    Some(DaemonWork { watched, kcompactd, kswapd })
}

/// Looks for owners right after the map was read, to which they belong.
fn read_owners(files: &mut Files<'_>, snapshot: &mut Snapshot) {
    let found = match &snapshot.frames {
        _ if !files.root().is_live() => Err("copies of files do not tell, a running host does".to_owned()),
        None => Err("the map of frames could not be read".to_owned()),
        Some(frames) => owners(frames),
    };
    match found {
        Ok(owners) => snapshot.owners = Some(owners),
        Err(reason) => files.miss("owners of memory", reason),
    }
}

/// Adds what /proc/buddyinfo and /proc/pagetypeinfo say to the zones.
fn read_free_blocks(files: &mut Files<'_>, zones: &mut [ZoneInfo]) -> Result<(), CaptureError> {
    let mut free_blocks = files.parse("/proc/buddyinfo", TABLE_MAX, buddyinfo::parse)?.unwrap_or_default();
    let mut types = files.parse("/proc/pagetypeinfo", TABLE_MAX, pagetypeinfo::parse)?.unwrap_or_default();
    for zone in zones {
        let key: (NodeId, ZoneKind) = (zone.node, zone.kind);
        zone.free_blocks = free_blocks.remove(&key).unwrap_or_default();
        let ZoneTypes { free, blocks } = types.remove(&key).unwrap_or_default();
        (zone.free_by_type, zone.block_counts) = (free, blocks);
    }
    Ok(())
}

/// End of the last zone. Frames behind it belong to no zone, whatever the kernel tells of them.
fn end_of(zones: &[ZoneInfo]) -> Option<Pages> {
    zones.iter().map(|zone| Pages::new(zone.span.end.get())).max()
}

/// Sum over the zones of how much their free pages changed.
fn free_drift(before: &[ZoneInfo], after: &[ZoneInfo]) -> Pages {
    let same = |zone: &&ZoneInfo, other: &ZoneInfo| (zone.node, zone.kind) == (other.node, other.kind);
    let changes = before.iter().filter_map(|zone| {
        let later = after.iter().find(|other| same(other, zone))?;
        Some(Pages::new(zone.free.get().abs_diff(later.free.get())))
    });
    changes.sum()
}

/// order9 models base pages of 4 KiB. Copied files do not tell the base page; see [`check_huge_page`].
fn check_base_page(root: &Root) -> Result<(), CaptureError> {
    let found = Bytes::new(rustix::param::page_size() as u64);
    if !root.is_live() || found == PAGE_SIZE {
        return Ok(());
    }
    let what = format!("base pages of {} bytes, where order9 knows {}", found.get(), PAGE_SIZE.get());
    Err(CaptureError::Unsupported { file: PathBuf::from("/proc"), what })
}

/// order9 models huge pages of 2 MiB, which is one pageblock.
fn check_huge_page(root: &Root, snapshot: &Snapshot) -> Result<(), CaptureError> {
    const SIZE: &str = "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size";
    let known = Order::PAGEBLOCK.pages().bytes().get();
    let found = snapshot.settings.get(SIZE).and_then(|size| size.parse::<u64>().ok());
    match found.filter(|&found| found != known) {
        None => Ok(()),
        Some(found) => {
            let what = format!("huge pages of {found} bytes, where order9 knows {known}");
            Err(CaptureError::Unsupported { file: root.locate(SIZE), what })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_of_daemons_is_what_their_counters_grew_by() {
        let counters = |pairs: &[(&str, u64)]| pairs.iter().map(|&(name, count)| (name.to_owned(), count)).collect();
        let before: BTreeMap<String, u64> = counters(&[
            ("compact_daemon_migrate_scanned", 10),
            ("compact_daemon_free_scanned", 20),
            ("pgscan_kswapd_normal", 1),
            ("pgscan_kswapd_dma32", 1),
            ("pgscan_direct", 5),
        ]);
        let mut after = before.clone();
        after.extend(counters(&[
            ("compact_daemon_free_scanned", 27),
            ("pgscan_kswapd_dma32", 4),
            ("pgscan_direct", 9),
        ]));
        let work = daemon_work(&before, &after, Nanos::new(9)).expect("they are counted");
        assert_eq!(work, DaemonWork { watched: Nanos::new(9), kcompactd: Pages::new(7), kswapd: Pages::new(3) });
        assert_eq!(daemon_work(&counters(&[("pgfault", 1)]), &after, Nanos::new(9)), None);
    }
}
