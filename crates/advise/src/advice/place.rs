//! Places on a host with several nodes: where the program of the demand runs, and where a control group goes.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use order9_snapshot::Snapshot;
use order9_snapshot::owners::{Holdings, OwnerId};
use order9_units::{Bytes, NodeId, PAGEBLOCK_PAGES, Pages};
use schemars::JsonSchema;
use serde::Serialize;

use super::remedy::list;

/// Nodes on which a program runs, and from which it has its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// CPUs and memory of one node alone.
    Bind(NodeId),
    /// All CPUs, and memory of all nodes in turn.
    Interleave,
}

/// Control group that gets CPUs and memory of one node alone, to which its memory moves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct GroupMove {
    /// Places of the processes of the group among the owners of the copy.
    #[serde(skip)]
    pub(super) processes: Vec<OwnerId>,
    /// Path of the control group.
    pub cgroup: String,
    /// The node.
    pub node: NodeId,
    /// CPUs of the node.
    pub cpus: Vec<u32>,
    /// Private memory of the processes of the group on other nodes.
    pub size: Bytes,
}

/// Control groups of which a move is tried.
const GROUPS: usize = 3;
/// Folder of the second version of control groups.
const CGROUPS: &str = "/sys/fs/cgroup";
/// First release in which memory follows when `cpuset.mems` of the second version is written; before, only what comes later lies there.
const MEMORY_FOLLOWS: (u32, u32) = (5, 15);
/// Path of the root of control groups.
const ROOT: &str = "/";
/// Ends of the names of control groups that are units of systemd and take properties.
const UNITS: [&str; 3] = [".service", ".scope", ".slice"];
/// Least memory that is worth a move.
const MOVE_MIN: Pages = Pages::new(8 * PAGEBLOCK_PAGES.get());

impl Placement {
    pub(super) fn name(self) -> String {
        match self {
            Self::Bind(node) => format!("bind to node {node}"),
            Self::Interleave => "interleave nodes".to_owned(),
        }
    }

    /// Parameters of a demand that runs there.
    pub(super) fn parameters(self) -> Vec<String> {
        match self {
            Self::Bind(node) => vec![format!("cpus=cpunodebind:{node}"), format!("mempolicy=bind:{node}")],
            Self::Interleave => vec!["mempolicy=interleave:all".to_owned()],
        }
    }

    /// The start of the program by hand, and as a service.
    pub(super) fn linux(self) -> [String; 2] {
        let (options, unit) = match self {
            Self::Bind(node) => (
                format!("--cpunodebind={node} --membind={node}"),
                format!("NUMAPolicy=bind NUMAMask={node} CPUAffinity=numa"),
            ),
            Self::Interleave => ("--interleave=all".to_owned(), "NUMAPolicy=interleave NUMAMask=all".to_owned()),
        };
        [format!("numactl {options} PROGRAM"), format!("# in a systemd unit, a line each: {unit}")]
    }

    pub(super) fn risk(self) -> String {
        match self {
            Self::Bind(node) => format!(
                "the program gets CPUs and memory of node {node} alone: where that is full the program waits for reclaim, swaps or is \
                 killed, however much is free elsewhere"
            ),
            Self::Interleave => {
                "each CPU of the program finds most of its memory on other nodes, whose free memory it takes".to_owned()
            }
        }
    }
}

impl GroupMove {
    /// Moves of the control groups that have most memory to move, to the node with most free memory, where it has room for them. The
    /// root of control groups has no files for this.
    pub(super) fn all(snapshot: &Snapshot, held: &Holdings) -> Vec<Self> {
        if !memory_follows(&snapshot.machine.kernel_release) {
            return Vec::new();
        }
        let with_cpus = snapshot.nodes.iter().filter(|node| !node.cpus.is_empty());
        let Some((room, node)) = with_cpus.map(|node| (room(snapshot, node.id), node)).max_by_key(|(room, _)| *room)
        else {
            return Vec::new();
        };
        let mut groups: BTreeMap<&str, (Vec<OwnerId>, Pages)> = BTreeMap::new();
        for (held, process) in held.users.iter().filter_map(|held| Some((held, held.owner.process()?))) {
            let elsewhere = held.nodes.iter().filter(|&(&id, _)| id != node.id);
            let (processes, to_move) = groups.entry(&process.cgroup).or_default();
            processes.push(held.id);
            *to_move += elsewhere.map(|(_, &pages)| pages).sum::<Pages>();
        }
        groups.remove(ROOT);
        groups.retain(|_, (_, to_move)| (MOVE_MIN..=room).contains(to_move));
        let of_group = |(cgroup, (processes, to_move)): (&str, (Vec<OwnerId>, Pages))| Self {
            processes,
            cgroup: cgroup.to_owned(),
            node: node.id,
            cpus: node.cpus.clone(),
            size: to_move.bytes(),
        };
        let mut moves: Vec<Self> = groups.into_iter().map(of_group).collect();
        moves.sort_by_key(|group| Reverse(group.size));
        moves.truncate(GROUPS);
        moves
    }

    pub(super) fn name(&self) -> String {
        format!("move {} to node {}", self.cgroup, self.node)
    }

    /// Parameters of a demand before which the group moves.
    pub(super) fn parameters(&self) -> [String; 2] {
        [format!("move_first={}", list(&self.processes)), format!("move_node={}", self.node)]
    }

    /// The move of a unit of systemd by its properties until the next boot, of any other group by its files.
    pub(super) fn linux(&self) -> Vec<String> {
        let (node, cpus) = (self.node, list(&self.cpus));
        let unit = self.cgroup.rsplit('/').next().filter(|name| UNITS.iter().any(|suffix| name.ends_with(suffix)));
        match unit {
            Some(unit) => {
                vec![format!("systemctl set-property --runtime {unit} AllowedCPUs={cpus} AllowedMemoryNodes={node}")]
            }
            None => {
                let files = [("cpus", cpus), ("mems", node.to_string())];
                let files = files.map(|(what, value)| format!("echo {value} > {CGROUPS}{}/cpuset.{what}", self.cgroup));
                self.controllers().chain(files).collect()
            }
        }
    }

    /// The writes that give the group files of the controller `cpuset`: every group above it has to hand the controller down.
    fn controllers(&self) -> impl Iterator<Item = String> {
        let above = self.cgroup.match_indices('/').map(|(end, _)| &self.cgroup[..end]);
        above.map(|group| format!("echo +cpuset > {CGROUPS}{group}/cgroup.subtree_control"))
    }

    pub(super) fn risk(&self) -> String {
        format!(
            "{} gets CPUs and memory of node {} alone, whatever else is free, and waits while its memory is copied",
            self.cgroup, self.node
        )
    }
}

/// Whether memory of a group follows to its nodes. Releases that are no Linux release are taken to be new.
fn memory_follows(release: &str) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= MEMORY_FOLLOWS,
        _ => true,
    }
}

/// Memory that a node can give away before it reclaims.
fn room(snapshot: &Snapshot, node: NodeId) -> Pages {
    let zones = snapshot.zones.iter().filter(|zone| zone.node == node);
    zones.map(|zone| Pages::new(zone.free.get().saturating_sub(zone.watermarks.high.get()))).sum()
}

#[cfg(test)]
mod tests {
    use order9_snapshot::owners::{Held, Process, User};
    use order9_snapshot::synth::{SynthSpec, synth};

    use super::*;

    fn group(cgroup: &str) -> GroupMove {
        let (cgroup, cpus) = (cgroup.to_owned(), vec![2, 3]);
        GroupMove { processes: vec![3, 5], cgroup, node: NodeId(1), cpus, size: Bytes::from_gib(1) }
    }

    #[test]
    fn a_unit_moves_by_its_properties_and_another_group_by_its_files() {
        let unit = group("/system.slice/backup.service");
        assert_eq!(unit.parameters(), ["move_first=3,5", "move_node=1"]);
        let command = "systemctl set-property --runtime backup.service AllowedCPUs=2,3 AllowedMemoryNodes=1";
        assert_eq!(unit.linux(), [command]);
        let files = [
            "echo +cpuset > /sys/fs/cgroup/cgroup.subtree_control",
            "echo +cpuset > /sys/fs/cgroup/night/cgroup.subtree_control",
            "echo 2,3 > /sys/fs/cgroup/night/batch/cpuset.cpus",
            "echo 1 > /sys/fs/cgroup/night/batch/cpuset.mems",
        ];
        assert_eq!(group("/night/batch").linux(), files);
    }

    #[test]
    fn groups_move_where_most_is_free_and_they_fit() {
        let (mut snapshot, _) =
            synth(&SynthSpec { nodes: 2, fill: 0.5, ..SynthSpec::default() }).expect("a synthetic map");
        for zone in &mut snapshot.zones {
            zone.free = Pages::new(if zone.node == NodeId(1) { 50_000 } else { 9_000 });
        }
        let held = |cgroup: &str, id, nodes: &[(u16, u64)]| {
            let nodes: BTreeMap<_, _> = nodes.iter().map(|&(node, pages)| (NodeId(node), Pages::new(pages))).collect();
            let owner = User::Process(Process { cgroup: cgroup.to_owned(), ..Process::default() });
            Held { owner, id, pages: nodes.values().copied().sum(), nodes, pageblocks: 0, alone: 0, stays: 0 }
        };
        let users = vec![
            held("/", 0, &[(0, 9_000)]),
            held("/both", 1, &[(0, 5_000), (1, 5_000)]),
            held("/small", 2, &[(0, 9)]),
            held("/both", 3, &[(0, 300), (1, 100)]),
            held("/large", 4, &[(0, 1 << 40)]),
            held("/there", 5, &[(1, 6_000)]),
            held("/one", 6, &[(0, 6_000)]),
        ];
        let moves = GroupMove::all(&snapshot, &Holdings { users, ..Holdings::default() });
        let of = |group: &GroupMove| (group.cgroup.clone(), group.processes.clone(), group.size, group.node);
        let expected = [("/one", vec![6], 6_000), ("/both", vec![1, 3], 5_300)];
        let expected = expected.map(|(path, ids, pages)| (path.to_owned(), ids, Pages::new(pages).bytes(), NodeId(1)));
        assert_eq!(moves.iter().map(of).collect::<Vec<_>>(), expected);
        assert!(!memory_follows("5.10.0-32-cloud-amd64") && memory_follows("5.15.0") && memory_follows("lab"));
    }
}
