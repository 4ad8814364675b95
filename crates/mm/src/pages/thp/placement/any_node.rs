//! Every node, the nearest first, as before anybody thought of locality; what memory policies ask for that name their nodes.

use super::Rule;

pub(super) const RULE: Rule = Rule {
    says: "any node, the nearest first",
    origin: "up to 4.0",
    next: |view| (view.made() == 0).then(|| view.anywhere()),
    ..Rule::PLAIN
};
