//! The mount option `mpol=`: the memory policy that files of a mount begin with.
//!
//! Key type: [`MountPolicy`] (what the option says). Linux' Documentation/filesystems/tmpfs.rst.

use order9_units::NodeMask;

use super::MountId;
use crate::mempolicy::{Mempolicy, MempolicyArgs, Mode, ModeFlags};
use crate::page_cache::FileId;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::{Errno, SpaceId};

/// The mount option `mpol=MODE[=FLAG][:NODES]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MountPolicy {
    /// Mode of the policy.
    pub mode: Mode,
    /// Rule by which the nodes follow the cpuset of the creator of a file.
    pub flags: ModeFlags,
    /// `None` where none are given: all with memory, for modes by turns.
    pub nodes: Option<NodeMask>,
}

impl MountPolicy {
    /// Arguments of the policy that a file asks for on a machine whose nodes with memory are these.
    fn args(self, memory: NodeMask) -> MempolicyArgs {
        let all = if self.mode.interleaves() { memory } else { NodeMask::EMPTY };
        MempolicyArgs { flags: self.flags, ..MempolicyArgs::new(self.mode, self.nodes.unwrap_or(all)) }
    }
}

impl PhysMem {
    /// Policy that a mount keeps of `mpol=`; `None` for `mpol=default`.
    ///
    /// # Errors
    /// `EINVAL` for a mode that the kernel does not have, with too many or too few nodes, and for nodes without memory.
    pub(super) fn mount_policy(&self, policy: MountPolicy) -> Result<Option<MempolicyArgs>, Errno> {
        let memory = self.memory_nodes();
        let args = policy.args(memory);
        let known = Mempolicy::new(&args, &self.policy, memory)?;
        if args.nodes.is_subset_of(memory) { Ok(known.map(|_| args)) } else { Err(Errno::Einval) }
    }
}

impl UsedPages {
    /// Gives a new file the policy of its mount, within the cpuset of the task that creates it. Where that leaves no node the
    /// file has none.
    pub(super) fn begin_file_policy(&mut self, file: FileId, mount: MountId, creator: Option<SpaceId>, phys: &PhysMem) {
        let Some(args) = self.cache.mounts.get(mount).and_then(|mount| mount.mpol) else { return };
        let allowed =
            creator.and_then(|space| self.spaces.mems_allowed(space, phys).ok()).unwrap_or_else(|| phys.memory_nodes());
        if let Ok(Some(policy)) = Mempolicy::new(&args, &phys.policy, allowed) {
            self.mempolicies.set_whole_file_policy(file, policy);
        }
    }
}
