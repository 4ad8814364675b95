//! [`HugePlacement`]: where a fault looks for a huge page.

/// Hands the rows of all placements to the macro `$then`: the placement, and its name as a value of `thp.placement`, which is that
/// of the module with its rule.
macro_rules! placements {
    ($then:ident) => {
        $then! {
            ThisNode: thisnode,
            Relax: relax,
            NoRetry: noretry,
            CompactOnly: compact_only,
            CompactOnlyWmark: compact_only_wmark,
            TwoStepLocal: two_step_local,
            TwoStep: two_step,
            TwoStepStrict: two_step_strict,
            TwoStepThisNode: two_step_thisnode,
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
    };
}
pub(crate) use placements;

macro_rules! names {
    ($($variant:ident: $name:ident,)+) => {
        /// Nodes on which a fault looks for a huge page, and effort of each attempt: [`HugePlacement::rule`] tells.
        ///
        /// The effort of a fault as a whole is the business of [`crate::thp::fault_gfp`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum HugePlacement {
            $(#[doc = concat!("`", stringify!($name), "`")] $variant,)+
        }

        impl HugePlacement {
            /// Every placement there is.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Name of the placement as a value of `thp.placement`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => stringify!($name),)+
                }
            }
        }
    };
}

placements!(names);

impl HugePlacement {
    /// The placement called `name`.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|placement| placement.name() == name)
    }

    /// Whether a base page may be among the attempts: in a slot without a page table, which it needs.
    pub(crate) const fn asks_for_base(self) -> bool {
        use HugePlacement::{LocalBaseFirst, MpolProximity, MultiOrder, MultiOrderGuest, Proximity};
        matches!(self, LocalBaseFirst | MultiOrder | MultiOrderGuest | Proximity | MpolProximity)
    }
}
