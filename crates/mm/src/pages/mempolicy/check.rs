//! Laws of memory policies.

use alloc::format;

use order9_frames::{Verdict, require};
use order9_units::{NodeId, NodeMask};

use super::Mempolicy;
use crate::pages::UsedPages;
use crate::phys::PhysMem;

impl UsedPages {
    /// Every policy names nodes that have memory, and where tasks take turns they have come to one that there is; policies of files are of files that are there, and do not overlap; mappings of
    /// tmpfs have none of their own; counts of allocations by node agree with each other.
    pub(crate) fn check_mempolicies(&self, phys: &PhysMem) -> Verdict {
        let (policies, memory) = (&self.mempolicies, phys.memory_nodes());
        let exists = |node: Option<NodeId>| node.is_none_or(|node| node.index() < phys.frames.nodes().len());
        for policy in &policies.known {
            check_nodes(policy, memory)?;
            require(exists(policy.home()), "a policy has a home node that there is", || format!("{policy:?}"))?;
        }
        for (id, space) in self.spaces.iter() {
            let mems = space.tasks.mems.unwrap_or(memory);
            for policy in space.tasks.policies().flatten() {
                check_nodes(&policy, memory)?;
            }
            for last in space.tasks.turns() {
                require(exists(last), "a task has come to the turn of a node that there is", || {
                    format!("{id:?}: {last:?}")
                })?;
            }
            let fits = !mems.is_empty() && mems.is_subset_of(memory);
            require(fits, "a cpuset has nodes with memory", || format!("{id:?} has {mems}, of {memory}"))?;
            for vma in space.vmas.iter() {
                let known = vma.policy.is_none_or(|policy| policies.known.len() >= policy.0.get() as usize);
                require(known, "a mapping names a policy that there is", || format!("{id:?}, {:?}", vma.range))?;
                let own = vma.policy.is_none() || self.cache.policy_file(vma).is_none();
                require(own, "a file of tmpfs has the policies of its mappings", || {
                    format!("{id:?}, {:?}", vma.range)
                })?;
            }
        }
        for (&file, of_file) in &policies.files {
            let there =
                !of_file.is_empty() && self.cache.files.size(file).is_some() && !self.cache.files.is_on_disk(file);
            require(there, "a file with policies is one of tmpfs", || format!("{file:?}"))?;
            let mut end = 0;
            for (start, stop, policy) in of_file.iter() {
                let fits = start >= end && start < stop && policies.known.len() >= policy.0.get() as usize;
                require(fits, "the policies of a file do not overlap", || format!("{file:?}, {start} to {stop}"))?;
                end = stop;
            }
        }
        phys.check_numa_counters()
    }
}

impl PhysMem {
    /// Checks that a miss of one node is served by another one, near or not, and that a node whose turn it was has a hit.
    fn check_numa_counters(&self) -> Verdict {
        let numa = self.frames.numa_counters();
        let sum = |of: fn(&crate::NumaCounters) -> u64| numa.iter().map(of).sum::<u64>();
        let (miss, foreign) = (sum(|node| node.miss), sum(|node| node.foreign));
        require(miss == foreign, "every miss of a node is foreign to another", || format!("{miss} and {foreign}"))?;
        for (node, counts) in numa.iter().enumerate() {
            let holds = counts.hit + counts.miss == counts.local + counts.other && counts.interleave_hit <= counts.hit;
            require(holds, "hits and misses of a node are its local and other allocations", || {
                format!("node {node}: {counts:?}")
            })?;
        }
        Ok(())
    }
}

fn check_nodes(policy: &Mempolicy, memory: NodeMask) -> Verdict {
    let fits = policy.nodes().is_subset_of(memory) && policy.nodes().is_empty() != policy.mode().takes_nodes();
    require(fits, "a policy names nodes with memory", || format!("{policy:?}, of {memory}"))
}
