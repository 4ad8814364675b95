//! TOML files that people write (policies, machines, scenarios): read so that every refusal names file, line, what was
//! expected and the nearest valid name.
//!
//! Key types: [`Place`] (where messages about a text point to), [`Leaf`] (a key with its value), [`Definition`] (a kind of
//! file that may inherit from another) and [`chain`] (one such file with all its bases), [`FileError`] and [`Problem`].
//! Never knows what a key means.
#![forbid(unsafe_code)]

mod chain;
mod error;
mod leaf;
mod place;
mod words;
mod write;

pub use chain::{Base, Definition, Kind, Member, Preset, chain};
pub use error::{FileError, Problem};
pub use leaf::{Leaf, found, leaves};
pub use place::Place;
pub use words::{nearest, proposal, shown};
pub use write::{comment, paragraph, quoted};
