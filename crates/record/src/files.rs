//! The files of a directory in the making: each is checksummed while it is written.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use flate2::{Compression, GzBuilder};
use xxhash_rust::xxh3::Xxh3;

use crate::{Digest, FileEntry, WriteError};

/// Creates files under one directory and remembers what was written.
pub(crate) struct Files {
    root: PathBuf,
    entries: Vec<FileEntry>,
    paths: BTreeSet<String>,
}

impl Files {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { root, entries: Vec::new(), paths: BTreeSet::new() }
    }

    /// What was written, in order.
    pub(crate) fn entries(&self) -> &[FileEntry] {
        &self.entries
    }

    /// Writes the file `path`, whose directories are made where needed.
    pub(crate) fn add<E>(
        &mut self,
        path: String,
        fill: impl FnOnce(&mut Sink) -> Result<(), E>,
        failed: impl FnOnce(E) -> WriteError,
    ) -> Result<(), WriteError> {
        if !self.paths.insert(path.clone()) {
            return Err(WriteError::Twice { path });
        }
        let full = self.root.join(&path);
        if let Some(parent) = full.parent() {
            fs::create_dir_all(parent).map_err(WriteError::io(parent))?;
        }
        let file = File::create_new(&full).map_err(WriteError::io(&full))?;
        let mut sink = Sink { file: BufWriter::new(file), hash: Box::default(), bytes: 0 };
        fill(&mut sink).map_err(failed)?;
        sink.flush().map_err(WriteError::io(&full))?;
        self.entries.push(FileEntry { path, bytes: sink.bytes, digest: Digest::of_hasher(&sink.hash) });
        Ok(())
    }

    /// Writes a plain file.
    pub(crate) fn text(
        &mut self,
        path: String,
        fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), WriteError> {
        let full = self.root.join(&path);
        self.add(path, |sink| fill(sink), WriteError::io(&full))
    }

    /// Writes a file through gzip. Its header names neither a time nor a system: the same text gives the same bytes.
    pub(crate) fn gzip(
        &mut self,
        path: String,
        fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), WriteError> {
        const UNKNOWN_SYSTEM: u8 = 255;
        self.text(path, |sink| {
            let mut gzip =
                GzBuilder::new().mtime(0).operating_system(UNKNOWN_SYSTEM).write(sink, Compression::default());
            fill(&mut gzip)?;
            gzip.finish()?;
            Ok(())
        })
    }
}

/// A file that is being written.
pub(crate) struct Sink {
    file: BufWriter<File>,
    hash: Box<Xxh3>,
    bytes: u64,
}

impl Write for Sink {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let written = self.file.write(buffer)?;
        self.hash.update(&buffer[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Whether `name` can be one of a file or directory here.
pub(crate) fn check_name(what: &'static str, name: &str) -> Result<(), WriteError> {
    const LONGEST: usize = 200; // bytes; file systems allow 255, and endings are added
    let fine = (1..=LONGEST).contains(&name.len())
        && !name.starts_with('.')
        && !name.chars().any(|c| c == '/' || c.is_control());
    if fine { Ok(()) } else { Err(WriteError::Name { what, name: name.to_owned() }) }
}
