//! `MPOL_NODE_PROXIMITY`: near nodes are worth every effort, one after the other; of far ones only what is free.

use super::view::among;
use super::{Attempt, Nodes, Rule, View};
use crate::policy::EarlyFail;
use order9_frames::Gfp;

pub(super) const RULE: Rule = Rule {
    says: "near nodes (thp.near), each with all that it may do, then what is free on others; base pages from near nodes first",
    origin: "proposed in 2018",
    next,
    ..Rule::PLAIN
};

fn next(view: &View<'_>) -> Option<Attempt> {
    let near = view.nearby().count();
    if let Some(node) = view.nearby().nth(view.made()) {
        let attempt = view.on(node).gated(EarlyFail::NoRetryDeferred);
        return Some(Attempt { gfp: attempt.gfp.without(Gfp::NORETRY), ..attempt });
    }
    let far = view.further().map(|nodes| Attempt { nodes, ..view.anywhere().light() });
    let near_base = Some(Attempt::reclaimed_base(Nodes::Among(among(view.nearby())))).filter(|_| near > 0);
    far.into_iter().chain(near_base).nth(view.made() - near)
}
