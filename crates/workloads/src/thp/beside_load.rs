//! Threads that touch memory beside readers of many small files: what thpfioscale and thpchallenge have in common.

use order9_units::Bytes;

use super::file_load::{self, Running};
use super::fill_units;
use super::tally::Tally;
use crate::access::Accesses;
use crate::sys::{Advice, ChildKind, Facts, Stop, Sys};
use crate::unit::{UNIT, map_units};

/// Mappings grow in steps of this.
pub(super) const STEP: u64 = 8 << 20;

/// Threads that touch memory together, each the first half of what it maps.
#[derive(Clone, Copy)]
pub(super) struct Threads {
    pub(super) name: &'static str,
    pub(super) count: u64,
    /// Bytes that all threads map together.
    pub(super) size: Bytes,
    pub(super) advice: Option<Advice>,
}

/// Counts of the touched units, and costs of accesses to them.
#[derive(Clone)]
pub(super) struct Touched {
    pub(super) tally: Tally,
    pub(super) accesses: Accesses,
}

/// A quarter of the CPUs of a node that four processes of the load leave, at least one.
pub(super) fn threads_for(facts: &Facts) -> u64 {
    let per_node = u64::from(facts.cpus) / facts.nodes.len().max(1) as u64;
    (per_node.saturating_sub(4) / 4).max(1)
}

/// Writes all files; readers then run as long again before this returns, and until they are stopped.
pub(super) async fn start_load<S: Sys>(sys: &S, bytes: Bytes) -> Result<Running<S::Child>, Stop> {
    sys.phase("write");
    let start = sys.now();
    let load = file_load::write(sys, bytes).await?;
    sys.phase("warm-up");
    let took = sys.now() - start;
    let load = load.read(sys).await?;
    sys.sleep(took).await?;
    Ok(load)
}

impl Threads {
    /// Runs them in a process of their own.
    pub(super) async fn run<S: Sys>(self, sys: &S) -> Result<Touched, Stop> {
        let touched = Touched { tally: Tally::new(sys)?, accesses: Accesses::new(sys)? };
        let own = touched.clone();
        let process = sys.spawn(ChildKind::Process, self.name, move |sys: S| async move { self.all(&sys, &own).await });
        sys.wait(process.await?).await?.result?;
        Ok(touched)
    }

    async fn all<S: Sys>(self, sys: &S, touched: &Touched) -> Result<(), Stop> {
        let mut children = Vec::new();
        for _ in 0..self.count {
            let own = touched.clone();
            let body = move |sys: S| async move { self.one(&sys, &own).await };
            children.push(sys.spawn(ChildKind::Thread, self.name, body).await?);
        }
        for child in children {
            sys.wait(child).await?.result?;
        }
        Ok(())
    }

    async fn one<S: Sys>(self, sys: &S, touched: &Touched) -> Result<(), Stop> {
        let each = self.size.get() / self.count;
        let (_, area) = map_units(sys, Bytes::new(each.next_multiple_of(STEP)), self.advice).await?;
        sys.barrier("units", self.count).await?;
        fill_units(sys, area, each / UNIT.get() / 2, self.count, &touched.tally).await?;
        touched.accesses.measure(sys, area).await
    }
}
