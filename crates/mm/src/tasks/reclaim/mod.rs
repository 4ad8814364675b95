//! Reclaim as tasks run it: directly for a request ([`direct_reclaim`]), of a node before the next one is used ([`reclaim_node`]), and
//! on the administrator's request ([`reclaim_on_request`]), and pass by pass for kswapd. The steps between the waits are in [`crate::reclaim`].

pub(crate) mod direct;
pub(crate) mod node;
pub(crate) mod node_reclaim;
pub(crate) mod partial;
mod request;
mod run;
pub(crate) mod throttle;

pub use direct::direct_reclaim;
pub use node_reclaim::reclaim_node;
pub use request::{NodeReclaim, reclaim_on_request};
