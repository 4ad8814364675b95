//! Reads many snapshot files, each as a whole, and keeps their facts alone.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::UNIX_EPOCH;

use order9_record::Digest;
use order9_snapshot::limits::{self, Shortage};
use order9_snapshot::{Snapshot, format};
use order9_units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::host::{FileId, Host};

/// A file that tells nothing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Unreadable {
    /// Path of the file, as it was named.
    pub file: String,
    /// The problem, in words.
    pub problem: String,
}

/// Facts of many files.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// Hosts in the order of their files.
    pub hosts: Vec<Host>,
    /// Files that could not be read, in their order.
    pub unreadable: Vec<Unreadable>,
    /// Number of files whose facts were known from before.
    pub known: usize,
}

/// Reads `files` on so many threads, which together take `memory` for maps. Files that are in `known` by path, length and time of
/// change, or by their content under another name, are not read again. The result does not depend on the number of threads.
pub fn read(
    files: &[PathBuf],
    known: Vec<Host>,
    (threads, memory): (NonZeroUsize, Bytes),
    progress: &(dyn Fn(usize) + Sync),
) -> Reading {
    let known = Known::new(known);
    let share = Bytes::new(memory.get() / threads.get() as u64);
    let next = AtomicUsize::new(0);
    let done = AtomicUsize::new(0);
    let answers: Mutex<Vec<Option<Answer>>> = Mutex::new(vec![None; files.len()]);
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(path) = files.get(at) else { return };
            let answer = facts(path, &known, share);
            answers.lock().unwrap_or_else(PoisonError::into_inner)[at] = Some(answer);
            progress(done.fetch_add(1, Ordering::Relaxed) + 1);
        }
    };
    std::thread::scope(|scope| {
        (0..threads.get().min(files.len())).for_each(|_| drop(scope.spawn(work)));
    });
    let mut reading = Reading::default();
    let answers = answers.into_inner().unwrap_or_else(PoisonError::into_inner);
    for (path, answer) in files.iter().zip(answers.into_iter().flatten()) {
        match answer {
            Answer::Known(host) => {
                reading.known += 1;
                reading.hosts.push(host);
            }
            Answer::New(host) => reading.hosts.push(host),
            Answer::Unreadable(problem) => {
                reading.unreadable.push(Unreadable { file: path.to_string_lossy().into_owned(), problem });
            }
        }
    }
    name(&mut reading.hosts);
    reading
}

#[derive(Clone, Debug)]
enum Answer {
    Known(Host),
    New(Host),
    Unreadable(String),
}

/// Hosts that have been read before.
struct Known {
    hosts: Vec<Host>,
    by_path: BTreeMap<String, usize>,
    by_digest: BTreeMap<String, usize>,
}

impl Known {
    fn new(hosts: Vec<Host>) -> Self {
        let by = |key: fn(&FileId) -> &str| {
            hosts.iter().enumerate().map(|(at, host)| (key(&host.file).to_owned(), at)).collect()
        };
        Self { by_path: by(|file| &file.path), by_digest: by(|file| &file.digest), hosts }
    }

    /// The host of this file, which nobody has touched since.
    fn untouched(&self, file: &FileId) -> Option<Host> {
        let host = &self.hosts[*self.by_path.get(&file.path)?];
        ((host.file.bytes, host.file.mtime_ns) == (file.bytes, file.mtime_ns)).then(|| host.clone())
    }

    /// The host of a file with the same content.
    fn same(&self, file: &FileId) -> Option<Host> {
        let host = &self.hosts[*self.by_digest.get(&file.digest)?];
        Some(Host { file: file.clone(), ..host.clone() })
    }
}

fn facts(path: &Path, known: &Known, memory: Bytes) -> Answer {
    let mut file = match stat(path) {
        Ok(file) => file,
        Err(problem) => return Answer::Unreadable(problem),
    };
    if let Some(host) = known.untouched(&file) {
        return Answer::Known(host);
    }
    match digest(path) {
        Ok(digest) => file.digest = digest,
        Err(problem) => return Answer::Unreadable(problem),
    }
    if let Some(host) = known.same(&file) {
        return Answer::Known(host);
    }
    let host = open(path, memory).and_then(|snapshot| {
        let spanned = snapshot.zones.iter().map(|zone| zone.span.len()).sum();
        Shortage::check(limits::to_analyse(spanned), memory)
            .map_err(|shortage| format!("analysing this map {shortage}"))?;
        Host::of(file, &snapshot).map_err(|error| error.to_string())
    });
    host.map_or_else(Answer::Unreadable, Answer::New)
}

/// Reads a snapshot file, whose map may take so much memory.
///
/// # Errors
/// The problem, in words.
pub(crate) fn open(path: &Path, memory: Bytes) -> Result<Snapshot, String> {
    let file = File::open(path).map_err(|error| sentence(&error))?;
    format::read_within(file, memory).map_err(|error| error.to_string())
}

fn stat(path: &Path) -> Result<FileId, String> {
    let found = path.metadata().map_err(|error| sentence(&error))?;
    if !found.is_file() {
        return Err("expected a regular file".to_owned());
    }
    let name = path.to_str().ok_or("its name is no UTF-8")?;
    let since = found.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let mtime_ns = since.map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX));
    Ok(FileId { path: name.to_owned(), bytes: found.len(), mtime_ns, digest: String::new() })
}

/// Digest of the content of a file.
///
/// # Errors
/// The problem, in words.
pub(crate) fn digest(path: &Path) -> Result<String, String> {
    let digest = File::open(path).and_then(Digest::of_reader).map_err(|error| sentence(&error))?;
    Ok(digest.to_string())
}

fn sentence(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    }
}

/// Gives every host the name of its file without folder and ending; those that would share a name have their path.
fn name(hosts: &mut [Host]) {
    let stem = |host: &Host| {
        Path::new(&host.file.path).file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
    };
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    hosts.iter().for_each(|host| *count.entry(stem(host)).or_default() += 1);
    for host in hosts {
        let stem = stem(host);
        host.name = if count[&stem] == 1 { stem } else { host.file.path.clone() };
    }
}
