//! Machines from outside: what is built in, what is shown, what is refused, where memory lies, and whether the documents
//! agree.

mod bad_input;
mod built_in;
mod documents;
mod layout;
