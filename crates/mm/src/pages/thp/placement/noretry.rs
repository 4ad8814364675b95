//! `noretry`: one round of compaction at home, whatever came of it.

use super::Rule;
use crate::policy::EarlyFail;

pub(super) const RULE: Rule = Rule {
    says: "the node of its CPU alone, in one round",
    origin: "proposed in 2018",
    next: |view| (view.made() == 0).then(|| view.at_home().noretry().gated(EarlyFail::HugeNoRetryAlways)),
    ..Rule::PLAIN
};
