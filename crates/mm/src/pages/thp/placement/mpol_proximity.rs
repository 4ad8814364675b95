//! `MPOL_NODE_PROXIMITY` as a memory policy: who may do harm for the sake of locality asks for it, by task, mapping or file.

use super::{PlacementAdvice, Rule, proximity, relax};

pub(super) const RULE: Rule = Rule {
    says: "where relax does; under the memory policy MPOL_NODE_PROXIMITY, where proximity does",
    origin: "proposed in 2018",
    next: |view| if view.is_advised() { (proximity::RULE.next)(view) } else { relax::next(view) },
    advice: PlacementAdvice::NodeProximity,
    ..Rule::PLAIN
};
