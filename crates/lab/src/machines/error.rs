//! Why a machine is no good: one sentence with file, line, what was expected, and the nearest valid name.

use order9_machine::disk::DiskError;
use order9_toml::FileError;
use order9_units::Bytes;

use super::size::in_units;

/// A machine that cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MachineError {
    /// A name or a file, its own or that of a base, that cannot be read.
    #[error(transparent)]
    File(#[from] FileError<Problem>),
    /// A temporary file that could not be written.
    #[error("the prices of the snapshot's host: {0}")]
    Temporary(String),
    /// A machine that stands on nothing and leaves figures open, or needs more than its base has.
    #[error("{file}: expected a base, or a value for every key; without value: {}", missing.join(", "))]
    Incomplete {
        /// Path of the file.
        file: String,
        /// Keys that no line sets.
        missing: Vec<String>,
    },
    /// The memory reserved at boot leaves a node nothing.
    #[error(
        "{file}: node {node} has {} of memory, of which {} would be reserved at boot; expected less than half",
        in_units(*.memory), in_units(*.reserved)
    )]
    AllReserved {
        /// Path of the file.
        file: String,
        /// Number of the node.
        node: usize,
        /// Memory of the node.
        memory: Bytes,
        /// Memory that would be reserved.
        reserved: Bytes,
    },
}

/// Errors at a line of a machine file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// An error that any kind of file can have.
    #[error(transparent)]
    Any(#[from] order9_toml::Problem),
    /// Nodes without a CPU.
    #[error("a machine needs at least one CPU, got 0")]
    NoCpus,
    /// No node, so no memory.
    #[error("a machine needs at least one node with memory, got none")]
    NoNodes,
    /// More than the lab can number.
    #[error("a machine has at most {most} {what}, got {got}")]
    TooMany {
        /// Name of the things that are too many.
        what: &'static str,
        /// Largest accepted number, with unit.
        most: String,
        /// The given number, with unit.
        got: String,
    },
    /// A key without one that belongs to it.
    #[error("{key} needs {part} too")]
    Missing {
        /// Key of the table.
        key: String,
        /// Part that is missing in the table.
        part: &'static str,
    },
    /// A name that Linux would not give a disk.
    #[error("a disk is called {0:?}, expected letters, digits, - and _, at most 31")]
    DiskName(String),
    /// Figures of a disk that do not fit together.
    #[error("{key}: {error}")]
    Disk {
        /// The table of the disk.
        key: String,
        /// The refusal of the specification.
        error: DiskError,
    },
    /// A speed of compressed memory.
    #[error(
        "{key}: compressed memory has a size and swap alone; its speed is prices.compress_page and prices.decompress_page"
    )]
    ZramFigure {
        /// The figure.
        key: String,
    },
    /// More swap than there is disk.
    #[error("{key} has {} of swap, expected at most its size, {}", in_units(*.swap), in_units(*.size))]
    SwapTooLarge {
        /// The table of the disk.
        key: String,
        /// Size of the swap area.
        swap: Bytes,
        /// Size of the disk.
        size: Bytes,
    },
    /// Prices of something that is no distance.
    #[error("distance {0:?}: expected a distance between two nodes, from 11 to 254")]
    DistanceName(String),
    /// Prices of a distance that no two nodes have.
    #[error("no two nodes have the distance {distance}, expected one of {}", list(known))]
    NoSuchDistance {
        /// The distance as given.
        distance: u32,
        /// The distances that the nodes have.
        known: Vec<u32>,
    },
    /// A node does not list one distance per node.
    #[error("node {node} has {got} distances, expected one to each of {nodes} nodes")]
    DistanceCount {
        /// Number of the node.
        node: usize,
        /// Number of its distances.
        got: usize,
        /// Number of nodes.
        nodes: usize,
    },
    /// A distance that cannot be.
    #[error("the distance from node {from} to node {to} is {got}, expected {expected}")]
    Distance {
        /// Node from which the distance is measured.
        from: usize,
        /// Node to which the distance is measured.
        to: usize,
        /// The distance as given.
        got: u32,
        /// The accepted distances, in words.
        expected: String,
    },
}

fn list(numbers: &[u32]) -> String {
    numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}
