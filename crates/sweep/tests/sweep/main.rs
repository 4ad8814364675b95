//! Sweeps of tiny cells: plans, names, what is kept, parts and the whole, the stop rule.

mod cells;
mod emitted;
mod kept;
mod plans;
mod support;
