//! Wishes for the contents of memory at the start, and contents of snapshot files.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use order9_record::Digest;
use order9_snapshot::limits::Shortage;
use order9_snapshot::synth::Pattern;
use order9_snapshot::{Snapshot, format};
use order9_units::Bytes;

use super::error::Problem;
use crate::plan::{MadeUp, Memory};

/// Wish for the contents of memory.
#[derive(Clone, Debug)]
pub(super) enum MemoryWish {
    Empty,
    Synthetic(MadeUp),
    /// The map in this file.
    Snapshot(String),
    /// A map that was read already, and its name in messages.
    Held(String, Arc<Snapshot>),
}

impl MemoryWish {
    /// `empty`, `synth` as it is by default, or a snapshot file.
    pub(super) fn of(text: &str) -> Self {
        match text {
            "empty" => Self::Empty,
            "synth" | "synthetic" => Self::Synthetic(MadeUp::default()),
            path => Self::Snapshot(path.to_owned()),
        }
    }

    /// Reads the snapshot, where it is one.
    pub(super) fn memory(self, available: Bytes) -> Result<Memory, Problem> {
        match self {
            Self::Empty => Ok(Memory::Empty),
            Self::Synthetic(made_up) => Ok(Memory::Synthetic(made_up)),
            Self::Snapshot(path) => snapshot(path, available),
            Self::Held(name, snapshot) => held(name, snapshot),
        }
    }

    /// Whether it is a stored map.
    pub(super) const fn is_map(&self) -> bool {
        matches!(self, Self::Snapshot(_) | Self::Held(..))
    }
}

/// Whether a machine of this name is a snapshot: by its ending, or by what the file begins with.
pub(super) fn is_snapshot(name: &str) -> bool {
    let path = Path::new(name);
    path.extension().is_some_and(|extension| extension == format::EXTENSION) || begins_as_one(path).unwrap_or(false)
}

fn begins_as_one(path: &Path) -> io::Result<bool> {
    use io::Read as _;
    let mut first = Vec::new();
    fs::File::open(path)?.take(64).read_to_end(&mut first)?;
    Ok(format::begins_as_snapshot(&first))
}

/// Reads the snapshot at `path` where its file and its map fit into `available`.
fn snapshot(path: String, available: Bytes) -> Result<Memory, Problem> {
    let refused = |problem: String| Problem::Snapshot { file: path.clone(), problem };
    let unreadable = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => refused("no such file or directory, expected a snapshot file".to_owned()),
        io::ErrorKind::PermissionDenied => refused("permission denied".to_owned()),
        io::ErrorKind::IsADirectory => refused("is a directory, expected a snapshot file".to_owned()),
        _ => refused(error.to_string()),
    };
    let length = Bytes::new(fs::metadata(&path).map_err(unreadable)?.len());
    Shortage::check(length, available).map_err(|shortage| refused(format!("the file {shortage}")))?;
    let bytes = fs::read(&path).map_err(unreadable)?;
    let snapshot = format::read_within(bytes.as_slice(), available).map_err(|error| refused(error.to_string()))?;
    if snapshot.frames.is_none() {
        return Err(refused(NO_MAP.to_owned()));
    }
    Ok(Memory::Snapshot { digest: Digest::of_bytes(&bytes), path, snapshot: Arc::new(snapshot) })
}

const NO_MAP: &str = "holds no memory map: it was captured without the rights to read one";

/// The map called `name`, whose digest is that of the file it would be.
fn held(name: String, snapshot: Arc<Snapshot>) -> Result<Memory, Problem> {
    let refused = |problem: String| Problem::Snapshot { file: name.clone(), problem };
    if snapshot.frames.is_none() {
        return Err(refused(NO_MAP.to_owned()));
    }
    let mut bytes = Vec::new();
    format::write(&snapshot, &mut bytes).map_err(|error| refused(error.to_string()))?;
    Ok(Memory::Snapshot { digest: Digest::of_bytes(&bytes), path: name, snapshot })
}

/// Sets the part `key` of made-up memory to what `text` says. `None` where there is no such part.
pub(super) fn set(made_up: &mut MadeUp, key: &str, text: &str) -> Option<Result<(), Problem>> {
    let MadeUp { spec, seed } = made_up;
    let share = match key {
        "fill" => &mut spec.fill,
        "unmovable" => &mut spec.unmovable,
        "reclaimable" => &mut spec.reclaimable,
        "pinned" => &mut spec.pinned,
        "huge" => &mut spec.huge,
        "clean_cache" => &mut spec.clean_cache,
        "degree" => &mut spec.degree,
        "contamination" => &mut spec.contamination,
        "pattern" => {
            let names = Pattern::ALL.map(|pattern| format!("\"{}\"", pattern.name())).join(" or ");
            return Some(put(&mut spec.pattern, text.parse().ok(), key, text, &names));
        }
        "seed" => return Some(put(seed, text.parse().ok().map(Some), key, text, "a whole number")),
        _ => return None,
    };
    let parsed = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    Some(put(share, parsed, key, text, "a share from 0 to 1"))
}

fn put<T>(part: &mut T, parsed: Option<T>, key: &str, text: &str, expected: &str) -> Result<(), Problem> {
    *part = parsed.ok_or_else(|| Problem::value(&format!("memory.{key}"), text, expected))?;
    Ok(())
}
