//! `__GFP_COMPACT_ONLY`: home is compacted and never reclaimed, since whoever asks says so.

use super::Rule;

pub(super) const RULE: Rule = Rule {
    says: "the node of its CPU alone, which it compacts and never reclaims",
    origin: "proposed in 2018",
    next: |view| (view.made() == 0).then(|| view.at_home().compact_only()),
    ..Rule::PLAIN
};
