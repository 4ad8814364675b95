//! Policies as files: the switches of the engine, with the values they had in Linux releases and patches.
//!
//! Key types: [`Switch`] (one behaviour that can be switched: key, values, meaning, field of the engine's `Policy`),
//! [`Loaded`] (a policy with all its bases, ready to run), [`Release`] (a release, and the policy that stands for it),
//! [`Diff`] (two policies compared in words).
//! One table, [`switches`], names every switch; loading, showing, comparing, checking and the documents read it. What the
//! engine cannot do yet stands in [`PLANNED`]: a file may say that it needs it, never switch it.
//! The format is described in docs/policies.md.
#![forbid(unsafe_code)]

mod diff;
mod error;
mod list;
mod load;
mod placements;
mod planned;
mod presets;
mod release;
mod series;
mod show;
mod switch;
mod table;
mod text;

pub use diff::{Diff, Difference, PlannedDifference};
pub use error::{PolicyError, Problem};
pub use list::{List, Listed};
pub use load::{Loaded, Need, load, split_changes};
pub use planned::{PLANNED, Planned};
pub use release::{OfRelease, Release};
pub use show::{Show, ShowNeed, ShowSwitch};
pub use switch::{Case, Switch, Value, Values};
pub use table::switches;
