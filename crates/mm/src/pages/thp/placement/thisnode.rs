//! The node where the page is wanted, and no other.

use super::Rule;

pub(super) const RULE: Rule = Rule {
    says: "the node of its CPU alone",
    origin: "up to 5.2",
    next: |view| (view.made() == 0).then(|| view.at_home()),
    ..Rule::PLAIN
};
