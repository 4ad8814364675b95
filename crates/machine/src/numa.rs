//! System calls about nodes: memory policies, moves of pages, cpusets.

use order9_mm::env::Env as _;
use order9_mm::mempolicy::{self, MempolicyArgs, Mode, ModeFlags, Movable};
use order9_mm::{Errno, NumaCounters};
use order9_units::{NodeId, NodeMask};
use order9_workloads::{Area, MbindFlags, MemoryMode, Mempolicy, NodeFlags, Nodes, Numastat, Stop};

use crate::address_space::{range, start};
use crate::faults::refused;
use crate::mmap_lock::all_mappings;
use crate::thread::Thread;
use crate::time;

/// Modes here and in the engine.
const MODES: [(MemoryMode, Mode); 8] = [
    (MemoryMode::Default, Mode::Default),
    (MemoryMode::Local, Mode::Local),
    (MemoryMode::Preferred, Mode::Preferred),
    (MemoryMode::PreferredMany, Mode::PreferredMany),
    (MemoryMode::Bind, Mode::Bind),
    (MemoryMode::Interleave, Mode::Interleave),
    (MemoryMode::WeightedInterleave, Mode::WeightedInterleave),
    (MemoryMode::NodeProximity, Mode::NodeProximity),
];
/// Flags of the engine beside those of a workload, with `MPOL_F_NUMA_BALANCING`.
const FLAGS: [(NodeFlags, (ModeFlags, bool)); 4] = [
    (NodeFlags::None, (ModeFlags::None, false)),
    (NodeFlags::Static, (ModeFlags::Static, false)),
    (NodeFlags::Relative, (ModeFlags::Relative, false)),
    (NodeFlags::Balancing, (ModeFlags::None, true)),
];

/// The entry beside `key` in a table that has every key.
fn paired<A: Copy + PartialEq, B: Copy>(table: &[(A, B)], key: A) -> B {
    table.iter().find(|(known, _)| *known == key).map(|&(_, other)| other).expect("the table is complete")
}

fn flipped<A: Copy, B: Copy, const N: usize>(table: &[(A, B); N]) -> [(B, A); N] {
    table.map(|(one, other)| (other, one))
}

impl Nodes for Thread {
    fn cpus_of(&self, node: NodeId) -> Vec<u32> {
        self.kernel.handle.cpus_of(node).iter().map(|cpu| cpu.0.into()).collect()
    }

    fn node(&self) -> NodeId {
        self.cpu_node()
    }

    async fn page_node(&self, area: Area) -> Result<NodeId, Stop> {
        self.node_of_page(start(area)).await
    }

    async fn move_pages(&self, area: Area, node: NodeId) -> Result<u64, Stop> {
        self.pages_to_node(range(area), node).await
    }

    fn mems_allowed(&self) -> NodeMask {
        self.kernel.look(|mm| mm.mems_allowed(self.process.space)).unwrap_or_default()
    }

    async fn set_mempolicy(&self, policy: Mempolicy) -> Result<(), Stop> {
        self.enter().await?;
        let args = self.args(policy);
        let done = self.kernel.with(|mm| mm.set_mempolicy(self.task, &args));
        done.map_err(|errno| refused("set_mempolicy", errno))
    }

    async fn mbind(&self, area: Area, policy: Mempolicy, flags: MbindFlags) -> Result<(), Stop> {
        self.enter().await?;
        let movable = if flags.moves_all { Some(Movable::All) } else { flags.moves.then_some(Movable::Own) };
        let (args, flags) = (self.args(policy), mempolicy::MbindFlags { strict: flags.strict, moves: movable });
        let lock = self.change_mappings(range(area)).await;
        let done = order9_mm::tasks::mbind(self, self.task, start(area), area.length, &args, flags).await;
        drop(lock);
        self.spend().await;
        self.alive()?;
        done.map_err(|errno| refused("mbind", errno))
    }

    async fn get_mempolicy(&self, area: Option<Area>) -> Result<Mempolicy, Stop> {
        self.enter().await?;
        let found = self.kernel.look(|mm| mm.pages().get_mempolicy(self.task, area.map(start)));
        let MempolicyArgs { mode, flags, balances, nodes } = found.map_err(|errno| refused("get_mempolicy", errno))?;
        Ok(Mempolicy {
            mode: paired(&flipped(&MODES), mode),
            flags: paired(&flipped(&FLAGS), (flags, balances)),
            nodes,
        })
    }

    async fn set_mempolicy_home_node(&self, area: Area, home: NodeId) -> Result<(), Stop> {
        self.enter().await?;
        let _changing = self.change_mappings(range(area)).await;
        let space = self.process.space;
        let done = self.kernel.with(|mm| mm.set_mempolicy_home_node(space, start(area), area.length, home));
        self.spend().await;
        done.map_err(|errno| refused("set_mempolicy_home_node", errno))
    }

    async fn migrate_pages(&self, from: NodeMask, to: NodeMask) -> Result<u64, Stop> {
        self.enter().await?;
        let lock = self.mmap_lock(time::Mode::Shared).await;
        let space = self.process.space;
        let done = order9_mm::tasks::migrate_space(self, space, space, from, to).await;
        drop(lock);
        self.spend().await;
        self.alive()?;
        done.map_err(|errno| refused("migrate_pages", errno))
    }

    async fn set_mems(&self, mems: NodeMask, migrates: bool) -> Result<(), Stop> {
        self.enter().await?;
        let lock = self.change_mappings(all_mappings()).await;
        let done = order9_mm::tasks::set_mems(self, self.process.space, mems, migrates).await;
        drop(lock);
        self.spend().await;
        self.alive()?;
        done.map_err(|errno: Errno| refused("write", errno))
    }

    fn numa_maps(&self) -> String {
        let mut text = String::new();
        self.kernel.look(|mm| {
            if let Some(space) = mm.space(self.process.space) {
                order9_procfs::render_numa_maps(mm, space, &mut text).expect("text can be written to memory");
            }
        });
        text
    }

    fn numastat(&self) -> Vec<Numastat> {
        let of = |numa: &NumaCounters| Numastat { hit: numa.hit, miss: numa.miss, interleave_hit: numa.interleave_hit };
        self.kernel.look(|mm| mm.frames().numa_counters().iter().map(of).collect())
    }
}

impl Thread {
    /// Keeps how the memory of the process lies, before it ends, where somebody has chosen nodes.
    pub(crate) fn record_nodes(&self) {
        if !self.kernel.look(|mm| mm.pages().mempolicies().uses_mempolicies()) {
            return;
        }
        let by_node = self.kernel.look(|mm| mm.space(self.process.space).map(|space| mm.pages_by_node(space)));
        let by_node = by_node.unwrap_or_default();
        if by_node.iter().sum::<u64>() == 0 {
            return;
        }
        let now = self.kernel.handle.now();
        let mut record = self.kernel.record.borrow_mut();
        for (node, &pages) in by_node.iter().enumerate() {
            record.sample(&format!("Mapped-{node}"), crate::results::Unit::Count, now, pages as f64);
        }
        let path = format!("/proc/{}/numa_maps", self.process.space.index() + 1);
        record.numa_maps.insert(self.process.name.to_string(), (path, self.numa_maps()));
    }

    fn args(&self, policy: Mempolicy) -> MempolicyArgs {
        let Mempolicy { mode, flags, nodes } = policy.on(self.kernel.facts().nodes.len());
        let (flags, balances) = paired(&FLAGS, flags);
        MempolicyArgs { mode: paired(&MODES, mode), flags, balances, nodes }
    }
}
