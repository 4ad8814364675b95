//! An experiment, complete: everything that decides its results.

use std::collections::BTreeMap;
use std::num::{NonZeroU64, NonZeroUsize};
use std::sync::Arc;

use order9_machine::TraceKinds;
use order9_policy::Loaded;
use order9_procfs::command_line::CommandLine;
use order9_record::Digest;
use order9_snapshot::Snapshot;
use order9_snapshot::limits::{Shortage, to_analyse};
use order9_snapshot::synth::SynthSpec;
use order9_units::{Bytes, Nanos, Pages};
use order9_workloads::{Value, Workload};

use crate::ablation::Ablation;
use crate::machines::MachineSpec;

/// Memory of the host that a run takes for each frame of its machine: 20 bytes of the engine, and page tables of programs
/// that use most of it.
const PER_FRAME: u64 = 28;
/// Memory of the host that a run takes for each list of each CPU in each zone, in the machine and in counters.
const PER_CPU_AND_ZONE: u64 = 256;

/// Settings by their Linux names, and what is written to them, in order.
pub type Settings = Vec<(String, String)>;

/// An experiment: one workload under several policies and seeds, on one machine, from one state of its memory.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The workload to run.
    pub workload: Workload,
    /// Parameters that were chosen; the others have their defaults on the machine.
    pub chosen: BTreeMap<&'static str, Value>,
    /// The policies to compare, at least one; the others are compared with the first. Names are unique.
    pub policies: Vec<Loaded>,
    /// Settings to write before the start under one policy alone, after [`settings`](Self::settings), by its name.
    pub own_settings: BTreeMap<String, Settings>,
    /// Guards that keep huge pages ready beside the workload, under one policy alone, by its name.
    pub guards: BTreeMap<String, order9_guard::Config>,
    /// The ablation, where one policy is taken apart switch by switch. It tells the roles of
    /// [`policies`](Self::policies).
    pub ablation: Option<Ablation>,
    /// CPUs, nodes and prices. CPUs, nodes and memory are the snapshot's where memory comes from one.
    pub machine: MachineSpec,
    /// Contents of memory at the start.
    pub memory: Memory,
    /// Command line of the kernel.
    pub cmdline: CommandLine,
    /// Settings to write before the start, by their Linux names, in this order.
    pub settings: Settings,
    /// Memory that programs must leave alone, as those do that measure a real host.
    pub reserve: Bytes,
    /// Seeds, at least one.
    pub seeds: Vec<u64>,
    /// Whether all seeds start from the very same memory, lists included, as runs do that resume from one saved machine. Otherwise the order
    /// of lists differs, as between two boots.
    pub same_lists: bool,
    /// Decisions that the plan made by itself and that the user must know: one sentence each.
    pub notes: Vec<String>,
    /// Interval between readings of the counters, in virtual time; not zero.
    pub sample_every: Nanos,
    /// Whether they are read more often at first, so that a short run has some hundred readings, too.
    pub sample_finely: bool,
    /// Interval between two maps of memory, which are taken when counters are read; `None` takes none.
    pub maps_every: Option<Nanos>,
    /// Number of steps after which all laws are checked, and whether every page holds the contents that its program
    /// must read; `None` is never.
    pub check_every: Option<NonZeroU64>,
    /// Kinds of trace events that are kept.
    pub trace: TraceKinds,
    /// The command line that asked for it, for the manifest.
    pub command: Vec<String>,
}

/// Contents of memory at the start.
#[derive(Clone, Debug)]
pub enum Memory {
    /// Memory holds the kernel's own pages only.
    Empty,
    /// Memory holds the contents of a synthetic machine of equal size.
    Synthetic(MadeUp),
    /// Memory holds the contents of a stored map.
    Snapshot {
        /// Path of the map as it was named.
        path: String,
        /// Of the bytes of the file.
        digest: Digest,
        /// The map.
        snapshot: Arc<Snapshot>,
    },
}

/// Memory that is made up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MadeUp {
    /// All but size and nodes, which are the machine's, and the seed.
    pub spec: SynthSpec,
    /// The seed of what every run begins with; `None` where each has its own memory, made up with the seed of the run.
    pub seed: Option<u64>,
}

impl MadeUp {
    /// The synthetic memory with which the run with this seed begins.
    pub(crate) fn of_run(&self, seed: u64) -> SynthSpec {
        SynthSpec { seed: self.seed.unwrap_or(seed), ..self.spec.clone() }
    }
}

/// One run of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Position in [`Plan::policies`].
    pub policy: usize,
    /// The seed.
    pub seed: u64,
}

impl Plan {
    /// Every run of the experiment: by policy, then by seed.
    pub fn cells(&self) -> impl Iterator<Item = Cell> {
        let of_policy = |policy| self.seeds.iter().map(move |&seed| Cell { policy, seed });
        (0..self.policies.len()).flat_map(of_policy)
    }

    /// Number of runs that may go on at the same time on a host with `available` memory.
    ///
    /// # Errors
    /// Where there is not enough for one.
    pub fn jobs(&self, available: Bytes) -> Result<NonZeroUsize, Shortage> {
        let (shared, each) = (self.shared_memory().get(), self.memory_of_a_run().get().max(1));
        let fit = available.get().saturating_sub(shared) / each;
        let needs = self.needs();
        NonZeroUsize::new(usize::try_from(fit).unwrap_or(usize::MAX)).ok_or(Shortage { needs, available })
    }

    /// Memory of the host that one run takes, with what it starts from.
    #[must_use]
    pub fn needs(&self) -> Bytes {
        Bytes::new(self.shared_memory().get().saturating_add(self.memory_of_a_run().get().max(1)))
    }

    /// Memory of the host that a run takes by itself.
    fn memory_of_a_run(&self) -> Bytes {
        // Holes below and between zones are in the engine's tables.
        let (frames, zones, cpus) = match &self.memory {
            Memory::Snapshot { snapshot, .. } => {
                let end = snapshot.zones.iter().map(|zone| zone.span.end.get()).max().unwrap_or(0);
                (end, snapshot.zones.len() as u64, u64::from(snapshot.machine.cpus))
            }
            Memory::Empty | Memory::Synthetic(_) => {
                let nodes = &self.machine.nodes;
                let cpus = nodes.iter().map(|node| u64::from(node.cpus)).sum();
                (Pages::from_bytes_ceil(self.machine.memory()).get(), nodes.len() as u64 + 2, cpus)
            }
        };
        let lists = zones.saturating_mul(cpus).saturating_mul(PER_CPU_AND_ZONE);
        let engine = frames.saturating_mul(PER_FRAME).saturating_add(lists);
        match &self.memory {
            Memory::Synthetic(made_up @ MadeUp { seed: None, .. }) => {
                Bytes::new(engine.saturating_add(self.memory_to_make_up(made_up).get()))
            }
            _ => Bytes::new(engine),
        }
    }

    /// Memory of the host that it takes to make up the memory of the machine.
    fn memory_to_make_up(&self, made_up: &MadeUp) -> Bytes {
        SynthSpec { size: self.machine.memory(), ..made_up.spec.clone() }.memory()
    }

    /// Memory of the host that all runs together take for what they start from, beside a map that was read.
    fn shared_memory(&self) -> Bytes {
        match &self.memory {
            Memory::Empty => Bytes::new(0),
            Memory::Synthetic(MadeUp { seed: None, .. }) => Bytes::new(0),
            Memory::Synthetic(made_up) => self.memory_to_make_up(made_up),
            Memory::Snapshot { snapshot, .. } => to_analyse(snapshot.zones.iter().map(|zone| zone.span.len()).sum()),
        }
    }
}
