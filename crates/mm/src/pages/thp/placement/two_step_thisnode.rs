//! Two steps as since 7.0: the first never reclaims, and the second goes on whatever its compaction came to.

use super::Rule;
use crate::policy::EarlyFail;

pub(super) const RULE: Rule = Rule {
    says: "the node of its CPU in one round of compaction, then, if it may reclaim, from any node in a round of reclaim and \
           compaction at least",
    origin: "7.0+",
    next: |view| match view.made() {
        0 => Some(view.at_home().noretry().gated(EarlyFail::NoRetryThisNode)),
        1 if view.may_reclaim() => Some(view.anywhere()),
        _ => None,
    },
    ..Rule::PLAIN
};
