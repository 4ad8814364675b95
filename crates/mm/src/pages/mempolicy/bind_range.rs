//! `mbind`: a policy for a range of addresses, and what becomes of the pages that are there already.

use alloc::vec::Vec;

use order9_units::{Bytes, NodeId};

use crate::addr::range_of_call;
use crate::pages::UsedPages;
use crate::pages::mempolicy::{Mempolicy, MempolicyArgs, Mode};
use crate::phys::PhysMem;
use crate::space::{Errno, SpaceId, VirtAddr, VpnRange};

/// Pages that a call may move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Movable {
    /// `MPOL_MF_MOVE`: those that nobody else maps.
    Own,
    /// `MPOL_MF_MOVE_ALL`: all. It takes `CAP_SYS_NICE`.
    All,
}

/// Flags of `mbind`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MbindFlags {
    /// `MPOL_MF_STRICT`: pages that lie, and after all moves still lie, on other nodes than the policy's are an error.
    pub strict: bool,
    /// Pages that are moved to where the policy has them; `None` means that it is for pages to come.
    pub moves: Option<Movable>,
}

/// Whether a page on `node` lies elsewhere than a policy wants it. No policy wants it anywhere.
pub(crate) fn is_wrong(policy: Option<&Mempolicy>, node: NodeId) -> bool {
    policy.is_none_or(|policy| !policy.accepts(node))
}

impl UsedPages {
    /// `mbind` without `MPOL_MF_MOVE`: the policy is for pages to come.
    pub(crate) fn mbind(
        &mut self,
        id: SpaceId,
        addr: VirtAddr,
        length: Bytes,
        args: &MempolicyArgs,
        strict: bool,
        phys: &mut PhysMem,
    ) -> Result<(), Errno> {
        self.mbind_begin(id, addr, length, args, MbindFlags { strict, moves: None }, phys).map(|_| ())
    }

    /// Sets the policy of a range: which pages, and what it is.
    pub(crate) fn mbind_begin(
        &mut self,
        id: SpaceId,
        addr: VirtAddr,
        length: Bytes,
        args: &MempolicyArgs,
        flags: MbindFlags,
        phys: &mut PhysMem,
    ) -> Result<(VpnRange, Option<Mempolicy>), Errno> {
        self.spaces.get(id)?;
        if flags.moves == Some(Movable::All) && !self.spaces.has_sys_nice(id) {
            return Err(Errno::Eperm);
        }
        let range = range_of_call(addr, length, Errno::Einval)?;
        if range.is_empty() {
            return Ok((range, None));
        }
        if args.balances {
            return Err(Errno::Einval); // It is for `set_mempolicy` alone.
        }
        let policy = self.spaces.new_mempolicy(id, args, phys)?;
        if self.spaces.living(id).vmas.mapped_part(range) != range {
            return Err(Errno::Efault);
        }
        if flags.strict && flags.moves.is_none() && args.mode != Mode::Default {
            let found = self.spaces.misplaced(id, range, |node| is_wrong(policy.as_ref(), node), 1, phys);
            if !found.is_empty() {
                return Err(Errno::Eio);
            }
        }
        self.bind(id, range, policy, phys)?;
        Ok((range, policy))
    }

    /// Gives a range that is mapped a policy, or none: its mappings, and of those of tmpfs their files.
    fn bind(
        &mut self,
        id: SpaceId,
        range: VpnRange,
        policy: Option<Mempolicy>,
        phys: &mut PhysMem,
    ) -> Result<(), Errno> {
        let policy_id = policy.map(|policy| self.mempolicies.intern(policy));
        let vmas = self.spaces.get(id)?.vmas.within(range);
        let of_files = vmas.filter_map(|vma| {
            let (file, part) = (self.cache.policy_file(vma)?, vma.range.intersect(range));
            Some((file, vma.index(part.start), part.len().get()))
        });
        let of_files: Vec<_> = of_files.collect();
        self.bind_part(id, range, policy, phys)?;
        for (file, first, pages) in of_files {
            self.mempolicies.set_file_policy(file, first, first + pages, policy_id);
        }
        Ok(())
    }

    /// Gives the mappings in `range` that keep their own policy this one, or none.
    pub(super) fn bind_part(
        &mut self,
        id: SpaceId,
        range: VpnRange,
        policy: Option<Mempolicy>,
        phys: &mut PhysMem,
    ) -> Result<(), Errno> {
        let policy = policy.map(|policy| self.mempolicies.intern(policy));
        let files = &self.cache.files;
        let on_tmpfs: Vec<_> = self
            .spaces
            .get(id)?
            .vmas
            .within(range)
            .filter_map(|vma| vma.kind.file().filter(|&file| !files.is_on_disk(file)))
            .collect();
        self.modify(
            id,
            range,
            |vma| {
                if vma.kind.file().is_none_or(|file| !on_tmpfs.contains(&file)) {
                    vma.policy = policy;
                }
            },
            phys,
        )
    }
}
