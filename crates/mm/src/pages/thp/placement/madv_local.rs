//! `MADV_LOCAL`: programs say which memory is to lie where they run; of others, `MADV_HUGEPAGE` says nothing about that.

use super::{PlacementAdvice, Rule, compact_only_wmark, relax};

pub(super) const RULE: Rule = Rule {
    says: "where relax does; in memory that is MADV_LOCAL, where compact_only_wmark does",
    origin: "proposed in 2018",
    next: |view| if view.is_advised() { compact_only_wmark::next(view) } else { relax::next(view) },
    advice: PlacementAdvice::Local,
    ..Rule::PLAIN
};
