//! A tracefs instance: tracepoints that are switched on in it, and its buffers.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::TraceEvent;
use crate::format::Format;
use crate::sub_buffer::{Lost, RawEvent, SubBuffer};

/// Memory of each CPU's buffer, in KiB.
const BUFFER_KIB: u32 = 4096;
/// The largest piece of a buffer that any kernel hands out at once.
const PIECE: usize = 64 << 10;

/// Reason for which events cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum InstanceError {
    /// A file of tracefs.
    #[error("{}: {error}", .path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        error: io::Error,
    },
    /// The kernel has no such tracepoint.
    #[error("no tracepoint of this kernel is called '{0}'")]
    NoTracepoint(String),
    /// A format file of an unknown form.
    #[error(transparent)]
    Format(#[from] crate::format::FormatError),
}

fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> InstanceError {
    let path = path.into();
    move |error| InstanceError::File { path, error }
}

/// Tracepoints that are switched on until this is dropped.
#[derive(Debug)]
pub struct Instance {
    folder: PathBuf,
    formats: Vec<Format>,
    cpus: Vec<(u32, File)>,
}

/// Events since the last look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drained {
    /// Events, in order for each CPU.
    pub events: Vec<TraceEvent>,
    /// Number of events that are known to be lost.
    pub lost: u64,
    /// Pieces before which events were lost, nobody knows how many, and pieces of an unknown form.
    pub gaps: u64,
}

/// An event as it lies in a buffer, until the next look.
#[derive(Debug)]
pub struct Seen<'a> {
    /// CPU on which it happened.
    pub cpu: u32,
    /// Index of the tracepoint among those of the instance.
    pub tracepoint: usize,
    /// Form of the record.
    pub format: &'a Format,
    /// Time and record.
    pub raw: RawEvent<'a>,
}

/// Events that a look did not show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Number of events that are known to be lost.
    pub lost: u64,
    /// Pieces before which events were lost, nobody knows how many, and pieces of an unknown form.
    pub gaps: u64,
}

impl Instance {
    /// Switches tracepoints on in an instance of tracefs called `name`. One that is left from before is removed first.
    ///
    /// # Errors
    /// A tracepoint that the kernel does not have; files that cannot be written.
    pub fn new(tracefs: &Path, name: &str, tracepoints: &[String]) -> Result<Self, InstanceError> {
        let found: Vec<(String, String)> =
            tracepoints.iter().map(|tracepoint| find(tracefs, tracepoint)).collect::<Result<_, _>>()?;
        let folder = tracefs.join("instances").join(name);
        // Nobody else uses this name: what is there was left by a run that was killed.
        let _ = fs::remove_dir(&folder);
        fs::create_dir(&folder).map_err(file(&folder))?;
        let mut instance = Self { folder, formats: Vec::new(), cpus: Vec::new() };
        instance.write("trace_clock", "mono")?;
        instance.write("buffer_size_kb", &BUFFER_KIB.to_string())?;
        instance.cpus = instance.buffers()?;
        for (system, tracepoint) in &found {
            let path = instance.folder.join("events").join(system).join(tracepoint).join("format");
            let text = fs::read_to_string(&path).map_err(file(&path))?;
            instance.formats.push(Format::parse(system, &text)?);
        }
        for (system, tracepoint) in &found {
            instance.write(&format!("events/{system}/{tracepoint}/enable"), "1")?;
        }
        Ok(instance)
    }

    /// Names of the tracepoints.
    pub fn tracepoints(&self) -> impl Iterator<Item = &str> {
        self.formats.iter().map(Format::name)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), InstanceError> {
        let path = self.folder.join(name);
        fs::write(&path, text).map_err(file(&path))
    }

    /// The buffer of each CPU, which never waits for events.
    fn buffers(&self) -> Result<Vec<(u32, File)>, InstanceError> {
        let folder = self.folder.join("per_cpu");
        let entries = fs::read_dir(&folder).map_err(file(&folder))?;
        let mut cpus: Vec<u32> = entries
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.strip_prefix("cpu")?.parse().ok())
            .collect();
        cpus.sort_unstable();
        let open = |cpu: u32| {
            let path = folder.join(format!("cpu{cpu}")).join("trace_pipe_raw");
            let flags = OFlags::NONBLOCK.bits().cast_signed();
            let opened = File::options().read(true).custom_flags(flags).open(&path);
            opened.map(|opened| (cpu, opened)).map_err(file(&path))
        };
        cpus.into_iter().map(open).collect()
    }

    /// Takes all events that have happened since the last time.
    #[must_use]
    pub fn drain(&mut self) -> Drained {
        let mut events = Vec::new();
        let Losses { lost, gaps } = self.look(|&Seen { cpu, tracepoint, format, raw: RawEvent { at, data } }| {
            events.push(TraceEvent { at, cpu, pid: format.pid(data), tracepoint, fields: format.fields(data) });
        });
        Drained { events, lost, gaps }
    }

    /// Shows all events that have happened since the last time, in order for each CPU, without making text of them.
    pub fn look(&mut self, mut see: impl FnMut(&Seen<'_>)) -> Losses {
        let mut losses = Losses::default();
        let mut piece = vec![0; PIECE];
        let Self { formats, cpus, .. } = self;
        for (cpu, buffer) in cpus {
            // An empty buffer is an error of a file that does not wait.
            while let Ok(length @ 1..) = buffer.read(&mut piece) {
                show(formats, *cpu, &piece[..length], &mut losses, &mut see);
            }
        }
        losses
    }
}

/// Shows the events of one piece.
fn show(formats: &[Format], cpu: u32, piece: &[u8], losses: &mut Losses, see: &mut impl FnMut(&Seen<'_>)) {
    let Ok(SubBuffer { lost, events }) = SubBuffer::parse(piece) else {
        losses.gaps += 1;
        return;
    };
    match lost {
        Lost::None => {}
        Lost::Some(number) => losses.lost = losses.lost.saturating_add(number),
        Lost::Unknown => losses.gaps += 1,
    }
    for raw in events {
        let Some(id) = Format::id_of(raw.data) else { continue };
        let Some(tracepoint) = formats.iter().position(|format| format.id() == id) else { continue };
        see(&Seen { cpu, tracepoint, format: &formats[tracepoint], raw });
    }
}

/// The group and the name of a tracepoint, which may be called by its name alone.
fn find(tracefs: &Path, tracepoint: &str) -> Result<(String, String), InstanceError> {
    let events = tracefs.join("events");
    let is_there = |system: &str, name: &str| events.join(system).join(name).join("format").is_file();
    if let Some((system, name)) = tracepoint.split_once(':') {
        return match is_there(system, name) {
            true => Ok((system.to_owned(), name.to_owned())),
            false => Err(InstanceError::NoTracepoint(tracepoint.to_owned())),
        };
    }
    let systems = fs::read_dir(&events).map_err(file(&events))?;
    let mut systems: Vec<String> = systems.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    systems.sort_unstable();
    let system = systems.into_iter().find(|system| is_there(system, tracepoint));
    let system = system.ok_or_else(|| InstanceError::NoTracepoint(tracepoint.to_owned()))?;
    Ok((system, tracepoint.to_owned()))
}

impl Drop for Instance {
    fn drop(&mut self) {
        // An instance that cannot be removed is removed by the next of its name.
        let _ = self.write("events/enable", "0");
        self.cpus.clear();
        let _ = fs::remove_dir(&self.folder);
    }
}
