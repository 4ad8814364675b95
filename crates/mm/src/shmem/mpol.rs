//! The mount option `mpol=`: the memory policy that files of a mount begin with.
//!
//! Key type: [`MountPolicy`] (what the option says). Linux' Documentation/filesystems/tmpfs.rst.

use order9_units::NodeMask;

use super::MountId;
use crate::Mm;
use crate::mempolicy::{Mempolicy, MempolicyArgs, Mode, ModeFlags};
use crate::page_cache::FileId;
use crate::space::{Errno, SpaceId};
use crate::trace::Tracer;

/// The mount option `mpol=MODE[=FLAG][:NODES]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MountPolicy {
    mode: Mode,
    flags: ModeFlags,
    /// `None` where none are given: all with memory, for modes by turns.
    nodes: Option<NodeMask>,
}

impl MountPolicy {
    /// The policy called `word`, with a mode in the words of /proc/PID/numa_maps and the flag `static` or `relative`.
    #[must_use]
    pub fn find(word: &str) -> Option<Self> {
        let (mode, nodes) = word.split_once(':').map_or((word, None), |(mode, nodes)| (mode, Some(nodes)));
        let (mode, flag) = mode.split_once('=').map_or((mode, None), |(mode, flag)| (mode, Some(flag)));
        let (mode, _) = Mode::WORDS.into_iter().find(|&(_, name)| name == mode)?;
        let flags = match flag {
            None => ModeFlags::None,
            Some("static") => ModeFlags::Static,
            Some("relative") => ModeFlags::Relative,
            Some(_) => return None,
        };
        let single = |list: &str| list.bytes().all(|byte| byte.is_ascii_digit());
        if mode == Mode::Preferred && !nodes.is_none_or(single) {
            return None; // One node, and not as a list.
        }
        let nodes = match nodes {
            Some(list) => Some(NodeMask::parse(list).filter(|nodes| !nodes.is_empty())?),
            None => None,
        };
        Some(Self { mode, flags, nodes })
    }

    /// What a file asks for on a machine whose nodes with memory are these.
    fn args(self, memory: NodeMask) -> MempolicyArgs {
        let all = if self.mode.interleaves() { memory } else { NodeMask::EMPTY };
        MempolicyArgs { flags: self.flags, ..MempolicyArgs::new(self.mode, self.nodes.unwrap_or(all)) }
    }
}

impl<T: Tracer> Mm<T> {
    /// What a mount keeps of `mpol=`; `None` for `mpol=default`.
    ///
    /// # Errors
    /// `EINVAL` for a mode that the kernel does not have, with too many or too few nodes, and for nodes without memory.
    pub(super) fn mount_policy(&self, policy: MountPolicy) -> Result<Option<MempolicyArgs>, Errno> {
        let memory = self.memory_nodes();
        let args = policy.args(memory);
        let known = Mempolicy::new(&args, &self.policy, memory)?;
        if args.nodes.is_subset_of(memory) { Ok(known.map(|_| args)) } else { Err(Errno::Einval) }
    }

    /// Gives a new file the policy of its mount, within the cpuset of the task that creates it. Where that leaves no node the
    /// file has none.
    pub(super) fn begin_file_policy(&mut self, file: FileId, mount: MountId, creator: Option<SpaceId>) {
        let Some(args) = self.user.mounts.get(mount).and_then(|mount| mount.mpol) else { return };
        let allowed = creator.and_then(|space| self.mems_allowed(space).ok()).unwrap_or_else(|| self.memory_nodes());
        if let Ok(Some(policy)) = Mempolicy::new(&args, &self.policy, allowed) {
            self.set_whole_file_policy(file, policy);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_of_mounts_are_modes_with_flags_and_nodes() {
        let mask = |text| NodeMask::parse(text);
        for (word, mode, flags, nodes) in [
            ("default", Mode::Default, ModeFlags::None, None),
            ("local", Mode::Local, ModeFlags::None, None),
            ("prefer:3", Mode::Preferred, ModeFlags::None, mask("3")),
            ("bind=static:0-3,5", Mode::Bind, ModeFlags::Static, mask("0-3,5")),
            ("interleave", Mode::Interleave, ModeFlags::None, None),
            ("interleave=relative:0-1", Mode::Interleave, ModeFlags::Relative, mask("0-1")),
            ("prefer (many):0-1", Mode::PreferredMany, ModeFlags::None, mask("0-1")),
            ("weighted interleave:1", Mode::WeightedInterleave, ModeFlags::None, mask("1")),
        ] {
            assert_eq!(MountPolicy::find(word), Some(MountPolicy { mode, flags, nodes }), "{word}");
        }
        for word in
            ["", "bound:0", "bind:", "bind:a", "bind:1-0", "bind=fixed:0", "prefer:0-1", "prefer:0,1", "bind:64"]
        {
            assert_eq!(MountPolicy::find(word), None, "{word}");
        }
    }
}
