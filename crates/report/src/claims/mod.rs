//! Published results as claims, and whether a re-run bears them out.
//!
//! A [`Claim`] is one file of `claims/`: the printed numbers, and [`Statement`]s about their shape that a program can
//! check. [`judge`] checks them against what was [`Measured`] and gives one [`Verdict`] per statement, with the numbers
//! that decided it. The keys of the files are explained in claims/README.md.
//! Runs nothing and changes no claim: a statement that does not hold is shown as such.

mod claim;
mod figures;
mod judge;
mod load;
mod raw;
mod resolve;
mod row;
mod statement;

pub use claim::{Claim, Counter, Fact, Kind, PercentOnly, RatioRow, Sense, Side, Table, TableRow};
pub use judge::{Evidence, Finding, Measured, Outcome, Verdict, judge};
pub use load::{ClaimError, load_all, parse};
pub use row::{CellRef, Field, Reading, RowKey};
pub use statement::{Bound, Level, Op, Reference, Relation, Statement, Term};
