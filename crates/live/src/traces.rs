//! Events that a run was asked to keep, from a tracefs instance of its own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use order9_trace::{Drained, Instance, InstanceError};
use rustix::mount::{MountFlags, mount};

use crate::clock::ClockFile;
use crate::message::{Message, Traced};
use crate::raw;
use crate::supervisor::Witness;

/// Name of the instance.
const INSTANCE: &str = "order9";
/// Folder where tracefs is mounted by most systems, and where a supervisor mounts it for itself.
const USUAL: &str = "/sys/kernel/tracing";
const OWN: &str = "/run/order9/tracing";
/// Events of one message.
const EVENTS_MAX: usize = 4096;

/// Events of a run.
pub(crate) struct Traces {
    instance: Option<Instance>,
    names: Vec<String>,
    /// Names of tasks by their numbers.
    tasks: BTreeMap<u32, String>,
    lost: u64,
    gaps: u64,
}

impl Traces {
    /// Switches tracepoints on; without any, tracefs is left alone.
    pub(crate) fn start(tracepoints: &[String]) -> Result<Self, InstanceError> {
        let instance = match tracepoints {
            [] => None,
            _ => Some(Instance::new(&tracefs()?, INSTANCE, tracepoints)?),
        };
        let names = instance.iter().flat_map(Instance::tracepoints).map(str::to_owned).collect();
        Ok(Self { instance, names, tasks: BTreeMap::new(), lost: 0, gaps: 0 })
    }

    /// Hands on what has happened.
    pub(crate) fn take(&mut self, clock: &ClockFile, witness: &mut dyn Witness) {
        let Some(instance) = &mut self.instance else { return };
        let Drained { events, lost, gaps } = instance.drain();
        self.lost += lost;
        self.gaps += gaps;
        for piece in events.chunks(EVENTS_MAX) {
            let traced = piece.iter().map(|event| Traced {
                at: clock.at(event.at),
                cpu: event.cpu,
                pid: event.pid,
                comm: self.tasks.entry(event.pid).or_insert_with(|| comm(event.pid)).clone(),
                name: self.names[event.tracepoint].clone(),
                fields: event.fields.clone(),
            });
            witness.message(Message::Events(traced.collect()));
        }
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

/// Name of a task; nothing where the task is gone.
fn comm(pid: u32) -> String {
    match pid {
        0 => "swapper".to_owned(),
        _ => fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim_end().to_owned(),
    }
}

/// The folder of tracefs: where it is mounted, or where it is mounted now for this process alone.
fn tracefs() -> Result<PathBuf, InstanceError> {
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
