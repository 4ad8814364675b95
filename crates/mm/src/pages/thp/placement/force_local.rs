//! `MADV_HUGEPAGE_FORCE_LOCAL`: who may do harm for the sake of locality says where.

use super::{PlacementAdvice, Rule, relax, thisnode};

pub(super) const RULE: Rule = Rule {
    says: "where relax does; in memory that is MADV_HUGEPAGE_FORCE_LOCAL, from the node of its CPU alone",
    origin: "proposed in 2018",
    next: |view| if view.is_advised() { (thisnode::RULE.next)(view) } else { relax::next(view) },
    advice: PlacementAdvice::ForceLocal,
    ..Rule::PLAIN
};
