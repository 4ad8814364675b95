//! Run directories as a whole: written, listed, read back, damaged.

mod round_trip;
mod sample;
