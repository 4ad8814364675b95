//! A program that is there already: its memory fills part of a node, lies idle, and is used again in the end. What others
//! have done to it meanwhile is its loss.

use order9_units::{Bytes, Nanos, NodeId};

use super::live_on;
use crate::measure::{Better, Family, Figure, Measure, Unit};
use crate::sys::{Access, ChildKind, Mapping, Shared, Stop, Sys};

/// Interval at which a bystander looks whether it shall go on.
const LOOK: Nanos = Nanos::new(10_000_000);

/// States of a bystander. It begins at 0 and fills its memory; then it lies idle, until who started it has it use its memory again.
const IDLE: u64 = 1;
const USES: u64 = 2;

/// Tables of the bystander's loss: base pages swapped out, and the time of its second pass.
pub(super) const LOSS: [Measure; 2] = [
    Measure {
        heading: "Bystander's Memory Swapped Out",
        operations: &["bystander-lost"],
        family: Family::Single("Ops"),
        better: Better::Lower,
        unit: Unit::Pages,
        decimals: 0,
        main: &[("bystander-lost", Figure::Mean)],
    },
    Measure {
        heading: "Bystander Touching its Memory Again",
        operations: &["bystander-again"],
        family: Family::Single("Elapsed"),
        better: Better::Lower,
        unit: Unit::Seconds,
        decimals: 3,
        main: &[],
    },
];

/// A bystander that has filled its memory.
pub(super) struct Bystander<C> {
    process: C,
    state: Shared,
}

impl<C: Copy + 'static> Bystander<C> {
    /// Starts one on `node` with so much memory, and waits until it lies idle.
    pub(super) async fn start<S: Sys<Child = C>>(sys: &S, node: NodeId, memory: Bytes) -> Result<Self, Stop> {
        let state = sys.share(1)?;
        let own = state.clone();
        let body = move |sys: S| async move { live(&sys, node, memory, &own).await };
        let process = sys.spawn(ChildKind::Process, "bystander", body).await?;
        wait_until(sys, &state, IDLE).await?;
        Ok(Self { process, state })
    }

    /// Lets it use its memory again, which records what it lost, and end.
    pub(super) async fn finish<S: Sys<Child = C>>(self, sys: &S) -> Result<(), Stop> {
        self.state.set(0, USES);
        sys.wait(self.process).await?.result
    }
}

async fn live<S: Sys>(sys: &S, node: NodeId, memory: Bytes, state: &Shared) -> Result<(), Stop> {
    live_on(sys, node).await?;
    let area = sys.mmap(Mapping::anon(memory)).await?;
    sys.touch(area, Access::Write).await?;
    state.set(0, IDLE);
    wait_until(sys, state, USES).await?;
    sys.count("bystander-lost", (area.pages() - sys.mincore(area).await?) as f64);
    let start = sys.now();
    sys.touch(area, Access::Write).await?;
    sys.sample("bystander-again", sys.now() - start);
    Ok(())
}

async fn wait_until<S: Sys>(sys: &S, state: &Shared, wanted: u64) -> Result<(), Stop> {
    while state.get(0) != wanted {
        sys.sleep(LOOK).await?;
    }
    Ok(())
}
