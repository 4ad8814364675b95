//! Two steps as from 5.5 to 6.19: little effort at home, then all everywhere.

use super::{Attempt, Rule, View};
use crate::policy::EarlyFail;

pub(super) const RULE: Rule = Rule {
    says: "the node of its CPU in one round, then, if it may reclaim, from any node with all that it may do",
    origin: "5.5 to 6.19",
    next: |view| next(view, EarlyFail::NoRetrySkippedOrDeferred),
    ..Rule::PLAIN
};

/// The two steps, the first of which `gate` ends.
pub(super) fn next(view: &View<'_>, gate: EarlyFail) -> Option<Attempt> {
    match view.made() {
        0 => Some(view.at_home().noretry().gated(gate)),
        1 if view.may_reclaim() => Some(view.anywhere().gated(EarlyFail::NoRetrySkippedOrDeferred)),
        _ => None,
    }
}
