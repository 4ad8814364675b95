//! Policies from outside: what is built in, what is shown, what is refused, and whether the documents agree.

mod bad_input;
mod documents;
mod golden;
mod presets;
