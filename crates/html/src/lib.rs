//! Results as one HTML file: it opens from the disk, asks nothing of any network, and holds all that it shows.
//!
//! A [`Page`] is a list of [`Section`]s, plain data that [`Page::write`] turns into JSON, packs and puts into the
//! template beside the programs of `assets/`, which draw it in the browser. The other modules make sections: [`about`] of
//! the inputs, [`tables`], [`latency`], [`timeline`], [`claims`] and [`worth`] of runs, [`maps`] of memory maps,
//! [`compaction`] of recorded events, [`trace`] of a timeline for Perfetto, [`fleet`] and [`listing`] of many
//! hosts. [`runs`] puts the page about stored runs together. Decides nothing about results: what a value, a verdict or a look is comes from
//! `report`, `lab` and `snapshot`.
#![forbid(unsafe_code)]

pub mod about;
pub mod claims;
pub mod compaction;
pub mod fleet;
pub mod latency;
pub mod listing;
pub mod maps;
mod number;
mod pack;
mod page;
pub mod runs;
pub mod tables;
pub mod timeline;
pub mod trace;
pub mod worth;

use order9_lab::PlotChoice;
use order9_record::Loaded;

pub use page::{Page, Section, Text};

/// Policies that have a colour of their own in pictures, in their order: those that `choice` names, or the first ones.
#[must_use]
pub fn groups(loaded: &Loaded, choice: &PlotChoice) -> Vec<String> {
    /// Number of colours.
    const MOST: usize = 6;
    let mut titles: Vec<String> = loaded.runs.iter().map(|run| run.policy.clone()).collect();
    titles.dedup();
    if choice.policies.is_empty() {
        titles.truncate(MOST);
    } else {
        titles.retain(|title| choice.policies.contains(title));
    }
    titles
}
