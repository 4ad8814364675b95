//! Captures of made-up hosts, of this one, and of the real ones among the test data.

#[path = "../../../../fuzz/src/bundle.rs"]
mod bundle;
mod complete;
mod fuzzed;
mod live;
mod partial;
mod real_maps;
mod secrets;
#[path = "../../../../fuzz/src/sections.rs"]
mod sections;
mod support;
