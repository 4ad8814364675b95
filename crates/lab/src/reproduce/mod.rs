//! Published experiments run again: which experiment judges which claim, what came of every statement, and what changed since
//! another reproduction.
//!
//! Key types: [`Table`] (the experiments of `claims/reproduce/experiments.toml`, in two sizes), [`Reproduction`] (all verdicts of
//! one reproduction, as `reproduce.json` holds them), [`Changes`] (two of those compared). The claims are built in.
//! Never runs anything, and keeps no runs: that is the command line's.

mod causes;
mod changes;
mod experiments;
mod files;
mod judged;
mod markdown;
mod text;

pub use causes::Causes;
pub use changes::{Change, Changes};
pub use experiments::{Entry, Judges, NotJudged, Size, Table};
pub use files::claims;
pub use judged::{Judged, Made, OfSeed, Reproduction, ReproductionError, Score, StatementVerdict, Why, judged};
pub use markdown::{claim_table, page};
pub use text::{claim_text, summary};
