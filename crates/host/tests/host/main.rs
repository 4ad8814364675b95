//! Captures of made-up hosts, of this one, and of the real ones among the test data.

mod complete;
mod live;
mod partial;
mod real_maps;
mod secrets;
mod support;
