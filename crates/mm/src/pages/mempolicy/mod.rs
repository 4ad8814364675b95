//! Memory policies: on which nodes the pages of a task, a mapping or a file of tmpfs are allocated, and moved to.
//!
//! Key types: [`MempolicyArgs`] (what a call asks for), [`Mempolicy`] (a policy in force), [`NodeMask`], [`NodeChoice`] (what
//! a policy says about one allocation), [`SpaceTask`] (whose policy it follows). A mapping's policy goes before that of its
//! task, which goes before the system's: the node of the CPU. Policies of tmpfs belong to the file.
//! Never allocates: it says where to. Behaviour, sources and what is left out: docs/numa.md.

pub(crate) mod bind_range;
mod check;
mod choose;
mod cpuset;
mod home_node;
pub(crate) mod move_pages;
mod policy;
mod set;
mod shared;
mod task;
#[cfg(test)]
mod tests;
mod weights;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::num::NonZeroU32;

use order9_frames::{Gfp, NodeUse, Request};
use order9_units::{NodeId, NodeMask, Order};

use shared::FilePolicies;

use crate::page_cache::FileId;
use crate::page_cache::PageCache;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::shmem::ShmemHole;
use crate::space::Spaces;
use crate::space::{Errno, Fault, Need, SpaceId, Vma, Vpn};

pub use bind_range::{MbindFlags, Movable};
pub use choose::NodeChoice;
pub use move_pages::PageMove;
pub use policy::{Mempolicy, MempolicyArgs, Mode, ModeFlags};
pub use task::SpaceTask;
pub(crate) use task::TaskPolicies;
pub(crate) use weights::Weights;

/// A policy that mappings and files name. Equal policies have the same number, so that mappings with them merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyId(NonZeroU32);

/// All policies in use, and those of files.
#[derive(Clone, Default)]
pub struct Mempolicies {
    /// By number, from 1 on. They stay: a machine has few different ones.
    known: Vec<Mempolicy>,
    /// A task has a policy or a cpuset, or had one: faults have to look.
    pub(crate) in_use: bool,
    files: BTreeMap<FileId, FilePolicies>,
    weights: Weights,
}

impl Mempolicies {
    /// The number of a policy.
    fn intern(&mut self, policy: Mempolicy) -> PolicyId {
        self.in_use = true;
        let at = self.known.iter().position(|known| *known == policy).unwrap_or_else(|| {
            self.known.push(policy);
            self.known.len() - 1
        });
        PolicyId(NonZeroU32::MIN.saturating_add(at as u32))
    }

    pub(crate) fn get(&self, id: PolicyId) -> &Mempolicy {
        &self.known[id.0.get() as usize - 1]
    }
}

/// Use of a page, as far as its policy depends on it.
#[derive(Clone, Copy)]
pub(crate) enum PageOf<'a> {
    /// A place in a mapping.
    Mapping(&'a Vma, Vpn),
    /// A place in a file of tmpfs.
    File(FileId, u64),
}

impl<'a> PageOf<'a> {
    /// The slot of a place in a mapping; of one that the mapping begins within, the first place there is.
    pub(crate) fn slot(vma: &'a Vma, vpn: Vpn) -> Self {
        Self::Mapping(vma, vpn.slot().start.max(vma.range.start))
    }
}

/// Nodes on which a huge page is looked for.
pub(crate) struct PlacedHuge {
    /// The node to look on first.
    pub(crate) home: NodeId,
    /// The only nodes that may serve, by policy and cpuset; `None` is all.
    pub(crate) allowed: Option<NodeMask>,
    /// Meaning of the nodes to the allocator.
    pub(crate) uses: NodeUse,
    /// Nodes are asked once, in the order of the policy, whatever the placement of huge pages is.
    pub(crate) in_order: bool,
    /// The policy is `MPOL_NODE_PROXIMITY`.
    pub(crate) by_proximity: bool,
}

impl UsedPages {
    /// The allocation to make for a fault, for a program on `cpu`: the fault's own as the policy of the page has it.
    #[inline]
    pub(crate) fn fault_request(&mut self, fault: &Fault, cpu: usize, phys: &PhysMem) -> Request {
        let plain = fault.request(cpu);
        let decided = fault.search.is_some() || !self.mempolicies.in_use;
        if decided { plain } else { self.placed_fault(fault, plain, phys) }
    }

    #[cold]
    fn placed_fault(&mut self, fault: &Fault, plain: Request, phys: &PhysMem) -> Request {
        if matches!(fault.need(), Need::PageTable | Need::Deposit | Need::DepositFor(_) | Need::HugeZero) {
            return self.task_request(fault.task(), plain, phys);
        }
        let Some(vma) = self.spaces.get(fault.space).ok().and_then(|space| space.vmas.find(fault.vpn)).copied() else {
            return plain;
        };
        let page = match fault.need() {
            Need::FilePage(file, index) => PageOf::File(file, index),
            need if need.order() == Order::PAGEBLOCK => PageOf::slot(&vma, fault.vpn),
            Need::SmallHuge(size) => PageOf::Mapping(&vma, size.around(fault.vpn).start),
            _ => PageOf::Mapping(&vma, fault.vpn),
        };
        let choice = self.choice_for(fault.task(), page, plain.order, plain.node);
        self.spaces.within_cpuset(fault.space, &choice, plain, phys)
    }

    /// Nodes on which a huge page for a program on `local` is looked for, with `rights`: the start of a placement.
    pub(crate) fn huge_choice(
        &self,
        task: SpaceTask,
        page: PageOf<'_>,
        local: NodeId,
        rights: Gfp,
        phys: &PhysMem,
    ) -> PlacedHuge {
        let plain = Request { node: local, ..Request::new(Order::PAGEBLOCK, rights) };
        if !self.mempolicies.in_use {
            return PlacedHuge { home: local, allowed: None, uses: plain.uses, in_order: false, by_proximity: false };
        }
        let policy = self.policy_in_force(task, page);
        let by_proximity = policy.is_some_and(|policy| policy.mode() == Mode::NodeProximity);
        let choice = self.choice_by(policy.as_ref(), page, plain.order, local);
        let Request { node: home, nodemask: allowed, uses, .. } =
            self.spaces.within_cpuset(task.space, &choice, plain, phys);
        PlacedHuge { home, allowed, uses, in_order: choice.bypasses_placement(), by_proximity }
    }

    /// Request of a fault for a page of a hugetlb pool, for a program on `local`.
    pub(crate) fn pool_request(&self, fault: &Fault, vma: &Vma, local: NodeId, phys: &PhysMem) -> Request {
        let plain = Request { node: local, ..Request::new(Order::PAGEBLOCK, Gfp::GFP_HIGHUSER_MOVABLE) };
        if !self.mempolicies.in_use {
            return plain;
        }
        let choice = self.policy_for(fault.task(), vma, fault.vpn.slot().start, Order::PAGEBLOCK, local);
        self.spaces.within_cpuset(fault.space, &choice, plain, phys)
    }

    /// The node choice for a page of a mapping, for `task` on `local`: what any placement of it starts from.
    #[must_use]
    pub fn policy_for(
        &self,
        task: impl Into<SpaceTask>,
        vma: &Vma,
        vpn: Vpn,
        order: Order,
        local: NodeId,
    ) -> NodeChoice {
        self.choice_for(task.into(), PageOf::Mapping(vma, vpn), order, local)
    }

    fn choice_for(&self, task: SpaceTask, page: PageOf<'_>, order: Order, local: NodeId) -> NodeChoice {
        self.choice_by(self.policy_in_force(task, page).as_ref(), page, order, local)
    }

    /// The policy of the page itself, else that of `task`; `None` is the system's.
    pub(crate) fn policy_in_force(&self, task: SpaceTask, page: PageOf<'_>) -> Option<Mempolicy> {
        self.policy_of(page).or_else(|| self.spaces.task_policy(task)).copied()
    }

    fn choice_by(&self, policy: Option<&Mempolicy>, page: PageOf<'_>, order: Order, local: NodeId) -> NodeChoice {
        let Some(policy) = policy else { return NodeChoice::local(local) };
        let place = match page {
            // Two roundings, as Linux has them: a mapping need not begin where a huge page of its file does.
            PageOf::Mapping(vma, vpn) => {
                (vma.offset >> order.get())
                    + ((vpn - vma.range.start).get() >> order.get())
                    + self.cache.bias(vma.kind.file())
            }
            PageOf::File(file, index) => (index >> order.get()) + self.cache.bias(Some(file)),
        };
        NodeChoice::of(policy, local, |policy| choose::turn_by_place(policy, place, &self.mempolicies.weights))
    }

    /// The policy of the page itself: its file's if that is one of tmpfs, else its mapping's.
    pub(crate) fn policy_of(&self, page: PageOf<'_>) -> Option<&Mempolicy> {
        let policies = &self.mempolicies;
        let id = match page {
            PageOf::File(file, index) => self.mempolicies.file_policy(file, index),
            PageOf::Mapping(vma, vpn) => match self.cache.policy_file(vma) {
                Some(file) => self.mempolicies.file_policy(file, vma.index(vpn)),
                None => vma.policy,
            },
        };
        id.map(|id| policies.get(id))
    }

    /// The allocation to make for a hole of tmpfs, for `task` on `cpu`.
    #[must_use]
    pub fn hole_request(&self, task: impl Into<SpaceTask>, hole: &ShmemHole, cpu: usize, phys: &PhysMem) -> Request {
        match hole.may_be_refused() {
            true => hole.request(cpu),
            false => self.file_request(task, hole.file(), hole.pages().0, cpu, phys),
        }
    }

    /// The allocation of a page for a place of a file of tmpfs that a system call of `task` on `cpu` brings back.
    #[must_use]
    pub fn file_request(
        &self,
        task: impl Into<SpaceTask>,
        file: FileId,
        index: u64,
        cpu: usize,
        phys: &PhysMem,
    ) -> Request {
        let task = task.into();
        let plain =
            Request { node: phys.node_of_cpu(cpu), cpu, ..Request::new(Order::ZERO, Gfp::GFP_HIGHUSER_MOVABLE) };
        if !self.mempolicies.in_use {
            return plain;
        }
        let choice = self.choice_for(task, PageOf::File(file, index), Order::ZERO, plain.node);
        self.spaces.within_cpuset(task.space, &choice, plain, phys)
    }

    /// The allocation `plain` as the policy of `task` has it: page tables, page cache and the kernel's own
    /// memory. What may not wait is allocated as in an interrupt: without any policy.
    pub(crate) fn task_request(&mut self, task: impl Into<SpaceTask>, plain: Request, phys: &PhysMem) -> Request {
        if !self.mempolicies.in_use || !plain.gfp.has(Gfp::DIRECT_RECLAIM) || plain.gfp.has(Gfp::THISNODE) {
            return plain;
        }
        let SpaceTask { space, thread } = task.into();
        let weights = &self.mempolicies.weights;
        let living = self.spaces.get_mut(space).ok();
        let Some(task) = living.and_then(|space| space.tasks.of_mut(thread)) else { return plain };
        let choice = match task.policy() {
            Some(policy) => NodeChoice::of(&policy, plain.node, |_| task.take_turn(weights)),
            None => NodeChoice::local(plain.node),
        };
        self.spaces.within_cpuset(space, &choice, plain, phys)
    }

    /// The policy that /proc/PID/numa_maps shows for a mapping, where PID is the first task; `None` is the system's.
    #[must_use]
    pub fn shown_policy(&self, space: &crate::space::Space, vma: &Vma) -> Option<Mempolicy> {
        self.policy_of(PageOf::Mapping(vma, vma.range.start)).copied().or_else(|| space.tasks.policies().next()?)
    }
}

impl Spaces {
    /// The nodes whose pools `task` on `local` resizes where it obeys its policy; `None` without one.
    pub(crate) fn pool_nodes_of(&self, task: SpaceTask, local: NodeId) -> Option<NodeMask> {
        let policy = self.task_policy(task)?;
        Some(if policy.mode().takes_nodes() { policy.nodes() } else { NodeMask::of(local) })
    }

    fn within_cpuset(&self, space: SpaceId, choice: &NodeChoice, plain: Request, phys: &PhysMem) -> Request {
        let class = plain.gfp.highest_zone();
        let serves = phys.frames.zones().iter().filter(|zone| zone.managed() > 0 && zone.kind() <= class);
        let mems = self.get(space).ok().and_then(|space| space.tasks.mems);
        choice.apply(plain, serves.map(|zone| zone.node()).collect(), mems)
    }

    /// A choice for a page of a program as the cpuset of its space has it.
    pub(crate) fn choice_within_cpuset(
        &self,
        space: SpaceId,
        choice: &NodeChoice,
        order: Order,
        phys: &PhysMem,
    ) -> NodeChoice {
        let plain = Request::new(order, Gfp::GFP_HIGHUSER_MOVABLE);
        let Request { node, nodemask: nodes, uses, .. } = self.within_cpuset(space, choice, plain, phys);
        NodeChoice { node, nodes, uses }
    }

    /// Whether killing the tasks of `space` may free memory on `nodes`: neither their cpuset nor an `MPOL_BIND` keeps
    /// each of them from these.
    #[must_use]
    pub fn may_use_nodes(&self, space: SpaceId, nodes: Option<NodeMask>) -> bool {
        let Ok(space) = self.get(space) else { return false };
        let Some(nodes) = nodes else { return true };
        let meets = |own: NodeMask| !(own & nodes).is_empty();
        let bound = |policy: &Mempolicy| policy.mode() == Mode::Bind;
        let may = |policy: Option<Mempolicy>| policy.filter(bound).is_none_or(|policy| meets(policy.nodes()));
        space.tasks.mems.is_none_or(meets) && space.tasks.policies().any(may)
    }

    /// The nodes with memory that the cpuset of a space has: `Mems_allowed`, and `get_mempolicy` with
    /// `MPOL_F_MEMS_ALLOWED`.
    pub(crate) fn mems_allowed(&self, space: SpaceId, phys: &PhysMem) -> Result<NodeMask, Errno> {
        let mems = self.get(space)?.tasks.mems;
        Ok(mems.map_or_else(|| phys.memory_nodes(), |mems| mems & phys.memory_nodes()))
    }
}

impl PageCache {
    /// Files of tmpfs begin their turns at different nodes.
    fn bias(&self, file: Option<FileId>) -> u64 {
        file.filter(|&file| !self.files.is_on_disk(file)).map_or(0, |file| file.index() as u64)
    }

    /// The file that keeps the policies of a mapping.
    fn policy_file(&self, vma: &Vma) -> Option<FileId> {
        vma.kind.file().filter(|&file| !self.files.is_on_disk(file))
    }
}

impl PhysMem {
    /// Nodes with memory.
    #[must_use]
    pub fn memory_nodes(&self) -> NodeMask {
        self.frames.zones().iter().filter(|zone| zone.managed() > 0).map(|zone| zone.node()).collect()
    }
}
