//! Run directories as a whole: written, listed, read back, damaged.

mod damage;
mod golden;
mod place;
mod round_trip;
mod sample;
mod tables;
