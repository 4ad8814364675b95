//! Fleets: facts of many snapshots in one table, what they have in common, and settings tried on a sample of them.
//!
//! [`read()`] turns snapshot files into [`Host`]s, one after the other, and keeps of each only rows of numbers, whose columns
//! [`columns`] lists; [`store`] writes the rows as one Parquet file and reads them again. [`Fleet`] is what they say together:
//! distributions, owners, [`groups`] of hosts that look alike, [`outliers`]. [`trial`] replays `order9 what-if` on a stratified
//! [`sample`] and projects the outcome to the fleet. Described for users in docs/fleet.md. Never looks at frames: facts are those
//! of [`order9_snapshot::inspection`].
#![forbid(unsafe_code)]

pub mod columns;
mod features;
pub mod groups;
mod host;
pub mod outliers;
mod quantiles;
mod read;
pub mod sample;
pub mod share;
pub mod store;
mod summary;
mod text;
pub mod trial;

pub use features::{FEATURES, Feature, column};
pub use host::{FileId, Host, Level, Row};
pub use quantiles::Quantiles;
pub use read::{Reading, Unreadable, read};
pub use summary::{Distribution, Fleet, Owner, Valued};
