//! The files of a directory in the making: each is checksummed while it is written.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

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

    /// The files that were written, in order.
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
        sink.flush().and_then(|()| sink.file.get_ref().sync_all()).map_err(WriteError::io(&full))?;
        self.entries.push(FileEntry { path, bytes: sink.bytes, digest: Digest::of_hasher(&sink.hash) });
        Ok(())
    }

    /// Puts the names of all files onto the disk; their bytes are there already.
    pub(crate) fn sync_names(&self) -> Result<(), WriteError> {
        let parents = self.paths.iter().flat_map(|path| Path::new(path).ancestors().skip(1));
        parents.collect::<BTreeSet<_>>().into_iter().try_for_each(|folder| sync_folder(&self.root.join(folder)))
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

/// Puts the names in `folder` onto the disk.
pub(crate) fn sync_folder(folder: &Path) -> Result<(), WriteError> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(WriteError::io(folder))
}

/// Endings of files in a run directory. No title of a policy may end so, because its title names a directory there.
const ENDINGS: [&str; 6] = ["toml", "parquet", "txt", "json", "o9snap", "o9maps"];

fn ending(name: &str) -> Option<&'static str> {
    let (_, own) = name.rsplit_once('.')?;
    ENDINGS.into_iter().find(|ending| own.eq_ignore_ascii_case(ending))
}

/// Whether a policy can be called `title` in a run directory. Ask before the run.
///
/// # Errors
///
/// A title that cannot be the name of a directory, or ends like a file of the run.
pub fn check_title(title: &str) -> Result<(), WriteError> {
    check_name("policy", title)?;
    ending(title).map_or(Ok(()), |ending| Err(WriteError::Title { title: title.to_owned(), ending }))
}

/// Whether a file in the run directory itself can be called `name`.
pub(crate) fn check_file(name: &str) -> Result<(), WriteError> {
    check_name("file", name)?;
    ending(name).map(drop).ok_or_else(|| WriteError::Ending { name: name.to_owned(), expected: ENDINGS.join(", .") })
}

/// Whether `name` can be one of a file or directory here.
pub(crate) fn check_name(what: &'static str, name: &str) -> Result<(), WriteError> {
    const LONGEST: usize = 200; // bytes; file systems allow 255, and endings are added
    let fine = (1..=LONGEST).contains(&name.len())
        && !name.starts_with('.')
        && !name.contains('/')
        && name.chars().all(order9_escape::is_plain);
    if fine { Ok(()) } else { Err(WriteError::Name { what, name: order9_escape::line(name).into_owned() }) }
}
