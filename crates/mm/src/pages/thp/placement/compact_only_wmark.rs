//! `__GFP_COMPACT_ONLY`, refined: where home has no base pages for the slot either, a huge page of another node is better.

use super::{Attempt, Rule, View};

pub(super) const RULE: Rule = Rule {
    says: "the node of its CPU, which it compacts and never reclaims; then, if that has not even base pages, what is free on \
           any node",
    origin: "proposed in 2018",
    next,
    ..Rule::PLAIN
};

/// The attempts in memory that is `MADV_LOCAL`, too.
pub(super) fn next(view: &View<'_>) -> Option<Attempt> {
    match view.made() {
        0 => Some(view.at_home().compact_only()),
        1 if view.is_short_of_base_pages(view.home()) => Some(view.anywhere().light()),
        _ => None,
    }
}
