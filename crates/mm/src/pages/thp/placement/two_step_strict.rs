//! Two steps, the first of which never reclaims.

use super::{Rule, two_step};
use crate::policy::EarlyFail;

pub(super) const RULE: Rule = Rule {
    says: "the node of its CPU in one round of compaction, then, if it may reclaim, from any node with all that it may do",
    origin: "early 2026",
    next: |view| two_step::next(view, EarlyFail::NoRetrySkippedDeferredOrThisNode),
    ..Rule::PLAIN
};
