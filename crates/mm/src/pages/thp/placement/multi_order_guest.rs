//! Both sizes on each node, for guests, to which a huge page of the next node is worth more than a base page of this one.

use super::multi_order::huge_on;
use super::{Attempt, Nodes, Rule, View};

pub(super) const RULE: Rule = Rule {
    says: "each node in turn, the nearest first, and before the next but one a base page that is free",
    origin: "proposed in 2019",
    next,
    ..Rule::PLAIN
};

/// Huge on the first and second node, base on the first, huge on the third, base on the second, and so on.
fn next(view: &View<'_>) -> Option<Attempt> {
    let count = view.by_distance().count();
    let mut list = (0..=count).flat_map(|at| {
        let huge = view.by_distance().nth(at).map(|node| huge_on(view, node));
        let base = at.checked_sub(1).and_then(|before| view.by_distance().nth(before));
        huge.into_iter().chain(base.map(|node| Attempt::free_base(Nodes::One(node))))
    });
    list.nth(view.made())
}
