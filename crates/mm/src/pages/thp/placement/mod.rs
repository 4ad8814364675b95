//! Where a fault looks for a huge page: placements, each a list of attempts.
//!
//! Key types: [`HugePlacement`] (which rule holds), [`Rule`] (its name and its list), [`HugeAsk`] (what a list starts from: the
//! node where the page is wanted, the nodes that may serve, what the fault may do), [`View`] (what a rule sees), [`Attempt`] (what
//! it says). Each rule has a file and a row below, and nothing else: the switch `thp.placement`, its values in documents and a
//! policy of its name come from the row. Rules never allocate, and never change state. Who proposed what: docs/numa.md.

mod advice;
mod attempt;
mod cost;
mod search;
#[cfg(test)]
mod tests;
mod view;

pub use attempt::{Attempt, Nodes};
pub use cost::HugePrices;
pub use search::{HugeAsk, HugeSearch};
pub use view::View;

/// A placement of huge pages.
#[derive(Debug)]
pub struct Rule {
    /// Its name as a value of `thp.placement`.
    pub name: &'static str,
    /// From where a fault takes a huge page, in words.
    pub says: &'static str,
    /// Which releases have it, or who proposed it.
    pub origin: &'static str,
    /// What to do next, after [`View::made`] attempts; `None`: base pages, as for any fault.
    pub next: fn(&View<'_>) -> Option<Attempt>,
    /// It asks what the index of pageblocks knows.
    pub asks_index: bool,
    /// What programs may say about where huge pages lie.
    pub advice: PlacementAdvice,
}

impl Rule {
    /// A rule without index or advice, for a file to complete.
    const PLAIN: Self =
        Self { name: "", says: "", origin: "", next: |_| None, asks_index: false, advice: PlacementAdvice::None };
}

/// What programs may say about where huge pages lie.
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

macro_rules! placements {
    ($($variant:ident: $module:ident,)+) => {
        $(mod $module;)+

        /// Where a fault looks for a huge page, and what each attempt may do.
        ///
        /// What a fault may do at all is the business of [`crate::thp::fault_gfp`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum HugePlacement {
            $(#[doc = concat!("`", stringify!($module), "`: [`HugePlacement::rule`] tells.")] $variant,)+
        }

        impl HugePlacement {
            /// Every placement there is.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Its rule.
            #[must_use]
            pub const fn rule(self) -> &'static Rule {
                match self {
                    $(Self::$variant => &$module::RULE,)+
                }
            }
        }
    };
}

placements! {
    ThisNode: thisnode,
    Relax: relax,
    NoRetry: noretry,
    CompactOnly: compact_only,
    CompactOnlyWmark: compact_only_wmark,
    TwoStepLocal: two_step_local,
    TwoStep: two_step,
    TwoStepStrict: two_step_strict,
    AnyNode: any_node,
    Proximity: proximity,
    MpolProximity: mpol_proximity,
    MultiOrder: multi_order,
    MultiOrderGuest: multi_order_guest,
    LocalBaseFirst: local_base_first,
    MadvLocal: madv_local,
    ForceLocal: force_local,
    Estimate: estimate,
}

impl HugePlacement {
    /// The placement called `name`.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|placement| placement.rule().name == name)
    }
}
