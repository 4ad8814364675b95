//! Requests before a program starts, as an administrator makes them: caches are dropped, a node is reclaimed, processes move
//! to another node, nodes are compacted, memory of other processes is collapsed, a process is started anew.
//!
//! Key type: [`Beforehand`]. The requests are parameters of every workload, so that each can be seen with and without them.

use order9_units::{Bytes, Nanos, NodeId, NodeMask};

use crate::access::Accesses;
use crate::parameters::{Kind, Parameter, Parameters, Value};
use crate::sys::{Access, Advice, Area, ChildKind, DropCaches, Flag, Stop, Sys};
use crate::unit::{UNIT, map_units};

/// Phase of the requests, which comes before those of the program.
pub const BEFOREHAND: &str = "beforehand";
/// Operation whose one sample is the time of a collapse.
pub(crate) const COLLAPSE: &str = "collapse";

/// The parameter that drops caches.
pub(crate) const DROP_FIRST: Parameter = Parameter {
    key: "drop_first",
    meaning: "caches that are dropped before the program starts, as vm.drop_caches takes them: page cache (1), slab (2), both (3)",
    kind: Kind::Count { min: 1, max: 3 },
    default: |_| Value::Count(1),
    default_text: "none",
};

/// The parameter that reclaims a node, after caches were dropped.
pub(crate) const RECLAIM_FIRST: Parameter = Parameter {
    key: "reclaim_first",
    meaning: "memory of a node that is reclaimed before the program starts, by its file `reclaim`, as far as it can be",
    kind: Kind::Bytes { min: UNIT },
    default: |_| Value::Bytes(UNIT),
    default_text: "none",
};

/// The parameter that says which node.
pub(crate) const RECLAIM_NODE: Parameter = Parameter {
    key: "reclaim_node",
    meaning: "node that is reclaimed",
    kind: Kind::Count { min: 0, max: NODE_MAX },
    default: |_| Value::Count(0),
    default_text: "0",
};

/// The parameter that says from whom memory is taken.
pub(crate) const RECLAIM_SWAPPINESS: Parameter = Parameter {
    key: "reclaim_swappiness",
    meaning: "swappiness of that reclaim: 0 takes pages of files alone",
    kind: Kind::Count { min: 0, max: 200 },
    default: |_| Value::Count(60),
    default_text: "vm.swappiness",
};

/// The parameter that has processes move to another node.
pub(crate) const MOVE_FIRST: Parameter = Parameter {
    key: "move_first",
    meaning: "processes of the captured memory, by their places among the owners, which get CPUs and memory of one node alone before the \
        program starts (cpuset.cpus and cpuset.mems of their control group), so that their pages move there; they stay until the \
        program ends",
    kind: Kind::Counts { min: 0, max: HOLDER_MAX },
    default: |_| Value::Counts(vec![0]),
    default_text: "none",
};

/// The parameter that says which node.
pub(crate) const MOVE_NODE: Parameter = Parameter {
    key: "move_node",
    meaning: "node that these processes move to",
    kind: Kind::Count { min: 0, max: NODE_MAX },
    default: |_| Value::Count(0),
    default_text: "0",
};

/// The parameter that compacts nodes, after caches were dropped.
pub(crate) const COMPACT_FIRST: Parameter = Parameter {
    key: "compact_first",
    meaning: "nodes that are compacted before the program starts, one after the other",
    kind: Kind::Counts { min: 0, max: NODE_MAX },
    default: |_| Value::Counts(vec![0]),
    default_text: "none",
};

/// The parameter that collapses memory of a process.
pub(crate) const COLLAPSE_FIRST: Parameter = Parameter {
    key: "collapse_first",
    meaning: "process of the captured memory, by its place among the owners, whose base pages are collapsed before the program starts \
        (MADV_COLLAPSE), and which stays until the program ends",
    kind: Kind::Count { min: 0, max: HOLDER_MAX },
    default: |_| Value::Count(0),
    default_text: "none",
};

/// The parameter that says how much of it.
pub(crate) const COLLAPSE_SIZE: Parameter = Parameter {
    key: "collapse_size",
    meaning: "memory of the process that is collapsed",
    kind: Kind::Bytes { min: UNIT },
    default: |_| Value::Bytes(UNIT),
    default_text: "all",
};

/// The parameter that starts a process anew.
pub(crate) const RETAKE_FIRST: Parameter = Parameter {
    key: "retake_first",
    meaning: "memory that another process takes before the program starts, and keeps until it ends, as one that was started anew",
    kind: Kind::Bytes { min: UNIT },
    default: |_| Value::Bytes(UNIT),
    default_text: "none",
};

/// The parameter that has that memory advised.
pub(crate) const RETAKE_MADVISE: Parameter = Parameter {
    key: "retake_madvise",
    meaning: "whether that process advises its memory MADV_HUGEPAGE",
    kind: Kind::Word(&["no", "yes"]),
    default: |_| Value::Word("no"),
    default_text: "no",
};

/// The largest place of an owner.
const HOLDER_MAX: u64 = u16::MAX as u64;

/// The largest number of a node (`MAX_NUMNODES` of the largest configuration).
const NODE_MAX: u64 = 1023;

/// Requests that were made, and processes that stay until the program ends.
pub(crate) struct Beforehand<S: Sys> {
    children: Vec<S::Child>,
    /// Up once the program has ended.
    ended: Flag,
}

impl<S: Sys> Beforehand<S> {
    /// Makes the requests that were chosen; `None` where nothing was.
    pub(crate) async fn start(sys: &S, parameters: &Parameters) -> Result<Option<Self>, Stop> {
        let (drop, nodes) = (parameters.chosen_count(DROP_FIRST.key), parameters.chosen_counts(COMPACT_FIRST.key));
        let (holder, retaken) =
            (parameters.chosen_count(COLLAPSE_FIRST.key), parameters.chosen_bytes(RETAKE_FIRST.key));
        let reclaim = parameters.chosen_bytes(RECLAIM_FIRST.key);
        let moved = parameters.chosen_counts(MOVE_FIRST.key);
        let makes_none = drop.is_none() && reclaim.is_none() && moved.is_empty() && nodes.is_empty();
        if makes_none && holder.is_none() && retaken.is_none() {
            return Ok(None);
        }
        sys.phase(BEFOREHAND);
        if let Some(what) = drop {
            let what = [DropCaches::Pages, DropCaches::Slab, DropCaches::All][what as usize - 1];
            sys.drop_caches(what).await?;
        }
        if let Some(amount) = reclaim {
            let node = node(parameters.chosen_count(RECLAIM_NODE.key).unwrap_or(0));
            // The program starts in what could be reclaimed, as it does after a write that returned EAGAIN.
            let _ = sys.reclaim(node, amount, parameters.chosen_count(RECLAIM_SWAPPINESS.key)).await?;
        }
        let mut others = Self { children: Vec::new(), ended: Flag::new(sys)? };
        let to = node(parameters.chosen_count(MOVE_NODE.key).unwrap_or(0));
        for &process in moved {
            others.relocate(sys, process, to).await?;
        }
        for &number in nodes {
            sys.compact(Some(node(number))).await?;
        }
        if let Some(size) = retaken {
            let is_advised = parameters.chosen_word(RETAKE_MADVISE.key) == Some("yes");
            others.retake(sys, size, is_advised.then_some(Advice::HugePage)).await?;
        }
        if let Some(holder) = holder {
            others.collapse(sys, holder, parameters.chosen_bytes(COLLAPSE_SIZE.key)).await?;
        }
        sys.phase("program");
        Ok(Some(others))
    }

    /// Starts a process that takes memory, and waits until it has.
    async fn retake(&mut self, sys: &S, size: Bytes, advice: Option<Advice>) -> Result<(), Stop> {
        let (ended, taken) = (self.ended.clone(), Flag::new(sys)?);
        let done = taken.clone();
        let body = move |sys: S| async move {
            let took = take(&sys, size, advice).await;
            done.raise();
            took?;
            wait_for(&sys, &ended).await
        };
        self.children.push(sys.spawn(ChildKind::Process, "started anew", body).await?);
        wait_for(sys, &taken).await
    }

    /// Has a process of the captured memory move to a node, with all of its pages that can.
    async fn relocate(&mut self, sys: &S, process: u64, to: NodeId) -> Result<(), Stop> {
        let cpus = sys.cpus_of(to);
        if cpus.is_empty() {
            return Err(Stop::Refused { call: "write of cpuset.cpus", errno: "EINVAL" });
        }
        let (ended, moved) = (self.ended.clone(), Flag::new(sys)?);
        let done = moved.clone();
        let body = move |sys: S, _: Area| async move {
            let did = relocate(&sys, to, &cpus).await;
            done.raise();
            did?;
            wait_for(&sys, &ended).await
        };
        self.children.push(sys.adopt(process, "moved", body).await?);
        wait_for(sys, &moved).await
    }

    /// Has a process of the captured memory collapse its base pages, with the speed of these before and after.
    async fn collapse(&mut self, sys: &S, holder: u64, most: Option<Bytes>) -> Result<(), Stop> {
        let (ended, collapsed) = (self.ended.clone(), Flag::new(sys)?);
        let done = collapsed.clone();
        let body = move |sys: S, area: Area| async move {
            let did = collapse(&sys, area, most).await;
            done.raise();
            did?;
            wait_for(&sys, &ended).await
        };
        self.children.push(sys.adopt(holder, "collapsed", body).await?);
        wait_for(sys, &collapsed).await
    }

    /// Lets the processes end, and waits for them.
    pub(crate) async fn end(self, sys: &S) -> Result<(), Stop> {
        self.ended.raise();
        for child in self.children {
            sys.wait(child).await?;
        }
        Ok(())
    }
}

/// The node of a number, of which the kind of the parameter has the range.
const fn node(number: u64) -> NodeId {
    NodeId(number as u16)
}

/// Maps memory and writes all of it.
async fn take<S: Sys>(sys: &S, size: Bytes, advice: Option<Advice>) -> Result<(), Stop> {
    let (_, area) = map_units(sys, size, advice).await?;
    sys.touch(area, Access::Write).await
}

/// Goes on on the CPUs of a node, and has memory there alone.
async fn relocate<S: Sys>(sys: &S, to: NodeId, cpus: &[u32]) -> Result<(), Stop> {
    sys.set_affinity(cpus).await?;
    sys.set_mems(NodeMask::of(to), true).await
}

/// Collapses whole huge pages at the start of an area, up to so much.
async fn collapse<S: Sys>(sys: &S, area: Area, most: Option<Bytes>) -> Result<(), Stop> {
    let length = most.map_or(area.length, |most| most.min(area.length)).get() / UNIT.get() * UNIT.get();
    if length == 0 {
        return Ok(());
    }
    let part = area.part(Bytes::ZERO, Bytes::new(length));
    measure(sys, part, "-before").await?;
    let begin = sys.now();
    // What cannot be collapsed now is left as it is, as a request to the kernel leaves it.
    let _ = sys.madvise(part, Advice::Collapse).await;
    sys.sample(COLLAPSE, sys.now() - begin);
    measure(sys, part, "-after").await
}

/// Speed of a part of memory, under a name that ends with `suffix`.
async fn measure<S: Sys>(sys: &S, part: Area, suffix: &str) -> Result<(), Stop> {
    let accesses = Accesses::new(sys)?;
    accesses.measure(sys, part).await?;
    accesses.report(sys, suffix);
    Ok(())
}

/// Sleeps until the flag is up.
async fn wait_for<S: Sys>(sys: &S, flag: &Flag) -> Result<(), Stop> {
    const LOOK: Nanos = Nanos::new(1_000_000);
    while !flag.is_up() {
        sys.sleep(LOOK).await?;
    }
    Ok(())
}
