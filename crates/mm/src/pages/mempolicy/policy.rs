//! A memory policy: its mode, flags and nodes, which of them a kernel takes, and what a change of the cpuset makes of it.
//!
//! Key types: [`MempolicyArgs`] (what a system call gives), [`Mempolicy`] (what comes of it). set_mempolicy(2);
//! Linux' Documentation/admin-guide/mm/numa_memory_policy.rst.

use order9_units::{NodeId, NodeMask};

use crate::policy::{MempolicyInterface, Policy};
use crate::space::Errno;
use crate::thp::placement::PlacementAdvice;

/// Modes of memory policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// `MPOL_DEFAULT`: no policy; that of the next wider scope holds.
    Default,
    /// `MPOL_PREFERRED`: one node, others where it has no free memory. Without nodes as [`Mode::Local`].
    Preferred,
    /// `MPOL_BIND`: these nodes and no other.
    Bind,
    /// `MPOL_INTERLEAVE`: these nodes in turn, page by page.
    Interleave,
    /// `MPOL_LOCAL`: the node of the CPU, as without any policy.
    Local,
    /// `MPOL_PREFERRED_MANY`: these nodes, others where none of them has free memory. 5.15+.
    PreferredMany,
    /// `MPOL_WEIGHTED_INTERLEAVE`: these nodes in turn, each for as many pages as its weight. 6.9+.
    WeightedInterleave,
    /// `MPOL_NODE_PROXIMITY`: huge pages of near nodes are worth every effort. Proposed in 2018; for whoever has
    /// `CAP_SYS_NICE`, where the placement of huge pages knows it.
    NodeProximity,
}

impl Mode {
    /// All modes.
    pub const ALL: [Self; 8] = [
        Self::Default,
        Self::Preferred,
        Self::Bind,
        Self::Interleave,
        Self::Local,
        Self::PreferredMany,
        Self::WeightedInterleave,
        Self::NodeProximity,
    ];

    /// Whether kernels with this policy know it.
    fn exists(self, policy: &Policy) -> bool {
        match self {
            Self::PreferredMany => policy.mempolicy >= MempolicyInterface::PreferredMany,
            Self::WeightedInterleave => policy.mempolicy >= MempolicyInterface::WeightedInterleave,
            Self::NodeProximity => policy.thp.placement.rule().advice == PlacementAdvice::NodeProximity,
            _ => true,
        }
    }

    /// Whether NUMA balancing may move pages among its nodes.
    fn may_balance(self, interface: MempolicyInterface) -> bool {
        match self {
            Self::Bind => interface >= MempolicyInterface::BindBalancing,
            Self::PreferredMany => interface >= MempolicyInterface::PreferredManyBalancing,
            _ => false,
        }
    }

    /// Whether it may name nodes.
    #[must_use]
    pub const fn takes_nodes(self) -> bool {
        !matches!(self, Self::Default | Self::Local | Self::NodeProximity)
    }

    /// Whether pages go to its nodes in turn.
    #[must_use]
    pub const fn interleaves(self) -> bool {
        matches!(self, Self::Interleave | Self::WeightedInterleave)
    }
}

/// Meaning of the numbers of a policy's nodes when the cpuset changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ModeFlags {
    /// The nodes are carried over to the new ones by their place.
    #[default]
    None,
    /// `MPOL_F_STATIC_NODES`: always these nodes, as far as the cpuset has them.
    Static,
    /// `MPOL_F_RELATIVE_NODES`: places among the nodes of the cpuset.
    Relative,
}

/// Arguments of a system call about a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MempolicyArgs {
    /// Mode of the policy.
    pub mode: Mode,
    /// Rule by which the nodes follow the cpuset.
    pub flags: ModeFlags,
    /// `MPOL_F_NUMA_BALANCING`: NUMA balancing moves pages among its nodes.
    pub balances: bool,
    /// Nodes of the policy.
    pub nodes: NodeMask,
}

impl MempolicyArgs {
    /// `MPOL_DEFAULT`.
    pub const DEFAULT: Self = Self::new(Mode::Default, NodeMask::EMPTY);

    /// A mode with nodes and without flags.
    #[must_use]
    pub const fn new(mode: Mode, nodes: NodeMask) -> Self {
        Self { mode, flags: ModeFlags::None, balances: false, nodes }
    }
}

/// A policy in force: of a task, a mapping or a part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mempolicy {
    mode: Mode,
    flags: ModeFlags,
    balances: bool,
    /// The nodes as they were given.
    given: NodeMask,
    /// The nodes in use; none for modes that take none.
    nodes: NodeMask,
    /// The nodes of the cpuset that `nodes` was made for.
    made_for: NodeMask,
    /// `set_mempolicy_home_node`.
    home: Option<NodeId>,
}

impl Mempolicy {
    /// The policy that a call asks for, where `allowed` are the nodes with memory that the cpuset has; `None` for
    /// `MPOL_DEFAULT`.
    ///
    /// # Errors
    /// `EINVAL` for a mode that the kernel does not know, or does not let balance, nodes with a mode that takes none, no nodes (or none that is
    /// allowed) with a mode that needs some.
    pub fn new(args: &MempolicyArgs, policy: &Policy, allowed: NodeMask) -> Result<Option<Self>, Errno> {
        let MempolicyArgs { mode, flags, balances, nodes: given } = *args;
        if !mode.exists(policy) || balances && !mode.may_balance(policy.mempolicy) {
            return Err(Errno::Einval);
        }
        let mode = match mode {
            Mode::Default if given.is_empty() => return Ok(None),
            Mode::Preferred | Mode::Local if given.is_empty() && flags == ModeFlags::None => Mode::Local,
            Mode::NodeProximity if given.is_empty() && flags == ModeFlags::None => mode,
            Mode::Default | Mode::Local | Mode::NodeProximity => return Err(Errno::Einval),
            _ if given.is_empty() => return Err(Errno::Einval),
            mode => mode,
        };
        let mut nodes = match flags {
            ModeFlags::Relative => given.relative_to(allowed),
            ModeFlags::None | ModeFlags::Static => given & allowed,
        };
        if nodes.is_empty() && mode.takes_nodes() {
            return Err(Errno::Einval);
        }
        if mode == Mode::Preferred {
            nodes = nodes.first().map_or(NodeMask::EMPTY, NodeMask::of);
        }
        Ok(Some(Self { mode, flags, balances, given, nodes, made_for: allowed, home: None }))
    }

    /// Mode of the policy, never [`Mode::Default`].
    #[must_use]
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    /// Rule by which the nodes follow the cpuset.
    #[must_use]
    pub const fn flags(&self) -> ModeFlags {
        self.flags
    }

    /// Whether NUMA balancing moves pages among its nodes.
    #[must_use]
    pub const fn balances(&self) -> bool {
        self.balances
    }

    /// The nodes in use.
    #[must_use]
    pub const fn nodes(&self) -> NodeMask {
        self.nodes
    }

    /// The nodes as `get_mempolicy` shows them: as they were given, where a flag keeps them.
    #[must_use]
    pub const fn shown_nodes(&self) -> NodeMask {
        match self.flags {
            ModeFlags::None => self.nodes,
            ModeFlags::Static | ModeFlags::Relative => self.given,
        }
    }

    /// The node that `set_mempolicy_home_node` has named.
    #[must_use]
    pub const fn home(&self) -> Option<NodeId> {
        self.home
    }

    /// Whether a page on `node` lies where the policy wants it: what `mbind` moves, or finds misplaced.
    pub(super) const fn accepts(&self, node: NodeId) -> bool {
        match self.flags {
            ModeFlags::Relative => self.nodes.has(node),
            ModeFlags::None | ModeFlags::Static => self.given.has(node),
        }
    }

    /// Whether it may have a home node.
    pub(super) const fn takes_home(&self) -> bool {
        matches!(self.mode, Mode::Bind | Mode::PreferredMany)
    }

    pub(super) const fn with_home(self, home: NodeId) -> Self {
        Self { home: Some(home), ..self }
    }

    /// The policy once the cpuset has `allowed`: the nodes follow as the flags say, and stay where that would leave none.
    #[must_use]
    pub fn rebound(self, allowed: NodeMask, interface: MempolicyInterface) -> Self {
        // A single preferred node stays from 5.14 on: only the zonelist takes the cpuset into account.
        let stays = self.mode == Mode::Preferred && interface >= MempolicyInterface::PreferredMany;
        let nodes = match self.flags {
            _ if !self.mode.takes_nodes() || stays => self.nodes,
            ModeFlags::Static => self.given & allowed,
            ModeFlags::Relative => self.given.relative_to(allowed),
            ModeFlags::None => self.nodes.remap(self.made_for, allowed),
        };
        let nodes = if self.mode == Mode::Preferred { nodes.first().map_or(nodes, NodeMask::of) } else { nodes };
        Self { nodes: if nodes.is_empty() { self.nodes } else { nodes }, made_for: allowed, ..self }
    }
}

/// As in /proc/PID/numa_maps: `bind=static:0-1`.
#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::HugePlacement;

    const NEWEST: MempolicyInterface = MempolicyInterface::PreferredManyBalancing;

    fn kernel(mempolicy: MempolicyInterface) -> Policy {
        Policy { mempolicy, ..Policy::default() }
    }

    fn mask(text: &str) -> NodeMask {
        NodeMask::parse(text).expect("a list of nodes")
    }

    fn new(mode: Mode, flags: ModeFlags, nodes: &str, allowed: &str) -> Result<Option<Mempolicy>, Errno> {
        Mempolicy::new(
            &MempolicyArgs { flags, ..MempolicyArgs::new(mode, mask(nodes)) },
            &kernel(NEWEST),
            mask(allowed),
        )
    }

    #[test]
    fn masks_are_refused_as_linux_refuses_them() {
        use Mode::{Bind, Default, Interleave, Local, Preferred, PreferredMany, WeightedInterleave};
        let errno = |mode, flags, nodes| new(mode, flags, nodes, "0-1").err();
        for mode in [Bind, Interleave, PreferredMany, WeightedInterleave] {
            assert_eq!(errno(mode, ModeFlags::None, ""), Some(Errno::Einval), "{mode:?} without nodes");
            assert_eq!(
                errno(mode, ModeFlags::None, "5"),
                Some(Errno::Einval),
                "{mode:?} with a node that is not there"
            );
            assert_eq!(errno(mode, ModeFlags::None, "1,5"), None, "one of the nodes is there");
            assert_eq!(errno(mode, ModeFlags::Relative, "5"), None, "place 5 is node 1");
        }
        assert_eq!(errno(Default, ModeFlags::None, ""), None);
        assert_eq!(errno(Default, ModeFlags::None, "0"), Some(Errno::Einval));
        assert_eq!(errno(Local, ModeFlags::None, ""), None);
        assert_eq!(errno(Local, ModeFlags::None, "0"), Some(Errno::Einval));
        assert_eq!(errno(Local, ModeFlags::Static, ""), Some(Errno::Einval));
        assert_eq!(errno(Preferred, ModeFlags::None, ""), None);
        assert_eq!(errno(Preferred, ModeFlags::Static, ""), Some(Errno::Einval));
        assert_eq!(errno(Preferred, ModeFlags::None, "7"), Some(Errno::Einval));
    }

    #[test]
    fn later_modes_are_refused_by_earlier_kernels() {
        let known = |mode, interface| {
            Mempolicy::new(&MempolicyArgs::new(mode, mask("0")), &kernel(interface), mask("0")).is_ok()
        };
        for (mode, since) in [
            (Mode::PreferredMany, MempolicyInterface::PreferredMany),
            (Mode::WeightedInterleave, MempolicyInterface::WeightedInterleave),
        ] {
            assert!(!known(mode, MempolicyInterface::Base) && known(mode, since), "{mode:?}");
        }
        assert!(!known(Mode::WeightedInterleave, MempolicyInterface::HomeNode));
    }

    #[test]
    fn proximity_is_for_kernels_whose_placement_knows_it_and_takes_no_nodes() {
        let mut policy = kernel(NEWEST);
        let new = |policy: &Policy, flags, nodes| {
            let args = MempolicyArgs { flags, ..MempolicyArgs::new(Mode::NodeProximity, mask(nodes)) };
            Mempolicy::new(&args, policy, mask("0-1")).map(|made| made.map(|made| (made.mode(), made.nodes())))
        };
        for &placement in HugePlacement::ALL {
            policy.thp.placement = placement;
            assert_eq!(new(&policy, ModeFlags::None, "").is_ok(), placement == HugePlacement::MpolProximity);
        }
        policy.thp.placement = HugePlacement::MpolProximity;
        assert_eq!(new(&policy, ModeFlags::None, ""), Ok(Some((Mode::NodeProximity, NodeMask::EMPTY))));
        assert_eq!(new(&policy, ModeFlags::None, "0"), Err(Errno::Einval));
        assert_eq!(new(&policy, ModeFlags::Static, ""), Err(Errno::Einval));
    }

    #[test]
    fn balancing_is_for_modes_with_several_nodes_of_kernels_that_have_it() {
        use MempolicyInterface::{Base, BindBalancing, PreferredManyBalancing, WeightedInterleave};
        let made = |mode, interface| {
            let args = MempolicyArgs { balances: true, ..MempolicyArgs::new(mode, mask("0-1")) };
            Mempolicy::new(&args, &kernel(interface), mask("0-1"))
        };
        assert_eq!(made(Mode::Bind, Base), Err(Errno::Einval));
        let bound = made(Mode::Bind, BindBalancing).unwrap().unwrap();
        assert_eq!((bound.mode(), bound.balances(), bound.nodes()), (Mode::Bind, true, mask("0-1")));
        assert_eq!(made(Mode::PreferredMany, WeightedInterleave), Err(Errno::Einval));
        assert!(made(Mode::PreferredMany, PreferredManyBalancing).is_ok());
        assert_eq!(made(Mode::Interleave, PreferredManyBalancing), Err(Errno::Einval));
        assert_eq!(made(Mode::Preferred, PreferredManyBalancing), Err(Errno::Einval));
    }

    #[test]
    fn a_preferred_node_is_the_lowest_and_none_is_the_local_one() {
        let policy = new(Mode::Preferred, ModeFlags::None, "1-3", "0-3").unwrap().unwrap();
        assert_eq!((policy.mode(), policy.nodes()), (Mode::Preferred, mask("1")));
        let local = new(Mode::Preferred, ModeFlags::None, "", "0-3").unwrap().unwrap();
        assert_eq!((local.mode(), local.nodes()), (Mode::Local, NodeMask::EMPTY));
    }

    #[test]
    fn nodes_follow_the_cpuset_as_the_flags_say() {
        let rebound =
            |flags, nodes, to| new(Mode::Bind, flags, nodes, "0-3").unwrap().unwrap().rebound(mask(to), NEWEST);
        assert_eq!(rebound(ModeFlags::None, "0,1", "2-3").nodes(), mask("2-3"));
        assert_eq!(rebound(ModeFlags::Static, "0,3", "2-3").nodes(), mask("3"));
        assert_eq!(
            rebound(ModeFlags::Static, "0,1", "2-3").nodes(),
            mask("0,1"),
            "it keeps what it has rather than none"
        );
        assert_eq!(rebound(ModeFlags::Relative, "0,2", "5-6").nodes(), mask("5"));
        let back = rebound(ModeFlags::Static, "0,3", "2-3").rebound(mask("0-3"), NEWEST);
        assert_eq!((back.nodes(), back.flags()), (mask("0,3"), ModeFlags::Static));
    }
}
