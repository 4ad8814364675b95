//! `relaxthisnode`: whoever may reclaim takes a huge page from wherever there is one.

use super::{Attempt, Rule, View};

pub(super) const RULE: Rule = Rule {
    says: "any node, the nearest first, if it may reclaim, else from the node of its CPU alone",
    origin: "5.3, and proposed in 2018",
    next,
    ..Rule::PLAIN
};

/// The attempts of others, too, whose rule this is where programs say nothing.
pub(super) fn next(view: &View<'_>) -> Option<Attempt> {
    let attempt = || if view.may_reclaim() { view.anywhere() } else { view.at_home() };
    (view.made() == 0).then(attempt)
}
