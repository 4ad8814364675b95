//! kswapd on the reference machine: whole runs over memory in known states, and the laws of any run.

mod laws;
mod scenarios;
mod world;
