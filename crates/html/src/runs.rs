//! The page about stored runs: inputs, tables, distributions, counters over time, maps and compaction.

use std::path::Path;

use order9_lab::{PlotChoice, PlotError};
use order9_record::{Loaded, ReadError, read_events, read_file};
use order9_report::compare::Report;
use order9_snapshot::maps::{self, MapsError};

use crate::about::{About, Experiment};
use crate::claims::Claims;
use crate::compaction::{Compaction, fallbacks};
use crate::latency::Latency;
use crate::maps::Maps;
use crate::tables::Tables;
use crate::timeline::Timeline;
use crate::worth::WorthOf;
use crate::{Page, Section, groups};

/// A stored run directory.
#[derive(Debug)]
pub struct Stored<'a> {
    /// Path as it was named.
    pub path: &'a Path,
    /// Contents of the directory.
    pub loaded: Loaded,
}

/// A page about runs that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum RunsError {
    /// A damaged directory.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Runs that cannot be drawn.
    #[error(transparent)]
    Plot(#[from] PlotError),
    /// Maps of a run that are damaged.
    #[error("{file}: {error}")]
    Maps {
        /// Path of the file.
        file: String,
        /// The damage.
        error: MapsError,
    },
}

/// The part of a page that others decide: what the tables show and what is said about them.
#[derive(Debug)]
pub struct Judged<'a> {
    /// Comparison of the columns.
    pub report: &'a Report,
    /// Published claims with their verdicts.
    pub claims: Vec<Claims>,
    /// Worth of the switches, where a policy was taken apart.
    pub worth: Option<WorthOf>,
    /// Sentences that a reader of the results needs.
    pub notes: Vec<String>,
}

/// File of a run directory that holds the maps of a run.
#[must_use]
pub fn maps_file(policy: &str, seed: u64) -> String {
    format!("{policy}-seed-{seed}.{}", maps::EXTENSION)
}

/// Inputs of the directories, with `notes`.
#[must_use]
pub fn about(stored: &[Stored<'_>], notes: Vec<String>) -> About {
    About { experiments: stored.iter().map(|stored| Experiment::of(stored.path, &stored.loaded)).collect(), notes }
}

/// The page about runs of `workload`; `titles` are those of the policies of all directories, in their order, and `loaded` is all
/// of them [`together`].
///
/// # Errors
/// A damaged directory, or runs that cannot be drawn.
pub fn page(stored: &[Stored<'_>], titles: &[String], loaded: &Loaded, judged: Judged<'_>) -> Result<Page, RunsError> {
    let Judged { report, claims, worth, notes } = judged;
    let mut sections = vec![Section::About(about(stored, notes))];
    sections.extend(claims.into_iter().map(Section::Claims));
    sections.push(Section::Tables(Tables::of(report)));
    sections.extend(worth.map(Section::Worth));
    sections.extend(Latency::of(loaded)?.map(Section::Latency));
    sections.extend(Timeline::of(loaded)?.map(Section::Timeline));
    let mut page = Page {
        title: format!("{}: {}", loaded.manifest.inputs.workload.name, titles.join(", ")),
        subtitle: order9_lab::subtitle(&loaded.manifest.inputs),
        groups: groups(loaded, &PlotChoice::default()),
        sections,
        blobs: Vec::new(),
    };
    recordings(stored, titles, &mut page)?;
    Ok(page)
}

/// Adds what runs recorded beside their measurements: maps of memory, and events of compaction.
fn recordings(stored: &[Stored<'_>], titles: &[String], page: &mut Page) -> Result<(), RunsError> {
    let (mut maps, mut compaction) = (Maps::new(), Compaction::default());
    let mut titles = titles.iter();
    for Stored { path, loaded } in stored {
        let manifest = &loaded.manifest;
        for (policy, title) in manifest.inputs.policies.iter().zip(&mut titles) {
            let Some(group) = page.groups.iter().position(|group| group == title) else { continue };
            for run in loaded.runs.iter().filter(|run| run.policy == policy.title) {
                let name = format!("{title}, seed {}", run.seed);
                let cell = manifest.cells.iter().find(|cell| (&cell.policy, cell.seed) == (&run.policy, run.seed));
                let events = cell.map(|cell| read_events(path, manifest, cell)).transpose()?;
                let events = events.unwrap_or_default();
                compaction.add(&name, group, &events);
                let file = maps_file(&run.policy, run.seed);
                if manifest.files.iter().any(|entry| entry.path == file) {
                    let bytes = read_file(path, manifest, &file)?;
                    let series = maps::read(&bytes)
                        .map_err(|error| RunsError::Maps { file: path.join(&file).display().to_string(), error })?;
                    maps.add(name, &series, fallbacks(&events), page);
                }
            }
        }
    }
    page.sections.extend((!maps.is_empty()).then_some(Section::Maps(maps)));
    page.sections.extend((!compaction.is_empty()).then_some(Section::Compaction(compaction)));
    Ok(())
}

/// The runs of all directories as if they were of one, under the titles of their columns.
///
/// # Panics
/// Without a directory.
#[must_use]
pub fn together(stored: &[Stored<'_>], titles: &[String]) -> Loaded {
    let mut titles = titles.iter();
    let renamed = stored.iter().map(|stored| {
        let mut loaded = stored.loaded.clone();
        let policies = &mut loaded.manifest.inputs.policies;
        let own: Vec<(String, &String)> = policies.iter().map(|policy| policy.title.clone()).zip(&mut titles).collect();
        policies.iter_mut().zip(&own).for_each(|(policy, (_, title))| policy.title.clone_from(title));
        for run in &mut loaded.runs {
            let renamed = own.iter().find(|(policy, _)| *policy == run.policy);
            renamed.into_iter().for_each(|(_, title)| run.policy.clone_from(title));
        }
        loaded
    });
    let joined = renamed.reduce(|mut all, other| {
        let inputs = &mut all.manifest.inputs;
        inputs.policies.extend(other.manifest.inputs.policies);
        let new = other.manifest.inputs.seeds.iter().filter(|seed| !inputs.seeds.contains(seed)).copied();
        let new: Vec<u64> = new.collect();
        inputs.seeds.extend(new);
        all.runs.extend(other.runs);
        all
    });
    joined.expect("there is a directory")
}
