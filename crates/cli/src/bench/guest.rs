//! Runs on kernels of choice, in guests.

use std::time::Duration;

use order9_host::available_memory;
use order9_lab::machines::{self, MachineSpec};
use order9_lab::scenario::LivePlan;
use order9_record::{ExtraFile, Run};
use order9_referee::guest::{Accel, Guest, GuestSpec, NodeShape, Saved, Shape, find_init};
use order9_referee::kernels::Kernels;
use order9_units::Bytes;
use order9_workloads::Parameters;

use super::{Measured, job, machine, meaning};
use crate::args::BenchArgs;
use crate::failure::Failure;

/// Time in which a guest says something, unless somebody allows more.
const SILENCE: Duration = Duration::from_secs(900);
/// Memory of the host beside that of the guest: QEMU and its tables.
const BESIDE: Bytes = Bytes::new(512 << 20);

fn usage(error: impl std::fmt::Display) -> Failure {
    Failure::Usage(error.to_string())
}

/// Boots each kernel once, and starts all its runs from the very same state.
pub(super) fn run(args: &BenchArgs, plan: &LivePlan) -> Result<Measured, Failure> {
    let shape = shape(args)?;
    let init = find_init().map_err(usage)?;
    let cache = Kernels::cache();
    let kernels: Vec<_> = args.kernels.iter().map(|word| cache.find(word)).collect::<Result<_, _>>().map_err(usage)?;
    let mut columns: Vec<Column> = Vec::new();
    for kernel in kernels {
        let cmdline = args.cmdline.clone().unwrap_or_default();
        let spec = GuestSpec { kernel, init: init.clone(), shape: shape.clone(), cmdline, silence: SILENCE };
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
        let accel = args.deterministic.then_some(Accel::Counted);
        let mut guest = Guest::boot(spec, accel).map_err(usage)?;
        let off = guest.set(vec![(LRU_GEN.to_owned(), "0".to_owned())]).map_err(usage)?.is_empty();
        let facts = guest.facts().map_err(usage)?;
        let parameters = plan.parameters(&facts.for_workloads()).map_err(usage)?;
        let title = title(&format!("live-{}", facts.kernel), others);
        let saved = guest.save().map_err(usage)?;
        let (mut runs, mut snapshots) = (Vec::new(), Vec::new());
        for &seed in &plan.seeds {
            let mut measured = in_guest(&saved, &job(args, plan, &parameters, 0, seed), &title)?;
            if off {
                measured.run.notes.push(LRU_GEN_NOTE.to_owned());
            }
            snapshots.extend(measured.files());
            runs.push(measured.run);
        }
        let machine = machine("guest", &facts);
        Ok(Self { title, runs, snapshots, parameters, machine })
    }
}

/// Whether the multi-generational LRU is on: no release preset has it.
const LRU_GEN: &str = "/sys/kernel/mm/lru_gen/enabled";
const LRU_GEN_NOTE: &str = "the guest's multi-generational LRU was switched off";

fn in_guest(saved: &Saved, job: &order9_live::Job, title: &str) -> Result<order9_referee::guest::InGuest, Failure> {
    let mut guest = saved.resume().map_err(usage)?;
    let measured = guest.run(job, title, &meaning).map_err(usage)?;
    guest.off();
    Ok(measured)
}

/// A title that no other column has.
fn title(wanted: &str, others: &[Column]) -> String {
    let is_free = |title: &String| others.iter().all(|other| other.title != *title);
    let numbered = (2..).map(|number| format!("{wanted}-{number}"));
    std::iter::once(wanted.to_owned()).chain(numbered).find(is_free).expect("numbers do not end")
}

/// The shape of the machine that was asked for.
fn shape(args: &BenchArgs) -> Result<Shape, Failure> {
    let shape = match &args.machine {
        None => Shape::default(),
        Some(name) => of_machine(&machines::load(name).map_err(usage)?)?,
    };
    let available = available_memory();
    if shape.memory() + BESIDE > available {
        let (wants, has) = (shape.memory().get() >> 20, available.get() >> 20);
        return Err(usage(format!("a guest of {wants} MiB: {has} MiB of this host's memory are available")));
    }
    Ok(shape)
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
