//! Memory policies and NUMA balancing.

use order9_frames::Request;
use order9_units::{Bytes, Nanos, NodeId, NodeMask};

use crate::Mm;
use crate::mempolicy::{MempolicyArgs, SpaceTask};
use crate::numa_balancing::{NumaScan, NumaTask, NumaTick};
use crate::space::{Errno, Fault, SpaceId, VirtAddr};

impl Mm {
    /// Goes on with an access by `task` after [`crate::space::FaultStep::NumaHint`] (`do_numa_page`): the entry is accessible
    /// again, its page moves where it belongs, and the program repeats the access. Returns the node that the task should go
    /// to, if there is an idle CPU for it.
    pub fn numa_hint_fault(
        &mut self,
        of: impl Into<SpaceTask>,
        addr: VirtAddr,
        task: NumaTask,
        now: Nanos,
    ) -> Option<NodeId> {
        self.pages.numa_hint_fault(of, addr, task, now, &mut self.phys)
    }

    /// A tick of a running task of `id` that has had `runtime` of CPU time so far (`task_tick_numa`).
    pub fn numa_tick(&mut self, id: SpaceId, task: NumaTask, runtime: Nanos, now: Nanos) -> NumaTick {
        self.pages.spaces.numa_tick(id, task, runtime, now, &self.phys)
    }

    /// Begins a scan; `None` where another task of the space has just done so.
    pub fn numa_scan_begin(&mut self, of: impl Into<SpaceTask>, task: NumaTask, now: Nanos) -> Option<NumaScan> {
        self.pages.spaces.numa_scan_begin(of, task, now, &self.phys)
    }

    /// Goes on with a scan; says whether there is more to do.
    pub fn numa_scan_step(&mut self, run: &mut NumaScan) -> bool {
        self.pages.numa_scan_step(run, &mut self.phys)
    }

    /// Sets `kernel.numa_balancing`. Accesses that are away when it is switched off come back one by one.
    pub fn set_numa_balancing(&mut self, on: bool) {
        self.pages.balancing.set_numa_balancing(on, &mut self.phys);
    }

    /// `mbind` without `MPOL_MF_MOVE`: the policy is for pages to come.
    ///
    /// # Errors
    /// Errors of `mbind`.
    pub fn mbind(
        &mut self,
        id: SpaceId,
        addr: VirtAddr,
        length: Bytes,
        args: &MempolicyArgs,
        strict: bool,
    ) -> Result<(), Errno> {
        self.pages.mbind(id, addr, length, args, strict, &mut self.phys)
    }

    /// Sets the nodes of a cpuset without moving pages.
    ///
    /// # Errors
    /// Errors of `set_mems`.
    pub fn set_mems(&mut self, id: SpaceId, mems: NodeMask) -> Result<(), Errno> {
        self.pages.set_mems(id, mems, &mut self.phys)
    }

    /// `set_mempolicy_home_node`: mappings without policy are passed over; those before one that is refused keep their home.
    ///
    /// # Errors
    /// `ENOSYS` where the kernel does not have it, `EINVAL` for an unaligned address, a range beyond the end of addresses
    /// and a node that is not there, `EOPNOTSUPP` at the first policy that is neither `MPOL_BIND` nor `MPOL_PREFERRED_MANY`,
    /// `ENOENT` where no mapping in the range has a policy, `ENOMEM` where splitting would make too many mappings.
    pub fn set_mempolicy_home_node(
        &mut self,
        id: SpaceId,
        addr: VirtAddr,
        length: Bytes,
        home: NodeId,
    ) -> Result<(), Errno> {
        self.pages.set_mempolicy_home_node(id, addr, length, home, &mut self.phys)
    }

    /// The allocation to make for a fault, for a program on `cpu`: the fault's own as the policy of the page has it.
    pub fn fault_request(&mut self, fault: &Fault, cpu: usize) -> Request {
        self.pages.fault_request(fault, cpu, &self.phys)
    }

    /// The allocation `plain` as the policy of `task` has it: page tables, page cache and the kernel's own
    /// memory. What may not wait is allocated as in an interrupt: without any policy.
    pub fn task_request(&mut self, task: impl Into<SpaceTask>, plain: Request) -> Request {
        self.pages.task_request(task, plain, &self.phys)
    }

    /// The nodes with memory that the cpuset of a space has: `Mems_allowed`, and `get_mempolicy` with
    /// `MPOL_F_MEMS_ALLOWED`.
    ///
    /// # Errors
    /// `ESRCH` where there is no such space.
    pub fn mems_allowed(&self, space: SpaceId) -> Result<NodeMask, Errno> {
        self.pages.spaces.mems_allowed(space, &self.phys)
    }

    /// `set_mempolicy`: the policy of a task, for pages from now on.
    ///
    /// # Errors
    /// Errors of `Mempolicy::new`, `EPERM` for `MPOL_NODE_PROXIMITY` without `CAP_SYS_NICE`, `ESRCH` where there is no
    /// such task.
    pub fn set_mempolicy(&mut self, task: impl Into<SpaceTask>, args: &MempolicyArgs) -> Result<(), Errno> {
        self.pages.set_mempolicy(task, args, &self.phys)
    }

    /// Sets the bandwidth of nodes as firmware says it, in megabytes per second, each from the CPUs next to it; a node that is
    /// not
    /// named has none known. Weights of interleaving follow the bandwidth from 6.16 on.
    pub fn set_node_bandwidth(&mut self, bandwidth: impl IntoIterator<Item = (NodeId, u64)>) {
        self.pages.mempolicies.set_node_bandwidth(bandwidth, &self.phys);
    }

    /// Sets `auto`. Weights stay as they are where it is turned off.
    ///
    /// # Errors
    /// `ENODEV` where the bandwidth of no node is known, so that nothing can follow it.
    pub fn set_weights_follow_bandwidth(&mut self, on: bool) -> Result<(), Errno> {
        self.pages.mempolicies.set_weights_follow_bandwidth(on, &self.phys)
    }
}
