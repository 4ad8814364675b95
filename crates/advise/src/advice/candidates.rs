//! Remedies that are tried: one table of settings with values, those that follow from what the copy has, requests to the kernel, places for
//! the program, and processes.
//!
//! Key type: [`Remedy`]. A remedy that the kernel lacks, or that the host has already, is not tried.

use std::cmp::Reverse;

use order9_import::value_shown;
use order9_lab::Plan;
use order9_procfs::sysctl::Setting;
use order9_snapshot::owners::{Holdings, OwnerId, Process};
use order9_snapshot::{NodeInfo, Snapshot};
use order9_units::{NodeId, PAGEBLOCK_PAGES, Pages};
use order9_workloads::Workload;

use super::place::{GroupMove, Placement};
use super::remedy::{Drop, Reclaim, Remedy, Target};

/// A setting by its Linux name, a value that is worth a try, and what it takes from whom.
type Row = (&'static str, &'static str, &'static str);

const ALWAYS_WAIT: &str =
    "every fault that may be huge waits for reclaim and compaction, those of programs that need no huge page too";
const WAKES: &str =
    "faults of programs that did not ask wake kswapd and kcompactd, which take CPU time and cache from others";
const IDLE_WORK: &str = "kcompactd moves pages of all programs whether or not anybody needs huge pages; each moved page is away for its copy";
const LESS_MIXED: &str = "allocations of the kernel and small ones of programs wait for reclaim sooner, before they use a pageblock of another type";

/// Settings in the order in which remedies of equal worth are named: what interferes least comes first.
const SETTINGS: &[Row] = &[
    ("thp.enabled", "madvise", "programs that asked have huge pages; programs that did not ask have none"),
    ("thp.enabled", "always", "memory of all programs comes in 2 MiB, those that use a part of it take more"),
    ("thp.hugepages-2048kB.enabled", "inherit", "what thp.enabled says counts for 2 MiB pages as well"),
    (
        "thp.hugepages-64kB.enabled",
        "inherit",
        "memory comes in 64 kB where 2 MiB cannot be had: that saves faults and no TLB misses, and memory used in part takes more",
    ),
    ("thp.defrag", "madvise", "programs that did not ask get a huge page only where one is free"),
    (
        "thp.defrag",
        "defer",
        "no fault waits: also programs that asked get base pages until kcompactd has made huge ones",
    ),
    ("thp.defrag", "defer+madvise", WAKES),
    ("thp.defrag", "always", ALWAYS_WAIT),
    (
        "thp.defrag",
        "never",
        "programs that asked get a huge page only where one is free; nothing is compacted for them",
    ),
    ("thp.khugepaged.defrag", "1", "khugepaged reclaims and compacts, which takes cache and CPU time from others"),
    (
        "vm.compact_unevictable_allowed",
        "1",
        "programs with locked memory wait for pages that move: real-time programs see faults",
    ),
    ("vm.compaction_proactiveness", "0", "no huge page is made ahead of need"),
    ("vm.compaction_proactiveness", "60", IDLE_WORK),
    ("vm.compaction_proactiveness", "100", IDLE_WORK),
    ("vm.watermark_boost_factor", "0", "kswapd no longer reclaims where types mix, so that pageblocks mix sooner"),
    ("vm.watermark_boost_factor", "15000", "kswapd reclaims page cache where types mix in a pageblock"),
    ("vm.extfrag_threshold", "100", "compaction is tried where reclaim would have been, for kernel allocations too"),
    ("vm.extfrag_threshold", "900", "reclaim takes cache where compaction would have been tried"),
    ("vm.defrag_mode", "1", LESS_MIXED),
];

/// Settings that matter with swap alone.
const WITH_SWAP: &[Row] = &[
    ("vm.swappiness", "10", "page cache is reclaimed before memory of programs: files are read again"),
    ("vm.swappiness", "100", "memory of programs goes to swap as readily as page cache: programs wait for it"),
];

/// Most memory that the min marks may keep from everybody: a twentieth.
const RESERVE_MAX: u64 = 20;

/// Processes of which a remedy is tried, for each kind of remedy.
const PROCESSES: usize = 3;
/// Least memory that is worth a collapse.
const COLLAPSE_MIN: Pages = Pages::new(8 * PAGEBLOCK_PAGES.get());
/// Least cache that is worth a request.
const RECLAIM_MIN: Pages = Pages::new(8 * PAGEBLOCK_PAGES.get());
/// Least number of pageblocks that are worth a process's restart.
const ALONE_MIN: u64 = 8;

/// Remedies for the host of the copy, that runs as `plan` says.
pub(super) fn candidates(snapshot: &Snapshot, plan: &Plan, held: Option<&Holdings>) -> Vec<Remedy> {
    let copy = Copy { snapshot, plan };
    let has_swap = snapshot.meminfo.get("SwapTotal").is_some_and(|&kib| kib > 0);
    let rows = SETTINGS.iter().chain(if has_swap { WITH_SWAP } else { &[] });
    let of_rows = rows.filter_map(|(name, value, risk)| copy.remedy(&[(name, (*value).to_owned())], risk));
    let computed = [copy.khugepaged(1), copy.khugepaged(10), copy.reserve(2), copy.reserve(4), copy.hugetlb()];
    let of_processes = held.into_iter().flat_map(|held| copy.processes(held));
    let of_host = of_rows.chain(computed.into_iter().flatten()).chain(requests(snapshot)).chain(copy.reclaims());
    let moves = held.into_iter().flat_map(|held| group_moves(snapshot, plan, held));
    of_host.chain(placements(snapshot, plan)).chain(moves).chain(of_processes).collect()
}

/// The copy, and the kernel that it runs under.
struct Copy<'a> {
    snapshot: &'a Snapshot,
    plan: &'a Plan,
}

impl Copy<'_> {
    /// Value of a setting on the host; `None` where its kernel has none.
    fn now(&self, name: &str) -> Option<String> {
        let setting = Setting::find(name)?;
        self.snapshot.settings.get(setting.path).map(|text| value_shown(text))
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.now(name)?.parse().ok()
    }

    /// The remedy that these settings are, unless the kernel has them already or not at all.
    fn remedy(&self, settings: &[(&'static str, String)], risk: &'static str) -> Option<Remedy> {
        let mut is_change = false;
        for (name, value) in settings {
            is_change |= self.now(name)? != *value;
            if !self.plan.takes(name, value) {
                return None;
            }
        }
        is_change.then(|| Remedy::of_settings(settings, risk))
    }

    /// khugepaged that looks at memory ten times as often, and at `times` as many pages.
    fn khugepaged(&self, times: u64) -> Option<Remedy> {
        const OFTEN: u64 = 10;
        let [sleep, pages] = ["thp.khugepaged.scan_sleep_millisecs", "thp.khugepaged.pages_to_scan"];
        let each = |name: &'static str, value: u64| (name, value.to_string());
        let mut settings = vec![each(sleep, (self.number(sleep)? / OFTEN).max(1))];
        if times > 1 {
            settings.push(each(pages, self.number(pages)?.saturating_mul(times)));
        }
        let remedy =
            self.remedy(&settings, "khugepaged takes more of a CPU, and huge pages that others would have had")?;
        Some(Remedy { name: format!("khugepaged {} times as fast", OFTEN * times), ..remedy })
    }

    /// Cache of each node that was used once, given up with and without compaction of the node, where the kernel can.
    fn reclaims(&self) -> Vec<Remedy> {
        let has_file = self.plan.policies[0].policy.reclaim.node_file;
        let of_node = |node: &NodeInfo| {
            let idle = Pages::new(node.counters.get("nr_inactive_file").copied().unwrap_or(0));
            let reclaim = Reclaim { node: node.id, amount: idle.bytes() };
            let then = [Vec::new(), vec![node.id]];
            (has_file && idle >= RECLAIM_MIN).then(|| then.map(|then| Remedy::of_reclaim(reclaim, then, self.snapshot)))
        };
        self.snapshot.nodes.iter().filter_map(of_node).flatten().collect()
    }

    /// Marks that keep `times` as much memory free.
    fn reserve(&self, times: u64) -> Option<Remedy> {
        let managed: Pages = self.snapshot.zones.iter().map(|zone| zone.managed).sum();
        let kib = self.number("vm.min_free_kbytes")?.saturating_mul(times);
        let fits = kib <= (managed.bytes().get() >> 10) / RESERVE_MAX;
        let settings = [("vm.min_free_kbytes", kib.to_string())];
        let risk = "so much more memory is kept free that no program can have it, and page cache goes for it";
        fits.then(|| self.remedy(&settings, risk)).flatten()
    }

    /// The processes with most memory to collapse, where the kernel can; those that hold most pageblocks alone, started anew.
    fn processes(&self, held: &Holdings) -> Vec<Remedy> {
        let Some(owners) = &self.snapshot.owners else { return Vec::new() };
        let can_collapse = self.plan.policies[0].policy.thp.madvise_collapse;
        let mut collapsible: Vec<(OwnerId, &Process, Pages)> = owners
            .processes()
            .map(|(id, of)| (id, of, if of.advised_base > Pages::ZERO { of.advised_base } else { of.collapsible }))
            .filter(|(_, _, pages)| can_collapse && *pages >= COLLAPSE_MIN)
            .collect();
        collapsible.sort_by_key(|(_, _, pages)| Reverse(*pages));
        let collapses = collapsible.into_iter().map(|(id, of, pages)| Remedy::of_collapse(Target::new(id, of, pages)));
        // Whoever restarts the first process restarts the host.
        let alone = held.users.iter().filter(|held| held.alone >= ALONE_MIN);
        let mut alone: Vec<_> = alone.filter_map(|held| Some((held, held.owner.process()?))).collect();
        alone.retain(|(_, process)| process.pid != 1);
        alone.sort_by_key(|(held, _)| Reverse(held.alone));
        let restarts = alone.into_iter().map(|(held, of)| Remedy::of_restart(Target::new(held.id, of, of.anonymous)));
        collapses.take(PROCESSES).chain(restarts.take(PROCESSES)).collect()
    }

    /// Free pages of the hugetlb pool given back, but for those that are promised.
    fn hugetlb(&self) -> Option<Remedy> {
        let count = |name: &str| self.snapshot.meminfo.get(name).copied();
        let (total, free, promised) = (count("HugePages_Total")?, count("HugePages_Free")?, count("HugePages_Rsvd")?);
        let idle = free.saturating_sub(promised);
        let settings = [("vm.nr_hugepages", total.saturating_sub(idle).to_string())];
        let risk = "programs that map hugetlb pages later find no spare ones";
        (idle > 0).then(|| self.remedy(&settings, risk)).flatten()
    }
}

/// Requests to the kernel, with and without dropping caches first.
fn requests(snapshot: &Snapshot) -> Vec<Remedy> {
    let nodes: Vec<NodeId> = snapshot.nodes.iter().map(|node| node.id).filter(|&id| has_memory(snapshot, id)).collect();
    let all = [(None, nodes.clone())];
    let each = nodes.iter().map(|&node| (None, vec![node])).filter(|_| nodes.len() > 1);
    let drops = Drop::ALL.map(|drop| (Some(drop), Vec::new()));
    let both = (Some(Drop::All), nodes.clone());
    all.into_iter()
        .chain(each)
        .chain(drops)
        .chain([both])
        .map(|(drop, nodes)| Remedy::of_requests(drop, nodes, snapshot))
        .collect()
}

/// Places for the program of the demand: each node that has CPUs and memory, and all nodes in turn. None where the user has placed the
/// program, and where the demand is the host itself.
fn placements(snapshot: &Snapshot, plan: &Plan) -> Vec<Remedy> {
    let is_placed = ["cpus", "mempolicy"].iter().any(|key| plan.chosen.contains_key(key));
    let with_memory = snapshot.nodes.iter().filter(|node| has_memory(snapshot, node.id));
    if is_placed || plan.workload == Workload::LikeHost || with_memory.clone().count() < 2 {
        return Vec::new();
    }
    let bound = with_memory.filter(|node| !node.cpus.is_empty()).map(|node| Placement::Bind(node.id));
    bound.chain([Placement::Interleave]).map(Remedy::of_placement).collect()
}

/// Control groups that go to another node. None where the demand is the host itself.
fn group_moves(snapshot: &Snapshot, plan: &Plan, held: &Holdings) -> Vec<Remedy> {
    if plan.workload == Workload::LikeHost {
        return Vec::new();
    }
    GroupMove::all(snapshot, held).into_iter().map(Remedy::of_group_move).collect()
}

fn has_memory(snapshot: &Snapshot, node: NodeId) -> bool {
    snapshot.zones.iter().any(|zone| zone.node == node && zone.managed > Pages::ZERO)
}
