//! From the files of a guest's kernel to a snapshot.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use miniz_oxide::inflate::decompress_to_vec_with_limit;
use order9_host::{Options, Root, capture};
use order9_snapshot::Snapshot;

/// Longest piece, unpacked.
const PIECE_MAX: usize = 1 << 20;

/// Files of snapshots as far as they have come.
#[derive(Default)]
pub(super) struct Maps {
    /// Contents by name of the snapshot and path.
    files: BTreeMap<String, BTreeMap<PathBuf, Vec<u8>>>,
}

impl Maps {
    /// Takes a piece of a file. What no file of a kernel can be called is left out.
    pub(super) fn take(&mut self, snapshot: &str, path: &str, deflated: &[u8]) -> Result<(), String> {
        let relative = path.trim_start_matches('/');
        let is_plain = Path::new(relative).components().all(|part| matches!(part, Component::Normal(_)));
        if relative.is_empty() || !is_plain {
            return Err(format!("the guest sent a file called {path}"));
        }
        let piece = decompress_to_vec_with_limit(deflated, PIECE_MAX);
        let piece = piece.map_err(|error| format!("the guest sent {path} garbled: {error}"))?;
        let files = self.files.entry(snapshot.to_owned()).or_default();
        files.entry(relative.into()).or_default().extend(piece);
        Ok(())
    }

    /// The snapshot of this name, all files of which have come.
    pub(super) fn finish(&mut self, snapshot: &str) -> Result<Snapshot, String> {
        let files = self.files.remove(snapshot).unwrap_or_default();
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        for (path, content) in files {
            let path = folder.path().join(path);
            let parent = path.parent().unwrap_or(folder.path());
            let written = fs::create_dir_all(parent).and_then(|()| fs::write(&path, content));
            written.map_err(|error| format!("{}: {error}", path.display()))?;
        }
        capture(&Root::directory(folder.path()), Options::default()).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use miniz_oxide::deflate::compress_to_vec;

    use super::*;

    #[test]
    fn pieces_of_files_become_files_and_nothing_leads_out() {
        let mut maps = Maps::default();
        let mut take = |path: &str, text: &[u8]| maps.take("start", path, &compress_to_vec(text, 1));
        for path in ["/../etc/passwd", "/proc/../../x", "", "/"] {
            assert!(take(path, b"x").expect_err("it is refused").starts_with("the guest sent a file called"));
        }
        take("/proc/vmstat", b"nr_free_pages 10\nnr_").expect("a piece");
        take("/proc/vmstat", b"dirty 3\n").expect("another");
        assert!(maps.take("start", "/proc/vmstat", &[0xff; 9]).is_err());
        let snapshot = maps.finish("start").expect("a snapshot");
        assert_eq!((snapshot.vmstat.get("nr_free_pages"), snapshot.vmstat.get("nr_dirty")), (Some(&10), Some(&3)));
    }
}
