//! Places where a fault looks for a huge page: placements, each a list of attempts.
//!
//! Key types: [`HugePlacement`] (the rule in force), [`Rule`] (its name and its list), [`HugeAsk`] (the start of a list: the
//! node where the page is wanted, the nodes that may serve, what the fault may do), [`View`] (what a rule sees), [`Attempt`]
//! (what
//! it says). Each rule has a file, and a row in `policy/placement.rs`, and nothing else: the switch `thp.placement`, its values
//! in
//! documents and a policy of its name come from the row. Rules never allocate, and never change state. Who proposed what:
//! docs/numa.md.

mod advice;
mod attempt;
mod cost;
mod search;
#[cfg(test)]
mod tests;
mod view;

pub use crate::policy::placement::HugePlacement;
use crate::policy::placement::placements;
pub use crate::settings::huge_prices::HugePrices;
pub use attempt::{Attempt, Nodes};
pub use search::{HugeAsk, HugeSearch};
pub use view::View;

/// A placement of huge pages.
#[derive(Debug)]
pub struct Rule {
    /// From where a fault takes a huge page, in words.
    pub says: &'static str,
    /// Releases that have the placement, or its author.
    pub origin: &'static str,
    /// Next step after [`View::made`] attempts; `None`: base pages, as for any fault.
    pub next: fn(&View<'_>) -> Option<Attempt>,
    /// The rule asks the index of pageblocks.
    pub asks_index: bool,
    /// Advice of programs about the place of huge pages that the rule obeys.
    pub advice: PlacementAdvice,
}

impl Rule {
    /// A rule without index or advice, for a file to complete.
    const PLAIN: Self = Self { says: "", origin: "", next: |_| None, asks_index: false, advice: PlacementAdvice::None };
}

/// Advice of programs about the place of huge pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlacementAdvice {
    /// Nothing.
    None,
    /// `MADV_LOCAL`. Proposed in 2018.
    Local,
    /// `MADV_HUGEPAGE_FORCE_LOCAL`, with privilege. Proposed in 2018.
    ForceLocal,
    /// The memory policy `MPOL_NODE_PROXIMITY`, with privilege. Proposed in 2018.
    NodeProximity,
}

macro_rules! rules {
    ($($variant:ident: $module:ident,)+) => {
        $(mod $module;)+

        impl HugePlacement {
            /// Rule of the placement.
            #[must_use]
            pub const fn rule(self) -> &'static Rule {
                match self {
                    $(Self::$variant => &$module::RULE,)+
                }
            }
        }
    };
}

placements!(rules);
