//! Runs on kernels of choice, in guests.

use std::time::Duration;

use order9_host::available_memory;
use order9_lab::machines::{self, MachineDisk, MachineSpec};
use order9_lab::scenario::LivePlan;
use order9_live::{Facts, FileDisk, FileSystem, Job, Storage, SwapArea, WireValue};
use order9_record::{ExtraFile, Run};
use order9_referee::guest::{Accel, Guest, GuestSpec, InGuest, NodeShape, Saved, Shape, find_init};
use order9_referee::kernels::Kernels;
use order9_units::{Bytes, Nanos};
use order9_workloads::Parameters;

use super::{Measured, Place, machine, meaning};
use crate::args::{BenchArgs, DiskFormat, KernelArgs};
use crate::failure::Failure;

/// Time in which a guest says something, unless somebody allows more.
const SILENCE: Duration = Duration::from_secs(900);
/// Length of the rehearsal: every counter is read once.
const REHEARSAL: Nanos = Nanos::new(10_000_000);
/// Memory of the host beside that of the guest: QEMU and its tables.
const BESIDE: Bytes = Bytes::new(512 << 20);

fn usage(error: impl std::fmt::Display) -> Failure {
    Failure::Usage(error.to_string())
}

/// Boots each kernel once, and starts all its runs from the very same state.
pub(super) fn run(args: &BenchArgs, plan: &LivePlan) -> Result<Measured, Failure> {
    let mut columns: Vec<Column> = Vec::new();
    let machine = machine_of(&args.kernels, plan.machine.as_deref())?;
    for spec in specs(&args.kernels, machine.as_ref())? {
        let column = Column::measure(args, plan, &spec, &columns)?;
        columns.push(column);
    }
    let mut columns = columns.into_iter();
    let Column { title, runs, snapshots, parameters, machine } = columns.next().expect("there is a kernel");
    let mut measured = Measured { titles: vec![title], runs, snapshots, parameters, machine };
    for column in columns {
        measured.titles.push(column.title);
        measured.runs.extend(column.runs);
        measured.snapshots.extend(column.snapshots);
    }
    Ok(measured)
}

/// Runs under one kernel.
struct Column {
    title: String,
    runs: Vec<Run>,
    snapshots: Vec<ExtraFile>,
    parameters: Parameters,
    machine: order9_record::Machine,
}

impl Column {
    fn measure(args: &BenchArgs, plan: &LivePlan, spec: &GuestSpec, others: &[Self]) -> Result<Self, Failure> {
        let Booted { guest, facts, notes } = Booted::new(spec, args.kernels.deterministic)?;
        let parameters = plan.parameters(&facts.for_workloads()).map_err(usage)?;
        let title = title(&facts.kernel, &others.iter().map(|other| other.title.as_str()).collect::<Vec<_>>());
        let saved = guest.save().map_err(usage)?;
        let (mut runs, mut snapshots) = (Vec::new(), Vec::new());
        for &seed in &plan.seeds {
            let job = job(plan, &parameters, seed, args.keeps_snapshots(), &args.events);
            let measured = in_guest(&saved, &job, &title, &notes)?;
            snapshots.extend(measured.files());
            runs.push(measured.run);
        }
        let machine = machine("guest", &facts);
        Ok(Self { title, runs, snapshots, parameters, machine })
    }
}

/// A guest that waits for its first run.
pub(crate) struct Booted {
    pub(crate) guest: Guest,
    pub(crate) facts: Facts,
    /// Notes of every run in it.
    pub(crate) notes: Vec<String>,
}

/// Whether the multi-generational LRU is on: no release preset has it.
const LRU_GEN: &str = "/sys/kernel/mm/lru_gen/enabled";

impl Booted {
    /// Boots a kernel, without the LRU that no preset has, and rehearses.
    pub(crate) fn new(spec: &GuestSpec, deterministic: bool) -> Result<Self, Failure> {
        let accel = deterministic.then_some(Accel::Counted);
        let mut guest = Guest::boot(spec, accel).map_err(usage)?;
        guest.run(&rehearsal(), "rehearsal", &meaning).map_err(usage)?;
        let has_lru_gen = guest.set(vec![(LRU_GEN.to_owned(), "0".to_owned())]).map_err(usage)?.is_empty();
        let facts = guest.facts().map_err(usage)?;
        let note = has_lru_gen.then(|| "the guest's multi-generational LRU was switched off".to_owned());
        Ok(Self { guest, facts, notes: note.into_iter().collect() })
    }
}

/// A program that does nothing, with everything that measures one. A kernel that has just booted has no objects of slab for that yet: it
/// takes some hundred pages, which would count as the first program's own.
fn rehearsal() -> Job {
    let time = WireValue::Time(REHEARSAL.get());
    Job {
        workload: "idle".to_owned(),
        parameters: [("time".to_owned(), time)].into(),
        seed: 1,
        settings: Vec::new(),
        files: None,
        every: REHEARSAL,
        reserve: 0,
        keeps_snapshots: false,
        events: Vec::new(),
        journal: None,
    }
}

/// A run from a saved state.
pub(crate) fn in_guest(saved: &Saved, job: &Job, title: &str, notes: &[String]) -> Result<InGuest, Failure> {
    let mut guest = saved.resume().map_err(usage)?;
    let mut measured = guest.run(job, title, &meaning).map_err(usage)?;
    measured.run.notes.extend_from_slice(notes);
    guest.off();
    Ok(measured)
}

/// The job of a run with this seed in a guest, all of whose memory it may have.
pub(crate) fn job(
    plan: &LivePlan,
    parameters: &Parameters,
    seed: u64,
    keeps_snapshots: bool,
    events: &[String],
) -> Job {
    super::job(plan, parameters, Place { files: None, reserve: 0, keeps_snapshots, events }, seed)
}

/// A title for a kernel that no other column has.
pub(crate) fn title(kernel: &str, others: &[&str]) -> String {
    let wanted = format!("live-{kernel}");
    let is_free = |title: &String| !others.contains(&title.as_str());
    let numbered = (2..).map(|number| format!("{wanted}-{number}"));
    std::iter::once(wanted.clone()).chain(numbered).find(is_free).expect("numbers do not end")
}

/// The machine of guests: that of the arguments, else that of the experiment.
pub(crate) fn machine_of(args: &KernelArgs, of_plan: Option<&str>) -> Result<Option<MachineSpec>, Failure> {
    args.machine.as_deref().or(of_plan).map(machines::load).transpose().map_err(usage)
}

/// Specifications of guests: each kernel, on this machine.
pub(crate) fn specs(args: &KernelArgs, machine: Option<&MachineSpec>) -> Result<Vec<GuestSpec>, Failure> {
    let shape = machine.map_or_else(|| Ok(Shape::default()), of_machine)?;
    check_memory(&shape)?;
    let storage = machine.map(|machine| storage(machine, args)).unwrap_or_default();
    let (init, cache) = (find_init().map_err(usage)?, Kernels::cache());
    let spec = |word: &String| {
        let kernel = cache.find(word).map_err(usage)?;
        let (init, shape, storage) = (init.clone(), shape.clone(), storage.clone());
        let cmdline = args.cmdline.clone().unwrap_or_default();
        Ok(GuestSpec { kernel, init, shape, storage, cmdline, seed: 1, silence: SILENCE })
    };
    args.kernels.iter().map(spec).collect()
}

/// Disks and swap as the machine has them. Compressed memory is a device of zram.
fn storage(machine: &MachineSpec, args: &KernelArgs) -> Storage {
    let file_system = match args.file_system {
        None | Some(DiskFormat::Ext4) => FileSystem::Ext4,
        Some(DiskFormat::Xfs) => FileSystem::Xfs,
    };
    let files = |disk: &MachineDisk| FileDisk { size: (disk.spec.size - disk.swap).bytes().get(), file_system };
    let area = |disk: &MachineDisk| SwapArea { size: disk.swap.bytes().get(), is_zram: disk.spec.in_memory };
    let swap = machine.disks.iter().map(area).filter(|area| area.size > 0).collect();
    Storage { files: machine.file_disk().map(files), swap }
}

fn check_memory(shape: &Shape) -> Result<(), Failure> {
    let available = available_memory();
    if shape.memory() + BESIDE > available {
        let (wants, has) = (shape.memory().get() >> 20, available.get() >> 20);
        return Err(usage(format!("a guest of {wants} MiB: {has} MiB of this host's memory are available")));
    }
    Ok(())
}

fn of_machine(machine: &MachineSpec) -> Result<Shape, Failure> {
    let node = |node: &machines::NodeSpec| {
        let distance = |&distance: &u32| {
            u8::try_from(distance).map_err(|_| format!("a distance of {distance}, where QEMU takes 255 at most"))
        };
        let distances = node.distances.iter().map(distance).collect::<Result<_, _>>()?;
        Ok(NodeShape { memory: node.memory, cpus: node.cpus, distances })
    };
    let nodes = machine.nodes.iter().map(node).collect::<Result<_, String>>();
    nodes.map(|nodes| Shape { nodes }).map_err(|error| usage(format!("{}: {error}", machine.name)))
}
