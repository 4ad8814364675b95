//! The file format from outside: what is written is read, and anything else is refused with a precise reason.
//!
//! `forge` builds files from the description in docs/snapshot.md, not from the code under test.

mod damage;
mod forge;
mod hostile;
mod round_trip;
mod samples;
mod stored;
