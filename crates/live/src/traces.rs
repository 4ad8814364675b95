//! Events that a run was asked to keep, from a tracefs instance of its own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use order9_trace::{Instance, InstanceError, Losses, RawEvent, Seen};
use order9_units::{Migratetype, Order};
use order9_workloads::Requests;
use rustix::mount::{MountFlags, mount};

use crate::clock::ClockFile;
use crate::message::{Message, Traced};
use crate::raw;
use crate::supervisor::Witness;

/// Folder where tracefs is mounted by most systems, and where a supervisor mounts it for itself.
const USUAL: &str = "/sys/kernel/tracing";
const OWN: &str = "/run/order9/tracing";
/// Events of one message.
const EVENTS_MAX: usize = 4096;
/// Tracepoint of requests of the page allocator.
pub(crate) const REQUEST: &str = "mm_page_alloc";

/// Events of a run.
pub(crate) struct Traces {
    instance: Option<Instance>,
    names: Vec<String>,
    /// Index of the tracepoint whose events are counted and not kept.
    counted: Option<usize>,
    requests: Requests,
    /// Names of tasks by their numbers.
    tasks: BTreeMap<u32, String>,
    lost: u64,
    gaps: u64,
}

impl Traces {
    /// Switches tracepoints on in the instance called `name`; without any, tracefs is left alone. With `counts_requests`, events of
    /// [`REQUEST`] are counted, not kept.
    pub(crate) fn start(name: &str, tracepoints: &[String], counts_requests: bool) -> Result<Self, InstanceError> {
        let instance = match tracepoints {
            [] => None,
            _ => Some(Instance::new(&tracefs()?, name, tracepoints)?),
        };
        let names: Vec<String> = instance.iter().flat_map(Instance::tracepoints).map(str::to_owned).collect();
        let counted = names.iter().position(|name| name == REQUEST).filter(|_| counts_requests);
        Ok(Self { instance, names, counted, requests: Requests::default(), tasks: BTreeMap::new(), lost: 0, gaps: 0 })
    }

    /// Requests so far, in the order of [`Requests::names`]; nothing where they are not counted.
    pub(crate) fn requests(&self) -> impl Iterator<Item = u64> {
        self.counted.iter().flat_map(|_| self.requests.counts())
    }

    /// Hands on what has happened.
    pub(crate) fn take(&mut self, clock: &ClockFile, witness: &mut dyn Witness) {
        let Self { instance: Some(instance), names, counted, requests, tasks, .. } = self else { return };
        let mut kept = Vec::new();
        let Losses { lost, gaps } = instance.look(|seen| {
            if *counted == Some(seen.tracepoint) {
                count(requests, seen);
                return;
            }
            let Seen { cpu, tracepoint, format, raw: RawEvent { at, data } } = seen;
            let pid = format.pid(data);
            kept.push(Traced {
                at: clock.at(*at),
                cpu: *cpu,
                pid,
                comm: tasks.entry(pid).or_insert_with(|| comm(pid)).clone(),
                name: names[*tracepoint].clone(),
                fields: format.fields(data),
            });
            if kept.len() == EVENTS_MAX {
                witness.message(Message::Events(std::mem::take(&mut kept)));
            }
        });
        if !kept.is_empty() {
            witness.message(Message::Events(kept));
        }
        self.lost = self.lost.saturating_add(lost);
        self.gaps += gaps;
    }

    /// Leaves out what has happened so far.
    pub(crate) fn forget(&mut self) {
        self.instance.as_mut().map(|instance| instance.look(|_| ()));
    }

    /// Events that are known to be lost, and the places where an unknown number was.
    pub(crate) const fn losses(&self) -> (u64, u64) {
        (self.lost, self.gaps)
    }

    /// Hands on the rest, says what was lost, and switches the tracepoints off.
    pub(crate) fn finish(&mut self, clock: &ClockFile, witness: &mut dyn Witness) {
        self.take(clock, witness);
        if self.lost > 0 || self.gaps > 0 {
            let Self { lost, gaps, .. } = self;
            let note =
                format!("events were lost: {lost} that the kernel counted, and an unknown number at {gaps} places");
            witness.message(Message::Note(note));
        }
        self.instance = None;
    }
}

/// Counts a request that got memory.
fn count(requests: &mut Requests, seen: &Seen<'_>) {
    let number = |name| seen.format.number(name, seen.raw.data);
    let migratetype = number("migratetype").and_then(|number| match number {
        0 => Some(Migratetype::Unmovable),
        1 => Some(Migratetype::Movable),
        2 => Some(Migratetype::Reclaimable),
        _ => None,
    });
    let order = number("order").and_then(|order| Order::new(u8::try_from(order).ok()?));
    // A request that got nothing has no frame.
    let got_memory = number("pfn") != Some(u64::MAX.into());
    if let (Some(migratetype), Some(order), true) = (migratetype, order, got_memory) {
        requests.add(migratetype, order);
    }
}

/// Name of a task; nothing where the task is gone.
fn comm(pid: u32) -> String {
    match pid {
        0 => "swapper".to_owned(),
        _ => fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim_end().to_owned(),
    }
}

/// The folder of tracefs: where it is mounted, or where it is mounted now for this thread alone and those that it starts.
///
/// # Errors
/// A system that lets nobody mount it.
pub fn tracefs() -> Result<PathBuf, InstanceError> {
    let usual = Path::new(USUAL);
    if usual.join("instances").is_dir() {
        return Ok(usual.to_owned());
    }
    let own = Path::new(OWN);
    let mounted = fs::create_dir_all(own).and_then(|()| raw::unshare_mounts()).and_then(|()| mount_alone(own));
    mounted.map(|()| own.to_owned()).map_err(|error| InstanceError::File { path: own.to_owned(), error })
}

fn mount_alone(own: &Path) -> std::io::Result<()> {
    use rustix::mount::{MountPropagationFlags, mount_change};
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    Ok(mount("tracefs", own, "tracefs", MountFlags::empty(), None)?)
}
