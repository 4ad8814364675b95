//! Two steps as in 5.4: all effort at home, then little everywhere.

use super::{Attempt, Rule, View};
use crate::policy::EarlyFail;

pub(super) const RULE: Rule = Rule {
    says: "the node of its CPU with all that it may do, then, if it may reclaim, from any node in one round",
    origin: "5.4",
    next,
    ..Rule::PLAIN
};

fn next(view: &View<'_>) -> Option<Attempt> {
    let gate = EarlyFail::HugeUnlessRetryMayFail;
    match view.made() {
        0 => Some(view.at_home().gated(gate)),
        1 if view.may_reclaim() => Some(view.anywhere().noretry().gated(gate)),
        _ => None,
    }
}
