//! Machines as files: CPUs, nodes, memory, and what each kind of work costs there, with a source for every figure.
//!
//! Key types: [`MachineSpec`] (a machine with all its bases), [`Figure`] (a number with its source), [`FigureInfo`] (what
//! figures there are: [`FIGURES`], [`DISTANCE_FIGURES`] and [`DISK_FIGURES`] name them all). Built-in files are those of `machines/`; docs/machines.md describes them.

mod disks;
mod distances;
mod error;
mod figure;
mod hypervisor;
mod layout;
mod list;
mod load;
mod measured;
mod nodes;
mod presets;
mod show;
mod size;
mod text;

pub use disks::DISK_FIGURES;
pub use distances::DISTANCE_FIGURES;
pub use error::{MachineError, Problem};
pub use figure::{FIGURES, Factor, Figure, FigureInfo, Unit};
pub use list::{List, Listed};
pub use load::load;
pub use measured::load_measured;
pub use nodes::{NodeBandwidth, NodeSpec, is_whole};
pub use order9_machine::MachineDisk;
pub use show::{Show, ShowFigure, ShowNode};

use order9_machine::cost::Prices;
use order9_units::{Bytes, Nanos, NodeId};

/// A machine that was loaded with all its bases.
#[derive(Clone, Debug)]
pub struct MachineSpec {
    /// Built-in name, or path of the file as given.
    pub name: String,
    /// Summary of the machine, in one line; may be empty.
    pub summary: String,
    /// Names of the files it is made of, from the one without base to itself.
    pub chain: Vec<String>,
    /// Nodes by number.
    pub nodes: Vec<NodeSpec>,
    /// Memory that the kernel keeps for itself at boot.
    pub reserved: Reserved,
    /// Time that a task may run while others wait for its CPU.
    pub slice: Nanos,
    /// Period of the timer interrupt, at which a task is found to have used its slice up.
    pub tick: Option<Nanos>,
    /// Factors by which memory of another node is slower; given where there are several nodes.
    pub remote: Option<Remote>,
    /// Prices of work on local memory.
    pub prices: Prices,
    /// Disks in the order of the file; may be none.
    pub disks: Vec<MachineDisk>,
    /// Every figure that is given, in the order of [`FIGURES`], then those of distances in that of [`DISTANCE_FIGURES`], and
    /// of each disk in that of [`DISK_FIGURES`], with its source.
    pub figures: Vec<Figure>,
}

/// Memory that the kernel keeps for itself at boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reserved {
    /// The kernel's code and data.
    pub kernel_image: Bytes,
    /// Hash tables and other large tables, on node 0.
    pub boot_tables: Bytes,
    /// Metadata per frame, on the node of the frame.
    pub struct_page: Bytes,
}

/// Factors by which memory of another node is slower than that of the own one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remote {
    /// Single accesses: multiplies the price of touching a page.
    pub latency: Factor,
    /// Streams: multiplies the prices of clearing, copying and filling a page.
    pub bandwidth: Factor,
}

impl MachineSpec {
    /// Memory of all nodes.
    #[must_use]
    pub fn memory(&self) -> Bytes {
        self.nodes.iter().map(|node| node.memory).sum()
    }

    /// The machine with `memory` on each node: whole sections, see [`is_whole`].
    ///
    /// # Errors
    /// What is reserved at boot would leave a node nothing.
    pub fn with_node_memory(mut self, memory: Bytes) -> Result<Self, MachineError> {
        self.nodes.iter_mut().for_each(|node| node.memory = memory);
        self.checked()
    }

    /// The disk with the filesystem.
    #[must_use]
    pub fn file_disk(&self) -> Option<&MachineDisk> {
        self.disks.iter().find(|disk| disk.holds_files())
    }

    /// The machine with the disks of another, with their figures; with none where there is no other.
    #[must_use]
    pub fn with_disks_of(mut self, other: Option<&Self>) -> Self {
        let is_of_disk = |figure: &Figure| figure.key.starts_with("disks.");
        self.figures.retain(|figure| !is_of_disk(figure));
        self.figures.extend(other.iter().flat_map(|other| other.figures.iter().filter(|of| is_of_disk(of)).cloned()));
        self.disks = other.map(|other| other.disks.clone()).unwrap_or_default();
        self
    }

    /// The bandwidth of each node of which it is given, in megabytes per second.
    pub(crate) fn bandwidth(&self) -> impl Iterator<Item = (NodeId, u64)> {
        let of =
            |(node, spec): (usize, &NodeSpec)| Some((NodeId(node as u16), spec.bandwidth.as_ref()?.rate / 1_000_000));
        self.nodes.iter().enumerate().filter_map(of)
    }

    /// The node of every CPU, by CPU number: those of node 0 first.
    #[must_use]
    pub fn cpus(&self) -> Vec<NodeId> {
        let cpus = |(node, spec): (usize, &NodeSpec)| std::iter::repeat_n(NodeId(node as u16), spec.cpus as usize);
        self.nodes.iter().enumerate().flat_map(cpus).collect()
    }
}
