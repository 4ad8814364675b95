//! Both sizes on each node before the next one: a base page here is worth more than a huge page there.

use super::{Attempt, Nodes, Rule, View};
use crate::policy::EarlyFail;

pub(super) const RULE: Rule = Rule {
    says: "each node in turn, the nearest first, and before the next node a base page that is free",
    origin: "proposed in 2019",
    next,
    ..Rule::PLAIN
};

fn next(view: &View<'_>) -> Option<Attempt> {
    let node = view.by_distance().nth(view.made() / 2)?;
    Some(if view.made().is_multiple_of(2) { huge_on(view, node) } else { Attempt::free_base(Nodes::One(node)) })
}

/// A huge page of a node, for one round of compaction at most where that can start.
pub(super) fn huge_on(view: &View<'_>, node: order9_units::NodeId) -> Attempt {
    view.on(node).noretry().gated(EarlyFail::NoRetrySkippedOrDeferred)
}
