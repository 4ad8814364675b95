//! Scenario files from outside: what the examples ask for, what is refused, what arguments replace, and whether the
//! documents agree.

mod arguments;
mod bad_input;
mod cases;
mod documents;
mod examples;
