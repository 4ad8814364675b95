//! A remedy: settings and requests to the kernel, what they take from whom, and how they are made.

use order9_procfs::sysctl::Setting;
use order9_report::number::size;
use order9_snapshot::Snapshot;
use order9_snapshot::owners::{OwnerId, Process};
use order9_units::{Bytes, NodeId, PAGEBLOCK_PAGES, Pages};
use schemars::JsonSchema;
use serde::Serialize;

use super::place::{GroupMove, Placement};

/// Remedy for a host: settings that are written, and requests that are made once.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Remedy {
    /// Short name of the remedy.
    pub name: String,
    /// Settings that are written together, `NAME=VALUE`.
    pub settings: Vec<String>,
    /// Caches that are dropped once, before the demand.
    pub drop_caches: Option<Drop>,
    /// Cache that a node gives up once, before the demand and before anything is compacted.
    pub reclaim: Option<Reclaim>,
    /// Control group that moves to another node once, before the demand and before anything is compacted.
    pub group_move: Option<GroupMove>,
    /// Nodes that are compacted once, before the demand and after caches were dropped.
    pub compact_nodes: Vec<NodeId>,
    /// Whether these are all nodes of the host that have memory.
    pub compact_all: bool,
    /// Process whose memory is collapsed into huge pages once, before the demand.
    pub collapse: Option<Target>,
    /// Process that is started anew once, before the demand: its memory is free, and it takes as much again.
    pub restart: Option<Target>,
    /// Place in which the program of the demand runs.
    pub placement: Option<Placement>,
    /// Sentences that say what the remedy takes, and from whom.
    pub risks: Vec<String>,
}

/// Page cache that a node gives up by its file `reclaim`, the least used first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Reclaim {
    /// The node.
    pub node: NodeId,
    /// Memory that is reclaimed.
    pub amount: Bytes,
}

/// Process that a remedy is about.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Target {
    /// Place of the process among the owners of the copy.
    #[serde(skip)]
    pub(super) id: OwnerId,
    /// Number of the process.
    pub pid: u32,
    /// Name of the program.
    pub command: String,
    /// Service of systemd that the process belongs to, by its control group.
    pub service: Option<String>,
    /// Memory that is collapsed, or that the process takes again.
    pub size: Bytes,
    /// Whether the process advises memory `MADV_HUGEPAGE`.
    pub advised: bool,
    /// Share of the private memory of the process that the remedy is about, 0 to 1.
    pub share: f64,
}

/// Caches that are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Drop {
    /// Clean pages of files.
    Pages,
    /// Slab objects that shrinkers can free, such as dentries and inodes.
    Slab,
    /// Clean pages of files and slab objects.
    All,
}

impl Drop {
    /// All of them, by the number that vm.drop_caches takes.
    pub(super) const ALL: [Self; 3] = [Self::Pages, Self::Slab, Self::All];

    const fn number(self) -> u8 {
        self as u8 + 1
    }

    const fn risk(self) -> &'static str {
        match self {
            Self::Pages => "all programs read their files from disk again",
            Self::Slab => "names and inodes are looked up on disk again, and the page cache of dropped inodes goes too",
            Self::All => "all programs read files, names and inodes from disk again",
        }
    }
}

impl Reclaim {
    fn name(self) -> String {
        format!("reclaim {} of node {}", size(self.amount), self.node)
    }

    fn linux(self) -> String {
        format!("echo \"{} swappiness=0\" > /sys/devices/system/node/node{}/reclaim", self.amount.get(), self.node)
    }

    fn parameters(self) -> [String; 3] {
        let (amount, node) = (self.amount.get(), self.node);
        [format!("reclaim_first={amount}"), format!("reclaim_node={node}"), "reclaim_swappiness=0".to_owned()]
    }
}

/// Word between the names of remedies that are made together.
pub(super) const TOGETHER: &str = " + ";
const RECLAIM_RISK: &str = "what was read once and is read again comes from disk again; the cache in use stays";
const COMPACT_RISK: &str = "a CPU is busy while pages move, and a program that touches one of these waits for its copy";

impl Remedy {
    /// Settings that are written together.
    pub(super) fn of_settings(settings: &[(&'static str, String)], risk: &str) -> Self {
        let pairs: Vec<String> = settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
        Self { name: pairs.join(" "), settings: pairs, risks: vec![risk.to_owned()], ..Self::nothing() }
    }

    /// Requests to the kernel, made once.
    pub(super) fn of_requests(drop: Option<Drop>, nodes: Vec<NodeId>, snapshot: &Snapshot) -> Self {
        let with_memory = |id: NodeId| snapshot.zones.iter().any(|zone| zone.node == id && zone.managed.get() > 0);
        let all = !nodes.is_empty() && nodes.len() == snapshot.nodes.iter().filter(|node| with_memory(node.id)).count();
        let dropped = drop.map(|drop| format!("drop_caches={}", drop.number()));
        let compacted = match nodes.as_slice() {
            [] => None,
            _ if all => Some("compact_memory".to_owned()),
            nodes => Some(format!("compact node {}", list(nodes))),
        };
        let risks = drop.map(Drop::risk).into_iter().chain((!nodes.is_empty()).then_some(COMPACT_RISK));
        Self {
            name: dropped.into_iter().chain(compacted).collect::<Vec<_>>().join(", "),
            drop_caches: drop,
            compact_nodes: nodes,
            compact_all: all,
            risks: risks.map(str::to_owned).collect(),
            ..Self::nothing()
        }
    }

    /// Cache that a node gives up, and nodes that are compacted then.
    pub(super) fn of_reclaim(reclaim: Reclaim, then: Vec<NodeId>, snapshot: &Snapshot) -> Self {
        let rest = Self::of_requests(None, then, snapshot);
        let names = [reclaim.name(), rest.name.clone()];
        Self {
            name: names.into_iter().filter(|name| !name.is_empty()).collect::<Vec<_>>().join(", "),
            reclaim: Some(reclaim),
            risks: [RECLAIM_RISK.to_owned()].into_iter().chain(rest.risks.clone()).collect(),
            ..rest
        }
    }

    /// Memory of a process collapsed into huge pages.
    pub(super) fn of_collapse(target: Target) -> Self {
        let risk = format!(
            "{} waits while its memory is copied, and takes huge pages that others would have had; parts of its ranges that it never \
             wrote take memory then",
            target.name()
        );
        Self {
            name: format!("collapse {}", target.name()),
            risks: vec![risk],
            collapse: Some(target),
            ..Self::nothing()
        }
    }

    /// A process started anew.
    pub(super) fn of_restart(target: Target) -> Self {
        let risk = format!(
            "{} serves nobody until it is there again, and what it had in memory it has to make again; that time is not in the price",
            target.name()
        );
        Self { name: format!("restart {}", target.name()), risks: vec![risk], restart: Some(target), ..Self::nothing() }
    }

    /// A control group that goes elsewhere.
    pub(super) fn of_group_move(group: GroupMove) -> Self {
        Self { name: group.name(), risks: vec![group.risk()], group_move: Some(group), ..Self::nothing() }
    }

    /// A program that runs elsewhere.
    pub(super) fn of_placement(placement: Placement) -> Self {
        Self { name: placement.name(), risks: vec![placement.risk()], placement: Some(placement), ..Self::nothing() }
    }

    /// The host as it is.
    pub(super) const fn nothing() -> Self {
        Self {
            placement: None,
            collapse: None,
            restart: None,
            name: String::new(),
            settings: Vec::new(),
            drop_caches: None,
            reclaim: None,
            group_move: None,
            compact_nodes: Vec::new(),
            compact_all: false,
            risks: Vec::new(),
        }
    }

    /// Both remedies; `None` where they write the same setting, both make requests, or both place the program.
    pub(super) fn and(&self, other: &Self) -> Option<Self> {
        let names = |of: &Self| {
            of.settings.iter().filter_map(|pair| pair.split('=').next()).map(str::to_owned).collect::<Vec<_>>()
        };
        let clash = names(self).iter().any(|name| names(other).contains(name))
            || self.has_requests() && other.has_requests()
            || self.placement.is_some() && other.placement.is_some();
        let (of_requests, rest) = if other.has_requests() { (other, self) } else { (self, other) };
        (!clash).then(|| Self {
            name: format!("{}{TOGETHER}{}", of_requests.name, rest.name),
            settings: self.settings.iter().chain(&other.settings).cloned().collect(),
            placement: self.placement.or(other.placement),
            risks: self.risks.iter().chain(&other.risks).cloned().collect(),
            ..of_requests.clone()
        })
    }

    /// The setting that the remedy turns, or its requests: of remedies that agree in it, one is enough.
    pub(super) fn kind(&self) -> &str {
        match self.settings.first() {
            Some(pair) => pair.split('=').next().unwrap_or(pair),
            None if self.collapse.is_some() => "collapse",
            None if self.restart.is_some() => "restart",
            None if self.group_move.is_some() => "move",
            None if self.has_requests() => "requests",
            None => "placement",
        }
    }

    fn has_requests(&self) -> bool {
        self.drop_caches.is_some()
            || self.reclaim.is_some()
            || self.group_move.is_some()
            || !self.compact_nodes.is_empty()
            || self.collapse.is_some()
            || self.restart.is_some()
    }

    /// Place of the process that is started anew.
    pub(super) fn without(&self) -> Option<OwnerId> {
        self.restart.as_ref().map(|target| target.id)
    }

    /// Parameters of the demand that make the requests and place the program.
    pub(super) fn parameters(&self) -> Vec<String> {
        let drop = self.drop_caches.map(|drop| format!("drop_first={}", drop.number()));
        let compact = (!self.compact_nodes.is_empty()).then(|| format!("compact_first={}", list(&self.compact_nodes)));
        let collapse = self.collapse.iter().flat_map(|target| {
            [format!("collapse_first={}", target.id), format!("collapse_size={}", target.size.get())]
        });
        let retake = self.restart.iter().filter(|target| target.size >= PAGEBLOCK_PAGES.bytes()).flat_map(|target| {
            let advised = if target.advised { "yes" } else { "no" };
            [format!("retake_first={}", target.size.get()), format!("retake_madvise={advised}")]
        });
        let place = self.placement.into_iter().flat_map(Placement::parameters);
        let reclaim = self.reclaim.into_iter().flat_map(Reclaim::parameters);
        let group_move = self.group_move.iter().flat_map(GroupMove::parameters);
        drop.into_iter()
            .chain(reclaim)
            .chain(group_move)
            .chain(compact)
            .chain(collapse)
            .chain(retake)
            .chain(place)
            .collect()
    }

    /// The command of order9 that writes the settings, with a way back, or that collapses memory.
    pub(super) fn order9(&self) -> Option<String> {
        if let Some(target) = &self.collapse {
            return Some(format!("sudo order9 collapse {}", target.pid));
        }
        let sets: String = self.settings.iter().map(|pair| format!(" --set {pair}")).collect();
        (!self.settings.is_empty()).then(|| format!("sudo order9 apply{sets}"))
    }

    /// Commands of Linux that do all of it, as root.
    pub(super) fn linux(&self) -> Vec<String> {
        let write = |pair: &String| {
            let (name, value) = pair.split_once('=').expect("settings are pairs");
            match Setting::find(name) {
                Some(setting) if setting.is_sysfs() => format!("echo {value} > {}", setting.path),
                _ => format!("sysctl -w {name}={value}"),
            }
        };
        let drop = self.drop_caches.map(|drop| format!("echo {} > /proc/sys/vm/drop_caches", drop.number()));
        let all = self.compact_all.then(|| "echo 1 > /proc/sys/vm/compact_memory".to_owned());
        let each = self.compact_nodes.iter().filter(|_| !self.compact_all);
        let each = each.map(|node| format!("echo 1 > /sys/devices/system/node/node{node}/compact"));
        let restart = self.restart.iter().map(|target| match &target.service {
            Some(service) => format!("systemctl restart {service}"),
            None => format!("kill {}    # and start {} again", target.pid, target.command),
        });
        let place = self.placement.into_iter().flat_map(Placement::linux);
        let requests = drop.into_iter().chain(self.reclaim.map(Reclaim::linux));
        let requests = requests.chain(self.group_move.iter().flat_map(GroupMove::linux));
        self.settings.iter().map(write).chain(requests).chain(all).chain(each).chain(restart).chain(place).collect()
    }
}

impl Target {
    /// A process, and that much of its private memory.
    pub(super) fn new(id: OwnerId, process: &Process, pages: Pages) -> Self {
        let service = process.cgroup.rsplit('/').find(|part| part.ends_with(".service"));
        Self {
            id,
            pid: process.pid,
            command: process.command.clone(),
            service: service.map(str::to_owned),
            size: pages.bytes(),
            advised: process.advised_base > Pages::ZERO,
            share: pages.get() as f64 / process.anonymous.get().max(1) as f64,
        }
    }

    fn name(&self) -> String {
        format!("{} ({})", self.command, self.pid)
    }
}

/// Numbers as the kernel takes a list of them.
pub(super) fn list(numbers: &[impl ToString]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use order9_snapshot::synth::{SynthSpec, synth};

    use super::*;

    fn setting(name: &'static str, value: &str) -> Remedy {
        Remedy::of_settings(&[(name, value.to_owned())], "risk")
    }

    #[test]
    fn a_remedy_says_how_it_is_made() {
        let thp = setting("thp.defrag", "always");
        assert_eq!(thp.order9().as_deref(), Some("sudo order9 apply --set thp.defrag=always"));
        assert_eq!(thp.linux(), ["echo always > /sys/kernel/mm/transparent_hugepage/defrag"]);
        assert_eq!(setting("vm.swappiness", "10").linux(), ["sysctl -w vm.swappiness=10"]);
        let (two_nodes, _) = synth(&SynthSpec { nodes: 2, ..SynthSpec::default() }).expect("a synthetic map");
        let of = |drop, nodes: &[u16]| {
            Remedy::of_requests(drop, nodes.iter().map(|&node| NodeId(node)).collect(), &two_nodes)
        };
        let all = of(Some(Drop::All), &[0, 1]);
        assert_eq!(all.name, "drop_caches=3, compact_memory");
        assert_eq!(all.linux(), ["echo 3 > /proc/sys/vm/drop_caches", "echo 1 > /proc/sys/vm/compact_memory"]);
        assert_eq!(all.parameters(), ["drop_first=3", "compact_first=0,1"]);
        assert_eq!((all.order9(), all.risks.len()), (None, 2));
        let one = of(None, &[1]);
        assert_eq!((one.name.as_str(), one.compact_all), ("compact node 1", false));
        assert_eq!(one.linux(), ["echo 1 > /sys/devices/system/node/node1/compact"]);
    }

    #[test]
    fn a_node_gives_up_cache_before_it_is_compacted() {
        let (snapshot, _) = synth(&SynthSpec { nodes: 2, ..SynthSpec::default() }).expect("a synthetic map");
        let reclaim = Reclaim { node: NodeId(1), amount: Bytes::from_gib(2) };
        let remedy = Remedy::of_reclaim(reclaim, vec![NodeId(1)], &snapshot);
        assert_eq!((remedy.name.as_str(), remedy.kind()), ("reclaim 2 GiB of node 1, compact node 1", "requests"));
        assert_eq!(
            remedy.linux(),
            [
                "echo \"2147483648 swappiness=0\" > /sys/devices/system/node/node1/reclaim",
                "echo 1 > /sys/devices/system/node/node1/compact"
            ]
        );
        let parameters = ["reclaim_first=2147483648", "reclaim_node=1", "reclaim_swappiness=0", "compact_first=1"];
        assert_eq!(remedy.parameters(), parameters);
        assert_eq!(remedy.risks.len(), 2);
    }

    #[test]
    fn remedies_are_made_together_unless_they_contradict() {
        let (defrag, swappiness) = (setting("thp.defrag", "always"), setting("vm.swappiness", "10"));
        assert_eq!(defrag.and(&setting("thp.defrag", "never")), None, "one setting has one value");
        let both = defrag.and(&swappiness).expect("two settings");
        assert_eq!(both.settings, ["thp.defrag=always", "vm.swappiness=10"]);
        let drop = Remedy { drop_caches: Some(Drop::Slab), name: "drop_caches=2".to_owned(), ..Remedy::nothing() };
        assert_eq!(drop.and(&drop), None, "requests are made once");
        let both = defrag.and(&drop).expect("a setting and a request");
        assert_eq!(both.name, "drop_caches=2 + thp.defrag=always");
        assert_eq!(both.linux().len(), 2);
    }

    #[test]
    fn a_program_is_placed_beside_settings_and_requests() {
        let bind = Remedy::of_placement(Placement::Bind(NodeId(1)));
        assert_eq!((bind.name.as_str(), bind.kind(), bind.order9()), ("bind to node 1", "placement", None));
        assert_eq!(bind.parameters(), ["cpus=cpunodebind:1", "mempolicy=bind:1"]);
        assert_eq!(bind.linux()[0], "numactl --cpunodebind=1 --membind=1 PROGRAM");
        assert_eq!(bind.and(&Remedy::of_placement(Placement::Interleave)), None, "a program runs in one place");
        let drop = Remedy { drop_caches: Some(Drop::Slab), name: "drop_caches=2".to_owned(), ..Remedy::nothing() };
        for both in [bind.and(&drop), drop.and(&bind)].map(|both| both.expect("a request and a place")) {
            assert_eq!(both.parameters(), ["drop_first=2", "cpus=cpunodebind:1", "mempolicy=bind:1"]);
            assert_eq!(both.linux().len(), 3);
        }
    }

    #[test]
    fn remedies_of_a_process_name_it() {
        let process = |cgroup: &str| Process {
            pid: 7,
            command: "java".to_owned(),
            cgroup: cgroup.to_owned(),
            anonymous: Pages::new(4096),
            ..Process::default()
        };
        let target = |cgroup: &str| Target::new(3, &process(cgroup), Pages::new(1024));
        let collapse = Remedy::of_collapse(target("/"));
        assert_eq!((collapse.name.as_str(), collapse.kind()), ("collapse java (7)", "collapse"));
        assert_eq!(collapse.order9().as_deref(), Some("sudo order9 collapse 7"));
        assert_eq!(collapse.parameters(), ["collapse_first=3", "collapse_size=4194304"]);
        let restart = Remedy::of_restart(target("/system.slice/app.service/worker"));
        assert_eq!((restart.without(), restart.linux()), (Some(3), vec!["systemctl restart app.service".to_owned()]));
        assert_eq!(restart.parameters(), ["retake_first=4194304", "retake_madvise=no"]);
        assert_eq!(restart.and(&collapse), None, "requests are made once");
        assert!(Remedy::of_restart(target("/")).linux()[0].starts_with("kill 7 "));
    }
}
