//! "Will a program get so much memory in huge pages now, and how long would its faults take?" A program asks for it on the copy.
//!
//! Key types: [`Ask`] (the question), [`Answer`]. `start` looks at the copy before anybody asks, `course` at what stood in the
//! way, `text` puts the answer in words.

mod answer;
mod course;
mod start;
mod text;

use std::num::NonZeroUsize;

use order9_lab::Plan;
use order9_snapshot::Snapshot;
use order9_snapshot::census::Census;
use order9_snapshot::inspection::Inspection;
use order9_snapshot::prices::Prices;
use order9_units::{Bytes, NodeId, PAGEBLOCK_PAGES, Pages};
use order9_workloads::Workload;

pub use answer::{Answer, Compaction, Efforts, Obstacle, ObstacleKind, ZoneNow};

use crate::trial::{AdviseError, Trial};
use start::FirstLook;

/// Size of a huge page.
const HUGE: Bytes = PAGEBLOCK_PAGES.bytes();
/// Tracepoints that tell what compaction answers.
const EVENTS: &str =
    "mm_compaction_try_to_compact_pages,mm_compaction_suitable,mm_compaction_deferred,mm_compaction_end";

/// A request for memory in huge pages, before it is made.
#[derive(Clone, Debug)]
pub struct Ask {
    /// Memory that the program writes.
    pub size: Bytes,
    /// The only node that it may have memory of.
    pub node: Option<NodeId>,
    /// Whether the program advises its memory `MADV_HUGEPAGE`.
    pub advised: bool,
    /// Mode of `transparent_hugepage/defrag`, if not that of the host.
    pub defrag: Option<String>,
}

impl Ask {
    /// The experiment that answers the question.
    ///
    /// # Errors
    /// A size below a huge page, a node without memory or room, and choices that the lab refuses.
    pub fn plan(&self, trial: &Trial) -> Result<Plan, AdviseError> {
        if self.size < HUGE {
            return Err(AdviseError::TooSmall(self.size.get()));
        }
        let mut scenario = trial.scenario(Workload::MapAndWrite)?;
        scenario.argument("--policy", trial.policy())?;
        scenario.argument("--param", &format!("size={}", self.wanted(trial)?.get()))?;
        scenario.argument("--param", if self.advised { "madvise=yes" } else { "madvise=no" })?;
        scenario.argument("--events", EVENTS)?;
        if let Some(defrag) = &self.defrag {
            scenario.argument("--set", &format!("thp/defrag={defrag}"))?;
        }
        if let Some(node) = self.node {
            scenario.argument("--param", &format!("mempolicy=bind:{node}"))?;
        }
        Ok(scenario.plan(trial.command.clone())?)
    }

    /// Tries it, on so many cores.
    ///
    /// # Errors
    /// A run that could not start, or a map that contradicts itself.
    pub fn answer(&self, trial: &Trial, plan: &Plan, jobs: NonZeroUsize) -> Result<Answer, AdviseError> {
        let problem = |problem: String| AdviseError::Map { name: trial.name.clone(), problem };
        let census = Census::of(&trial.snapshot).map_err(|error| problem(error.to_string()))?;
        let inspection = Inspection::of(&trial.snapshot, Some(&census), &Prices::of(&trial.snapshot));
        let look = FirstLook::new(plan.seeds[0]);
        let experiment = order9_lab::run(plan, jobs, &look)?;
        Ok(Answer::of(self, plan, &experiment, &look.into_start(), &inspection, &trial.notes))
    }

    /// Memory to write: no more than there could be. The program stops by itself where none is available any more, but nobody
    /// stops it on a node.
    fn wanted(&self, trial: &Trial) -> Result<Bytes, AdviseError> {
        let Some(node) = self.node else { return Ok(self.size.min(trial.memory()).max(HUGE)) };
        let zones = &trial.snapshot.zones;
        let has_memory = |id: NodeId| zones.iter().any(|zone| zone.node == id && zone.managed > Pages::ZERO);
        if !has_memory(node) {
            let nodes = trial.snapshot.nodes.iter().map(|info| info.id).filter(|&id| has_memory(id)).collect();
            return Err(AdviseError::NoNode { node, nodes });
        }
        let room = room(&trial.snapshot, node);
        if room < HUGE { Err(AdviseError::NoRoom(node)) } else { Ok(self.size.min(room)) }
    }
}

/// Memory of a node that a program could have without swapping: what is free above the high marks, and half of the page cache.
fn room(snapshot: &Snapshot, node: NodeId) -> Bytes {
    const CACHE: [&str; 2] = ["nr_inactive_file", "nr_active_file"];
    let zones = || snapshot.zones.iter().filter(move |zone| zone.node == node);
    let free: Pages = zones().map(|zone| zone.free).sum();
    let marks: Pages = zones().map(|zone| zone.watermarks.high).sum();
    let info = snapshot.nodes.iter().filter(|info| info.id == node);
    // Older kernels count by zone.
    let counters = info.map(|info| &info.counters).chain(zones().map(|zone| &zone.counters));
    let cache: u64 = counters.flat_map(|counters| CACHE.iter().filter_map(|name| counters.get(*name))).sum();
    Pages::new((free.get() + cache / 2).saturating_sub(marks.get())).bytes()
}
