//! Everything `order9 inspect` says about a memory map, as data: `--json` prints it, other views draw it.
//!
//! [`Inspection::of`] computes it from a snapshot, its [`Census`](crate::census::Census) and a price list; the same input
//! gives the same bytes. What every number means, how it is computed and how far it can be trusted: docs/inspect.md.
//! Holds no rules of presentation and reads no clock.

mod build;
mod findings;
mod free;
mod gigabytes;
mod history;
mod settings;
mod tally;

use order9_units::{Bytes, Nanos, NodeId, Pages, PfnRange};
use schemars::JsonSchema;
use serde::Serialize;

use crate::model::{Missing, Source, Watermarks};
use crate::owners::Holdings;
use crate::prices::MovesOf;

pub use findings::{BlockTally, Drop, Findings, Goal, HeldBy, HeldByFew, HugeInUse, Losses, OnCpuLists, Recovery};
pub use free::{AllocationView, FreeMemory, FreeOfType, OrderIndex, ProactiveNode, ProactiveZone};
pub use gigabytes::{Gigabytes, TaintedBy};
pub(crate) use history::shows_counter;
pub use history::{Counters, Rate};
pub use settings::{Setting, paths as setting_paths};

/// Findings of a snapshot about huge pages.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Inspection {
    /// The machine of the snapshot.
    pub machine: MachineView,
    /// The whole machine: sums and optima over all zones.
    pub total: View,
    /// The nodes, by number.
    pub nodes: Vec<NodeView>,
    /// Owners of memory, where the snapshot names them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owners: Option<Holdings>,
    /// Settings that bear on huge pages, in a fixed order.
    pub settings: Vec<Setting>,
    /// Compaction and huge-page events since boot.
    pub counters: Counters,
    /// Contradictions between the files of the snapshot; each says what was expected and what was found.
    pub inconsistencies: Vec<String>,
    /// Files that could not be read.
    pub missing: Vec<Missing>,
    /// The prices behind every time below.
    pub prices: PriceView,
}

/// The machine of a snapshot.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MachineView {
    /// Origin of the snapshot.
    pub source: Source,
    /// Release of the kernel.
    pub kernel_release: String,
    /// Number of online CPUs.
    pub cpus: u32,
    /// Time since boot.
    pub uptime: Option<Nanos>,
    /// Size of a base page.
    pub page_size: Bytes,
    /// Size of a huge page: one pageblock.
    pub huge_page_size: Bytes,
}

/// Memory of a zone, a node or the machine.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct View {
    /// Number of frames that exist.
    pub present: Pages,
    /// Frames the allocator was given.
    pub managed: Pages,
    /// Free pages, as the kernel counts them.
    pub free: Pages,
    /// Free pages in blocks of a huge page or more, from the kernel's own lists.
    pub free_in_huge_pages: Pages,
    /// Findings from the map of frames; `None` where it could not be read.
    pub findings: Option<Findings>,
}

/// One NUMA node.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct NodeView {
    /// Number of the node.
    pub id: NodeId,
    /// Sums and optima over its zones.
    #[serde(flatten)]
    pub view: View,
    /// Fragmentation at which the kernel compacts the node on its own.
    pub proactive: ProactiveNode,
    /// Populated zones of the node, lowest first.
    pub zones: Vec<ZoneView>,
}

/// One zone.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ZoneView {
    /// Name, as in /proc/zoneinfo.
    pub name: &'static str,
    /// First frame to last frame.
    pub span: PfnRange,
    /// Memory of the zone.
    #[serde(flatten)]
    pub view: View,
    /// Watermarks of the zone, boost included.
    pub watermarks: Watermarks,
    /// Pages on per-CPU lists. In the map they look like kernel memory of unknown use.
    pub on_cpu_lists: Pages,
    /// Free memory by order and type.
    pub free_memory: FreeMemory,
    /// Usability of the free memory, by order.
    pub indexes: Vec<OrderIndex>,
    /// The score the kernel's proactive compaction goes by.
    pub proactive: ProactiveZone,
    /// Number of huge pages that can be allocated; `None` where the map of frames could not be read.
    pub allocation: Option<AllocationView>,
}

/// A price list, as far as it was used.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PriceView {
    /// Machine file of the prices: its name and summary.
    pub machine: String,
    /// Origin of the price of a move: the machine file or a measurement on the host.
    pub moves: MovesOf,
    /// Nanoseconds per moved page.
    pub move_page_ns: u64,
    /// Measurement or publication of that price.
    pub move_page_source: String,
    /// Nanoseconds per dropped page of clean page cache, where priced.
    pub drop_page_ns: Option<u64>,
    /// Nanoseconds per page of slab freed, where priced.
    pub drop_slab_page_ns: Option<u64>,
    /// Nanoseconds per page read again, where priced.
    pub reread_page_ns: Option<u64>,
}
