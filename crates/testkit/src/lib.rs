//! Tools that tests of the engine share: small and large machines, the switch sets of Linux releases, a naive allocator
//! written from the described behaviour alone, and operations that drive both side by side.
//!
//! Key types: [`Op`] (one step, printed as the code that repeats it), [`Case`] (what it runs on), [`oracle::Oracle`] (what
//! the engine must answer), [`Pair`] (engine and oracle, compared after every step).
//! Never used by the product: it depends on the engine, and nothing but tests and benchmarks depends on it.
#![forbid(unsafe_code)]

pub mod crowd;
pub mod generate;
pub mod huge;
mod laws;
pub mod machines;
pub mod nodes;
pub mod op;
pub mod oracle;
pub mod pair;
pub mod profiles;
pub mod run;

pub use op::{Ask, Case, Machine, Op, Rights};
pub use pair::Pair;
pub use run::replay;
