//! Differences between releases about memory policies, as data.

/// Calls and modes of memory policies that exist. Each value includes the ones before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MempolicyInterface {
    /// `MPOL_DEFAULT`, `MPOL_PREFERRED`, `MPOL_BIND`, `MPOL_INTERLEAVE` and `MPOL_LOCAL`. Up to 5.11.
    Base,
    /// `MPOL_F_NUMA_BALANCING` with `MPOL_BIND`. 5.12+.
    BindBalancing,
    /// `MPOL_PREFERRED_MANY`; a preferred node stays when the cpuset changes. 5.15+.
    PreferredMany,
    /// `set_mempolicy_home_node`. 5.17+.
    HomeNode,
    /// `MPOL_WEIGHTED_INTERLEAVE` and its weights in /sys/kernel/mm/mempolicy. 6.9+.
    WeightedInterleave,
    /// `MPOL_F_NUMA_BALANCING` with `MPOL_PREFERRED_MANY`. 6.10+.
    PreferredManyBalancing,
    /// Weights that follow the bandwidth of nodes: /sys/kernel/mm/mempolicy/weighted_interleave/auto. 6.16+.
    AutoWeights,
}
