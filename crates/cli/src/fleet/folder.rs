//! The directory of a fleet: facts.parquet, fleet.json, index.html, and what-if/ with answers.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use order9_fleet::groups::Groups;
use order9_fleet::store::{self, StoreError};
use order9_fleet::trial::{Projection, Question};
use order9_fleet::{Fleet, Host, Unreadable};
use serde::Deserialize;

use crate::failure::{Failure, io_sentence};
use crate::target::Target;

const FACTS: &str = "facts.parquet";
const ANSWERS: &str = "what-if";

pub(crate) struct FleetFolder(PathBuf);

impl FleetFolder {
    /// A directory to read snapshots into: new, empty, or one with facts.
    pub(crate) fn for_reading(path: &Path) -> Result<Self, Failure> {
        fs::create_dir_all(path).map_err(|error| Failure::file(path, io_sentence(&error)))?;
        let mut entries = path.read_dir().map_err(|error| Failure::file(path, io_sentence(&error)))?;
        if entries.next().is_some() && !path.join(FACTS).is_file() {
            let expected = "holds files, but no facts.parquet: expected a new or empty directory, or that of a fleet";
            return Err(Failure::file(path, expected));
        }
        Ok(Self(path.to_owned()))
    }

    /// The directory of a fleet.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        if path.join(FACTS).is_file() {
            return Ok(Self(path.to_owned()));
        }
        Err(Failure::file(path, "holds no facts.parquet, expected a directory that `order9 fleet -o` has written"))
    }

    /// Path of the table of facts.
    pub(crate) fn facts(&self) -> PathBuf {
        self.0.join(FACTS)
    }

    /// Hosts of an earlier reading by this version of order9; none where there was none.
    pub(crate) fn known(&self) -> Result<Vec<Host>, Failure> {
        match self.stored() {
            Ok(hosts) => Ok(hosts),
            Err(StoreError::Version) => Ok(Vec::new()),
            Err(StoreError::File(error)) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(Failure::file(&self.facts(), error)),
        }
    }

    /// The hosts, and their groups.
    pub(crate) fn hosts(&self) -> Result<(Vec<Host>, Groups), Failure> {
        let hosts = self.stored().map_err(|error| {
            let again =
                if matches!(error, StoreError::Version) { "; `order9 fleet` reads the snapshots again" } else { "" };
            Failure::file(&self.facts(), format!("{error}{again}"))
        })?;
        let groups = Groups::of(&hosts);
        Ok((hosts, groups))
    }

    fn stored(&self) -> Result<Vec<Host>, StoreError> {
        store::read(fs::read(self.facts())?)
    }

    /// Writes the table of facts.
    pub(crate) fn write_facts(&self, hosts: &[Host], groups: &Groups) -> Result<(), Failure> {
        let mut bytes = Vec::new();
        store::write(hosts, &groups.of, &mut bytes).map_err(|error| Failure::file(&self.facts(), error))?;
        Target::new(&self.facts(), true)?.write(|out| out.write_all(&bytes)).map(drop)
    }

    /// Writes the summary and the page.
    pub(crate) fn write_page(&self, fleet: &Fleet, hosts: &[Host], groups: &Groups) -> Result<(), Failure> {
        let json = crate::output::json(fleet)?;
        Target::new(&self.0.join("fleet.json"), true)?.write(|out| out.write_all(json.as_bytes()))?;
        let title = self.0.canonicalize().ok().and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
        let title = order9_escape::line(&title.unwrap_or_else(|| "Fleet".to_owned())).into_owned();
        let page = order9_html::fleet::page(format!("Fleet: {title}"), fleet, hosts, groups);
        Target::new(&self.0.join("index.html"), true)?.write(|out| page.write(out)).map(drop)
    }

    /// Files that the last reading could not read, as the summary names them.
    pub(crate) fn unreadable(&self) -> Vec<Unreadable> {
        #[derive(Deserialize)]
        struct Summary {
            unreadable: Vec<Unreadable>,
        }
        let text = fs::read(self.0.join("fleet.json")).unwrap_or_default();
        serde_json::from_slice(&text).map(|summary: Summary| summary.unreadable).unwrap_or_default()
    }

    /// Directory of the answers of hosts to a question.
    pub(crate) fn answers(&self, question: &Question) -> PathBuf {
        self.0.join(ANSWERS).join(question.key())
    }

    /// Keeps what follows from the answers to a question.
    pub(crate) fn keep(&self, question: &Question, projection: &Projection) -> Result<(), Failure> {
        let place = self.0.join(ANSWERS).join(format!("{}.json", question.key()));
        let json = crate::output::json(projection)?;
        Target::new(&place, true)?.write(|out| out.write_all(json.as_bytes())).map(drop)
    }

    /// All that was kept so, by name. A file that is none of these is left alone.
    pub(crate) fn projections(&self) -> Vec<Projection> {
        let entries = self.0.join(ANSWERS).read_dir().into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_file()).collect();
        paths.sort();
        paths.iter().filter_map(|path| serde_json::from_slice(&fs::read(path).ok()?).ok()).collect()
    }
}
