//! The machine of an experiment at its start: what memory holds, and the engine made from it for each run.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use order9_import::{Disk, import};
use order9_machine::{Machine, Options, Variation};
use order9_mm::hugetlb::PoolSize;
use order9_mm::{Layout, Mm, MmBuilder, policy::Policy};
use order9_procfs::command_line::LogLine;
use order9_procfs::sysctl;
use order9_snapshot::Snapshot;
use order9_snapshot::synth::{SynthSpec, synth};
use order9_units::{Bytes, NodeId};

use crate::captured::Captured;
use crate::error::PlanError;
use crate::machines::MachineSpec;
use crate::plan::{Cell, MadeUp, Memory, Plan};
use crate::scenario::host_note;

/// Starting state that all runs of an experiment share.
pub(crate) struct Start {
    from: Origin,
    /// Available memory at the start of the first run, where memory is in use. All runs size themselves by it, so that
    /// they can be compared.
    available: Option<Bytes>,
}

/// Origin of the contents of memory.
enum Origin {
    /// Free memory of this layout.
    Empty(Layout),
    /// A stored map.
    Map {
        /// Name of the map in messages.
        name: String,
        snapshot: Arc<Snapshot>,
    },
    /// A map that is made up anew for every run.
    MadeUp(MadeUp),
}

/// An engine that was booted, with its settings.
struct SetUp {
    mm: Mm,
    captured: Option<Captured>,
    boot_log: Vec<LogLine>,
    /// Sizes that pools are to get when the run starts, which takes time.
    pools: Vec<PoolSize>,
}

/// A machine that can run.
pub(crate) struct Started {
    pub(crate) machine: Machine,
    /// Log of the kernel at boot.
    pub(crate) boot_log: Vec<LogLine>,
    /// Notes that a reader of its results needs.
    pub(crate) notes: Vec<String>,
}

impl Start {
    /// Makes the memory up, where it is the same for all runs; this may take seconds.
    pub(crate) fn new(plan: &Plan) -> Result<Self, PlanError> {
        let from = Origin::new(plan)?;
        let first = plan.cells().next().filter(|_| !matches!(from, Origin::Empty(_)));
        // Settings raise watermarks, which are not available.
        let set_up = first.map(|cell| from.set_up(plan, cell)).transpose()?;
        Ok(Self { from, available: set_up.map(|set_up| set_up.mm.available().bytes()) })
    }

    /// The machine of one run, which ends early once `stop` is raised.
    pub(crate) fn machine(&self, plan: &Plan, cell: Cell, stop: Option<Arc<AtomicBool>>) -> Result<Started, PlanError> {
        let policy = &plan.policies[cell.policy];
        let SetUp { mm, captured, boot_log, pools } = self.from.set_up(plan, cell)?;
        let options = Options {
            slice: plan.machine.slice,
            tick: plan.machine.tick,
            sample_every: plan.sample_every,
            sample_finely: plan.sample_finely,
            check_every: plan.check_every,
            trace: plan.trace,
            trace_max: TRACE_MAX,
            disks: plan.machine.disks.clone(),
            pools,
            available: self.available,
            reserve: plan.reserve,
            guard: plan.guards.get(&policy.name).cloned(),
            stop,
            ..Options::new(cell.seed)
        };
        let mut notes: Vec<String> = host_note(policy).into_iter().collect();
        if let (Some(captured), Memory::Snapshot { .. }) = (captured, &plan.memory) {
            notes.extend(captured.notes(&mm));
        }
        let refused = |error| PlanError::Machine { machine: plan.machine.name.clone(), error };
        let machine = Machine::new(mm, self.cpus(&plan.machine), plan.machine.prices.clone(), &options);
        Ok(Started { machine: machine.map_err(refused)?, boot_log, notes })
    }

    /// The node of every CPU.
    pub(crate) fn cpus(&self, machine: &MachineSpec) -> Vec<NodeId> {
        match &self.from {
            Origin::Empty(layout) => layout.cpus.clone(),
            Origin::Map { snapshot, .. } => cpus_of(snapshot).unwrap_or_else(|| machine.cpus()),
            Origin::MadeUp(_) => machine.cpus(),
        }
    }
}

impl Origin {
    fn new(plan: &Plan) -> Result<Self, PlanError> {
        Ok(match &plan.memory {
            Memory::Empty => Self::Empty(plan.machine.layout()),
            Memory::Snapshot { path, snapshot, .. } => Self::Map { name: path.clone(), snapshot: Arc::clone(snapshot) },
            Memory::Synthetic(MadeUp { spec, seed: Some(seed) }) => {
                let snapshot = made_up(&SynthSpec { seed: *seed, ..spec.clone() }, &plan.machine)?;
                Self::Map { name: MADE_UP.to_owned(), snapshot: Arc::new(snapshot) }
            }
            Memory::Synthetic(made_up) => Self::MadeUp(made_up.clone()),
        })
    }

    /// The engine of a run with everything set before its start but the sizes of pools.
    fn set_up(&self, plan: &Plan, cell: Cell) -> Result<SetUp, PlanError> {
        let policy = &plan.policies[cell.policy];
        let (mut mm, captured) = self.engine(plan, cell)?;
        let lists = if plan.same_lists { Variation::PLAIN } else { cell.seed };
        Variation::of(lists).order_lists(&mut mm);
        let boot_log = plan.cmdline.boot(&mut mm);
        let mut pools = Vec::new();
        for (name, value) in plan.settings.iter().chain(plan.own_settings.get(&policy.name).into_iter().flatten()) {
            let written = match sysctl::pool_size(&mm, name, value) {
                Ok(Some(size)) => {
                    pools.push(size);
                    Ok(())
                }
                Ok(None) => sysctl::write(&mut mm, name, value),
                Err(error) => Err(error),
            };
            written.map_err(|error| PlanError::Setting { name: name.clone(), value: value.clone(), error })?;
        }
        Ok(SetUp { mm, captured, boot_log, pools })
    }

    fn engine(&self, plan: &Plan, cell: Cell) -> Result<(Mm, Option<Captured>), PlanError> {
        let policy = plan.policies[cell.policy].policy.clone();
        let (mm, captured) = match self {
            Self::Empty(layout) => {
                let refused = |error| PlanError::Build { machine: plan.machine.name.clone(), error };
                (MmBuilder::new(layout, policy).map_err(refused)?.boot(), None)
            }
            Self::Map { name, snapshot } => from_map(name, snapshot, policy, &plan.machine)?,
            Self::MadeUp(made_up) => {
                let snapshot = self::made_up(&made_up.of_run(cell.seed), &plan.machine)?;
                from_map(MADE_UP, &snapshot, policy, &plan.machine)?
            }
        };
        let mut mm = mm.with_compaction_account();
        mm.set_node_bandwidth(plan.machine.bandwidth());
        Ok((if plan.check_every.is_some() { mm.with_content_tags() } else { mm }, captured))
    }
}

/// Name of synthetic memory in messages.
const MADE_UP: &str = "made-up memory";
/// Trace events that a run keeps.
const TRACE_MAX: usize = 2_000_000;

/// The node of every CPU of a map, by CPU number; `None` where it names none.
fn cpus_of(snapshot: &Snapshot) -> Option<Vec<NodeId>> {
    let named = snapshot.nodes.iter().flat_map(|node| node.cpus.iter().map(|&cpu| (cpu, node.id)));
    let mut cpus: Vec<(u32, NodeId)> = named.collect();
    cpus.sort_unstable();
    if cpus.is_empty() { None } else { Some(cpus.into_iter().map(|(_, node)| node).collect()) }
}

/// The engine in the state of a map.
fn from_map(
    name: &str,
    map: &Snapshot,
    policy: Policy,
    machine: &MachineSpec,
) -> Result<(Mm, Option<Captured>), PlanError> {
    let refused = |error| PlanError::Import { path: name.to_owned(), error };
    let disk = if machine.file_disk().is_some() { Disk::Present } else { Disk::Absent };
    let (mm, captured) = Captured::of(import(map, policy, disk).map_err(refused)?);
    Ok((mm, Some(captured)))
}

/// Memory made up for a machine, whose size, nodes and CPUs it has. The memory has no settings of its own, so that every
/// policy starts with its own defaults.
fn made_up(spec: &SynthSpec, machine: &MachineSpec) -> Result<Snapshot, PlanError> {
    let spec = SynthSpec { size: machine.memory(), nodes: machine.nodes.len() as u16, ..spec.clone() };
    let (mut snapshot, _) = synth(&spec)?;
    snapshot.settings.clear();
    let mut next = 0;
    for (node, of) in snapshot.nodes.iter_mut().zip(&machine.nodes) {
        node.cpus = (next..next + of.cpus).collect();
        next += of.cpus;
        node.distances.clone_from(&of.distances);
    }
    Ok(snapshot)
}
