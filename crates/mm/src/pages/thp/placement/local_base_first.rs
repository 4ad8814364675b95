//! Memory at home comes first: huge, then base pages of home, then what is free elsewhere.

use super::{Attempt, Nodes, Rule, View};

pub(super) const RULE: Rule = Rule {
    says: "the node of its CPU, then base pages that are free there, then what is free on other nodes",
    origin: "proposed in 2018",
    next,
    ..Rule::PLAIN
};

fn next(view: &View<'_>) -> Option<Attempt> {
    match view.made() {
        0 => Some(view.at_home()),
        1 => Some(Attempt::free_base(Nodes::One(view.home()))),
        2 => view.others().map(|nodes| Attempt { nodes, ..view.anywhere().light() }),
        _ => None,
    }
}
