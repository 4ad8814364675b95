//! `fragmented-node-fault`: every 2 MiB of the own node, or of all nodes, holds something that cannot move. What does it cost
//! to ask for huge pages that cannot be had there, and what are those worth that come from elsewhere?
//!
//! After the measurements against "mm: thp: relax __GFP_THISNODE for MADV_HUGEPAGE mappings" (linux-mm, 2018).

use std::sync::{Arc, Mutex};

use order9_units::{Bytes, Nanos, NodeId, Order};

use super::bystander::{Bystander, LOSS};
use super::region::{Region, Wanted};
use super::worth::{BaseAtHome, mean_load};
use super::{
    BREAK_EVEN, MADVISE, POSITIONS, SLOT_LATENCIES, SLOTS, TOTAL, bind_to, home, live_on, node_memory, nodes,
    percent_of,
};
use crate::access::{ACCESS, LOADS};
use crate::demand::Demand;
use crate::measure::{Better, Family, Measure, Unit};
use crate::parameters::{Kind, Parameter, Parameters, Value};
use crate::spec::{SECOND, Spec};
use crate::sys::{ChildKind, FileId, KernelAlloc, KernelSize, Stop, Sys, found_by, synced_file};
use crate::unit::UNIT;

/// The workload, but for its program [`run`].
pub(crate) const WORKLOAD: Spec = Spec {
    name: "fragmented-node-fault",
    summary: "faults of huge pages on a node without any, or on all nodes: the price of asking",
    description: "\
        The kernel holds a part of every 2 MiB of the own node, or of all nodes, which nobody can move; the rest is free, or \
        holds page cache and a bystander's memory. A thread that is bound to the node then touches memory slot by slot. \
        Measured are the latencies of slots, what they became and where they lie, and what using them costs; at last what \
        it costs once the kernel has given its memory back and khugepaged had time.",
    parameters: PARAMETERS,
    measures: MEASURES,
    settings: |_| &[("thp/enabled", "always"), ("thp/defrag", "madvise")],
    counters_every: SECOND,
    is_long: false,
    demand: |of| Demand { time: of.time("khugepaged"), ..Demand::of_memory(of.bytes("size"), 1) },
};

const PARAMETERS: &[Parameter] = &[
    Parameter {
        key: "size",
        meaning: "memory that is touched",
        kind: Kind::Bytes { min: UNIT },
        default: |facts| Value::Bytes(Bytes::new(node_memory(facts).get() / 4).clamp(UNIT, Bytes::from_gib(8))),
        default_text: "1/4 of a node, at most 8 GiB",
    },
    Parameter {
        key: "fragmented",
        meaning: "nodes that are fragmented: the program's own, or all",
        kind: Kind::Word(&["local", "all"]),
        default: |_| Value::Word("all"),
        default_text: "all",
    },
    Parameter {
        key: "held",
        meaning: "memory that the kernel keeps of every 2 MiB: a block of 64 KiB, or the slab of one object",
        kind: Kind::Word(&["block", "object"]),
        default: |_| Value::Word("block"),
        default_text: "block",
    },
    Parameter {
        key: "cache_percent",
        meaning: "page cache on each fragmented node, in percent of the node",
        kind: Kind::Count { min: 0, max: 100 },
        default: |_| Value::Count(50),
        default_text: "50",
    },
    Parameter {
        key: "bystander_percent",
        meaning: "memory of a bystander on each fragmented node, in percent of the node",
        kind: Kind::Count { min: 0, max: 100 },
        default: |_| Value::Count(0),
        default_text: "0",
    },
    Parameter {
        key: "khugepaged",
        meaning: "time for khugepaged after the kernel has given its memory back; 0 leaves that out",
        kind: Kind::Time,
        default: |_| Value::Time(Nanos::ZERO),
        default_text: "0s",
    },
    MADVISE,
];

const MEASURES: &[Measure] = &[
    SLOT_LATENCIES,
    SLOTS,
    TOTAL,
    BREAK_EVEN,
    POSITIONS,
    ACCESS[0],
    Measure {
        heading: "Access Latencies after khugepaged",
        operations: &["later"],
        family: Family::Single("Mean"),
        better: Better::Lower,
        unit: Unit::Nanoseconds,
        decimals: 2,
        main: &[],
    },
    LOSS[0],
    LOSS[1],
];

/// Pages of the block that the kernel keeps of each 2 MiB: 64 KiB.
const KEPT: u64 = 16;
/// Objects whose slabs fill 2 MiB.
const OBJECT: Bytes = Bytes::new(8 << 10);
const OBJECTS: usize = (UNIT.get() / OBJECT.get()) as usize;

/// Memory of a node that the kernel holds.
enum Held<M> {
    /// The first pages of each of these blocks.
    Blocks(Vec<M>),
    Objects(Vec<M>),
}

pub(crate) async fn run<S: Sys>(sys: &S, parameters: &Parameters) -> Result<(), Stop> {
    sys.phase("prepare");
    let home_node = home(sys, parameters);
    let base = BaseAtHome::measure(sys, home_node).await?;
    let fragmented: Vec<NodeId> = match parameters.word("fragmented") {
        "local" => vec![home_node],
        _ => nodes(sys).collect(),
    };
    let (mut held, mut files, mut bystanders) = (Vec::new(), Vec::new(), Vec::new());
    for &node in &fragmented {
        held.push(fragment(sys, node, parameters.word("held")).await?);
    }
    for &node in &fragmented {
        let memory = sys.facts().nodes[usize::from(node.0)];
        files.extend(fill_cache(sys, node, percent_of(memory, parameters.count("cache_percent"))).await?);
        let beside = percent_of(memory, parameters.count("bystander_percent"));
        if beside > Bytes::ZERO {
            bystanders.push(Bystander::start(sys, node, beside).await?);
        }
    }
    sys.snapshot("fragmented");
    sys.phase("measure");
    measure(sys, parameters, home_node, base, held).await?;
    sys.phase("clean-up");
    for bystander in bystanders {
        bystander.finish(sys).await?;
    }
    for file in files {
        sys.remove_file(file).await?;
    }
    Ok(())
}

/// Takes a node, and keeps a part of every 2 MiB of it.
async fn fragment<S: Sys>(sys: &S, node: NodeId, held: &'static str) -> Result<Held<S::KernelMemory>, Stop> {
    let all = Arc::new(Mutex::new(Vec::new()));
    let own = Arc::clone(&all);
    let body = move |sys: S| async move {
        let kept = match held {
            "object" => keep_objects(&sys, node).await?,
            _ => keep_blocks(&sys, node).await?,
        };
        *own.lock().expect("nobody panics with the lock") = kept;
        Ok(())
    };
    let driver = sys.spawn(ChildKind::Kernel, "fragmenter", body).await?;
    sys.wait(driver).await?.result?;
    let kept = std::mem::take(&mut *all.lock().expect("nobody panics with the lock"));
    Ok(if held == "object" { Held::Objects(kept) } else { Held::Blocks(kept) })
}

/// Takes whole 2 MiB for as long as there are any, and gives back all but the first 64 KiB of each. What the kernel keeps free
/// for emergencies is refused to the first pass; the next ones get it, since much is free by then.
async fn keep_blocks<S: Sys>(sys: &S, node: NodeId) -> Result<Vec<S::KernelMemory>, Stop> {
    let what = KernelAlloc { node: Some(node), ..KernelAlloc::new(KernelSize::Block(Order::PAGEBLOCK)) };
    let mut kept = Vec::new();
    loop {
        let before = kept.len();
        while let Some(block) = sys.kernel_alloc(what).await? {
            kept.push(block);
        }
        for &block in &kept[before..] {
            sys.kernel_free_pages(block, KEPT..Order::PAGEBLOCK.pages().get()).await?;
        }
        if kept.len() == before {
            return Ok(kept);
        }
    }
}

/// Takes objects for as long as there is room for any, and gives back all but one of as many as fill 2 MiB.
async fn keep_objects<S: Sys>(sys: &S, node: NodeId) -> Result<Vec<S::KernelMemory>, Stop> {
    let what = KernelAlloc { node: Some(node), ..KernelAlloc::new(KernelSize::Object(OBJECT)) };
    let mut objects = Vec::new();
    while let Some(object) = sys.kernel_alloc(what).await? {
        objects.push(object);
    }
    let mut kept = Vec::new();
    for (nth, object) in objects.into_iter().enumerate() {
        if nth % OBJECTS == 0 {
            kept.push(object);
        } else {
            sys.kernel_free(object).await?;
        }
    }
    Ok(kept)
}

/// Writes a file on a node, so that it stays in the page cache there.
async fn fill_cache<S: Sys>(sys: &S, node: NodeId, size: Bytes) -> Result<Option<FileId>, Stop> {
    if size == Bytes::ZERO {
        return Ok(None);
    }
    if !sys.cpus_of(node).is_empty() {
        bind_to(sys, node).await?;
        return synced_file(sys, size).await.map(Some);
    }
    // A policy would stay with this process, and with all that it starts.
    let body = move |sys: S| async move {
        live_on(&sys, node).await?;
        Ok([synced_file(&sys, size).await?.0.into()])
    };
    let [file] = found_by(sys, "writer", body).await?;
    Ok(Some(FileId(file as u32)))
}

/// Touches the region, uses it, and uses it again after the kernel has given back what it holds.
async fn measure<S: Sys>(
    sys: &S,
    parameters: &Parameters,
    home_node: NodeId,
    base: Option<BaseAtHome>,
    held: Vec<Held<S::KernelMemory>>,
) -> Result<(), Stop> {
    let (size, madvise) = (parameters.bytes("size"), parameters.word("madvise") == "yes");
    let khugepaged = parameters.time("khugepaged");
    let held = Mutex::new(held);
    let body = move |sys: S| async move {
        bind_to(&sys, home_node).await?;
        let region = Region::touch(&sys, Wanted { size, madvise, pinned: false }).await?;
        region.slots.report_slots(&sys, "");
        region.report_positions(&sys);
        region.report_use(&sys, base).await?;
        // Only the lab comes here: a real kernel refuses memory of its own on a node of choice, and a process of its could not give back its parent's.
        for held in held.into_inner().expect("nobody panics with the lock") {
            give_back(&sys, held).await?;
        }
        if khugepaged > Nanos::ZERO {
            sys.sleep(khugepaged).await?;
            let load = mean_load(&sys, region.area).await?;
            sys.mean("later", Nanos::new((load * LOADS as f64) as u64), LOADS);
        }
        Ok(())
    };
    let program = sys.spawn(ChildKind::Process, "program", body).await?;
    sys.wait(program).await?.result
}

async fn give_back<S: Sys>(sys: &S, held: Held<S::KernelMemory>) -> Result<(), Stop> {
    match held {
        Held::Blocks(blocks) => {
            for block in blocks {
                sys.kernel_free_pages(block, 0..KEPT).await?;
            }
        }
        Held::Objects(objects) => {
            for object in objects {
                sys.kernel_free(object).await?;
            }
        }
    }
    Ok(())
}
