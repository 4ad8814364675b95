//! The plain model of a snapshot: everything that is stored, nothing that can be computed from it.

use std::collections::BTreeMap;

use order9_units::{Bytes, Migratetype, Nanos, NodeId, Order, Pages, PfnRange, ZoneKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::owners::Owners;
use crate::{Calibration, FrameMap};

/// The state of one machine's memory at one instant.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// Origin of the snapshot.
    pub source: Source,
    /// Facts that do not change while the machine runs.
    pub machine: Machine,
    /// NUMA nodes, by number.
    pub nodes: Vec<NodeInfo>,
    /// Populated and empty zones in the order of /proc/zoneinfo; `Device` zones are left out.
    pub zones: Vec<ZoneInfo>,
    /// Physical ranges that hold RAM (`System RAM` of /proc/iomem), ascending; empty where that could not be read.
    pub ram: Vec<PfnRange>,
    /// Memory sections that are offline (/sys/devices/system/memory), ascending.
    pub offline: Vec<PfnRange>,
    /// State of every frame from pfn 0 on; `None` where /proc/kpageflags could not be read.
    pub frames: Option<FrameMap>,
    /// Type of every pageblock from pfn 0 on, where it is known block by block: the lab and `synth` know it, Linux does
    /// not tell.
    pub block_types: Option<Vec<Migratetype>>,
    /// Settings by their Linux path, such as `/proc/sys/vm/swappiness`, as read, without the final newline.
    pub settings: BTreeMap<String, String>,
    /// /proc/vmstat.
    pub vmstat: BTreeMap<String, u64>,
    /// /proc/meminfo, in the unit printed there (kB, or pages for the hugetlb counts).
    pub meminfo: BTreeMap<String, u64>,
    /// /proc/pressure/memory, where the kernel has it.
    pub pressure: Option<Pressure>,
    /// Files that could not be read, and the permission that each needs.
    pub missing: Vec<Missing>,
    /// Cost of the capture for the host.
    pub cost: CaptureCost,
    /// Work of the daemons while the map was read; `None` for what is not a running host.
    pub daemons: Option<DaemonWork>,
    /// Prices of memory work on the host, where they were measured.
    pub calibration: Option<Calibration>,
    /// Owners of memory, where they were asked for.
    pub owners: Option<Owners>,
}

/// Origin of a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Source {
    /// A running Linux host.
    #[default]
    Host,
    /// A directory holding copies of a host's files.
    Directory,
    /// The lab's machine.
    Lab,
    /// Made up by `order9 snapshot synth`; holds the arguments that repeat it.
    Synthetic(String),
}

/// Facts about the machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// Kernel release, as `uname -r` prints it.
    pub kernel_release: String,
    /// Boot parameters that bear on memory management; see docs/snapshot.md for which are kept.
    pub kernel_command_line: String,
    /// Number of other boot parameters, which were left out.
    pub kernel_parameters_dropped: u32,
    /// Size of a frame in bytes.
    pub page_size: Bytes,
    /// Pageblock order, from /proc/pagetypeinfo or the huge page size.
    pub pageblock_order: u8,
    /// Number of online CPUs.
    pub cpus: u32,
    /// Time since boot.
    pub uptime: Option<Nanos>,
}

/// One NUMA node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeInfo {
    /// Number of the node.
    pub id: NodeId,
    /// Distance to every node, by position in [`Snapshot::nodes`]; 10 is local.
    pub distances: Vec<u32>,
    /// CPUs of the node.
    pub cpus: Vec<u32>,
    /// `per-node stats` of /proc/zoneinfo.
    pub counters: BTreeMap<String, u64>,
}

/// One zone of one node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ZoneInfo {
    /// The node it belongs to.
    pub node: NodeId,
    /// Kind of the zone.
    pub kind: ZoneKind,
    /// First frame to last frame, holes included.
    pub span: PfnRange,
    /// Number of frames that exist.
    pub present: Pages,
    /// Frames the buddy allocator was given.
    pub managed: Pages,
    /// Frames of contiguous memory areas.
    pub cma: Pages,
    /// Number of free pages (`nr_free_pages`).
    pub free: Pages,
    /// Watermarks, boost included as Linux prints them.
    pub watermarks: Watermarks,
    /// `protection` row: lowmem reserve against requests of each higher zone.
    pub protection: Vec<Pages>,
    /// Free blocks per order (/proc/buddyinfo).
    pub free_blocks: [u64; Order::COUNT],
    /// Free blocks per type and order (/proc/pagetypeinfo, root only). Linux caps a printed value at 100000.
    pub free_by_type: BTreeMap<Migratetype, [u64; Order::COUNT]>,
    /// Pageblocks per type (/proc/pagetypeinfo, root only).
    pub block_counts: BTreeMap<Migratetype, u64>,
    /// Per-CPU lists, by CPU.
    pub pcp: Vec<PcpInfo>,
    /// The zone's counters of /proc/zoneinfo.
    pub counters: BTreeMap<String, u64>,
}

/// Watermarks of a zone, in pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Watermarks {
    /// Watermark `min`.
    pub min: Pages,
    /// Watermark `low`.
    pub low: Pages,
    /// Watermark `high`.
    pub high: Pages,
    /// `promo`, where the kernel has it.
    pub promo: Option<Pages>,
    /// `boost`, where the kernel prints it; already part of the other values.
    pub boost: Option<Pages>,
}

/// One CPU's list of free pages in one zone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PcpInfo {
    /// Number of the CPU.
    pub cpu: u32,
    /// Pages on the list.
    pub count: Pages,
    /// Pages at which it is drained.
    pub high: Pages,
    /// Pages moved at once.
    pub batch: Pages,
}

/// /proc/pressure/memory: share of time stalled on memory, and total stall time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pressure {
    /// `some` total, microseconds since boot.
    pub some_us: u64,
    /// `full` total, microseconds since boot.
    pub full_us: u64,
}

/// A file that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Missing {
    /// Path of the file.
    pub path: String,
    /// Why, and what it takes: "needs root (CAP_SYS_ADMIN)", "not in this kernel".
    pub reason: String,
}

/// Cost of a capture, and sharpness of its picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CaptureCost {
    /// Wall-clock time from first to last read.
    pub wall: Nanos,
    /// CPU time of the capturing thread, in the kernel and outside.
    pub cpu: Nanos,
    /// Frames read from /proc/kpageflags.
    pub frames: Pages,
    /// Frames whose flags and count contradict each other because the map changed while it was read.
    pub inconsistent: Pages,
    /// Change of the free pages of the zones from the first to the last read: the sum of the differences, each taken as
    /// positive.
    pub free_drift: Pages,
}

/// Work of the kernel's daemons during a capture, which tells whether kcompactd rests: it looks at its node twice a second otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DaemonWork {
    /// Time that was watched.
    pub watched: Nanos,
    /// Frames that kcompactd looked at, in search of pages and of room.
    pub kcompactd: Pages,
    /// Pages that kswapd looked at.
    pub kswapd: Pages,
}
